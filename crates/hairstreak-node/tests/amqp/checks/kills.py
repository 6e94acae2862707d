"""Clients that are processes of their own and are killed (SIGKILL)."""

import os
import subprocess
import sys
import time
from contextlib import contextmanager

from pika.spec import Basic

from check import bodies_of, check, confirm, depth, equal, fill, get, queue
from wire import PATIENCE_S

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

START = """
import sys
from pika.spec import Basic, Confirm
from wire import Wire, frame
wire = Wire((sys.argv[1], int(sys.argv[2]))).login(virtual_host="checks").open()
queue = sys.argv[3]
"""

# Acknowledges two of the seven messages that it gets.
CONSUMER = START + """
wire.call(Basic.Qos(prefetch_count=5))
wire.call(Basic.Consume(queue=queue))
for number in range(7):
    tag = wire.expect(Basic.Deliver).method.delivery_tag
    if number < 2:
        wire.send(Basic.Ack(tag))
print("ready", flush=True)
wire.receive()
"""

# Publishes three messages, and of a fourth one the first 100,000 bytes.
HALF = START + """
wire.call(Confirm.Select())
for number in range(3):
    wire.publish("", queue, b"%d" % number + b"." * 1000)
while wire.expect(Basic.Ack).method.delivery_tag < 3:
    pass
wire.send(Basic.Publish(exchange="", routing_key=queue))
wire.send_header(1 << 20)
wire.send_body(bytes(100000))
print("ready", flush=True)
wire.receive()
"""

# Publishes without end once 20 messages are confirmed, and consumes from a queue of which others see whether it still does.
PRODUCER = START + """
wire.call(Basic.Consume(queue=sys.argv[4]))
wire.call(Confirm.Select())
number = 0
while True:
    wire.publish("", queue, b"%d " % number + b"." * 20000)
    number += 1
    if number == 20:
        while wire.expect(Basic.Ack).method.delivery_tag < 20:
            pass
        print("ready", flush=True)
"""


@contextmanager
def client(b, program, *arguments):
    """A process that says when it is ready, and is killed then."""
    host, port = b.address
    command = [sys.executable, "-c", program, host, str(port), *arguments]
    with subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE) as process:
        try:
            equal(process.stdout.readline(), b"ready\n")
            yield
        finally:
            process.kill()


def await_depth(wire, name, expected):
    """Asks until the queue has so many messages and consumers. A broker takes its time to notice that a client is gone."""
    end = time.monotonic() + PATIENCE_S
    while (found := depth(wire, name)) != expected:
        assert time.monotonic() < end, f"{found} instead of {expected}"


@check()
def kill_a_consumer_with_unacknowledged_messages(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name(), exclusive=False)
    fill(wire, name, *(b"%d" % number for number in range(10)))
    with client(b, CONSUMER, name):
        await_depth(wire, name, (3, 1))
    await_depth(wire, name, (8, 0))
    items = [get(wire, name) for _ in range(8)]
    # The first two are acknowledged, the last three were not delivered.
    equal([item.body for item in items], [b"%d" % number for number in range(2, 10)])
    equal([item.method.redelivered for item in items], [True] * 5 + [False] * 3)
    equal(depth(wire, name), (0, 0))


@check()
def kill_a_producer_in_the_middle_of_a_body(b):
    wire = b.wire()
    name = queue(wire, b.name(), exclusive=False)
    with client(b, HALF, name):
        equal(depth(wire, name), (3, 0))
    equal(bodies_of(wire, name), [b"%d" % number + b"." * 1000 for number in range(3)])


@check()
def kill_a_producer_that_publishes_without_end(b):
    wire = b.wire()
    name, watch = (queue(wire, b.name(), exclusive=False) for _ in range(2))
    for _ in range(5):
        with client(b, PRODUCER, name, watch):
            pass
        await_depth(wire, watch, (0, 0))
        bodies = bodies_of(wire, name)
        assert len(bodies) >= 20, f"{len(bodies)} messages, and 20 were confirmed"
        equal(bodies, [b"%d " % number + b"." * 20000 for number in range(len(bodies))])
