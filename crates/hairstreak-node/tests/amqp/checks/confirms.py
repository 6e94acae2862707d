"""confirm.select, and the acks and nacks that follow."""

from pika.spec import Basic, BasicProperties, Confirm, Tx

from check import bind, channel_error, check, confirm, equal, exchange, fill, get, queue


@check()
def confirm_select_may_be_repeated(b):
    wire = confirm(confirm(b.wire()))
    wire.publish("", queue(wire), b"1")
    equal(wire.expect(Basic.Ack).method.delivery_tag, 1)


@check()
def confirm_select_nowait(b):
    wire = b.wire()
    wire.send(Confirm.Select(nowait=True))
    wire.publish("", "nowhere", b"1")
    equal(wire.expect(Basic.Ack).method.delivery_tag, 1)


@check()
def confirm_counts_from_1_on_each_channel(b):
    wire = confirm(b.wire().open(2))
    confirm(wire, channel=2)
    for number in (1, 2, 3):
        for channel in (1, 2):
            wire.publish("", "nowhere", b"", channel=channel)
            ack = wire.expect(Basic.Ack, channel).method
            equal((ack.delivery_tag, ack.multiple), (number, False))


@check()
def confirm_counts_from_the_select(b):
    wire = b.wire()
    wire.publish("", "nowhere", b"")
    confirm(wire)
    wire.publish("", "nowhere", b"")
    equal(wire.expect(Basic.Ack).method.delivery_tag, 1)


@check()
def confirm_of_many(b):
    wire = confirm(b.wire())
    name = queue(wire)
    for number in range(1000):
        wire.publish("", name, b"%d" % number)
    confirmed = set()
    while len(confirmed) < 1000:
        ack = wire.expect(Basic.Ack).method
        new = set(range(1, ack.delivery_tag + 1) if ack.multiple else [ack.delivery_tag]) - confirmed
        assert new, f"{ack.delivery_tag} is confirmed twice"
        confirmed |= new
    equal(max(confirmed), 1000)


@check()
def confirm_of_persistent_messages(b):
    wire = confirm(b.wire())
    name = queue(wire, b.name(), exclusive=False, durable=True)
    fill(wire, name, b"1", b"2", properties=BasicProperties(delivery_mode=2))
    equal(get(wire, name).body, b"1")


@check()
def confirm_follows_the_return(b):
    wire = confirm(b.wire())
    for number in (1, 2, 3):
        wire.publish("", b.name(), b"%d" % number, mandatory=True)
        equal(wire.expect(Basic.Return).body, b"%d" % number)
        equal(wire.expect(Basic.Ack).method.delivery_tag, number)


@check()
def confirm_is_a_nack_when_a_queue_refuses(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    wire.publish("", name, b"1")
    equal(wire.expect(Basic.Ack).method.delivery_tag, 1)
    wire.publish("", name, b"2")
    equal(wire.expect(Basic.Nack).method.delivery_tag, 2)
    get(wire, name)
    wire.publish("", name, b"3")
    equal(wire.expect(Basic.Ack).method.delivery_tag, 3)


@check()
def confirm_is_a_nack_when_one_of_two_queues_refuses(b):
    wire = confirm(b.wire())
    full = queue(wire, arguments={"x-max-length": 0, "x-overflow": "reject-publish"})
    free, name = queue(wire), exchange(wire, b.name("x"), "fanout")
    bind(wire, full, name)
    bind(wire, free, name)
    wire.publish(name, "", b"1")
    wire.expect(Basic.Nack)
    equal(get(wire, free).body, b"1")


@check()
def confirm_on_a_channel_of_transactions(b):
    wire = b.wire()
    wire.call(Tx.Select())
    channel_error(wire, Confirm.Select(), 406, "PRECONDITION_FAILED - cannot switch from tx to confirm mode")


@check()
def confirm_is_of_one_channel_alone(b):
    wire = confirm(b.wire().open(2))
    wire.publish("", "nowhere", b"", channel=2)
    wire.call(Basic.Qos(prefetch_count=0), 2)
    equal(wire.waiting, [])
