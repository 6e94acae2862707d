"""A node whose messages have too much memory: publishers wait and are told, and consumers go on.

    python watermark.py HOST:PORT

The node's watermark is 8 MiB."""

import sys
import threading

from pika.spec import Basic, Connection, Queue

from wire import Wire

host, port = sys.argv[1].split(":")
BODY = bytes(64 * 1024)
COUNT = 400


def connect():
    return Wire((host, int(port))).login().open()


def fill(wire, count):
    """Publishes in a thread, because the broker stops reading."""
    thread = threading.Thread(target=lambda: [wire.publish("", "q", BODY) for _ in range(count)], daemon=True)
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
