"""Majordomo by the frame tables of ZeroMQ RFC 7 (0.1) and RFC 18 (0.2), on raw pyzmq sockets.

majordomo.py broker ENDPOINT            a plain broker of both versions: one request a worker, the longest idle first
majordomo.py worker ENDPOINT VERSION    serves "shout"; with 0.2 it says the reply in two parts
majordomo.py worker ENDPOINT VERSION large    serves "large": replies of 1 MiB
majordomo.py client ENDPOINT VERSION COUNT
"""

import sys
from collections import deque

import zmq

HEARTBEAT_MS = 500


class Dialect:
    def __init__(self, version):
        self.plain = version == "0.1"
        self.client, self.worker = (b"MDPC01", b"MDPW01") if self.plain else (b"MDPC02", b"MDPW02")
        self.front = [b""] if self.plain else []
        names = ["ready", "request", "final", "heartbeat", "disconnect"]
        if not self.plain:
            names.insert(2, "partial")
        for number, name in enumerate(names, 1):
            setattr(self, name, bytes([number]))

    def for_client(self, service, body, command):
        return self.front + [self.client] + ([] if self.plain else [command]) + [service] + body

    def for_worker(self, command, rest=()):
        return self.front + [self.worker, command, *rest]


V01, V02 = Dialect("0.1"), Dialect("0.2")


def dialect_of(frames):
    return V01 if frames[0] == b"" else V02


def broker(endpoint):
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.bind(endpoint)
    print(router.getsockopt(zmq.LAST_ENDPOINT).decode(), flush=True)
    idle, waiting, service_of, dialects = {}, {}, {}, {}

    def dispatch(service):
        while idle.get(service) and waiting.get(service):
            worker, (client, body) = idle[service].popleft(), waiting[service].popleft()
            dialect = dialects[worker]
            router.send_multipart([worker] + dialect.for_worker(dialect.request, [client, b""] + body))

    while True:
        if not router.poll(HEARTBEAT_MS):
            for worker in service_of:
                router.send_multipart([worker] + dialects[worker].for_worker(dialects[worker].heartbeat))
            continue
        sender, *frames = router.recv_multipart()
        dialect = dialect_of(frames)
        frames = frames[len(dialect.front):]
        if frames[0] == dialect.client:
            dialects[sender] = dialect
            service, *body = frames[1:] if dialect.plain else frames[2:]
            waiting.setdefault(service, deque()).append((sender, body))
            dispatch(service)
            continue
        assert frames[0] == dialect.worker, frames
        command, rest = frames[1], frames[2:]
        if command == dialect.ready:
            service_of[sender], dialects[sender] = rest[0], dialect
            idle.setdefault(rest[0], deque()).append(sender)
        elif command == dialect.disconnect:
            service = service_of.pop(sender)
            if sender in idle[service]:
                idle[service].remove(sender)
        elif sender not in service_of:
            router.send_multipart([sender] + dialect.for_worker(dialect.disconnect))
        elif command != dialect.heartbeat:
            client, empty, *body = rest
            assert empty == b"", rest
            service, is_final = service_of[sender], command == dialect.final
            to = dialects[client]
            said = b"\x03" if is_final else b"\x02"
            router.send_multipart([client] + to.for_client(service, body, said))
            if is_final:
                idle[service].append(sender)
        if sender in service_of:
            dispatch(service_of[sender])


def worker(endpoint, version, service="shout"):
    dialect = Dialect(version)
    while True:
        dealer = zmq.Context.instance().socket(zmq.DEALER)
        dealer.setsockopt(zmq.LINGER, 0)
        dealer.connect(endpoint)
        dealer.send_multipart(dialect.for_worker(dialect.ready, [service.encode()]))
        print("ready", flush=True)
        connected = True
        while connected:
            if not dealer.poll(HEARTBEAT_MS):
                dealer.send_multipart(dialect.for_worker(dialect.heartbeat))
                continue
            frames = dealer.recv_multipart()
            assert frames[: len(dialect.front)] == dialect.front, frames
            header, command, *rest = frames[len(dialect.front):]
            assert header == dialect.worker, frames
            if command == dialect.disconnect:
                connected = False
            elif command == dialect.request:
                address, empty, *body = rest
                assert empty == b"" and body, frames
                reply = [b"x" * (1 << 20)] if service == "large" else [frame.upper() for frame in body]
                if not dialect.plain:
                    first = dialect.for_worker(dialect.partial, [address, b"", b"FIRST "])
                    dealer.send_multipart(first)
                dealer.send_multipart(dialect.for_worker(dialect.final, [address, b""] + reply))
            else:
                assert command == dialect.heartbeat, frames
        dealer.close()


def client(endpoint, version, count):
    dialect = Dialect(version)
    context = zmq.Context.instance()
    socket = context.socket(zmq.REQ if dialect.plain else zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(endpoint)
    for number in range(count):
        request = dialect.for_client(b"shout", [b"request %d" % number], b"\x01")
        # A REQ puts the empty frame there itself.
        socket.send_multipart(request[len(dialect.front):])
        said = []
        while True:
            frames = socket.recv_multipart()
            assert frames[0] == dialect.client, frames
            if dialect.plain:
                assert frames[1] == b"shout", frames
                said += frames[2:]
                break
            assert frames[2] == b"shout", frames
            said += frames[3:]
            if frames[1] == b"\x03":
                break
            assert frames[1] == b"\x02", frames
        print(b"".join(said).decode(), flush=True)


def main():
    role, endpoint, *rest = sys.argv[1:]
    if role == "broker":
        broker(endpoint)
    elif role == "worker":
        worker(endpoint, *rest)
    else:
        client(endpoint, rest[0], int(rest[1]))


main()
