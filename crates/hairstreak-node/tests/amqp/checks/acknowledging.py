"""basic.ack, nack, reject and recover: what becomes of a message, and in which order it comes again."""

from pika.spec import Basic, BasicProperties, Channel, Connection

from check import bodies_of, channel_error, check, confirm, connection_error, consume, delivery, depth, equal, fill, get, nothing_more, queue


def received(wire, name, count, channel=2):
    """Messages taken by basic.get, unacknowledged: their delivery tags."""
    return [get(wire, name, channel, no_ack=False).method.delivery_tag for _ in range(count)]


def filled(b, count):
    """A connection with two channels, and a queue with messages 1, 2, 3 ..."""
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    fill(wire, name, *(b"%d" % number for number in range(1, count + 1)))
    return wire, name


def close(wire, channel=2):
    wire.call(Channel.Close(200, "", 0, 0), channel)


@check()
def ack_of_one(b):
    wire, name = filled(b, 3)
    tags = received(wire, name, 3)
    wire.send(Basic.Ack(tags[1]), 2)
    close(wire)
    equal(bodies_of(wire, name), [b"1", b"3"])


@check()
def ack_of_many(b):
    wire, name = filled(b, 3)
    tags = received(wire, name, 3)
    wire.send(Basic.Ack(tags[1], multiple=True), 2)
    close(wire)
    equal(bodies_of(wire, name), [b"3"])


@check()
def ack_of_all(b):
    wire, name = filled(b, 3)
    received(wire, name, 3)
    wire.send(Basic.Ack(0, multiple=True), 2)
    close(wire)
    equal(bodies_of(wire, name), [])


@check()
def ack_of_all_when_there_is_nothing(b):
    wire = b.wire()
    wire.send(Basic.Ack(0, multiple=True))
    nothing_more(wire)


@check()
def ack_twice(b):
    wire, name = filled(b, 1)
    tag = received(wire, name, 1)[0]
    wire.send(Basic.Ack(tag), 2)
    channel_error(wire, Basic.Ack(tag), 406, "PRECONDITION_FAILED - unknown delivery tag 1", channel=2)


@check()
def ack_of_a_tag_that_never_was(b):
    wire, name = filled(b, 1)
    text = "PRECONDITION_FAILED - unknown delivery tag"
    channel_error(wire, Basic.Ack(5), 406, f"{text} 5")
    channel_error(wire, Basic.Ack(5, multiple=True), 406, f"{text} 5")
    channel_error(wire, Basic.Ack(0), 406, f"{text} 0")
    channel_error(wire, Basic.Nack(5), 406, f"{text} 5")
    channel_error(wire, Basic.Reject(5), 406, f"{text} 5")


@check()
def ack_of_many_that_are_acknowledged(b):
    wire, name = filled(b, 2)
    tags = received(wire, name, 2)
    wire.send(Basic.Ack(tags[0]), 2)
    channel_error(wire, Basic.Ack(tags[0], multiple=True), 406, "PRECONDITION_FAILED - unknown delivery tag 1", channel=2)


@check()
def ack_on_another_channel(b):
    wire, name = filled(b, 1)
    tag = received(wire, name, 1)[0]
    channel_error(wire, Basic.Ack(tag), 406, "PRECONDITION_FAILED - unknown delivery tag 1")


@check()
def reject_requeues_in_its_place(b):
    wire, name = filled(b, 3)
    tags = received(wire, name, 2)
    wire.send(Basic.Reject(tags[0], requeue=True), 2)
    item = get(wire, name, 2)
    equal((item.body, item.method.redelivered), (b"1", True))
    item = get(wire, name, 2)
    equal((item.body, item.method.redelivered), (b"3", False))


@check()
def reject_without_requeue_drops(b):
    wire, name = filled(b, 2)
    wire.send(Basic.Reject(received(wire, name, 1)[0], requeue=False), 2)
    equal(bodies_of(wire, name, 2), [b"2"])


@check()
def nack_of_many_requeues_in_order(b):
    wire, name = filled(b, 5)
    tags = received(wire, name, 4)
    wire.send(Basic.Nack(tags[2], multiple=True, requeue=True), 2)
    equal(bodies_of(wire, name, 2), [b"1", b"2", b"3", b"5"])


@check()
def nack_of_all(b):
    wire, name = filled(b, 3)
    received(wire, name, 3)
    wire.send(Basic.Nack(0, multiple=True, requeue=True), 2)
    equal(bodies_of(wire, name, 2), [b"1", b"2", b"3"])


