"""Which queues get a message: each type of exchange, alternates, CC and BCC."""

from decimal import Decimal

from pika import spec
from pika.spec import Basic, Exchange, Queue

from check import bind, bodies_of, channel_error, check, confirm, equal, exchange, get, given, publish_confirmed, queue, refused_channel


def received(b, kind, keys_bound, keys_published):
    """For each binding key, the routing keys that reach a queue bound with it."""
    wire = confirm(b.wire())
    name = exchange(wire, b.name("x"), kind)
    queues = {key: queue(wire) for key in keys_bound}
    for key, queue_name in queues.items():
        bind(wire, queue_name, name, key)
    for key in keys_published:
        publish_confirmed(wire, name, key, key.encode())
    return {key: [body.decode() for body in bodies_of(wire, queue_name)] for key, queue_name in queues.items()}


@check()
def routing_direct(b):
    equal(received(b, "direct", ["a", "b", ""], ["a", "b", "", "a", "A", "c"]), {"a": ["a", "a"], "b": ["b"], "": [""]})


@check()
def routing_fanout(b):
    equal(received(b, "fanout", ["a", "b"], ["x", "a"]), {"a": ["x", "a"], "b": ["x", "a"]})


@check()
def routing_topic(b):
    keys = ["", "a", "a.b", "a.b.c", "b", ".", "a.", ".a", "a..b", "x.a.b.y"]
    bound = ["#", "*", "*.*", "a.#", "#.b", "a.*", "*.b.*", "a", "#.b.#", "*.#", "#.#", "a.*.#", "", "a.#.b", "#.*.b"]
    expected = {
        "#": keys,
        "*": ["a", "b"],
        "*.*": ["a.b", ".", "a.", ".a"],
        "a.#": ["a", "a.b", "a.b.c", "a.", "a..b"],
        "#.b": ["a.b", "b", "a..b"],
        "a.*": ["a.b", "a."],
        "*.b.*": ["a.b.c"],
        "a": ["a"],
        "#.b.#": ["a.b", "a.b.c", "b", "a..b", "x.a.b.y"],
        "*.#": [key for key in keys if key],
        "#.#": keys,
        "a.*.#": ["a.b", "a.b.c", "a.", "a..b"],
        "": [""],
        "a.#.b": ["a.b", "a..b"],
        "#.*.b": ["a.b", "a..b"],
    }
    equal(received(b, "topic", bound, keys), expected)


@check()
def routing_topic_reaches_a_queue_once(b):
    wire = confirm(b.wire())
    name, queue_name = exchange(wire, b.name("x"), "topic"), queue(wire)
    for key in ("#", "a.*", "*.b", "a.b"):
        bind(wire, queue_name, name, key)
    publish_confirmed(wire, name, "a.b", b"1")
    equal(bodies_of(wire, queue_name), [b"1"])


@check()
def routing_topic_unbinds_what_is_named(b):
    wire = confirm(b.wire())
    name, queue_name = exchange(wire, b.name("x"), "topic"), queue(wire)
    bind(wire, queue_name, name, "a.#")
    bind(wire, queue_name, name, "a.*")
    wire.call(Queue.Unbind(queue=queue_name, exchange=name, routing_key="a.#"))
    publish_confirmed(wire, name, "a.b.c", b"1")
    publish_confirmed(wire, name, "a.b", b"2")
    equal(bodies_of(wire, queue_name), [b"2"])


def headers_received(b, bindings, messages):
    """For each binding (a name and arguments), the numbers of the messages that reach a queue bound with it."""
    wire = confirm(b.wire())
    name = exchange(wire, b.name("x"), "headers")
    queues = {}
    for word, arguments in bindings.items():
        queues[word] = queue(wire)
        bind(wire, queues[word], name, arguments=arguments)
    for number, headers in enumerate(messages):
        publish_confirmed(wire, name, "", b"%d" % number, properties=spec.BasicProperties(headers=headers))
    return {word: [int(body) for body in bodies_of(wire, queue_name)] for word, queue_name in queues.items()}


@check()
def routing_headers(b):
    bindings = {
        "all": {"x-match": "all", "a": 1, "b": "two"},
        "any": {"x-match": "any", "a": 1, "b": "two"},
        "default": {"a": 1, "b": "two"},
        "nothing asked": {},
        "any of nothing": {"x-match": "any"},
        "present": {"a": None},
        "x- is left out": {"x-match": "all", "x-c": 9, "a": 1},
    }
    messages = [{"a": 1, "b": "two"}, {"a": 1}, {"b": "two", "c": 1}, {"a": "1"}, {}, None, {"a": 1, "b": "two", "c": 3}, {"a": True}, {"x-c": 9}]
    expected = {
        "all": [0, 6],
        "any": [0, 1, 2, 6],
        "default": [0, 6],
        "nothing asked": [0, 1, 2, 3, 4, 5, 6, 7, 8],
        "any of nothing": [],
        "present": [0, 1, 3, 6, 7],
        "x- is left out": [0, 1, 6],
    }
    equal(headers_received(b, bindings, messages), expected)


