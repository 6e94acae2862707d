"""A node whose messages have too much memory: publishers wait and are told, and consumers go on.

    python watermark.py HOST:PORT

The node's watermark is 8 MiB."""

import sys
import threading

import pika

host, port = sys.argv[1].split(":")
BODY = bytes(64 * 1024)
COUNT = 400


def connect(**options):
    return pika.BlockingConnection(pika.ConnectionParameters(host, int(port), **options))


blocked, unblocked = threading.Event(), threading.Event()


def publish():
    connection = connect(blocked_connection_timeout=60)
    connection.add_on_connection_blocked_callback(lambda *_: blocked.set())
    connection.add_on_connection_unblocked_callback(lambda *_: unblocked.set())
    channel = connection.channel()
    channel.queue_declare("q")
    for _ in range(COUNT):
        channel.basic_publish("", "q", BODY)
        # The library hears of the broker only here.
        connection.process_data_events(0)
    while not unblocked.is_set():
        connection.process_data_events(0.05)
    connection.close()


publisher = threading.Thread(target=publish)
publisher.start()
assert blocked.wait(30), "the publisher was not told that it has to wait"
consumer = connect()
channel = consumer.channel()
held = channel.queue_declare("q", passive=True).method.message_count
assert 64 < held < COUNT, f"{held} messages of 64 KiB in a node with a watermark of 8 MiB"

received = 0
for method, _, body in channel.consume("q", inactivity_timeout=30):
    assert method is not None, f"nothing more came after {received} messages"
    assert body == BODY
    channel.basic_ack(method.delivery_tag)
    received += 1
    if received == COUNT:
        break
publisher.join(30)
assert not publisher.is_alive(), "the publisher does not go on"
assert unblocked.is_set()
print(f"{held} messages held while blocked, {received} received")
consumer.close()
