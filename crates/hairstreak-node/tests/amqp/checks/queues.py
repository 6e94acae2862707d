"""queue.declare, delete, purge, bind and unbind."""

from pika.spec import Basic, Channel, Connection, Queue

from check import bind, bodies_of, channel_error, check, confirm, consume, depth, equal, exchange, fill, get, queue

def missing(kind, name):
    return f"NOT_FOUND - no {kind} '{name}' in vhost 'checks'"


def inequivalent(name, argument, rest):
    return f"PRECONDITION_FAILED - inequivalent arg '{argument}' for queue '{name}' in vhost 'checks': {rest}"


def locked(name):
    return (
        f"RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '{name}' in vhost 'checks'. It could be originally "
        "declared on another connection or the exclusive property value does not match that of the original declaration."
    )


@check()
def queue_named_by_the_broker(b):
    wire = b.wire()
    first, second = queue(wire), queue(wire)
    assert first.startswith("amq.gen-") and len(first) == len("amq.gen-") + 22, first
    assert first != second


@check()
def queue_empty_name_is_the_last_declared(b):
    wire = confirm(b.wire())
    first, last = queue(wire), queue(wire)
    fill(wire, last, b"1")
    equal(get(wire, "").body, b"1")
    consume(wire, "")
    equal(depth(wire, last)[1], 1, "consumers")
    equal(wire.call(Queue.Purge(queue="")).message_count, 0)
    wire.call(Queue.Bind(queue="", exchange="amq.direct", routing_key=""))
    wire.call(Queue.Unbind(queue="", exchange="amq.direct", routing_key=""))
    wire.call(Queue.Delete(queue=""))
    wire.expect(Basic.Cancel)
    channel_error(wire, Queue.Declare(queue=last, passive=True), 404, missing("queue", last))
    equal(depth(wire, first), (0, 0))


@check()
def queue_empty_name_and_key_bind_the_last_by_its_name(b):
    wire = confirm(b.wire())
    name = queue(wire)
    bind(wire, "", "amq.direct", "")
    wire.publish("amq.direct", name, b"1")
    wire.wait_for(Basic.Ack)
    equal(bodies_of(wire, name), [b"1"])


@check()
def queue_empty_name_on_a_new_channel(b):
    wire = b.wire()
    text = "NOT_FOUND - no previously declared queue"
    channel_error(wire, Queue.Declare(queue="", passive=True), 404, missing("queue", ""))
    channel_error(wire, Basic.Get(queue=""), 404, text)
    channel_error(wire, Basic.Consume(queue=""), 404, text)
    channel_error(wire, Queue.Purge(queue=""), 404, text)
    channel_error(wire, Queue.Delete(queue=""), 404, text)
    channel_error(wire, Queue.Bind(queue="", exchange="amq.direct"), 404, text)


@check()
def queue_declare_ok_counts_messages_and_consumers(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name())
    fill(wire, name, b"1", b"2")
    equal(depth(wire, name), (2, 0))
    wire.send(Basic.Get(queue=name))
    wire.expect(Basic.GetOk)
    equal(depth(wire, name), (1, 0), "with an unacknowledged message")
    consume(wire, name)
    wire.expect(Basic.Deliver)
    equal(depth(wire, name), (0, 1), "with a consumer")
    status = wire.call(Queue.Declare(queue=name, exclusive=True))
    equal((status.queue, status.message_count, status.consumer_count), (name, 0, 1))


@check()
def queue_declare_with_other_flags(b):
    wire = b.wire()
    name = queue(wire, b.name(), exclusive=False)
    for flag in ("durable", "auto_delete"):
        text = inequivalent(name, flag, "received 'true' but current is 'false'")
        channel_error(wire, Queue.Declare(queue=name, **{flag: True}), 406, text)
    channel_error(wire, Queue.Declare(queue=name, exclusive=True), 405, locked(name))
    durable = queue(wire, b.name(), exclusive=False, durable=True)
    text = inequivalent(durable, "durable", "received 'false' but current is 'true'")
    channel_error(wire, Queue.Declare(queue=durable), 406, text)


@check()
def queue_exclusive_is_redeclared_as_such(b):
    wire = b.wire()
    name = queue(wire, b.name())
    channel_error(wire, Queue.Declare(queue=name), 405, locked(name))


