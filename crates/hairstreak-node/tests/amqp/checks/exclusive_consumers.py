"""x-single-active-consumer."""

from pika.spec import Basic, Channel

from check import channel_error, check, confirm, consume, delivery, equal, fill, nothing_more, queue

ACTIVE = {"x-single-active-consumer": True}


@check()
def single_active_consumer_gets_all(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments=ACTIVE)
    tags = [consume(wire, name, no_ack=True) for _ in range(3)]
    fill(wire, name, b"1", b"2", b"3")
    equal([delivery(wire).method.consumer_tag for _ in range(3)], [tags[0]] * 3)


@check()
def single_active_consumer_is_followed_by_the_next(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments=ACTIVE)
    tags = [consume(wire, name, no_ack=True) for _ in range(3)]
    wire.call(Basic.Cancel(consumer_tag=tags[0]))
    fill(wire, name, b"1")
    equal(delivery(wire).method.consumer_tag, tags[1])
    wire.call(Basic.Cancel(consumer_tag=tags[2]))
    wire.call(Basic.Cancel(consumer_tag=tags[1]))
    last = consume(wire, name, no_ack=True)
    fill(wire, name, b"2")
    equal(delivery(wire).method.consumer_tag, last)


@check()
def single_active_consumer_gone_with_its_channel(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire, arguments=ACTIVE)
    consume(wire, name, channel=2)
    other = consume(wire, name, no_ack=True)
    fill(wire, name, b"1")
    equal(delivery(wire).channel, 2)
    wire.send(Channel.Close(200, "", 0, 0), 2)
    wire.wait_for(Channel.CloseOk)
    item = delivery(wire)
    equal((item.method.consumer_tag, item.body, item.method.redelivered), (other, b"1", True))


@check()
def single_active_consumer_full_holds_the_others_too(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire, arguments=ACTIVE)
    wire.call(Basic.Qos(prefetch_count=1), 2)
    consume(wire, name, channel=2)
    consume(wire, name)
    fill(wire, name, b"1", b"2")
    item = delivery(wire)
    equal((item.channel, item.body), (2, b"1"))
    nothing_more(wire)
    wire.send(Basic.Ack(item.method.delivery_tag), 2)
    item = delivery(wire)
    equal((item.channel, item.body), (2, b"2"))


@check()
def single_active_consumer_and_exclusive_consumer(b):
    wire = b.wire()
    name = queue(wire, arguments=ACTIVE)
    text = f"ACCESS_REFUSED - queue '{name}' in vhost 'checks' in exclusive use"
    channel_error(wire, Basic.Consume(queue=name, exclusive=True), 403, text)


@check()
def single_active_consumer_priority_does_not_displace(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments=ACTIVE)
    first = consume(wire, name, no_ack=True)
    consume(wire, name, no_ack=True, arguments={"x-priority": 10})
    fill(wire, name, b"1")
    equal(delivery(wire).method.consumer_tag, first)
