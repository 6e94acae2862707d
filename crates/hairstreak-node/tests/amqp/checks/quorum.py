"""x-queue-type quorum on one node, and stream."""

from pika.spec import Basic, Channel, Queue

from check import await_get, channel_error, check, confirm, connection_error, consume, delivery, equal, fill, get, publish_confirmed, queue

QUORUM = {"x-queue-type": "quorum"}


def quorum_queue(b, wire, **arguments):
    arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
    return queue(wire, b.name(), exclusive=False, durable=True, arguments={**QUORUM, **arguments})


@check()
def quorum_publish_get_and_ack(b):
    wire = confirm(b.wire().open(2))
    name = quorum_queue(b, wire)
    fill(wire, name, b"1", b"2")
    item = get(wire, name, 2, no_ack=False)
    equal((item.body, item.method.redelivered), (b"1", False))
    wire.send(Basic.Ack(item.method.delivery_tag), 2)
    equal(get(wire, name, 2).body, b"2")


@check()
def quorum_declared_again(b):
    wire = b.wire()
    name = quorum_queue(b, wire)
    queue(wire, name, exclusive=False, durable=True, arguments=QUORUM)
    start = f"PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue '{name}' in vhost 'checks': "
    text = start + "received 'classic' but current is 'quorum'"
    channel_error(wire, Queue.Declare(queue=name, durable=True, arguments={"x-queue-type": "classic"}), 406, text)
    text = start + "received none but current is the value 'quorum' of type 'longstr'"
    channel_error(wire, Queue.Declare(queue=name, durable=True), 406, text)


@check()
def quorum_is_durable_and_nobodys(b):
    wire = b.wire()
    name = b.name()
    for options, why in (
        ({"durable": False}, "non-durable"),
        ({"durable": True, "exclusive": True}, "exclusive-owner"),
        ({"durable": True, "auto_delete": True}, "auto-delete"),
    ):
        text = f"PRECONDITION_FAILED - invalid property '{why}' for queue '{name}' in vhost 'checks'"
        channel_error(wire, Queue.Declare(queue=name, arguments=QUORUM, **options), 406, text)


@check()
def quorum_arguments_that_it_does_not_have(b):
    wire = b.wire()
    name = b.name()
    for argument, value in (("x-max-priority", 5), ("x-queue-mode", "lazy"), ("x-queue-version", 2)):
        text = f"PRECONDITION_FAILED - invalid arg '{argument}' for queue '{name}' in vhost 'checks' of queue type rabbit_quorum_queue"
        channel_error(wire, Queue.Declare(queue=name, durable=True, arguments={**QUORUM, argument: value}), 406, text)


@check()
def quorum_arguments_that_it_has(b):
    wire = b.wire()
    for argument, value in (
        ("x-delivery-limit", 3),
        ("x-max-length", 5),
        ("x-max-length-bytes", 500),
        ("x-max-in-memory-length", 5),
        ("x-max-in-memory-bytes", 5),
        ("x-message-ttl", 60000),
        ("x-expires", 60000),
        ("x-overflow", "reject-publish"),
        ("x-overflow", "reject-publish-dlx"),
        ("x-single-active-consumer", True),
        ("x-quorum-initial-group-size", 3),
        ("x-queue-leader-locator", "client-local"),
        ("x-queue-leader-locator", "balanced"),
        ("x-dead-letter-exchange", "amq.fanout"),
        ("x-dead-letter-strategy", "at-most-once"),
    ):
        quorum_queue(b, wire, **{argument: value})


@check()
def quorum_counts_deliveries(b):
    wire = confirm(b.wire().open(2))
    name = quorum_queue(b, wire)
    fill(wire, name, b"1")
    for count in (None, 1, 2):
        item = await_get(wire, name, 2, no_ack=False)
        equal((item.properties.headers or {}).get("x-delivery-count"), count)
        equal(item.method.redelivered, count is not None)
        wire.send(Basic.Nack(item.method.delivery_tag, requeue=True), 2)


@check()
def quorum_get_counts_from_zero(b):
    wire = confirm(b.wire().open(2))
    name = quorum_queue(b, wire)
    fill(wire, name, b"1")
    for count in (0, 1):
        item = get(wire, name, 2, no_ack=False)
        equal(item.properties.headers["x-delivery-count"], count)
        wire.call(Basic.Recover(requeue=True), 2)


