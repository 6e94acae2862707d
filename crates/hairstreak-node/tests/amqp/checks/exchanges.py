"""exchange.declare, delete, bind and unbind."""

from pika.spec import Exchange, Queue

from check import bind, bodies_of, channel_error, check, confirm, connection_error, equal, exchange, publish_confirmed, queue


def missing(kind, name):
    return f"NOT_FOUND - no {kind} '{name}' in vhost 'checks'"


@check()
def exchange_predeclared(b):
    wire = b.wire()
    kinds = {"amq.direct": "direct", "amq.fanout": "fanout", "amq.topic": "topic", "amq.headers": "headers", "amq.match": "headers"}
    for name, kind in kinds.items():
        exchange(wire, name, kind, durable=True)
        exchange(wire, name, passive=True)


@check()
def exchange_declare_twice_is_the_same(b):
    wire = b.wire()
    name = b.name("x")
    for _ in range(2):
        exchange(wire, name, "topic", durable=True, arguments={"x-other": 5})


@check()
def exchange_declare_with_another_type(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic")
    text = f"PRECONDITION_FAILED - inequivalent arg 'type' for exchange '{name}' in vhost 'checks': received 'direct' but current is 'topic'"
    channel_error(wire, Exchange.Declare(exchange=name, type="direct"), 406, text)


@check()
def exchange_declare_with_other_flags(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic")
    for flag in ("durable", "auto_delete", "internal"):
        text = f"PRECONDITION_FAILED - inequivalent arg '{flag}' for exchange '{name}' in vhost 'checks': received 'true' but current is 'false'"
        channel_error(wire, Exchange.Declare(exchange=name, type="topic", **{flag: True}), 406, text)


@check()
def exchange_declare_with_another_alternate(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic", arguments={"alternate-exchange": "a"})
    text = f"PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange '{name}' in vhost 'checks': received 'b' but current is 'a'"
    channel_error(wire, Exchange.Declare(exchange=name, type="topic", arguments={"alternate-exchange": "b"}), 406, text)
    text = f"PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange '{name}' in vhost 'checks': received none but current is the value 'a' of type 'longstr'"
    channel_error(wire, Exchange.Declare(exchange=name, type="topic"), 406, text)


@check()
def exchange_declare_with_an_alternate_of_a_wrong_type(b):
    wire = b.wire()
    name = b.name("x")
    text = f"PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange' in exchange '{name}' in vhost 'checks'"
    channel_error(wire, Exchange.Declare(exchange=name, type="topic", arguments={"alternate-exchange": 5}), 406, text)


@check()
def exchange_arguments_that_nobody_knows_are_not_compared(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic", arguments={"x-other": 5})
    exchange(wire, name, "topic", arguments={"x-other": 6})


@check()
def exchange_unknown_type(b):
    wire = b.wire()
    connection_error(wire, Exchange.Declare(exchange=b.name("x"), type="x-unknown"), 503, "COMMAND_INVALID - unknown exchange type 'x-unknown'")


@check()
def exchange_unknown_type_of_an_exchange_that_exists(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic")
    connection_error(wire, Exchange.Declare(exchange=name, type="x-unknown"), 503, "COMMAND_INVALID - unknown exchange type 'x-unknown'")


@check()
def exchange_passive_of_none(b):
    wire = b.wire()
    name = b.name("x")
    channel_error(wire, Exchange.Declare(exchange=name, passive=True), 404, missing("exchange", name))


@check()
def exchange_passive_compares_nothing(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "topic", durable=True)
    exchange(wire, name, "direct", passive=True)


@check()
def exchange_reserved_names(b):
    wire = b.wire()
    text = "ACCESS_REFUSED - exchange name 'amq.checks' contains reserved prefix 'amq.*'"
    channel_error(wire, Exchange.Declare(exchange="amq.checks", type="direct"), 403, text)
    channel_error(wire, Exchange.Declare(exchange="amq.checks", passive=True), 404, missing("exchange", "amq.checks"))


@check()
def exchange_default_is_not_for_declaring(b):
    wire = b.wire()
    text = "ACCESS_REFUSED - operation not permitted on the default exchange"
    channel_error(wire, Exchange.Declare(exchange="", type="direct", durable=True), 403, text)
    channel_error(wire, Exchange.Declare(exchange="", passive=True), 403, text)
    channel_error(wire, Exchange.Delete(exchange=""), 403, text)


@check()
def exchange_name_with_line_ends(b):
    wire = b.wire()
    name = b.name("x")
    equal(exchange(wire, f"{name}\r\n", "direct"), f"{name}\r\n")
    exchange(wire, name, passive=True)


@check()
def exchange_delete_of_none_is_fine(b):
    wire = b.wire()
    wire.call(Exchange.Delete(exchange=b.name("x")))


@check()
def exchange_delete_if_unused(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "fanout")
    bind(wire, queue(wire), name)
    text = f"PRECONDITION_FAILED - exchange '{name}' in vhost 'checks' in use"
    channel_error(wire, Exchange.Delete(exchange=name, if_unused=True), 406, text)
    wire.call(Exchange.Delete(exchange=name))
    channel_error(wire, Exchange.Declare(exchange=name, passive=True), 404, missing("exchange", name))


@check()
def exchange_delete_of_a_predeclared(b):
    wire = b.wire()
    text = "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost 'checks' not allowed"
    channel_error(wire, Exchange.Delete(exchange="amq.direct"), 403, text)


@check()
def exchange_auto_delete_goes_with_its_last_binding(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"), "fanout", auto_delete=True)
    first, second = queue(wire), queue(wire)
    bind(wire, first, name)
    bind(wire, second, name)
    wire.call(Queue.Unbind(queue=first, exchange=name))
    exchange(wire, name, passive=True)
    wire.call(Queue.Delete(queue=second))
    channel_error(wire, Exchange.Declare(exchange=name, passive=True), 404, missing("exchange", name))


@check()
def exchange_nowait_is_not_answered(b):
    wire = b.wire()
    name = b.name("x")
    wire.send(Exchange.Declare(exchange=name, type="fanout", nowait=True))
    exchange(wire, name, passive=True)
    wire.send(Exchange.Delete(exchange=name, nowait=True))
    channel_error(wire, Exchange.Declare(exchange=name, passive=True), 404, missing("exchange", name))


@check()
def exchange_bound_to_an_exchange(b):
    wire = confirm(b.wire())
    source, destination, name = exchange(wire, b.name("x"), "topic"), exchange(wire, b.name("x"), "fanout"), queue(wire)
    wire.call(Exchange.Bind(destination=destination, source=source, routing_key="a.#"))
    bind(wire, name, destination)
    publish_confirmed(wire, source, "a.b", b"1")
    publish_confirmed(wire, source, "b.a", b"2")
    wire.call(Exchange.Unbind(destination=destination, source=source, routing_key="a.#"))
    publish_confirmed(wire, source, "a.b", b"3")
    equal(bodies_of(wire, name), [b"1"])


@check()
def exchange_bindings_in_a_circle(b):
    wire = confirm(b.wire())
    first, second, name = exchange(wire, b.name("x"), "fanout"), exchange(wire, b.name("x"), "fanout"), queue(wire)
    wire.call(Exchange.Bind(destination=first, source=second))
    wire.call(Exchange.Bind(destination=second, source=first))
    wire.call(Exchange.Bind(destination=first, source=first))
    bind(wire, name, first)
    bind(wire, name, second)
    publish_confirmed(wire, first, "", b"1")
    equal(bodies_of(wire, name), [b"1"])


@check()
def exchange_bind_of_none(b):
    wire = b.wire()
    name, none = exchange(wire, b.name("x")), b.name("x")
    channel_error(wire, Exchange.Bind(destination=none, source=name), 404, missing("exchange", none))
    channel_error(wire, Exchange.Bind(destination=name, source=none), 404, missing("exchange", none))
    other = b.name("x")
    channel_error(wire, Exchange.Bind(destination=other, source=none), 404, missing("exchange", none))


@check()
def exchange_unbind_of_none(b):
    wire = b.wire()
    name, none = exchange(wire, b.name("x")), b.name("x")
    wire.call(Exchange.Unbind(destination=name, source=name, routing_key="no such binding"))
    wire.call(Exchange.Unbind(destination=none, source=name))
    wire.call(Exchange.Unbind(destination=name, source=none))


@check()
def exchange_bind_of_the_default(b):
    wire = b.wire()
    name = exchange(wire, b.name("x"))
    text = "ACCESS_REFUSED - operation not permitted on the default exchange"
    channel_error(wire, Exchange.Bind(destination="", source=name), 403, text)
    channel_error(wire, Exchange.Bind(destination=name, source=""), 403, text)
    channel_error(wire, Exchange.Unbind(destination=name, source=""), 403, text)


@check()
def exchange_bind_nowait(b):
    wire = confirm(b.wire())
    source, destination, name = exchange(wire, b.name("x"), "fanout"), exchange(wire, b.name("x"), "fanout"), queue(wire)
    bind(wire, name, destination)
    wire.send(Exchange.Bind(destination=destination, source=source, nowait=True))
    publish_confirmed(wire, source, "", b"1")
    wire.send(Exchange.Unbind(destination=destination, source=source, nowait=True))
    publish_confirmed(wire, source, "", b"2")
    equal(bodies_of(wire, name), [b"1"])


@check()
def exchange_auto_delete_of_an_exchange_bound_behind_it(b):
    wire = b.wire()
    source = exchange(wire, b.name("x"), "fanout", auto_delete=True)
    destination = exchange(wire, b.name("x"), "fanout")
    wire.call(Exchange.Bind(destination=destination, source=source))
    wire.call(Exchange.Delete(exchange=destination))
    channel_error(wire, Exchange.Declare(exchange=source, passive=True), 404, missing("exchange", source))
