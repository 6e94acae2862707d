"""basic.publish: what arrives, what is returned, and what is refused."""

import datetime

from pika import spec
from pika.spec import Basic, Queue

from check import bodies_of, check, confirm, consume, equal, exchange, get, given, publish_confirmed, queue, refused_channel, refused_connection

# The broker under test is configured so.
MESSAGE_SIZE_MAX = 16 << 20

EVERYTHING = dict(
    content_type="text/plain",
    content_encoding="utf-8",
    headers={"a": 1, "b": "two", "c": [1, "x"], "d": {"e": True, "f": None}},
    delivery_mode=2,
    priority=7,
    correlation_id="correlation",
    reply_to="reply",
    expiration="60000",
    message_id="message",
    timestamp=1_700_000_000,
    type="type",
    user_id="guest",
    app_id="app",
    cluster_id="cluster",
)


@check()
def publish_every_property_arrives(b):
    wire = confirm(b.wire())
    name = queue(wire)
    publish_confirmed(wire, "", name, b"1", properties=spec.BasicProperties(**EVERYTHING))
    equal(given(get(wire, name).properties), EVERYTHING)


@check()
def publish_each_property_alone_arrives(b):
    wire = confirm(b.wire())
    name = queue(wire)
    for key, value in EVERYTHING.items():
        publish_confirmed(wire, "", name, b"", properties=spec.BasicProperties(**{key: value}))
        equal(given(get(wire, name).properties), {key: value})


@check()
def publish_no_property_and_no_body(b):
    wire = confirm(b.wire())
    name = queue(wire)
    publish_confirmed(wire, "", name)
    item = get(wire, name)
    equal((given(item.properties), item.body), ({}, b""))


@check()
def publish_header_values_of_every_type(b):
    wire = confirm(b.wire())
    name = queue(wire)
    headers = {
        "bool": True,
        "int": -5,
        "long": 2**40,
        "string": "Straße",
        "bytes": b"\x00\xff",
        "none": None,
        "table": {"a": {"b": {}}},
        "list": [1, "two", [None], {"k": False}],
        "time": datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
        "empty": "",
    }
    publish_confirmed(wire, "", name, properties=spec.BasicProperties(headers=headers))
    equal(get(wire, name).properties.headers, headers)


@check()
def publish_empty_headers_arrive(b):
    wire = confirm(b.wire())
    name = queue(wire)
    wire.send(Basic.Publish(routing_key=name))
    wire.send_header(0, 0x2000, b"\0\0\0\0")
    wire.expect(Basic.Ack)
    equal(get(wire, name).properties.headers, {})