@check()
def queue_exclusive_is_locked_to_others(b):
    mine, other = b.wire(), b.wire()
    name = queue(mine, b.name())
    bind(mine, name, "amq.direct")
    for method in (
        Queue.Declare(queue=name, exclusive=True),
        Queue.Declare(queue=name),
        Queue.Declare(queue=name, passive=True),
        Queue.Bind(queue=name, exchange="amq.direct"),
        Queue.Unbind(queue=name, exchange="amq.direct"),
        Queue.Purge(queue=name),
        Queue.Delete(queue=name),
        Basic.Consume(queue=name),
        Basic.Get(queue=name),
    ):
        channel_error(other, method, 405, locked(name))


@check()
def queue_exclusive_may_be_published_to_by_others(b):
    mine, other = b.wire(), confirm(b.wire())
    name = queue(mine, b.name())
    fill(other, name, b"1")
    equal(bodies_of(mine, name), [b"1"])


@check()
def queue_exclusive_is_its_connections_on_every_channel(b):
    wire = b.wire().open(2)
    name = queue(wire, b.name())
    equal(depth(wire, name, channel=2), (0, 0))


@check()
def queue_exclusive_goes_with_its_connection(b):
    mine, other = b.wire(), b.wire()
    name = queue(mine, b.name(), durable=True)
    mine.call(Connection.Close(200, "", 0, 0), 0)
    channel_error(other, Queue.Declare(queue=name, passive=True), 404, missing("queue", name))


@check()
def queue_passive_of_none(b):
    wire = b.wire()
    name = b.name()
    channel_error(wire, Queue.Declare(queue=name, passive=True), 404, missing("queue", name))


@check()
def queue_passive_compares_nothing(b):
    wire = b.wire()
    name = queue(wire, b.name())
    wire.call(Queue.Declare(queue=name, passive=True, durable=True, auto_delete=True, arguments={"x-max-length": 1}))


@check()
def queue_reserved_name(b):
    wire = b.wire()
    text = "ACCESS_REFUSED - queue name 'amq.checks' contains reserved prefix 'amq.*'"
    channel_error(wire, Queue.Declare(queue="amq.checks"), 403, text)
    channel_error(wire, Queue.Declare(queue="amq.checks", passive=True), 404, missing("queue", "amq.checks"))


@check()
def queue_named_by_the_broker_is_not_declared_again(b):
    wire = b.wire()
    name = queue(wire)
    text = f"ACCESS_REFUSED - queue name '{name}' contains reserved prefix 'amq.*'"
    channel_error(wire, Queue.Declare(queue=name, exclusive=True), 403, text)
    equal(depth(wire, name), (0, 0))


@check()
def queue_name_of_255_bytes_and_of_any_letters(b):
    wire = b.wire()
    for name in ("n" * (255 - len(b.name())) + b.name(), b.name("Straße 東京 ")):
        b.names.append(name)
        equal(queue(wire, name), name)
        equal(depth(wire, name), (0, 0))


@check()
def queue_name_with_line_ends(b):
    wire = b.wire()
    name = b.name()
    equal(queue(wire, f"\r\n{name}\n"), name)