@check()
def routing_headers_with_x(b):
    bindings = {"all-with-x": {"x-match": "all-with-x", "x-c": 9, "a": 1}, "any-with-x": {"x-match": "any-with-x", "x-c": 9, "a": 1}}
    messages = [{"a": 1}, {"a": 1, "x-c": 9}, {"x-c": 9}, {"x-c": 8}]
    equal(headers_received(b, bindings, messages), {"all-with-x": [1], "any-with-x": [0, 1, 2]})


@check()
def routing_headers_compare_values_and_not_their_types(b):
    bindings = {"number": {"a": 1}, "string": {"a": "1"}, "table": {"a": {"k": 1}}, "list": {"a": [1]}, "true": {"a": True}}
    messages = [{"a": 1}, {"a": 2**40}, {"a": "1"}, {"a": Decimal(1)}, {"a": {"k": 1}}, {"a": [1]}, {"a": True}, {"a": {"k": 2}}, {"a": b"1"}]
    expected = {"number": [0], "string": [2, 8], "table": [4], "list": [5], "true": [6]}
    equal(headers_received(b, bindings, messages), expected)


@check()
def routing_headers_with_a_wrong_match(b):
    wire = b.wire()
    name, queue_name = exchange(wire, b.name("x"), "headers"), queue(wire)
    text = "PRECONDITION_FAILED - Invalid x-match field value <<\"some\">>; expected all, any, all-with-x, or any-with-x"
    channel_error(wire, Queue.Bind(queue=queue_name, exchange=name, arguments={"x-match": "some"}), 406, text)


@check()
def routing_headers_with_a_match_of_a_wrong_type(b):
    wire = b.wire()
    name, queue_name = exchange(wire, b.name("x"), "headers"), queue(wire)
    text = "PRECONDITION_FAILED - Invalid x-match field type signedint (value 5); expected longstr"
    channel_error(wire, Queue.Bind(queue=queue_name, exchange=name, arguments={"x-match": 5}), 406, text)


@check()
def routing_consistent_hash_keeps_a_key_on_its_queue(b):
    wire = confirm(b.wire())
    name, queues = exchange(wire, b.name("x"), "x-consistent-hash"), [queue(wire) for _ in range(3)]
    for queue_name in queues:
        bind(wire, queue_name, name, "10")
    for number in range(300):
        publish_confirmed(wire, name, f"key {number % 100}", b"%d" % (number % 100))
    places = {}
    for queue_name in queues:
        bodies = bodies_of(wire, queue_name)
        assert len(bodies) > 30, f"a queue of three got {len(bodies)} of 300 messages"
        for body in bodies:
            equal(places.setdefault(body, queue_name), queue_name)
    equal(len(places), 100, "keys")


@check()
def routing_consistent_hash_by_header_and_property(b):
    wire = confirm(b.wire())
    for arguments in ({"hash-header": "h"}, {"hash-property": "message_id"}, {"hash-property": "correlation_id"}):
        name, queues = exchange(wire, b.name("x"), "x-consistent-hash", arguments=arguments), [queue(wire) for _ in range(2)]
        for queue_name in queues:
            bind(wire, queue_name, name, "5")
        for number in range(40):
            key = str(number % 20)
            properties = spec.BasicProperties(headers={"h": key}, message_id=key, correlation_id=key)
            publish_confirmed(wire, name, f"ignored {number}", key.encode(), properties=properties)
        found = [bodies_of(wire, queue_name) for queue_name in queues]
        equal(len(found[0]) + len(found[1]), 40)
        equal(set(found[0]) & set(found[1]), set(), "keys on both")


@check()
def routing_consistent_hash_with_both_ways(b):
    wire = b.wire()
    declare = Exchange.Declare(exchange=b.name("x"), type="x-consistent-hash", arguments={"hash-header": "h", "hash-property": "message_id"})
    channel_error(wire, declare, 406, "PRECONDITION_FAILED - hash-header and hash-property are mutually exclusive")


@check()
def routing_consistent_hash_with_an_unknown_property(b):
    wire = b.wire()
    declare = Exchange.Declare(exchange=b.name("x"), type="x-consistent-hash", arguments={"hash-property": "colour"})
    channel_error(wire, declare, 406, "PRECONDITION_FAILED - Unsupported property: colour")


@check()
def routing_consistent_hash_with_a_weight_that_is_no_number(b):
    wire = b.wire()
    name, queue_name = exchange(wire, b.name("x"), "x-consistent-hash"), queue(wire)
    text = "PRECONDITION_FAILED - The binding key must be an integer: <<\"heavy\">>"
    channel_error(wire, Queue.Bind(queue=queue_name, exchange=name, routing_key="heavy"), 406, text)
    channel_error(wire, Queue.Bind(queue=queue_name, exchange=name, routing_key="0"), 406, "PRECONDITION_FAILED - The binding key must be greater than 0")


