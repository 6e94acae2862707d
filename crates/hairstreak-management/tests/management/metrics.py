"""Prometheus: what the board RabbitMQ-Overview of RabbitMQ's makers asks for (number 10991 at grafana.com), and how far each counter
moves with each operation. Others must leave the node alone meanwhile."""

import urllib.error

from pika.spec import Basic, Channel, Confirm, Connection, Queue, Tx

from check import bind, check, consume, equal, exchange, get, publish_confirmed, queue
from exposition import Scrape
from node import eventually

PUBLISHING = {"protocol": "amqp091"}
CONSUMING = {"protocol": "amqp091", "queue_type": "rabbit_classic_queue"}

# The metrics of the board, with the labels that each series has at least.
BOARD = {
    "rabbitmq_queue_messages_ready": {},
    "rabbitmq_queue_messages_unacked": {},
    "rabbitmq_global_messages_received_total": PUBLISHING,
    "rabbitmq_global_messages_received_confirm_total": PUBLISHING,
    "rabbitmq_global_messages_confirmed_total": PUBLISHING,
    "rabbitmq_global_messages_routed_total": PUBLISHING,
    "rabbitmq_global_messages_unroutable_dropped_total": PUBLISHING,
    "rabbitmq_global_messages_unroutable_returned_total": PUBLISHING,
    "rabbitmq_global_messages_delivered_total": CONSUMING,
    "rabbitmq_global_messages_delivered_consume_manual_ack_total": CONSUMING,
    "rabbitmq_global_messages_delivered_consume_auto_ack_total": CONSUMING,
    "rabbitmq_global_messages_delivered_get_manual_ack_total": CONSUMING,
    "rabbitmq_global_messages_delivered_get_auto_ack_total": CONSUMING,
    "rabbitmq_global_messages_get_empty_total": CONSUMING,
    "rabbitmq_global_messages_redelivered_total": CONSUMING,
    "rabbitmq_global_messages_acknowledged_total": CONSUMING,
    "rabbitmq_global_publishers": PUBLISHING,
    "rabbitmq_global_consumers": PUBLISHING,
    "rabbitmq_connections": {},
    "rabbitmq_channels": {},
    "rabbitmq_queues": {},
    "rabbitmq_connections_opened_total": {},
    "rabbitmq_connections_closed_total": {},
    "rabbitmq_channels_opened_total": {},
    "rabbitmq_channels_closed_total": {},
    "rabbitmq_queues_declared_total": {},
    "rabbitmq_queues_created_total": {},
    "rabbitmq_queues_deleted_total": {},
    "rabbitmq_resident_memory_limit_bytes": {},
    "rabbitmq_process_resident_memory_bytes": {},
    "rabbitmq_disk_space_available_bytes": {},
    "rabbitmq_disk_space_available_limit_bytes": {},
    "rabbitmq_process_max_fds": {},
    "rabbitmq_process_open_fds": {},
    "rabbitmq_erlang_uptime_seconds": {},
}
# Further series that alert rules read.
ALERTS = [
    "rabbitmq_alarms_memory_used_watermark",
    "rabbitmq_alarms_free_disk_space_watermark",
    "rabbitmq_alarms_file_descriptor_limit",
]
# Pairs that the board subtracts from each other or adds up: that works series by series, so both have the same labels.
PAIRS = [
    ("rabbitmq_global_messages_received_confirm_total", "rabbitmq_global_messages_confirmed_total"),
    ("rabbitmq_global_messages_delivered_consume_auto_ack_total", "rabbitmq_global_messages_delivered_consume_manual_ack_total"),
    ("rabbitmq_disk_space_available_bytes", "rabbitmq_disk_space_available_limit_bytes"),
    ("rabbitmq_process_max_fds", "rabbitmq_process_open_fds"),
    ("rabbitmq_resident_memory_limit_bytes", "rabbitmq_process_resident_memory_bytes"),
]
# As the board spells them.
SIZES = ["100.0", "1000.0", "10000.0", "100000.0", "1e+06", "1e+07", "5e+07", "1e+08", "+Inf"]