@check()
def queue_delete_counts_messages(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", b"2", b"3")
    get(wire, name, no_ack=False)
    equal(wire.call(Queue.Delete(queue=name)).message_count, 2)


@check()
def queue_delete_of_none_is_fine(b):
    equal(b.wire().call(Queue.Delete(queue=b.name())).message_count, 0)


@check()
def queue_delete_if_empty(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1")
    text = f"PRECONDITION_FAILED - queue '{name}' in vhost 'checks' not empty"
    channel_error(wire, Queue.Delete(queue=name, if_empty=True), 406, text)
    wire.call(Queue.Purge(queue=name))
    wire.call(Queue.Delete(queue=name, if_empty=True))


@check()
def queue_delete_if_unused(b):
    wire = b.wire()
    name = queue(wire)
    tag = consume(wire, name)
    text = f"PRECONDITION_FAILED - queue '{name}' in vhost 'checks' in use"
    other = wire.open(2)
    channel_error(other, Queue.Delete(queue=name, if_unused=True), 406, text, channel=2)
    wire.call(Basic.Cancel(consumer_tag=tag))
    wire.call(Queue.Delete(queue=name, if_unused=True))


@check()
def queue_delete_takes_its_bindings(b):
    wire = confirm(b.wire())
    name, exchange_name = b.name(), exchange(wire, b.name("x"), "fanout")
    queue(wire, name)
    bind(wire, name, exchange_name)
    wire.call(Queue.Delete(queue=name))
    queue(wire, name)
    wire.publish(exchange_name, "", b"1")
    wire.wait_for(Basic.Ack)
    equal(depth(wire, name), (0, 0))


@check()
def queue_purge_leaves_what_is_unacknowledged(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", b"2", b"3")
    item = get(wire, name, no_ack=False)
    equal(wire.call(Queue.Purge(queue=name)).message_count, 2)
    wire.send(Basic.Reject(item.method.delivery_tag, requeue=True))
    equal(get(wire, name).body, b"1")


@check()
def queue_purge_of_none(b):
    name = b.name()
    channel_error(b.wire(), Queue.Purge(queue=name), 404, missing("queue", name))


@check()
def queue_nowait_is_not_answered(b):
    wire = confirm(b.wire())
    name, exchange_name = b.name(), exchange(wire, b.name("x"), "direct")
    wire.send(Queue.Declare(queue=name, exclusive=True, nowait=True))
    equal(depth(wire, name), (0, 0))
    wire.send(Queue.Bind(queue=name, exchange=exchange_name, routing_key="a", nowait=True))
    wire.publish(exchange_name, "a", b"1")
    wire.wait_for(Basic.Ack)
    equal(depth(wire, name), (1, 0))
    wire.send(Queue.Purge(queue=name, nowait=True))
    equal(depth(wire, name), (0, 0))
    wire.send(Queue.Delete(queue=name, nowait=True))
    channel_error(wire, Queue.Declare(queue=name, passive=True), 404, missing("queue", name))


@check()
def queue_bind_of_none(b):
    wire = b.wire()
    name, exchange_name = b.name(), b.name("x")
    channel_error(wire, Queue.Bind(queue=name, exchange="amq.direct"), 404, missing("queue", name))
    queue(wire, name)
    channel_error(wire, Queue.Bind(queue=name, exchange=exchange_name), 404, missing("exchange", exchange_name))
    other = b.name()
    channel_error(wire, Queue.Bind(queue=other, exchange=exchange_name), 404, missing("exchange", exchange_name))


@check()
def queue_unbind_of_none_is_fine(b):
    wire = b.wire()
    name = queue(wire)
    wire.call(Queue.Unbind(queue=name, exchange="amq.direct", routing_key="no such binding"))
    wire.call(Queue.Unbind(queue=name, exchange=b.name("x")))
    wire.call(Queue.Unbind(queue=b.name(), exchange="amq.direct"))


@check()
def queue_bind_twice_is_the_same(b):
    wire = confirm(b.wire())
    name, exchange_name = queue(wire), exchange(wire, b.name("x"), "fanout")
    bind(wire, name, exchange_name)
    bind(wire, name, exchange_name)
    wire.publish(exchange_name, "", b"1")
    wire.wait_for(Basic.Ack)
    equal(bodies_of(wire, name), [b"1"])
    wire.call(Queue.Unbind(queue=name, exchange=exchange_name))
    wire.publish(exchange_name, "", b"2")
    wire.wait_for(Basic.Ack)
    equal(bodies_of(wire, name), [])


@check()
def queue_bind_without_a_key_is_by_the_empty_key(b):
    wire = confirm(b.wire())
    name = queue(wire)
    exchange_name = exchange(wire, b.name("x"), "direct")
    bind(wire, name, exchange_name, "")
    for key in ("", name):
        wire.publish(exchange_name, key, key.encode())
        wire.wait_for(Basic.Ack)
    equal(bodies_of(wire, name), [b""])


@check()
def queue_auto_delete_goes_with_its_last_consumer(b):
    wire = b.wire()
    name = queue(wire, b.name(), exclusive=False, auto_delete=True)
    first, second = consume(wire, name), consume(wire, name)
    wire.call(Basic.Cancel(consumer_tag=first))
    equal(depth(wire, name), (0, 1))
    wire.call(Basic.Cancel(consumer_tag=second))
    channel_error(wire, Queue.Declare(queue=name, passive=True), 404, missing("queue", name))


@check()
def queue_auto_delete_stays_while_it_had_no_consumer(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name(), exclusive=False, auto_delete=True)
    fill(wire, name, b"1")
    get(wire, name)
    equal(depth(wire, name), (0, 0))


@check()
def queue_auto_delete_goes_with_the_channel_of_its_consumer(b):
    wire = b.wire().open(2)
    name = queue(wire, b.name(), exclusive=False, auto_delete=True)
    consume(wire, name, channel=2)
    wire.call(Channel.Close(200, "", 0, 0), 2)
    channel_error(wire, Queue.Declare(queue=name, passive=True), 404, missing("queue", name))
