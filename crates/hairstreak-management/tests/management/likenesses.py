"""Names and figures that tools keep or compute, which have to be RabbitMQ's to the letter: names of bindings, parameters, members of queues,
and messages that are published over HTTP."""

import datetime
import decimal
from urllib.parse import quote

from pika.spec import Queue

from api import path
from check import check, equal
from node import eventually


@check()
def names_of_bindings_with_arguments(node):
    """The hash in a name is Erlang's of the arguments. Terraform keeps it, and knows a binding by it after a move to another node."""
    host = node.host()
    wire = node.wire_to(host)
    node.api.set("queues", host, "q")
    node.api.set("exchanges", host, "x", body={"type": "headers"})
    since = datetime.datetime(2023, 11, 14, 22, 13, 20)
    rows = [
        ({"x-match": "all"}, "3ujGfg"),
        ({"b": "x", "a": "y", "x-match": "all"}, "J97paA"),
        ({"b": True}, "_sQtSA"),
        ({"b": False}, "QvGL9Q"),
        ({"v": None}, "wLtq5A"),
        ({"s": "123456789012"}, "ghDDrA"),
        ({"s": "1234567890123"}, "TCutzg"),
        ({"s": ""}, "-HWwFg"),
        ({"n": 2**59 - 1}, "3ZUGXA"),
        ({"n": 2**59}, "wPryBQ"),
        ({"n": -(2**59)}, "2BBEmg"),
        ({"n": -(2**59) - 1}, "pbhSoQ"),
        ({"n": 2**63 - 1}, "mPW0AA"),
        ({"n": -(2**63)}, "E7TSWA"),
        ({"d": decimal.Decimal("123.45")}, "cYcflg"),
        ({"t": since}, "xStV5w"),
        ({"t": {}}, "nUcNOQ"),
        ({"a": []}, "jkxtaQ"),
    ]
    for arguments, wanted in rows:
        wire.call(Queue.Bind(queue="q", exchange="x", routing_key="k", arguments=arguments))
        names = [one["properties_key"] for one in node.api.read("bindings", host, "e", "x", "q", "q")]
        equal(names, [f"k~{wanted}"], str(arguments))
        equal(node.api.delete("bindings", host, "e", "x", "q", "q", names[0]).status, 204, str(arguments))
    over_http = [
        ({"n": 1}, "hadFaw"),
        ({"n": -1}, "M1Hvuw"),
        ({"n": 2**27}, "5hvMAw"),
        ({"n": -(2**27) - 1}, "RNC_3Q"),
        ({"d": 1.5}, "TEY3sA"),
        ({"d": -2.25e300}, "9iCBDg"),
    ]
    for arguments, wanted in over_http:
        answer = node.api.post("bindings", host, "e", "x", "q", "q", body={"routing_key": "k", "arguments": arguments})
        equal(answer.headers["Location"], f"q/k~{wanted}", str(arguments))
    kept = {one["properties_key"] for one in node.api.read("bindings", host, "e", "x", "q", "q")}
    equal(kept, {f"k~{wanted}" for _, wanted in over_http})


@check()
def bindings_by_keys_that_are_encoded_once_or_twice(node):
    """Ansible and people with curl encode the key once, and clients that take the name from a list encode that name."""
    host = node.host()
    node.api.set("queues", host, "q")
    node.api.set("exchanges", host, "x", body={"type": "topic"})
    base = path("bindings", host, "e", "x", "q", "q")
    for key in ("a.#", "#", "a b", "a/b", "100%", "a%2", "%zz", "ü", "plain", "a+b", "a%23", "~", "a~"):
        for arguments in ({}, {"n": 1}):
            post = lambda: equal(node.api.request("POST", base, {"routing_key": key, "arguments": arguments}).status, 201, key)
            post()
            (name,) = [one["properties_key"] for one in node.api.request("GET", base).json]
            once = quote(key, safe="") + ("~hadFaw" if arguments else "")
            # A plus is a space, a tilde comes before the hash, and an escape is an escape: such keys have to be encoded twice.
            wanted = 404 if set("+~") & set(key) or key == "a%23" else 200
            equal(node.api.request("GET", f"{base}/{once}").status, wanted, once)
            equal(node.api.request("DELETE", f"{base}/{once}").status, 204 if wanted == 200 else 404, once)
            post()
            equal(node.api.request("GET", f"{base}/{quote(name, safe='')}").status, 200, name)
            equal(node.api.request("DELETE", f"{base}/{quote(name, safe='')}").status, 204, name)
            equal(node.api.request("GET", base).json, [], name)