@check()
def quorum_with_one_active_consumer_has_no_get(b):
    wire = b.wire()
    name = quorum_queue(b, wire, x_single_active_consumer=True)
    text = f"RESOURCE_LOCKED - cannot obtain access to locked queue '{name}' in vhost 'checks'. "
    channel_error(wire, Basic.Get(queue=name), 405, text + "basic.get operations are not supported by quorum queues with single active consumer")


@check()
def quorum_queues_ignore_exclusive_consumption(b):
    wire = b.wire()
    for arguments in ({}, {"x_single_active_consumer": True}):
        name = quorum_queue(b, wire, **arguments)
        for _ in range(2):
            wire.call(Basic.Consume(queue=name, exclusive=True))


@check()
def quorum_delivery_limit_drops(b):
    wire = confirm(b.wire().open(2))
    name = quorum_queue(b, wire, x_delivery_limit=1)
    fill(wire, name, b"1", b"2")
    consume(wire, name, channel=2)
    found = []
    for _ in range(4):
        item = delivery(wire)
        found.append(item.body)
        wire.send(Basic.Nack(item.method.delivery_tag, requeue=True), 2)
    equal(sorted(found), [b"1", b"1", b"2", b"2"])
    fill(wire, name, b"3")
    equal(delivery(wire).body, b"3")


@check()
def quorum_delivery_limit_dead_letters(b):
    wire = confirm(b.wire().open(2))
    dead = queue(wire)
    name = quorum_queue(b, wire, x_delivery_limit=1, x_dead_letter_exchange="", x_dead_letter_routing_key=dead)
    fill(wire, name, b"1")
    for _ in range(2):
        item = await_get(wire, name, 2, no_ack=False)
        wire.send(Basic.Nack(item.method.delivery_tag, requeue=True), 2)
    item = await_get(wire, dead)
    death = item.properties.headers["x-death"][0]
    equal((item.body, death["reason"], death["queue"], death["count"]), (b"1", "delivery_limit", name, 1))


@check()
def quorum_requeues_at_the_end_and_counts_closed_channels(b):
    wire = confirm(b.wire().open(2))
    name = quorum_queue(b, wire)
    fill(wire, name, b"1", b"2")
    consume(wire, name, channel=2)
    equal([delivery(wire).body for _ in range(2)], [b"1", b"2"])
    wire.send(Channel.Close(200, "", 0, 0), 2)
    wire.wait_for(Channel.CloseOk)
    items = [await_get(wire, name) for _ in range(2)]
    equal([item.body for item in items], [b"1", b"2"])
    equal([item.method.redelivered for item in items], [True, True])


@check(needs="strictness of 3.10")
def quorum_global_qos_is_not_implemented(b):
    wire = b.wire()
    name = quorum_queue(b, wire)
    wire.call(Basic.Qos(prefetch_count=5, global_qos=True))
    connection_error(wire, Basic.Consume(queue=name), 540, f"NOT_IMPLEMENTED - queue '{name}' in vhost 'checks' does not support global qos")


@check()
def quorum_dead_letters_at_least_once(b):
    wire = confirm(b.wire().open(2))
    dead = queue(wire, b.name(), exclusive=False, durable=True)
    arguments = {"x_dead_letter_strategy": "at-least-once", "x_overflow": "reject-publish"}
    name = quorum_queue(b, wire, x_dead_letter_exchange="", x_dead_letter_routing_key=dead, **arguments)
    fill(wire, name, b"1")
    item = await_get(wire, name, 2, no_ack=False)
    wire.send(Basic.Reject(item.method.delivery_tag, requeue=False), 2)
    item = await_get(wire, dead)
    equal((item.body, item.properties.headers["x-death"][0]["reason"]), (b"1", "rejected"))


@check()
def quorum_max_length_rejects(b):
    wire = confirm(b.wire())
    name = quorum_queue(b, wire, x_max_length=0, x_overflow="reject-publish")
    found = [publish_confirmed(wire, "", name, b"1") for _ in range(5)]
    equal(found[-1], False)


@check(needs="streams")
def stream_needs_a_prefetch_count_and_acknowledgements(b):
    wire = b.wire()
    name = queue(wire, b.name(), exclusive=False, durable=True, arguments={"x-queue-type": "stream"})
    channel_error(wire, Basic.Consume(queue=name), 406, f"PRECONDITION_FAILED - consumer prefetch count is not set for 'queue '{name}' in vhost 'checks''")
    wire.call(Basic.Qos(prefetch_count=5))
    text = f"NOT_IMPLEMENTED - automatic acknowledgement not supported by stream queues queue '{name}' in vhost 'checks'"
    connection_error(wire, Basic.Consume(queue=name, no_ack=True), 540, text)