def scrape(node, path="/metrics"):
    return Scrape(node.places.metrics, path)


@check()
def metrics_of_the_board(node):
    found = scrape(node)
    assert found.content_type.startswith("text/plain; version=0.0.4"), found.content_type
    for name, labels in BOARD.items():
        assert found.of(name, **labels), f"no {name} with {labels}"
        kind = "counter" if name.endswith("_total") else "gauge"
        equal(found.types[name], kind, f"type of {name}")
    for name in ALERTS:
        equal(found.sum(name), 0, name)
    for first, second in PAIRS:
        labels = [sorted(map(str, (labels for labels, _ in found.of(name)))) for name in (first, second)]
        equal(labels[0], labels[1], f"labels of {first} and {second}:")
    for first, second in PAIRS[2:]:
        assert found.sum(first) > 0 and found.sum(second) > 0, (first, second)


@check()
def metrics_that_all_others_are_joined_with(node):
    """The board multiplies each metric with this one, and its variables are this one's labels: there is one, of the value 1."""
    found = scrape(node)
    [(labels, value)] = found.of("rabbitmq_identity_info")
    equal(value, 1)
    overview = node.api.read("overview")
    equal((labels["rabbitmq_node"], labels["rabbitmq_cluster"]), (overview["node"], overview["cluster_name"]))
    id = node.api.read("global-parameters", "internal_cluster_id")["value"]
    equal(labels["rabbitmq_cluster_permanent_id"], id)
    [(labels, value)] = found.of("rabbitmq_build_info")
    equal(value, 1)
    equal(labels["rabbitmq_version"], overview["rabbitmq_version"])
    equal(labels["erlang_version"], overview["erlang_version"])
    assert {"prometheus_client_version", "prometheus_plugin_version"} <= labels.keys(), labels


@check(needs="4.0")
def metrics_name_where_they_are_from(node):
    detailed = "/metrics/detailed?family=queue_coarse_metrics"
    for path, name in (("/metrics", "aggregated"), ("/metrics/per-object", "per-object"), (detailed, "detailed")):
        [(labels, _)] = scrape(node, path).of("rabbitmq_identity_info")
        equal(labels["rabbitmq_endpoint"], name)
    [(labels, _)] = scrape(node).of("rabbitmq_build_info")
    assert {"product_name", "product_version"} <= labels.keys(), labels


@check(needs="4.0")
def metrics_of_message_sizes(node):
    wire = node.wire_to(node.host())
    before = scrape(node)
    bodies = [0, 100, 101, 5000, 200_000]
    for size in bodies:
        wire.publish("", "nowhere", bytes(size))
    wire.call(Basic.Qos())
    name = "rabbitmq_message_size_bytes"
    count = lambda: scrape(node).sum(f"{name}_count", **PUBLISHING) - before.sum(f"{name}_count", **PUBLISHING)
    eventually(count, lambda found: found == len(bodies))
    after = scrape(node)
    equal(after.sum(f"{name}_sum") - before.sum(f"{name}_sum"), sum(bodies))
    equal([labels["le"] for labels, _ in after.of(f"{name}_bucket", **PUBLISHING)], SIZES)
    moved = [after.sum(f"{name}_bucket", le=le) - before.sum(f"{name}_bucket", le=le) for le in SIZES]
    equal(moved, [len([size for size in bodies if size <= float(le)]) for le in SIZES])


