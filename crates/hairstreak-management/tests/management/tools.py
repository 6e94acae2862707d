"""The requests of tools that watch a broker, as they send them, and the fields that they read of the answers. A field that a tool's types
ask for has to be there and of that type."""

from urllib.parse import quote, quote_plus

from pika.exceptions import ConnectionClosedByBroker
from pika.spec import Basic

from check import check, confirm, consume, equal, fill, get, queue
from exposition import Scrape
from node import eventually

NUMBER, TEXT, FLAG, LIST, OBJECT = (int, float), str, bool, list, dict


def has(found, where, **fields):
    """The object has fields of these types. Two underscores stand for a point: message_stats__ack is {"message_stats": {"ack": ...}}."""
    for name, kind in fields.items():
        value = found
        for part in name.split("__"):
            assert isinstance(value, dict) and part in value, f"{where}: no {name} in {found}"
            value = value[part]
        is_right = isinstance(value, kind) and (kind is FLAG or not isinstance(value, bool))
        assert is_right, f"{where}: {name} is {value!r}"


def busy_host(node):
    """A virtual host with a queue that was published to and taken from, and a connection that has a consumer there."""
    host = node.host()
    wire = confirm(node.wire_to(host))
    queue(wire, "busy", exclusive=False)
    fill(wire, "busy", *(b"m" for _ in range(5)))
    get(wire, "busy", no_ack=True)
    tag = get(wire, "busy", no_ack=False).method.delivery_tag
    wire.send(Basic.Reject(delivery_tag=tag, requeue=True))
    consumer = node.wire_to(host)
    consumer.call(Basic.Qos(prefetch_count=2))
    consume(consumer, "busy")
    tag = consumer.wait_for(Basic.Deliver).method.delivery_tag
    consumer.send(Basic.Ack(delivery_tag=tag))
    eventually(lambda: node.api.read("queues", host, "busy"), is_counted)
    return host


def is_counted(found):
    """All has come that is known of the queue."""
    stats = found.get("message_stats", {})
    return (found.get("messages"), found.get("consumers"), stats.get("publish"), stats.get("ack")) == (3, 1, 5, 1)


# KEDA: one queue, or the sum of those that a pattern matches.


@check()
def tools_keda(node):
    host = busy_host(node)
    fields = {"name": TEXT, "messages": NUMBER, "messages_ready": NUMBER, "messages_unacknowledged": NUMBER}
    rates = {"message_stats__publish_details__rate": NUMBER, "message_stats__deliver_get_details__rate": NUMBER}
    one = node.api.read("queues", host, "busy")
    has(one, "a queue", **fields, **rates)
    equal((one["messages"], one["messages_ready"], one["messages_unacknowledged"]), (3, 1, 2))
    query = f"?page=1&use_regex=true&pagination=false&name={quote_plus('^bu.y$')}&page_size=100"
    page = node.api.read("queues", host, query=query)
    equal((page["page_count"], [found["messages"] for found in page["items"]]), (1, [3]))
    has(page["items"][0], "a queue of a page", **fields, **rates)
    equal(node.api.get("queues", host, "nothing").status, 404)


# Celery Flower: all queues of a virtual host.


@check()
def tools_flower(node):
    host = busy_host(node)
    answer = node.api.request("GET", f"/api/queues/{quote(host, '')}")
    [one] = answer.json
    has(one, "a queue", name=TEXT, messages=NUMBER, messages_unacknowledged=NUMBER, messages_ready=NUMBER, consumers=NUMBER)


# Datadog's check.


@check()
def tools_datadog(node):
    host = busy_host(node)
    # RabbitMQ sums up the node at a time of its own.
    has_stats = lambda overview: {"ack", "confirm", "deliver_get", "publish"} <= set(overview.get("message_stats", ()))
    overview = eventually(lambda: node.api.read("overview"), has_stats)
    totals = {f"queue_totals__{name}": NUMBER for name in ("messages", "messages_ready", "messages_unacknowledged")}
    rates = {f"queue_totals__{name}_details__rate": NUMBER for name in ("messages", "messages_ready", "messages_unacknowledged")}
    objects = {f"object_totals__{name}": NUMBER for name in ("consumers", "queues", "channels", "connections", "exchanges")}
    stats = {f"message_stats__{name}": NUMBER for name in ("ack", "confirm", "deliver_get", "publish")}
    has(overview, "overview", rabbitmq_version=TEXT, cluster_name=TEXT, **totals, **rates, **objects, **stats)
    # RabbitMQ lists an empty array for a virtual host that goes meanwhile.
    assert host in [one["name"] for one in node.api.read("vhosts") if one]
    for segments in (["queues"], ["queues", host]):
        one = [found for found in node.api.read(*segments) if found["vhost"] == host][0]
        lengths = ["messages", "messages_ready", "messages_unacknowledged"]
        counts = {name: NUMBER for name in (*lengths, "consumers", "consumer_utilisation", "memory", "message_bytes")}
        rates = {f"{name}_details__rate": NUMBER for name in lengths}
        stats = {f"message_stats__{name}": NUMBER for name in ("ack", "deliver", "deliver_get", "publish", "redeliver")}
        details = {f"{name}_details__rate": NUMBER for name in stats}
        has(one, "a queue", name=TEXT, vhost=TEXT, **counts, **rates, **stats, **details)
    [binding] = node.api.request("GET", f"/api/queues/{quote_plus(host)}/busy/bindings").json
    has(binding, "a binding", source=TEXT, destination=TEXT)
    exchange = [one for one in node.api.read("exchanges") if one["vhost"] == host and one["name"] == ""][0]
    has(exchange, "an exchange", name=TEXT, vhost=TEXT, type=TEXT)
    counts = {name: NUMBER for name in "fd_used disk_free disk_free_limit mem_used mem_limit run_queue sockets_used".split()}
    flags = {name: FLAG for name in ("running", "mem_alarm", "disk_free_alarm")}
    [one] = node.api.read("nodes")
    has(one, "a node", name=TEXT, partitions=LIST, **counts, **flags)
    for segments in (["connections"], ["vhosts", host, "connections"]):
        mine = lambda: [found for found in node.api.read(*segments) if found.get("vhost") == host]
        for one in eventually(mine, lambda found: len(found) == 2 and all("state" in one for one in found)):
            has(one, "a connection", vhost=TEXT, state=TEXT, name=TEXT)
    equal(node.api.read("aliveness-test", host), {"status": "ok"})


