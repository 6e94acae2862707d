"""A node whose messages have too much memory: publishers wait and are told, and consumers go on.

    python watermark.py HOST:PORT

The node's watermark is 8 MiB."""

import socket
import struct
import sys
import threading
import time

from pika.spec import Basic, Channel, Connection, Queue

from wire import Wire

host, port = sys.argv[1].split(":")
BODY = bytes(64 * 1024)
COUNT = 400


def connect():
    return Wire((host, int(port))).login().open()


def publish(wire, count):
    try:
        for _ in range(count):
            wire.publish("", "q", BODY)
    except OSError:
        pass  # The connection is over.


def fill(wire, count):
    """Publishes in a thread, because the broker stops reading."""
    thread = threading.Thread(target=publish, args=(wire, count), daemon=True)
    thread.start()
    return thread


def drain(wire, count):
    for number in range(count):
        delivery = wire.expect(Basic.Deliver)
        assert delivery.body == BODY, f"message {number} is another"
        wire.send(Basic.Ack(delivery.method.delivery_tag))


consuming = connect()
consuming.call(Queue.Declare(queue="q"))
for round_number in range(3):
    publishing = connect()
    publisher = fill(publishing, COUNT)
    publishing.wait_for(Connection.Blocked)
    held = consuming.call(Queue.Declare(queue="q", passive=True)).message_count
    assert 64 < held < 200, f"{held} messages of 64 KiB in a node with a watermark of 8 MiB"
    consuming.call(Basic.Consume(queue="q", consumer_tag=str(round_number)))
    drain(consuming, COUNT)
    publisher.join(30)
    assert not publisher.is_alive(), "the publisher does not go on"
    publishing.wait_for(Connection.Unblocked)
    publishing.close()
    consuming.send(Basic.Cancel(consumer_tag=str(round_number)))
    consuming.expect(Basic.CancelOk)
    print(f"round {round_number}: {held} messages held while the publisher waited, {COUNT} received")


def end(wire):
    wire.socket.shutdown(socket.SHUT_RDWR)


def reset(wire):
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.socket.close()


def reply_code_of_close(method):
    """Sends a method that the broker refuses."""
    consuming.send(method)
    code = consuming.expect(Channel.Close).method.reply_code
    consuming.send(Channel.CloseOk())
    consuming.open()
    return code


# A client that does not read its answers is not read either, and goes on when it reads them.
deaf = connect()
deaf.socket.settimeout(1)
count = 0
try:
    while count < 4000:
        deaf.publish("", "nobody", BODY, mandatory=True)
        count += 1
except TimeoutError:
    pass
assert count < 2000, f"{count} messages of 64 KiB came back to a client that reads none of them"
deaf.socket.settimeout(10)
for number in range(count):
    returned = deaf.expect(Basic.Return)
    assert returned.body == BODY, f"message {number} is another"
deaf.close()

# A publisher that waits and goes away leaves at once. Without heartbeats nothing else would end its connection.
filling = connect()
fill(filling, COUNT)
filling.wait_for(Connection.Blocked)
for go_away in end, reset:
    leaving = connect()
    leaving.call(Queue.Declare(queue="own", exclusive=True))
    leaving.publish("", "q")
    leaving.wait_for(Connection.Blocked)
    look = Queue.Declare(queue="own", passive=True)
    assert reply_code_of_close(look) == 405, "the queue of another connection is not locked"
    go_away(leaving)
    deadline = time.monotonic() + 10
    while reply_code_of_close(look) == 405:
        assert time.monotonic() < deadline, f"{go_away.__name__}: the queue of a client that is gone stays locked"
    print(f"{go_away.__name__}: a client that waited is gone, and its exclusive queue with it")