@check()
def operator_policies_among_the_parameters(node):
    host = node.host()
    value = {"pattern": "^a", "definition": {"max-length": 4}, "priority": 3, "apply-to": "queues"}
    node.api.set("operator-policies", host, "o", body=value)
    node.api.set("policies", host, "p", body=value)
    row = lambda component, name: {"vhost": host, "component": component, "name": name, "value": value}
    mine = lambda *of: [one for one in node.api.read("parameters", *of) if one["vhost"] == host]
    equal(mine(), [row("operator_policy", "o")])
    equal(mine("operator_policy"), [row("operator_policy", "o")])
    equal(mine("operator_policy", host), [row("operator_policy", "o")])
    equal(mine("policy"), [row("policy", "p")])
    equal(node.api.read("parameters", "operator_policy", host, "o"), row("operator_policy", "o"))
    equal(node.api.put("parameters", "operator_policy", host, "o2", body={"value": value}).status, 201)
    equal(node.api.read("operator-policies", host, "o2")["pattern"], "^a")
    refused = node.api.put("parameters", "policy", host, "p2", body={"value": value})
    equal(refused.error, (400, "bad_request", "policies may not be set using this method"))
    equal(node.api.delete("parameters", "operator_policy", host, "o").status, 204)
    equal(mine(), [row("operator_policy", "o2")])


@check()
def members_of_quorum_queues(node):
    host = node.host()
    node.api.set("queues", host, "classic")
    node.api.set("queues", host, "quorum", body={"durable": True, "arguments": {"x-queue-type": "quorum"}})
    name = node.api.read("overview")["node"]
    shown = lambda: {one["name"]: [one.get(key) for key in ("leader", "members", "online")] for one in node.api.read("queues", host)}
    eventually(shown, lambda shown: shown == {"classic": [None] * 3, "quorum": [name, [name], [name]]})


@check()
def messages_over_http_to_the_keys_of_cc_and_bcc(node):
    host = node.host()
    for name in ("to", "cc", "bcc"):
        node.api.set("queues", host, name)
    node.api.set("queues", host, "full", body={"arguments": {"x-max-length": 1, "x-overflow": "reject-publish"}})

    def publish(key, properties):
        body = {"routing_key": key, "payload": "m", "payload_encoding": "string", "properties": properties}
        return node.api.post("exchanges", host, "amq.default", "publish", body=body)

    equal(publish("to", {"headers": {"CC": ["cc", 5], "BCC": ["bcc"], "a": 1}}).json, {"routed": True})
    get = {"count": 5, "ackmode": "ack_requeue_false", "encoding": "auto"}
    for name in ("to", "cc", "bcc"):
        rows = eventually(lambda: node.api.post("queues", host, name, "get", body=get).json, lambda rows: rows)
        equal([one["properties"] for one in rows], [{"headers": {"CC": ["cc", 5], "a": 1}}], name)
    equal(publish("nowhere", {"headers": {"CC": ["cc"]}}).json, {"routed": True})
    refused = [
        ({"headers": {"CC": "cc"}}, '406 PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,"CC",longstr}'),
        ({"headers": {"CC": None}}, "null_not_allowed"),
        ({"reply_to": "amq.rabbitmq.reply-to"}, "406 PRECONDITION_FAILED - fast reply consumer does not exist"),
        ({"expiration": "abc"}, "406 PRECONDITION_FAILED - invalid expiration 'abc': no_integer"),
    ]
    for properties, reason in refused:
        equal(publish("to", properties).error, (400, "bad_request", reason))
    equal(publish("full", {}).json, {"routed": True})
    equal(publish("full", {}).error, (400, "bad_request", "rejected Unable to publish message. Check queue limits."))