# The suite of amqp091-go, and the one of the client for .NET: connections by the name that a client gives itself.


@check()
def tools_that_close_connections_by_name(node):
    connection = node.connect(virtual_host="/", client_properties={"connection_name": "tools-named"})
    is_named = lambda one: one.get("client_properties", {}).get("connection_name") == "tools-named"
    list_named = lambda: [one["name"] for one in node.api.request("GET", "/api/connections/").json if is_named(one)]
    [name] = eventually(list_named)
    local, peer = connection._impl._transport._sock.getsockname()[1], node.places.amqp[1]
    equal(name, f"127.0.0.1:{local} -> 127.0.0.1:{peer}")
    equal(node.api.request("DELETE", f"/api/connections/{quote(name)}").status, 204)
    try:
        connection.process_data_events(20)
        raise AssertionError("still open")
    except ConnectionClosedByBroker as closed:
        equal(closed.reply_code, 320)
    eventually(lambda: node.api.get("connections", name).status == 404)


# rabbit-hole, and with it Terraform: GET 404 is what is gone, DELETE 404 is well, and arguments come back as they went.


@check()
def tools_terraform(node):
    host = node.host()
    arguments = {"x-message-ttl": 60000, "x-queue-type": "classic", "x-max-length-bytes": 3_000_000_000}
    node.api.set("queues", host, "q", body={"durable": True, "auto_delete": False, "arguments": arguments})
    equal(node.api.read("queues", host, "q")["arguments"], arguments)
    row = {"vhost": host, "source": "amq.topic", "destination": "q", "destination_type": "queue"}
    row |= {"routing_key": "a.#", "arguments": {}}
    answer = node.api.post("bindings", host, "e", "amq.topic", "q", "q", body=row)
    equal((answer.status, answer.headers["Location"].split("/")[-1]), (201, "a.%2523"), "the key, encoded:")
    equal(node.api.read("bindings", host, "e", "amq.topic", "q", "q"), [row | {"properties_key": "a.%23"}])
    gone = ["queues", host, "q"], ["users", "tools-nobody"], ["vhosts", "tools-nowhere"], ["policies", host, "nothing"]
    for segments in gone:
        node.api.delete(*segments)
        equal(node.api.get(*segments).error[:2], (404, "Object Not Found"), str(segments))
        equal(node.api.delete(*segments).status, 404)


@check()
def tools_rabbit_hole(node):
    """The keys that rabbit-hole reads of a channel, a consumer and an exclusive queue."""
    host = node.host()
    wire = node.wire_to(host)
    queue(wire, "mine")
    wire.call(Basic.Qos(prefetch_count=3))
    consume(wire, "mine")
    # RabbitMQ has an empty array there until it knows more.
    is_known = lambda one: is_mine(one, host) and one.get("consumer_count") and one["connection_details"]
    [channel] = eventually(lambda: [one for one in node.api.read("channels") if is_known(one)])
    counts = "number prefetch_count consumer_count messages_unacknowledged messages_unconfirmed messages_uncommitted acks_uncommitted"
    peer = {"connection_details__name": TEXT, "connection_details__peer_port": NUMBER, "connection_details__peer_host": TEXT}
    numbers = dict.fromkeys(counts.split(), NUMBER)
    has(channel, "a channel", name=TEXT, user=TEXT, vhost=TEXT, node=TEXT, confirm=FLAG, transactional=FLAG, **numbers, **peer)
    [consumer] = eventually(lambda: node.api.read("consumers", host))
    where = {"channel_details__name": TEXT, "channel_details__connection_name": TEXT, "channel_details__number": NUMBER}
    flags = dict.fromkeys(("ack_required", "active", "exclusive"), FLAG)
    has(consumer, "a consumer", consumer_tag=TEXT, prefetch_count=NUMBER, arguments=OBJECT, queue__name=TEXT, **flags, **where)
    is_owned = lambda found: found.get("owner_pid_details") and found.get("consumers")
    owned = eventually(lambda: node.api.read("queues", host, "mine"), is_owned)
    equal(owned["owner_pid_details"]["name"], channel["connection_details"]["name"])
    equal([found["consumer_tag"] for found in owned["consumer_details"]], [consumer["consumer_tag"]])


