"""Limits of virtual hosts and of users: what they refuse, what they let be, and what is said of them."""

from pika.spec import Channel, Connection, Queue

from check import check, channel_error, connection_error, equal, queue
from node import eventually


def limit(node, kind, name, **values):
    for key, value in values.items():
        answer = node.api.put(f"{kind}-limits", name, key.replace("_", "-"), body={"value": value})
        assert answer.status in (201, 204), answer


def refuse_connection(node, host, text, user="guest", password="guest"):
    wire = node.tcp()
    wire.start()
    wire.start_ok(user, password)
    wire.expect(Connection.Tune)
    wire.send(Connection.TuneOk(2047, 131072, 0), 0)
    connection_error(wire, Connection.Open(host), 530, f"NOT_ALLOWED - {text}", channel=0)


def connection_count(node, host):
    return len([one for one in node.api.read("connections") if one.get("vhost") == host])


@check()
def limits_of_connections_to_a_virtual_host(node):
    host = node.host()
    text = f"access to vhost '{host}' refused for user 'guest': connection limit ({{}}) is reached"
    first = node.wire_to(host)
    eventually(lambda: connection_count(node, host) == 1)
    limit(node, "vhost", host, max_connections=1)
    refuse_connection(node, host, text.format(1))
    limit(node, "vhost", host, max_connections=2)
    node.wire_to(host)
    eventually(lambda: connection_count(node, host) == 2)
    refuse_connection(node, host, text.format(2))
    # Open connections stay. Closed ones make room.
    limit(node, "vhost", host, max_connections=1)
    queue(first)
    limit(node, "vhost", host, max_connections=0)
    refuse_connection(node, host, text.format(0))
    limit(node, "vhost", host, max_connections=-1)
    node.wire_to(host)
    equal(node.api.delete("vhost-limits", host, "max-connections").status, 204)
    node.wire_to(host)


@check()
def limits_of_queues_in_a_virtual_host(node):
    host = node.host()
    wire = node.wire_to(host)
    queue(wire, "one")
    limit(node, "vhost", host, max_queues=2)
    queue(wire, "two")
    text = "PRECONDITION_FAILED - cannot declare queue '{}': queue limit in vhost '{}' ({}) is reached"
    channel_error(wire, Queue.Declare(queue="three", exclusive=True), 406, text.format("three", host, 2))
    queue(wire, "two")
    reason = f"cannot declare queue 'three': queue limit in vhost '{host}' (2) is reached"
    equal(node.api.put("queues", host, "three").error, (400, "bad_request", reason))
    wire.call(Queue.Delete(queue="two"))
    queue(wire, "three")
    limit(node, "vhost", host, max_queues=0)
    channel_error(wire, Queue.Declare(queue="four"), 406, text.format("four", host, 0))
    limit(node, "vhost", host, max_queues=-1)
    queue(wire, "four")


@check()
def limits_of_connections_of_a_user(node):
    host = node.host()
    user = node.user(host=host)
    node.wire_to(host, user, "secret")
    eventually(lambda: connection_count(node, host) == 1)
    limit(node, "user", user, max_connections=1)
    text = f"connection refused for user '{user}': user connection limit (1) is reached"
    refuse_connection(node, host, text, user, "secret")
    node.wire_to(host)
    limit(node, "user", user, max_connections=-1)
    node.wire_to(host, user, "secret")


@check()
def limits_of_channels_of_a_user(node):
    host = node.host()
    user = node.user(host=host)
    limit(node, "user", user, max_channels=2)
    wire = node.wire_to(host, user, "secret").open(2)
    eventually(lambda: len([one for one in node.api.read("channels") if one.get("user") == user]) == 2)
    text = f"NOT_ALLOWED - number of channels opened for user '{user}' has reached the maximum allowed user limit of (2)"
    connection_error(wire, Channel.Open(), 530, text, channel=3, blamed=False)
    limit(node, "user", user, max_channels=-1)
    node.wire_to(host, user, "secret").open(2).open(3)


@check()
def limits_listed(node):
    host, user = node.host(), node.user()
    equal(node.api.read("vhost-limits", host), [])
    equal(node.api.read("user-limits", user), [])
    limit(node, "vhost", host, max_connections=3, max_queues=4)
    limit(node, "user", user, max_connections=5, max_channels=-1)
    of_host = {"vhost": host, "value": {"max-connections": 3, "max-queues": 4}}
    of_user = {"user": user, "value": {"max-connections": 5, "max-channels": -1}}
    equal(node.api.read("vhost-limits", host), [of_host])
    equal([one for one in node.api.read("vhost-limits") if one["vhost"] == host], [of_host])
    equal(node.api.read("user-limits", user), [of_user])
    equal([one for one in node.api.read("user-limits") if one["user"] == user], [of_user])
    equal(node.api.read("users", user)["limits"], of_user["value"])
    for kind, name, key in (("vhost", host, "max-queues"), ("user", user, "max-channels")):
        equal(node.api.delete(f"{kind}-limits", name, key).status, 204)
    equal(node.api.read("vhost-limits", host), [of_host | {"value": {"max-connections": 3}}])
    equal(node.api.read("user-limits", user), [of_user | {"value": {"max-connections": 5}}])


