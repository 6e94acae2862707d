"""The counters of messages: what each operation counts for its queue, its virtual host and the whole node. The checks run
one at a time, on a node that has no other clients."""

import time

from pika.spec import Basic, BasicProperties, Queue, Tx

from check import bind, check, confirm, consume, equal, exchange, get, publish_confirmed, queue
from node import eventually

# Each is done in a virtual host of its own, where the queues "q" and "other" are bound to the exchange "all".


def publish(node, host, wire):
    publish_some(wire, 5)


def publish_to_two_queues(node, host, wire):
    publish_some(wire, 5, exchange_name="all")


def publish_and_confirm(node, host, wire):
    for _ in range(5):
        publish_confirmed(confirm(wire), "", "q")


def publish_to_nowhere(node, host, wire):
    publish_some(wire, 2, "nowhere")
    publish_some(wire, 3, "nowhere", mandatory=True)


def publish_in_a_transaction(node, host, wire):
    wire.call(Tx.Select())
    publish_some(wire, 5)
    wire.call(Tx.Commit())
    publish_some(wire, 2)
    wire.call(Tx.Rollback())


def publish_over_http(node, host, wire):
    for key in ("q", "q", "nowhere"):
        body = {"properties": {}, "routing_key": key, "payload": "m", "payload_encoding": "string"}
        node.api.post("exchanges", host, "amq.default", "publish", body=body)


def get_without_acknowledgement(node, host, wire):
    publish_some(wire, 3)
    for _ in range(5):
        get(wire, "q", no_ack=True)


def get_and_settle(node, host, wire):
    publish_some(wire, 5)
    tags = [get(wire, "q", no_ack=False).method.delivery_tag for _ in range(4)]
    wire.send(Basic.Ack(delivery_tag=tags[2], multiple=True))
    wire.send(Basic.Reject(delivery_tag=tags[3], requeue=True))
    get(wire, "q", no_ack=False)


def consume_and_settle(node, host, wire):
    publish_some(wire, 5)
    consume(wire, "q")
    tags = [wire.wait_for(Basic.Deliver).method.delivery_tag for _ in range(5)]
    wire.send(Basic.Ack(delivery_tag=tags[2], multiple=True))
    wire.send(Basic.Reject(delivery_tag=tags[3], requeue=False))
    wire.send(Basic.Nack(delivery_tag=tags[4], requeue=True))
    wire.wait_for(Basic.Deliver)


def consume_without_acknowledgement(node, host, wire):
    publish_some(wire, 5)
    consume(wire, "q", no_ack=True)
    for _ in range(5):
        wire.wait_for(Basic.Deliver)


def consume_and_leave(node, host, wire):
    publish_some(wire, 3)
    leaving = node.wire_to(host)
    consume(leaving, "q")
    for _ in range(3):
        leaving.wait_for(Basic.Deliver)
    leaving.close()


def purge(node, host, wire):
    publish_some(wire, 5)
    wire.call(Queue.Purge(queue="q"))


def expire(node, host, wire):
    publish_some(wire, 5, properties=BasicProperties(expiration="1"))


def get_over_http(mode):
    """Asks for one message more than there are."""

    def take(node, host, wire):
        for _ in range(2):
            publish_confirmed(confirm(wire), "", "q")
        node.api.post("queues", host, "q", "get", body={"count": 3, "ackmode": mode, "encoding": "auto"})

    return take


def publish_some(wire, count, key="q", exchange_name="", **options):
    for _ in range(count):
        wire.publish(exchange_name, key, b"m", **options)


HTTP_GOT = {"publish": 2, "confirm": 2, "get": 2, "get_empty": 1, "deliver_get": 2}
# What the virtual host and the node count, and what the queue "q" counts that is not the same.
COUNTS = [
    (publish, {"publish": 5}, {}),
    (publish_to_two_queues, {"publish": 5}, {}),
    (publish_and_confirm, {"publish": 5, "confirm": 5}, {}),
    (publish_to_nowhere, {"publish": 5, "drop_unroutable": 2, "return_unroutable": 3}, {"publish": 0}),
    (publish_in_a_transaction, {"publish": 5}, {}),
    (publish_over_http, {"publish": 3, "confirm": 3, "return_unroutable": 1}, {"publish": 2}),
    (get_without_acknowledgement, {"publish": 3, "get_no_ack": 3, "get_empty": 2, "deliver_get": 3}, {}),
    (get_and_settle, {"publish": 5, "get": 5, "deliver_get": 5, "redeliver": 1, "ack": 3}, {}),
    (consume_and_settle, {"publish": 5, "deliver": 6, "deliver_get": 6, "redeliver": 1, "ack": 3}, {}),
    (consume_without_acknowledgement, {"publish": 5, "deliver_no_ack": 5, "deliver_get": 5}, {}),
    (consume_and_leave, {"publish": 3, "deliver": 3, "deliver_get": 3}, {}),
    (purge, {"publish": 5}, {}),
    (expire, {"publish": 5}, {}),
    (get_over_http("ack_requeue_true"), HTTP_GOT, {}),
    (get_over_http("reject_requeue_true"), HTTP_GOT, {}),
    (get_over_http("reject_requeue_false"), HTTP_GOT, {}),
    (get_over_http("ack_requeue_false"), {"publish": 2, "confirm": 2, "get_no_ack": 2, "get_empty": 1, "deliver_get": 2}, {}),
]
# Only the channel of a publisher, and so its virtual host, knows these.
OF_CHANNELS = dict.fromkeys(("confirm", "drop_unroutable", "return_unroutable"), 0)


@check()
def counts_of_each_operation(node):
    before = settled(lambda: of_node(node))
    done = []
    for operation, counts, of_queue in COUNTS:
        host = node.host()
        wire = node.wire_to(host)
        exchange(wire, "all", "fanout")
        for name in ("q", "other"):
            queue(wire, name, exclusive=False)
            bind(wire, name, "all")
        operation(node, host, wire)
        done.append((host, counts, without_zeros(counts | OF_CHANNELS | of_queue)))
    sums = {name: sum(counts.get(name, 0) for _, counts, _ in COUNTS) for name in before}
    looks = []
    for host, counts, of_queue in done:
        looks.append((lambda host=host: of_host(node, host), counts))
        looks.append((lambda host=host: without_zeros(counts_of(node.api.read("queues", host, "q"))), of_queue))
    looks.append((lambda: {name: count - before[name] for name, count in of_node(node).items()}, sums))
    # RabbitMQ sums up each host, each queue and the node at different times.
    for look, expected in looks:
        eventually(lambda: (look(), expected), lambda pair: pair[0] == pair[1])
    for look, expected in looks:
        equal(look(), expected, "at the end")


def settled(look):
    """What a look finds once it finds the same for two seconds, which is twice as long as RabbitMQ takes to sum up."""
    found, since = look(), time.monotonic()
    while time.monotonic() < since + 2:
        time.sleep(0.1)  # tidy: allow(sleeps) nothing tells a client that statistics have come
        if (latest := look()) != found:
            found, since = latest, time.monotonic()
    return found


def of_host(node, host):
    return without_zeros(counts_of(node.api.read("vhosts", host)))


def of_node(node):
    found = counts_of(node.api.read("overview"))
    return {name: found.get(name, 0) for name in {name for _, counts, _ in COUNTS for name in counts}}


def counts_of(found):
    return {name: count for name, count in found.get("message_stats", {}).items() if not name.endswith("_details")}


def without_zeros(counts):
    return {name: count for name, count in counts.items() if count}