def is_mine(one, host):
    return one.get("vhost") == host


@check()
def tools_ask_for_samples(node):
    """The pages of RabbitMQ and rabbit-hole ask for rates over a time."""
    host = busy_host(node)
    query = "".join(f"{kind}_age=60&{kind}_incr=5&" for kind in ("lengths", "msg_rates", "data_rates"))
    of_host = lambda *segments: [one for one in node.api.read(*segments, query=f"?{query}") if one.get("vhost") == host]
    one = lambda *segments: node.api.read(*segments, query=f"?{query}")
    connections = lambda: sorted(one["name"] for one in of_host("connections"))
    publisher, _ = eventually(connections, lambda names: len(names) == 2)
    for look, name, is_right in (
        (lambda: one("queues", host, "busy"), "messages", has_reached(3)),
        (lambda: one("queues", host, "busy")["message_stats"], "publish", has_reached(5)),
        (lambda: of_host("queues", host)[0]["message_stats"], "deliver_get", has_reached(5)),
        (lambda: one("exchanges", host, "amq.default")["message_stats"], "publish_in", has_reached(5)),
        (lambda: one("vhosts", host), "messages_ready", has_reached(1)),
        (lambda: one("vhosts", host)["message_stats"], "ack", has_reached(1)),
        (lambda: of_host("channels")[0]["message_stats"], "deliver_get", lambda latest: latest > 0),
        (lambda: one("connections", publisher), "recv_oct", lambda latest: latest > 100),
    ):
        details = lambda: look()[f"{name}_details"]
        found = eventually(details, lambda found: is_right(found["samples"][0]["sample"]))
        are_samples(found, name, is_counter=not name.startswith("messages"))


def has_reached(count):
    return lambda latest: latest == count


def are_samples(details, name, is_counter):
    """Thirteen samples, five seconds apart, that begin before the object was there."""
    has(details, name, rate=NUMBER, avg=NUMBER, avg_rate=NUMBER, samples=LIST)
    values, times = ([one[key] for one in details["samples"]] for key in ("sample", "timestamp"))
    equal(times, [times[0] - 5000 * index for index in range(13)], name)
    equal(times[0] % 5000, 0, name)
    assert not is_counter or values == sorted(values, reverse=True), f"{name}: {values}"
    equal(values[-1], 0, name)
    equal(round(details["avg"], 6), round(sum(values) / 13, 6), name)
    equal(round(details["avg_rate"], 6), round(values[0] / 60, 6), name)


@check()
def tools_take_the_fast_list(node):
    """The fast list, for the monitoring of many queues."""
    host = busy_host(node)
    for query in ("?disable_stats=true&enable_queue_totals=true", "?columns=name,messages&sort=name&page=1&page_size=500"):
        answer = node.api.read("queues", host, query=query)
        [one] = answer if isinstance(answer, list) else answer["items"]
        equal((one["name"], one["messages"]), ("busy", 3), query)


@check()
def tools_know_a_new_connection_soon(node):
    """The suite of bunny expects a new connection in the list within a second and a bit."""
    host = node.host()
    wire = node.wire_to(host)
    eventually(lambda: [one for one in node.api.read("connections") if is_mine(one, host)])
    wire.close()
    eventually(lambda: not [one for one in node.api.read("connections") if is_mine(one, host)])


@check()
def tools_know_how_able_consumers_are(node):
    """The share of the last second or so in which the queue could deliver at once."""
    host = node.host()
    wire = confirm(node.wire_to(host))
    queue(wire, "q", exclusive=False)
    capacities = lambda: {node.api.read("queues", host, "q").get(f"consumer_{name}") for name in ("capacity", "utilisation")}
    eventually(capacities, lambda found: found == {0})
    slow = node.wire_to(host)
    slow.call(Basic.Qos(prefetch_count=1))
    consume(slow, "q")
    eventually(capacities, lambda found: found == {1})
    fill(wire, "q", b"first", b"second")
    # RabbitMQ takes no statistics of a queue at which nothing happens.
    eventually(capacities, lambda found: max(found) < 0.9)
    consume(node.wire_to(host), "q", no_ack=True)
    more = lambda: fill(wire, "q", b"more")
    eventually(lambda: more() or capacities(), lambda found: min(found) > 0.9)


@check()
def tools_see_the_same_limits_everywhere(node):
    [found] = node.api.read("nodes")
    metrics = Scrape(node.places.metrics)
    for key, name in (("disk_free_limit", "disk_space_available_limit"), ("mem_limit", "resident_memory_limit")):
        equal(metrics.sum(f"rabbitmq_{name}_bytes"), found[key], key)
        assert found[key] > 0, key
