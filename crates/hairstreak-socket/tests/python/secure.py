"""A libzmq end with a security mechanism:

secure.py push|pull|pub|sub|dealer|router|req|rep bind|connect ENDPOINT COUNT ROLE [ARGUMENT...]

ROLE is null | plain-client USER PASSWORD | curve-client SERVER_KEY PUBLIC SECRET
      | plain-server USER PASSWORD | curve-server PUBLIC SECRET ALLOWED_KEY...
PUSH sends COUNT numbered messages of several sizes and frames, PULL checks them; PUB and SUB do the same to the topic
t, when a line has told PUB that it is heard. DEALER and REQ send them and check the echo, ROUTER and REP echo. With COUNT 0 the end only says how its handshake went."""

import select
import sys

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils.monitor import recv_monitor_message

import peer

SIZES = [0, 1, 8, 30, 31, 62, 63, 64, 95, 96, 159, 160, 221, 222, 223, 255, 256, 1000, 8192, 20000, 70000]


def message(number):
    size = SIZES[number % len(SIZES)]
    body = (b"%d:" % number + bytes(range(256)) * (size // 256 + 1))[:size]
    return [body] if number % 3 else [b"head", b"", body]


kind, how, endpoint, count, role, *arguments = sys.argv[1:]
count = int(count)
end = peer.make(kind)
if role == "plain-client":
    end.plain_username, end.plain_password = (argument.encode() for argument in arguments)
elif role == "curve-client":
    end.curve_serverkey, end.curve_publickey, end.curve_secretkey = (a.encode() for a in arguments)
elif role.endswith("-server"):
    auth = ThreadAuthenticator(zmq.Context.instance())
    auth.start()
    end.zap_domain = b"test"
    if role == "plain-server":
        auth.configure_plain(domain="test", passwords={arguments[0]: arguments[1]})
        end.plain_server = True
    else:
        end.curve_publickey, end.curve_secretkey = (a.encode() for a in arguments[:2])
        end.curve_server = True

        class Keys:
            def callback(self, domain, key):
                return key.decode() in arguments[2:]

        auth.configure_curve_callback(domain="test", credentials_provider=Keys())

if count == 0:
    monitor = end.get_monitor_socket()
    monitor.rcvtimeo = peer.LONG_MS
peer.join(end, how, endpoint)
if count == 0:
    names = {
        zmq.EVENT_HANDSHAKE_SUCCEEDED: "succeeded",
        zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL: "no-detail",
        zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL: "protocol",
        zmq.EVENT_HANDSHAKE_FAILED_AUTH: "auth",
    }
    while True:
        event = recv_monitor_message(monitor)
        if event["event"] in names:
            peer.say("handshake", names[event["event"]], event["value"])
            break
elif kind == "push":
    for number in range(count):
        end.send_multipart(message(number))
elif kind == "pull":
    for number in range(count):
        got = end.recv_multipart()
        assert got == message(number), (number, [len(frame) for frame in got])
elif kind == "pub":
    while not select.select([sys.stdin], [], [], 0.01)[0]:
        end.send(b"tsync")
    sys.stdin.readline()
    for number in range(count):
        end.send_multipart([b"t", *message(number)])
        end.send(b"u: nobody subscribed to this")
elif kind == "sub":
    end.subscribe(b"t")
    for number in range(count):
        assert end.recv_multipart() == [b"t", *message(number)], number
elif kind in ("dealer", "req"):
    for number in range(count):
        end.send_multipart(message(number))
        assert end.recv_multipart() == message(number), number
else:
    for number in range(count):
        end.send_multipart(end.recv_multipart())
peer.say("done")
sys.stdin.readline()
if role.endswith("-server"):
    auth.stop()
peer.end()