@check()
def metrics_per_object(node):
    host = node.host()
    wire = node.wire_to(host)
    queue(wire, "a queue")
    wire.publish("", "a queue", b"m")
    labels = {"vhost": host, "queue": "a queue"}
    detailed = f"/metrics/detailed?family=queue_coarse_metrics&vhost={host}"
    for path, prefix in (("/metrics/per-object", "rabbitmq"), (detailed, "rabbitmq_detailed")):
        is_ready = lambda found: found.sum(f"{prefix}_queue_messages_ready", **labels) == 1
        found = eventually(lambda: scrape(node, path), is_ready)
        equal(found.sum(f"{prefix}_queue_messages_unacked", **labels), 0)
        equal(found.sum(f"{prefix}_queue_messages", **labels), 1)
    assert not scrape(node, "/metrics/detailed?family=queue_coarse_metrics&vhost=nowhere").of("rabbitmq_detailed_queue_messages")
    try:
        scrape(node, "/metrics/nothing")
        raise AssertionError("found")
    except urllib.error.HTTPError as error:
        equal(error.code, 404)


@check(needs="escaped labels")
def metrics_of_a_queue_with_an_odd_name(node):
    host = node.host()
    # Nodes take line feeds out of names.
    queue(node.wire_to(host), 'a "queue" \\\n')
    named = lambda: scrape(node, "/metrics/per-object").of("rabbitmq_queue_messages", vhost=host)
    [(labels, _)] = eventually(named)
    equal(labels["queue"], r'a \"queue\" \\')


# Each counter moves as far as with RabbitMQ.

WATCHED = [name for name in BOARD if name.endswith("_total")]
GAUGES = "queue_messages_ready queue_messages_unacked global_publishers global_consumers connections channels queues".split()
GET_MANUAL = {"delivered": 1, "delivered_get_manual_ack": 1}


class Counters:
    """The series that moved since the last look. Names are short: "received" is rabbitmq_global_messages_received_total."""

    def __init__(self, node):
        self.node = node
        self.last = self.now()

    def now(self):
        found = scrape(self.node)
        short = lambda name: name.removeprefix("rabbitmq_").removeprefix("global_messages_").removesuffix("_total")
        values = {short(name): found.sum(name) for name in WATCHED + [f"rabbitmq_{name}" for name in GAUGES]}
        dead = [(name, labels) for name, labels in found.series if name.startswith("rabbitmq_global_messages_dead_lettered_")]
        for name, labels in dead:
            labels = dict(labels)
            which = f"{short(name)} of {labels['queue_type']}, {labels['dead_letter_strategy']}"
            values[which] = found.sum(name, **labels)
        return values

    def moved(self):
        return {name: value - self.last.get(name, 0) for name, value in self.now().items() if value != self.last.get(name, 0)}

    def expect(self, what, **moved):
        """Exactly these moved. What moves beyond that, and later, is found by the next `expect`."""
        moved = {name.replace("__", " of rabbit_classic_queue, "): by for name, by in moved.items()}
        try:
            eventually(self.moved, lambda found: found == moved)
        except AssertionError:
            equal(self.moved(), moved, f"{what}: moved")
        self.last = {name: value + moved.get(name, 0) for name, value in self.last.items()}


@check()
def metrics_move(node):
    host = node.host()
    node.api.set("queues", host, "kept")
    # Objects of others are gone.
    alone = [0, 0, len(node.api.read("queues"))]
    counts = lambda: [scrape(node).sum(f"rabbitmq_{what}") for what in ("connections", "channels", "queues")]
    eventually(counts, lambda found: found == alone)
    counters = Counters(node)
    counters.expect("nothing")
    wire = node.tcp().login(host)
    counters.expect("open a connection", connections_opened=1, connections=1)
    wire.open()
    counters.expect("open a channel", channels_opened=1, channels=1)
    declared(counters, wire)
    published(counters, wire)
    taken(counters, wire)
    consumed(counters, wire)
    counted_dead(counters, wire)
    transacted(counters, wire)
    # RabbitMQ counted publishers that end the wrong way round before 3.11.
    ended(counters, wire, 1 if node.version >= (3, 11) else 0)