@check()
def nack_one_by_one_backwards_requeues_in_order(b):
    wire, name = filled(b, 4)
    for tag in reversed(received(wire, name, 4)):
        wire.send(Basic.Nack(tag, requeue=True), 2)
    equal(bodies_of(wire, name, 2), [b"1", b"2", b"3", b"4"])


@check()
def nack_without_requeue_drops(b):
    wire, name = filled(b, 2)
    wire.send(Basic.Nack(received(wire, name, 2)[1], multiple=True, requeue=False), 2)
    equal(bodies_of(wire, name, 2), [])


@check()
def closed_channel_requeues_in_order(b):
    wire, name = filled(b, 4)
    tags = received(wire, name, 3)
    wire.send(Basic.Ack(tags[1]), 2)
    close(wire)
    items = [get(wire, name) for _ in range(3)]
    equal([(item.body, item.method.redelivered) for item in items], [(b"1", True), (b"3", True), (b"4", False)])


@check()
def closed_connection_requeues_in_order(b):
    mine, other = b.wire(), confirm(b.wire())
    name = queue(other, b.name(), exclusive=False)
    fill(other, name, b"1", b"2", b"3")
    consume(mine, name)
    equal([delivery(mine).body for _ in range(3)], [b"1", b"2", b"3"])
    mine.call(Connection.Close(200, "", 0, 0), 0)
    items = [get(other, name) for _ in range(3)]
    equal([(item.body, item.method.redelivered) for item in items], [(b"1", True), (b"2", True), (b"3", True)])


@check()
def killed_connection_requeues(b):
    mine, other = b.wire(), confirm(b.wire())
    name = queue(other, b.name(), exclusive=False)
    fill(other, name, b"1", b"2")
    consume(mine, name)
    equal([delivery(mine).body for _ in range(2)], [b"1", b"2"])
    consume(other, name)
    mine.close()
    items = [delivery(other) for _ in range(2)]
    equal([(item.body, item.method.redelivered) for item in items], [(b"1", True), (b"2", True)])


@check()
def recover_delivers_again_to_the_same_consumer(b):
    wire, name = filled(b, 2)
    tag = consume(wire, name, channel=2)
    for _ in range(2):
        delivery(wire)
    wire.send(Basic.Recover(requeue=True), 2)
    items = [delivery(wire) for _ in range(2)]
    found = [(item.body, item.method.delivery_tag, item.method.redelivered, item.method.consumer_tag) for item in items]
    equal(found, [(b"1", 3, True, tag), (b"2", 4, True, tag)])
    wire.wait_for(Basic.RecoverOk)


@check()
def recover_requeues_what_was_got(b):
    wire, name = filled(b, 3)
    received(wire, name, 2)
    wire.call(Basic.Recover(requeue=True), 2)
    equal(bodies_of(wire, name, 2), [b"1", b"2", b"3"])


@check()
def recover_without_requeue_is_not_implemented(b):
    wire = b.wire()
    wire.send(Basic.Recover(requeue=False))
    # Nothing comes before the refusal.
    close = wire.receive().method
    equal((type(close).__name__, close.reply_code, close.reply_text), ("Close", 540, "NOT_IMPLEMENTED - requeue=false"))


@check()
def recover_async_is_not_answered(b):
    wire, name = filled(b, 1)
    received(wire, name, 1)
    wire.send(Basic.RecoverAsync(requeue=True), 2)
    item = get(wire, name, 2)
    equal((item.body, item.method.redelivered), (b"1", True))


@check()
def requeued_message_goes_to_the_next_consumer(b):
    wire = confirm(b.wire())
    name = queue(wire)
    first, second = consume(wire, name), consume(wire, name)
    fill(wire, name, b"1")
    item = delivery(wire)
    equal(item.method.consumer_tag, first)
    wire.send(Basic.Reject(item.method.delivery_tag, requeue=True))
    equal(delivery(wire).method.consumer_tag, second)


@check()
def requeued_message_keeps_its_properties(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", properties=BasicProperties(headers={"a": 1}, message_id="m"))
    wire.send(Basic.Nack(get(wire, name, no_ack=False).method.delivery_tag))
    item = get(wire, name)
    equal((item.properties.headers, item.properties.message_id), ({"a": 1}, "m"))
    equal(depth(wire, name), (0, 0))