@check()
def publish_bodies_of_every_size(b):
    wire = confirm(b.tcp().login(frame_max=4096).open())
    name = queue(wire)
    for size in (1, 4087, 4088, 4089, 8176, 8177, 131072, 1 << 20):
        body = bytes(index % 251 for index in range(min(size, 4096))) * (size // 4096 + 1)
        publish_confirmed(wire, "", name, body[:size])
        found = get(wire, name).body
        assert found == body[:size], f"a body of {size} bytes came as {len(found)} others"


@check()
def publish_body_in_small_frames(b):
    wire = confirm(b.wire())
    name = queue(wire)
    wire.send(Basic.Publish(routing_key=name))
    wire.send_header(5)
    for part in (b"a", b"", b"bc", b"de"):
        wire.send_body(part)
    wire.expect(Basic.Ack)
    equal(get(wire, name).body, b"abcde")


@check()
def publish_on_two_channels_at_once(b):
    wire = b.wire().open(2)
    name = queue(wire)
    consume(wire, name, no_ack=True)
    for channel in (1, 2):
        wire.send(Basic.Publish(routing_key=name), channel)
        wire.send_header(2, channel=channel)
    for part in (b"a", b"b"):
        for channel in (2, 1):
            wire.send_body(part + b"" if channel == 1 else part.upper(), channel)
    equal({wire.expect(Basic.Deliver).body, wire.expect(Basic.Deliver).body}, {b"ab", b"AB"})


@check()
def publish_to_no_exchange(b):
    wire = b.wire()
    name = b.name("x")
    wire.publish(name, "k", b"1")
    refused_channel(wire, 404, f"NOT_FOUND - no exchange '{name}' in vhost 'checks'", Basic.Publish())


@check()
def publish_to_an_internal_exchange(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "fanout", internal=True)
    wire.publish(name, "k", b"1")
    text = f"ACCESS_REFUSED - cannot publish to internal exchange '{name}' in vhost 'checks'"
    refused_channel(wire, 403, text, Basic.Publish())


@check()
def publish_without_a_route_is_dropped(b):
    wire = confirm(b.wire())
    equal(publish_confirmed(wire, "", b.name(), b"1"), True)
    equal(wire.waiting, [])


@check()
def publish_mandatory_without_a_route_is_returned(b):
    wire = confirm(b.wire())
    name = b.name()
    properties = {**EVERYTHING, "headers": {"CC": ["nowhere"], "k": 1}}
    sent = {**properties, "headers": {"BCC": ["nowhere"], **properties["headers"]}}
    wire.publish("", name, b"body", spec.BasicProperties(**sent), mandatory=True)
    item = wire.expect(Basic.Return)
    equal((item.method.reply_code, item.method.reply_text), (312, "NO_ROUTE"))
    equal((item.method.exchange, item.method.routing_key, item.body), ("", name, b"body"))
    equal(given(item.properties), properties)
    equal(wire.expect(Basic.Ack).method.delivery_tag, 1)


@check()
def publish_mandatory_with_a_route_is_not_returned(b):
    wire = confirm(b.wire())
    name = queue(wire)
    wire.publish("", name, b"1", mandatory=True)
    wire.expect(Basic.Ack)


@check()
def publish_mandatory_is_returned_without_confirms(b):
    wire = b.wire()
    wire.publish("amq.fanout.nothing"[:10], "k", b"1", mandatory=True)
    equal(wire.expect(Basic.Return).method.exchange, "amq.fanout")


@check()
def publish_immediate_is_not_implemented(b):
    wire = b.wire()
    wire.publish("", queue(wire), b"1", immediate=True)
    refused_connection(wire, 540, "NOT_IMPLEMENTED - immediate=true", Basic.Publish())


@check()
def publish_as_another_user(b):
    wire = b.wire()
    wire.publish("", queue(wire), b"1", spec.BasicProperties(user_id="other"))
    text = "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was 'guest'"
    refused_channel(wire, 406, text, Basic.Publish())


@check()
def publish_with_an_expiration_that_is_no_number(b):
    wire = b.wire()
    name = queue(wire)
    refusals = [
        ("soon", "no_integer"),
        ("", "no_integer"),
        ("-1", "{value_negative,-1}"),
        ("1.5", '{leftover_string,".5"}'),
        ("10 ", '{leftover_string," "}'),
        ("315360000001", "{value_too_large,315360000001}"),
    ]
    for expiration, why in refusals:
        wire.publish("", name, b"1", spec.BasicProperties(expiration=expiration))
        refused_channel(wire, 406, f"PRECONDITION_FAILED - invalid expiration '{expiration}': {why}", Basic.Publish())
        wire.open()


@check()
def publish_to_a_direct_exchange_copies_to_all_queues(b):
    wire = confirm(b.wire())
    names = [queue(wire) for _ in range(5)]
    for name in names:
        wire.call(Queue.Bind(queue=name, exchange="amq.topic", routing_key=names[0]))
    publish_confirmed(wire, "amq.topic", names[0], b"1")
    for name in names:
        equal(bodies_of(wire, name), [b"1"])


@check()
def publish_larger_than_the_largest_message(b):
    wire = confirm(b.wire())
    name = queue(wire)
    publish_confirmed(wire, "", name, bytes(MESSAGE_SIZE_MAX))
    wire.publish("", name, bytes(MESSAGE_SIZE_MAX + 1))
    text = f"PRECONDITION_FAILED - message size {MESSAGE_SIZE_MAX + 1} is larger than configured max size {MESSAGE_SIZE_MAX}"
    refused_channel(wire, 406, text, Basic.Publish())


@check()
def publish_keeps_the_order_on_a_channel(b):
    wire = b.wire()
    name = queue(wire)
    consume(wire, name, no_ack=True)
    for number in range(500):
        wire.publish("", name, b"%d" % number)
    equal([wire.expect(Basic.Deliver).body for _ in range(500)], [b"%d" % number for number in range(500)])


@check()
def publish_delivery_mode_is_not_changed(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name(), exclusive=False, durable=True)
    for mode in (1, 2):
        publish_confirmed(wire, "", name, properties=spec.BasicProperties(delivery_mode=mode))
        equal(get(wire, name).properties.delivery_mode, mode)


@check()
def publish_with_an_unknown_delivery_mode(b):
    wire = confirm(b.wire())
    for mode in (0, 3):
        wire.publish("", "nowhere", properties=spec.BasicProperties(delivery_mode=mode))
        refused_channel(wire, 406, f"PRECONDITION_FAILED - invalid message: {{delivery_mode_unknown,{mode}}}", Basic.Publish())
        wire.open()


@check()
def publish_with_an_expiration_of_any_writing(b):
    wire = confirm(b.wire())
    for expiration in ("0", "0010", "+5", "315360000000"):
        assert publish_confirmed(wire, "", "nowhere", properties=spec.BasicProperties(expiration=expiration))