def declared(counters, wire):
    queue(wire, "q", exclusive=False)
    counters.expect("declare a queue", queues_declared=1, queues_created=1, queues=1)
    queue(wire, "q", exclusive=False)
    counters.expect("declare it again", queues_declared=1)
    wire.call(Queue.Declare(queue="q", passive=True))
    counters.expect("declare it passively")
    exchange(wire, "x", "fanout")
    for name in ("q", "kept"):
        bind(wire, name, "x")
    counters.expect("bind")


def published(counters, wire):
    wire.publish("", "q", b"m")
    counters.expect("publish", received=1, routed=1, queue_messages_ready=1, global_publishers=1)
    wire.publish("x", "", b"m")
    counters.expect("publish to two queues", received=1, routed=2, queue_messages_ready=2)
    wire.publish("", "nowhere", b"m")
    counters.expect("publish to no queue", received=1, unroutable_dropped=1)
    wire.publish("", "nowhere", b"m", mandatory=True)
    wire.wait_for(Basic.Return)
    counters.expect("publish to no queue, mandatory", received=1, unroutable_returned=1)
    wire.open(2)
    wire.call(Confirm.Select(), 2)
    counters.expect("a channel with confirms", channels_opened=1, channels=1)
    publish_confirmed(wire, "", "q", b"m", 2)
    confirmed = {"received": 1, "received_confirm": 1, "confirmed": 1}
    counters.expect("publish and confirm", **confirmed, routed=1, queue_messages_ready=1, global_publishers=1)
    publish_confirmed(wire, "", "nowhere", b"m", 2)
    counters.expect("publish to no queue and confirm", **confirmed, unroutable_dropped=1)


def taken(counters, wire):
    get(wire, "q")
    counters.expect("get", delivered=1, delivered_get_auto_ack=1, queue_messages_ready=-1)
    tag = get(wire, "q", no_ack=False).method.delivery_tag
    counters.expect("get, to be acknowledged", **GET_MANUAL, queue_messages_ready=-1, queue_messages_unacked=1)
    wire.send(Basic.Reject(delivery_tag=tag, requeue=True))
    counters.expect("requeue", queue_messages_ready=1, queue_messages_unacked=-1)
    tag = get(wire, "q", no_ack=False).method.delivery_tag
    counters.expect("get it again", **GET_MANUAL, redelivered=1, queue_messages_ready=-1, queue_messages_unacked=1)
    wire.send(Basic.Ack(delivery_tag=tag))
    counters.expect("acknowledge", acknowledged=1, queue_messages_unacked=-1)
    wire.call(Queue.Purge(queue="q"))
    counters.expect("purge", queue_messages_ready=-1)
    get(wire, "q")
    counters.expect("get of nothing", get_empty=1)


def consumed(counters, wire):
    for _ in range(3):
        wire.publish("", "q", b"m")
    counters.expect("publish three", received=3, routed=3, queue_messages_ready=3)
    wire.send(Basic.Qos(prefetch_count=2))
    wire.wait_for(Basic.QosOk)
    tag = consume(wire, "q")
    last = [wire.wait_for(Basic.Deliver) for _ in range(2)][-1].method.delivery_tag
    two = {"delivered": 2, "delivered_consume_manual_ack": 2}
    counters.expect("consume", **two, global_consumers=1, queue_messages_ready=-2, queue_messages_unacked=2)
    wire.send(Basic.Ack(delivery_tag=last, multiple=True))
    last = wire.wait_for(Basic.Deliver).method.delivery_tag
    one = {"delivered": 1, "delivered_consume_manual_ack": 1}
    counters.expect("acknowledge two", **one, acknowledged=2, queue_messages_ready=-1, queue_messages_unacked=-1)
    wire.send(Basic.Cancel(consumer_tag=tag))
    wire.wait_for(Basic.CancelOk)
    counters.expect("cancel", global_consumers=-1)
    wire.send(Basic.Nack(delivery_tag=last, requeue=True))
    counters.expect("requeue", queue_messages_ready=1, queue_messages_unacked=-1)
    tag = consume(wire, "q", no_ack=True)
    wire.wait_for(Basic.Deliver)
    one = {"delivered": 1, "delivered_consume_auto_ack": 1}
    counters.expect("consume without acknowledging", **one, redelivered=1, global_consumers=1, queue_messages_ready=-1)
    wire.send(Basic.Cancel(consumer_tag=tag))
    wire.wait_for(Basic.CancelOk)
    counters.expect("cancel", global_consumers=-1)