@check()
def routing_default_exchange_is_every_queues(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name())
    publish_confirmed(wire, "", name, b"1")
    item = get(wire, name)
    equal((item.method.exchange, item.method.routing_key, item.body), ("", name, b"1"))


@check()
def routing_default_exchange_cannot_be_bound(b):
    wire = b.wire()
    name = queue(wire)
    text = "ACCESS_REFUSED - operation not permitted on the default exchange"
    channel_error(wire, Queue.Bind(queue=name, exchange="", routing_key="x"), 403, text)
    channel_error(wire, Queue.Unbind(queue=name, exchange="", routing_key=name), 403, text)


@check()
def routing_alternate_exchange_gets_what_has_no_route(b):
    wire = confirm(b.wire())
    other, rest = exchange(wire, b.name("x"), "fanout"), queue(wire)
    name = exchange(wire, b.name("x"), "direct", arguments={"alternate-exchange": other})
    routed = queue(wire)
    bind(wire, rest, other)
    bind(wire, routed, name, "a")
    publish_confirmed(wire, name, "a", b"1")
    publish_confirmed(wire, name, "b", b"2", mandatory=True)
    equal((bodies_of(wire, routed), bodies_of(wire, rest)), ([b"1"], [b"2"]))


@check()
def routing_alternate_that_does_not_exist(b):
    wire = confirm(b.wire())
    name = exchange(wire, b.name("x"), "direct", arguments={"alternate-exchange": b.name("none")})
    wire.publish(name, "b", b"1", mandatory=True)
    equal(wire.expect(Basic.Return).method.reply_code, 312)
    wire.expect(Basic.Ack)


@check()
def routing_alternates_in_a_circle(b):
    wire = confirm(b.wire())
    first, second = b.name("x"), b.name("x")
    exchange(wire, first, arguments={"alternate-exchange": second})
    exchange(wire, second, arguments={"alternate-exchange": first})
    wire.publish(first, "b", b"1", mandatory=True)
    wire.expect(Basic.Return)
    wire.expect(Basic.Ack)


@check()
def routing_cc_and_bcc(b):
    wire = confirm(b.wire())
    names = [queue(wire) for _ in range(4)]
    headers = {"CC": [names[1], names[2], names[1]], "BCC": [names[3]], "other": 1}
    publish_confirmed(wire, "", names[0], b"1", properties=spec.BasicProperties(headers=headers))
    for name in names:
        item = get(wire, name)
        equal(given(item.properties), {"headers": {"CC": [names[1], names[2], names[1]], "other": 1}})
        equal(item.method.routing_key, names[0])
        equal(get(wire, name), None)


@check()
def routing_cc_that_is_no_list(b):
    wire = b.wire()
    name = queue(wire)
    wire.publish("", name, b"1", spec.BasicProperties(headers={"CC": "x"}))
    text = 'PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,"CC",longstr}'
    refused_channel(wire, 406, text, Basic.Publish())


@check()
def routing_cc_with_what_is_no_string(b):
    wire = confirm(b.wire())
    name, copied = queue(wire), queue(wire)
    publish_confirmed(wire, "", name, b"1", properties=spec.BasicProperties(headers={"BCC": [5, copied]}))
    equal((bodies_of(wire, name), bodies_of(wire, copied)), ([b"1"], [b"1"]))


@check()
def routing_cc_by_topic_reaches_a_queue_once(b):
    wire = confirm(b.wire())
    name, queue_name = exchange(wire, b.name("x"), "topic"), queue(wire)
    bind(wire, queue_name, name, "a.*")
    properties = spec.BasicProperties(headers={"CC": ["a.c", "a.d"]})
    publish_confirmed(wire, name, "a.b", b"1", properties=properties)
    publish_confirmed(wire, name, "x", b"2", properties=properties)
    equal(bodies_of(wire, queue_name), [b"1", b"2"])


@check()
def routing_bindings_with_the_same_key_and_other_arguments(b):
    wire = confirm(b.wire())
    name, queue_name = exchange(wire, b.name("x"), "direct"), queue(wire)
    bind(wire, queue_name, name, "a", arguments={"n": 1})
    bind(wire, queue_name, name, "a", arguments={"n": 2})
    wire.call(Queue.Unbind(queue=queue_name, exchange=name, routing_key="a", arguments={"n": 1}))
    publish_confirmed(wire, name, "a", b"1")
    wire.call(Queue.Unbind(queue=queue_name, exchange=name, routing_key="a", arguments={"n": 2}))
    publish_confirmed(wire, name, "a", b"2")
    equal(bodies_of(wire, queue_name), [b"1"])
