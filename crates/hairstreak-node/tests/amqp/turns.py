"""How long messages to many queues hold up the other clients of their virtual host.

    python turns.py HOST:PORT [QUEUE_COUNT ...]

A client publishes to a queue of its own and gets the message back, each 2 ms, first by itself and then beside another
client. The other client publishes bursts of 5,000 messages to a fanout exchange with QUEUE_COUNT queues (1,000 and 10,000
if none is given). Each queue keeps one message. At the end a long queue is purged.

The broker needs the user guest, the virtual host / and pika here (scripts/requirements.txt). Nothing is judged: the
figures are those of ADR 0021."""

import multiprocessing
import sys
import threading
import time

from pika.spec import Basic, BasicProperties, Confirm, Exchange, Queue

from wire import BODY, HEADER, METHOD, Wire, frame, header_payload, payload_of

SECONDS = 10
INTERVAL_S = 0.002
BURST = 5_000
PURGED = 500_000
EXCHANGE = "turns"


def connect(address):
    wire = Wire(address)
    wire.socket.settimeout(60)
    return wire.login(virtual_host="/").open()


def message(exchange, routing_key, body):
    """The frames of a message, ready to be sent many times."""
    method = Basic.Publish(exchange=exchange, routing_key=routing_key)
    header = header_payload(len(body), BasicProperties())
    return frame(METHOD, 1, payload_of(method)) + frame(HEADER, 1, header) + frame(BODY, 1, body)


def wait_for_confirms(wire, count):
    """Waits until the broker has confirmed all messages up to this number."""
    while wire.expect(Basic.Ack).method.delivery_tag < count:
        pass


def flood(address, is_running, is_over, published):
    """Publishes bursts, one after the other, and counts their messages."""
    wire = connect(address)
    wire.call(Confirm.Select())
    burst = b"".join(message(EXCHANGE, "", str(number).encode()) for number in range(BURST))
    while not is_over.is_set():
        wire.send_bytes(burst)
        published.value += BURST
        wait_for_confirms(wire, published.value)
        is_running.set()
    wire.close()


def round_trips(address, seconds):
    """Sends a message to a queue of this client's own at regular times. Returns the milliseconds until each is back, sorted."""
    wire = connect(address)
    queue = wire.call(Queue.Declare(exclusive=True)).queue
    wire.call(Basic.Consume(queue=queue, no_ack=True))
    sent = message("", queue, b"12345678")
    times = []
    pace = threading.Event()
    end = time.monotonic() + seconds
    while (start := time.monotonic()) < end:
        wire.send_bytes(sent)
        assert [wire.frame()[0] for _ in range(3)] == [METHOD, HEADER, BODY]
        now = time.monotonic()
        times.append((now - start) * 1_000)
        pace.wait(start + INTERVAL_S - now)
    wire.close()
    return sorted(times)


def shown(times):
    parts = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
    shown_parts = [f"{name} {times[int(len(times) * part)]:.2f} ms" for name, part in parts.items()]
    return ", ".join([*shown_parts, f"max {times[-1]:.2f} ms of {len(times):,} round trips"])


def measure_beside(address, queue_count):
    """Round trips beside messages to so many queues."""
    owner = connect(address)
    owner.call(Exchange.Declare(exchange=EXCHANGE, type="fanout"))
    for number in range(queue_count):
        queue = f"turns-{number}"
        owner.call(Queue.Declare(queue=queue, exclusive=True, arguments={"x-max-length": 1}))
        owner.call(Queue.Bind(queue=queue, exchange=EXCHANGE))
    is_running, is_over = multiprocessing.Event(), multiprocessing.Event()
    published = multiprocessing.Value("Q", 0)
    flooder = multiprocessing.Process(target=flood, args=(address, is_running, is_over, published), daemon=True)
    flooder.start()
    assert is_running.wait(60), "the client that publishes does not begin"
    first, start = published.value, time.monotonic()
    times = round_trips(address, SECONDS)
    rate = (published.value - first) * queue_count / (time.monotonic() - start)
    is_over.set()
    flooder.join(60)
    assert flooder.exitcode == 0, "the client that publishes has failed"
    owner.call(Exchange.Delete(exchange=EXCHANGE))
    owner.close()
    print(f"beside messages to {queue_count:,} queues ({rate / 1e6:.1f} M queue entries/s): {shown(times)}", flush=True)


def measure_purge(address):
    wire = connect(address)
    wire.call(Confirm.Select())
    queue = wire.call(Queue.Declare(exclusive=True)).queue
    wire.send_bytes(message("", queue, b"12345678") * PURGED)
    wait_for_confirms(wire, PURGED)
    start = time.monotonic()
    count = wire.call(Queue.Purge(queue=queue)).message_count
    ns = (time.monotonic() - start) * 1e9
    assert count == PURGED, f"{count} messages were purged"
    wire.close()
    print(f"purge: {ns / count:.1f} ns for each of {count:,} messages", flush=True)


def main():
    host, port = sys.argv[1].split(":")
    address = (host, int(port))
    print(f"alone: {shown(round_trips(address, SECONDS))}", flush=True)
    for queue_count in map(int, sys.argv[2:] or ["1000", "10000"]):
        measure_beside(address, queue_count)
    measure_purge(address)


if __name__ == "__main__":
    main()