def counted_dead(counters, wire):
    letters = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "nowhere"}
    for name, arguments in (("short", {"x-max-length": 1}), ("dead", letters), ("brief", {"x-message-ttl": 0})):
        queue(wire, name, arguments=arguments)
    counters.expect("declare three queues", queues_declared=3, queues_created=3, queues=3)
    for _ in range(2):
        wire.publish("", "short", b"m")
    counters.expect("publish beyond the length", received=2, routed=2, queue_messages_ready=1, dead_lettered_maxlen__disabled=1)
    wire.publish("", "brief", b"m")
    counters.expect("publish what expires", received=1, routed=1, dead_lettered_expired__disabled=1)
    wire.publish("", "dead", b"m")
    tag = get(wire, "dead", no_ack=False).method.delivery_tag
    counters.expect("publish and get", received=1, routed=1, **GET_MANUAL, queue_messages_unacked=1)
    wire.send(Basic.Reject(delivery_tag=tag, requeue=False))
    counters.expect("reject", queue_messages_unacked=-1, dead_lettered_rejected__at_most_once=1)


def transacted(counters, wire):
    wire.open(3)
    wire.call(Tx.Select(), 3)
    counters.expect("a channel with transactions", channels_opened=1, channels=1)
    wire.publish("", "q", b"m", channel=3)
    # RabbitMQ takes a transaction for a kind of confirm.
    counters.expect("publish", received=1, received_confirm=1, global_publishers=1)
    wire.call(Tx.Commit(), 3)
    counters.expect("commit", routed=1, queue_messages_ready=1)


def ended(counters, wire, publisher):
    fewer = {"global_publishers": -publisher} if publisher else {}
    wire.send(Channel.Close(200, "", 0, 0), 3)
    wire.wait_for(Channel.CloseOk)
    counters.expect("close a channel", channels_closed=1, channels=-1, **fewer)
    wire.call(Queue.Delete(queue="q"))
    counters.expect("delete a queue", queues_deleted=1, queues=-1, queue_messages_ready=-1)
    wire.send(Connection.Close(200, "", 0, 0), 0)
    wire.wait_for(Connection.CloseOk)
    wire.close()
    fewer = {"global_publishers": -2 * publisher} if publisher else {}
    closed = {"connections_closed": 1, "connections": -1, "channels_closed": 2, "channels": -2, **fewer}
    counters.expect("close the connection", **closed, queues_deleted=3, queues=-3, queue_messages_ready=-1)


@check(needs="consumers that end")
def metrics_of_consumers_that_end_with_their_connection(node):
    host = node.host()
    node.api.set("queues", host, "q")
    count = lambda: scrape(node).sum("rabbitmq_global_consumers")
    before = count()
    wire = node.wire_to(host)
    consume(wire, "q")
    eventually(count, lambda found: found == before + 1)
    wire.close()
    eventually(count, lambda found: found == before)


@check()
def metrics_of_logins(node):
    name = "rabbitmq_auth_attempts{}_total"
    protocol = {"protocol": "amqp091"}
    look = lambda: [scrape(node).sum(name.format(which), **protocol) for which in ("", "_succeeded", "_failed")]
    before = look()
    node.wire_to("/")
    wire = node.tcp()
    wire.start()
    wire.start_ok(password="wrong")
    wire.expect(Connection.Close)
    eventually(lambda: [now - then for now, then in zip(look(), before)], lambda moved: moved == [2, 1, 1])