@check()
def limits_of_a_virtual_host_are_a_parameter(node):
    host = node.host()
    place = "parameters", "vhost-limits", host, "limits"
    row = lambda value: {"component": "vhost-limits", "vhost": host, "name": "limits", "value": value}
    equal((node.api.get(*place).status, node.api.read(*place[:3])), (404, []))
    for status, value in ((201, {"max-queues": 3}), (204, {"max-queues": 3}), (204, {"max-queues": -1}), (204, {"max-connections": 4})):
        equal(node.api.put(*place, body=row(value)).status, status, str(value))
        equal(node.api.read(*place), row(value))
        equal(node.api.read(*place[:3]), [row(value)])
        equal(node.api.read("vhost-limits", host), [{"vhost": host, "value": value}])
    limit(node, "vhost", host, max_queues=0)
    equal(node.api.read(*place)["value"], {"max-connections": 4, "max-queues": 0})
    equal(node.api.put("queues", host, "q").status, 400)
    wrong = {
        "max-nothing": "Unrecognised terms [{&lt;&lt;\"max-nothing\"&gt;&gt;,1}] in limits",
        "max-queues": "max-queues should be a number, actually was &lt;&lt;\"many\"&gt;&gt;",
    }
    for values, text in (
        ({"max-nothing": 1}, wrong["max-nothing"]),
        ({"max-connections": 1, "max-queues": "many"}, wrong["max-queues"]),
        ({"max-nothing": 1, "max-queues": "many"}, "\n".join(wrong.values())),
        ({"max-queues": 1.5}, "max-queues should be a number, actually was 1.5"),
        (5, "limits not a list 5"),
        ("x", "limits not a list &lt;&lt;\"x\"&gt;&gt;"),
    ):
        equal(node.api.put(*place, body=row(values)).error, (400, "bad_request", f"Validation failed\n\n{text}\n"), str(values))
    equal(node.api.read(*place)["value"], {"max-connections": 4, "max-queues": 0}, "after what was refused")
    equal(node.api.put(*place, body={}).error, (400, "bad_request", "[{key_missing,value}]"))
    nowhere = "parameters", "vhost-limits", "nowhere", "limits"
    equal(node.api.put(*nowhere, body={"value": {}}).error, (404, "not_found", "vhost_not_found"))
    for status in (204, 404):
        equal(node.api.delete(*place).status, status)
    equal((node.api.read("vhost-limits", host), node.api.put("queues", host, "q").status), ([], 201))


@check()
def limits_refused(node):
    host, user = node.host(), node.user()
    for kind, name, key in (("vhost", host, "max-queues"), ("user", user, "max-channels")):
        equal(node.api.put(f"{kind}-limits", name, key, body={"value": "many"}).error[:2], (400, "bad_request"), kind)
        equal(node.api.put(f"{kind}-limits", name, key, body={}).error[:2], (400, "bad_request"), kind)
        equal(node.api.put(f"{kind}-limits", name, "max-nothing", body={"value": 1}).error[:2], (400, "bad_request"), kind)
        assert node.api.put(f"{kind}-limits", "nowhere", key, body={"value": 1}).status in (400, 404), kind
        equal(node.api.get(f"{kind}-limits", "nowhere").status, 404, kind)


@check()
def limits_in_files_of_definitions(node):
    host, other = node.host(), node.host()
    limit(node, "vhost", host, max_queues=3)
    exported = node.api.read("definitions", host)
    equal(node.api.post("definitions", other, body=exported).status, 204)
    equal(node.api.read("vhost-limits", other), [{"vhost": other, "value": {"max-queues": 3}}])
    # An object without fields is a list in RabbitMQ's files.
    row = {"component": "vhost-limits", "vhost": host, "name": "limits", "value": []}
    for place, file in ((("definitions",), {"parameters": [row]}), (("definitions", other), {"parameters": [row]})):
        equal(node.api.post(*place, body=file).status, 204)
    for name in host, other:
        equal(node.api.put("queues", name, "q").status, 201)
    equal(node.api.put("parameters", "vhost-limits", host, "x", body={"value": {"a": 1}}).status, 400)
