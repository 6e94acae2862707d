"""basic.consume, cancel, get and qos."""

from pika import spec
from pika.spec import Basic, Channel, Queue

from check import channel_error, check, confirm, connection_error, consume, delivery, depth, equal, fill, get, nothing_more, queue


@check()
def consume_delivers_what_is_there_and_what_comes(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    fill(wire, name, b"1", b"2")
    tag = consume(wire, name, channel=2)
    wire.publish("", name, b"3")
    for number, body in enumerate((b"1", b"2", b"3"), 1):
        item = delivery(wire, 2)
        method = item.method
        equal((item.body, method.consumer_tag, method.delivery_tag, method.redelivered), (body, tag, number, False))
        equal((method.exchange, method.routing_key), ("", name))


@check()
def consume_ok_comes_before_the_first_delivery(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1")
    wire.send(Basic.Consume(queue=name))
    wire.expect(Basic.ConsumeOk)
    wire.expect(Basic.Deliver)


@check()
def consume_tag_by_the_broker(b):
    wire = b.wire()
    tag = consume(wire, queue(wire))
    assert tag.startswith("amq.ctag-") and len(tag) == len("amq.ctag-") + 22, tag


@check()
def consume_tag_by_the_client(b):
    wire = b.wire()
    equal(consume(wire, queue(wire), consumer_tag="mine"), "mine")


@check()
def consume_tag_is_of_one_channel(b):
    wire = b.wire().open(2)
    name = queue(wire)
    consume(wire, name, consumer_tag="same")
    consume(wire, name, channel=2, consumer_tag="same")
    equal(depth(wire, name), (0, 2))


@check()
def consume_tag_twice_on_a_channel(b):
    wire = b.wire()
    name = queue(wire)
    consume(wire, name, consumer_tag="same")
    connection_error(wire, Basic.Consume(queue=name, consumer_tag="same"), 530, "NOT_ALLOWED - attempt to reuse consumer tag 'same'")


@check()
def consume_of_none(b):
    wire = b.wire()
    name = b.name()
    channel_error(wire, Basic.Consume(queue=name), 404, f"NOT_FOUND - no queue '{name}' in vhost 'checks'")
    channel_error(wire, Basic.Get(queue=name), 404, f"NOT_FOUND - no queue '{name}' in vhost 'checks'")


@check()
def consume_nowait(b):
    wire = b.wire()
    name = queue(wire)
    wire.send(Basic.Consume(queue=name, consumer_tag="mine", nowait=True))
    wire.publish("", name, b"1")
    equal(wire.expect(Basic.Deliver).method.consumer_tag, "mine")
    wire.send(Basic.Cancel(consumer_tag="mine", nowait=True))
    equal(depth(wire, name), (0, 0))


@check()
def consume_exclusively(b):
    wire = b.wire().open(2)
    name = queue(wire)
    text = f"ACCESS_REFUSED - queue '{name}' in vhost 'checks' in exclusive use"
    tag = consume(wire, name, exclusive=True)
    channel_error(wire, Basic.Consume(queue=name), 403, text, channel=2)
    channel_error(wire, Basic.Consume(queue=name, exclusive=True), 403, text, channel=2)
    wire.call(Basic.Cancel(consumer_tag=tag))
    consume(wire, name)
    channel_error(wire, Basic.Consume(queue=name, exclusive=True), 403, text, channel=2)


@check()
def consume_no_local_is_passed_over(b):
    wire = b.wire()
    name = queue(wire)
    consume(wire, name, no_local=True)
    wire.publish("", name, b"1")
    equal(delivery(wire).body, b"1")


@check()
def consume_no_ack_needs_no_ack(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    consume(wire, name, channel=2, no_ack=True)
    fill(wire, name, b"1", b"2")
    equal([delivery(wire).body for _ in range(2)], [b"1", b"2"])
    channel_error(wire, Basic.Ack(1), 406, "PRECONDITION_FAILED - unknown delivery tag 1", channel=2)
    equal(depth(wire, name), (0, 0))


@check()
def consume_in_turns(b):
    wire = confirm(b.wire())
    name = queue(wire)
    tags = [consume(wire, name, no_ack=True) for _ in range(3)]
    fill(wire, name, *(b"%d" % number for number in range(6)))
    received = [delivery(wire) for _ in range(6)]
    equal([item.body for item in received], [b"%d" % number for number in range(6)])
    equal([tags.index(item.method.consumer_tag) for item in received], [0, 1, 2, 0, 1, 2])


@check()
def cancel_is_answered_and_ends_deliveries(b):
    wire = confirm(b.wire())
    name = queue(wire)
    tag = consume(wire, name)
    equal(wire.call(Basic.Cancel(consumer_tag=tag)).consumer_tag, tag)
    fill(wire, name, b"1")
    equal(depth(wire, name), (1, 0))


@check()
def cancel_of_none_is_answered(b):
    equal(b.wire().call(Basic.Cancel(consumer_tag="nobody")).consumer_tag, "nobody")


@check()
def cancel_leaves_what_is_unacknowledged(b):
    wire = confirm(b.wire())
    name = queue(wire)
    tag = consume(wire, name)
    fill(wire, name, b"1")
    item = delivery(wire)
    wire.call(Basic.Cancel(consumer_tag=tag))
    equal(depth(wire, name), (0, 0))
    wire.send(Basic.Nack(item.method.delivery_tag))
    equal(get(wire, name).method.redelivered, True)


@check()
def cancel_by_the_broker_when_the_queue_goes(b):
    mine, other = b.wire(), b.wire()
    name = queue(mine, b.name(), exclusive=False)
    tag = consume(mine, name)
    other.call(Queue.Delete(queue=name))
    cancel = mine.expect(Basic.Cancel).method
    equal((cancel.consumer_tag, cancel.nowait), (tag, True))
    mine.call(Basic.Cancel(consumer_tag=tag))


@check()
def cancel_by_the_broker_is_not_for_clients_that_cannot_hear_it(b):
    mine, other = b.wire(capabilities={}), b.wire()
    name = queue(mine, b.name(), exclusive=False)
    consume(mine, name)
    other.call(Queue.Delete(queue=name))
    nothing_more(mine)


@check()
def cancel_ok_of_the_client_is_refused(b):
    wire = b.wire()
    connection_error(wire, Basic.CancelOk("x"), 503, "COMMAND_INVALID - unimplemented method")


@check()
def get_counts_what_is_left(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", b"2", b"3")
    for left in (2, 1, 0):
        item = get(wire, name, no_ack=False)
        equal((item.method.message_count, item.method.delivery_tag, item.method.redelivered), (left, 3 - left, False))
    equal(get(wire, name), None)


@check()
def get_is_not_held_by_the_prefetch_count(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", b"2")
    wire.call(Basic.Qos(prefetch_count=1, global_qos=True))
    equal(get(wire, name, no_ack=False).body, b"1")
    equal(get(wire, name, no_ack=False).body, b"2")


@check()
def get_and_consume_count_tags_together(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1")
    equal(get(wire, name, no_ack=False).method.delivery_tag, 1)
    consume(wire, name)
    wire.publish("", name, b"2")
    equal(delivery(wire).method.delivery_tag, 2)


@check()
def qos_holds_each_consumer(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=2), 2)
    tags = [consume(wire, name, channel=2), consume(wire, name, channel=2)]
    fill(wire, name, *(b"%d" % number for number in range(6)))
    received = [delivery(wire) for _ in range(4)]
    equal(sorted(tags.index(item.method.consumer_tag) for item in received), [0, 0, 1, 1])
    equal(depth(wire, name)[0], 2)
    first = [item for item in received if item.method.consumer_tag == tags[0]]
    wire.send(Basic.Ack(first[0].method.delivery_tag), 2)
    item = delivery(wire)
    equal((item.method.consumer_tag, item.body), (tags[0], b"4"))


@check()
def qos_is_of_the_consumers_that_follow(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    consume(wire, name, channel=2)
    wire.call(Basic.Qos(prefetch_count=1), 2)
    fill(wire, name, b"1", b"2", b"3")
    equal([delivery(wire).body for _ in range(3)], [b"1", b"2", b"3"])


@check()
def qos_global_holds_the_channel(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=3, global_qos=True), 2)
    consume(wire, name, channel=2)
    consume(wire, name, channel=2)
    fill(wire, name, *(b"%d" % number for number in range(5)))
    tags = [delivery(wire).method.delivery_tag for _ in range(3)]
    equal(depth(wire, name)[0], 2)
    wire.send(Basic.Ack(tags[-1], multiple=True), 2)
    equal({delivery(wire).body, delivery(wire).body}, {b"3", b"4"})


@check()
def qos_global_and_per_consumer_hold_together(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=2), 2)
    wire.call(Basic.Qos(prefetch_count=3, global_qos=True), 2)
    consume(wire, name, channel=2)
    fill(wire, name, *(b"%d" % number for number in range(5)))
    equal([delivery(wire).body for _ in range(2)], [b"0", b"1"])
    equal(depth(wire, name)[0], 3)
    consume(wire, name, channel=2)
    equal(delivery(wire).body, b"2")
    equal(depth(wire, name)[0], 2)


@check()
def qos_of_consumers_lifts_that_of_the_channel(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=1, global_qos=True), 2)
    wire.call(Basic.Qos(prefetch_count=2), 2)
    consume(wire, name, channel=2)
    consume(wire, name, channel=2)
    fill(wire, name, *(b"%d" % number for number in range(5)))
    equal({delivery(wire).body for _ in range(4)}, {b"0", b"1", b"2", b"3"})
    equal(depth(wire, name)[0], 1)


@check()
def qos_does_not_hold_no_ack(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=1), 2)
    consume(wire, name, channel=2, no_ack=True)
    fill(wire, name, b"1", b"2", b"3")
    equal([delivery(wire).body for _ in range(3)], [b"1", b"2", b"3"])


@check()
def qos_global_gives_consumers_turns(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    fill(wire, name, *(b"%d" % number for number in range(30)))
    wire.call(Basic.Qos(prefetch_count=1, global_qos=True), 2)
    tags = [consume(wire, name, channel=2) for _ in range(3)]
    takers = []
    for _ in range(30):
        item = delivery(wire)
        takers.append(item.method.consumer_tag)
        wire.send(Basic.Ack(item.method.delivery_tag), 2)
    # The first one may be a turn ahead.
    equal([abs(takers.count(tag) - 10) <= 1 for tag in tags], [True] * 3)


@check()
def qos_global_holds_no_ack(b):
    wire = confirm(b.wire().open(2))
    name, other = queue(wire), queue(wire)
    wire.call(Basic.Qos(prefetch_count=1, global_qos=True), 2)
    consume(wire, name, channel=2)
    fill(wire, name, b"1")
    item = delivery(wire)
    consume(wire, other, channel=2, no_ack=True)
    fill(wire, other, b"2", b"3")
    equal(depth(wire, other)[0], 2)
    wire.send(Basic.Ack(item.method.delivery_tag), 2)
    equal([delivery(wire).body for _ in range(2)], [b"2", b"3"])


@check()
def qos_raised_lets_more_through(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=1, global_qos=True), 2)
    consume(wire, name, channel=2)
    fill(wire, name, b"1", b"2", b"3")
    equal(delivery(wire).body, b"1")
    equal(depth(wire, name)[0], 2)
    wire.send(Basic.Qos(prefetch_count=2, global_qos=True), 2)
    equal(delivery(wire).body, b"2")
    wire.wait_for(Basic.QosOk)
    wire.send(Basic.Qos(prefetch_count=0, global_qos=True), 2)
    equal(delivery(wire).body, b"3")


@check()
def qos_by_size_is_not_implemented(b):
    wire = b.wire()
    connection_error(wire, Basic.Qos(prefetch_size=1), 540, "NOT_IMPLEMENTED - prefetch_size!=0 (1)")


@check()
def consumer_priority_goes_first(b):
    wire = confirm(b.wire())
    name = queue(wire)
    wire.call(Basic.Qos(prefetch_count=2))
    tags = {consume(wire, name, arguments={"x-priority": priority} if priority else None): priority for priority in (0, 10, -5)}
    fill(wire, name, *(b"%d" % number for number in range(6)))
    received = [tags[delivery(wire).method.consumer_tag] for _ in range(6)]
    equal(received, [10, 10, 0, 0, -5, -5])


@check()
def consumer_priority_that_is_no_number(b):
    wire = b.wire()
    name = queue(wire)
    text = f"PRECONDITION_FAILED - invalid arg 'x-priority' for queue '{name}' in vhost 'checks': \"expected integer, got longstr\""
    channel_error(wire, Basic.Consume(queue=name, arguments={"x-priority": "high"}), 406, text)


@check()
def consumer_of_a_closed_channel_is_gone(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    consume(wire, name, channel=2)
    wire.call(Channel.Close(200, "", 0, 0), 2)
    fill(wire, name, b"1")
    equal(depth(wire, name), (1, 0))


@check()
def direct_reply_to(b):
    asking, answering = b.wire(), b.wire()
    name = queue(answering, b.name(), exclusive=False)
    consume(answering, name, no_ack=True)
    tag = consume(asking, "amq.rabbitmq.reply-to", no_ack=True)
    asking.publish("", name, b"question", spec.BasicProperties(reply_to="amq.rabbitmq.reply-to", correlation_id="7"))
    question = delivery(answering)
    address = question.properties.reply_to
    assert address.startswith("amq.rabbitmq.reply-to.") and address != "amq.rabbitmq.reply-to.", address
    equal(answering.call(Queue.Declare(queue=address, passive=True)).queue, address)
    answering.publish("", address, b"answer", spec.BasicProperties(correlation_id="7"))
    item = delivery(asking)
    method = item.method
    equal((item.body, item.properties.correlation_id, method.consumer_tag), (b"answer", "7", tag))
    equal((method.exchange, method.routing_key, method.redelivered, method.delivery_tag), ("", address, False, 1))
    nothing_more(answering)


@check()
def direct_reply_to_is_not_acknowledged(b):
    wire = b.wire()
    text = "PRECONDITION_FAILED - reply consumer cannot acknowledge"
    channel_error(wire, Basic.Consume(queue="amq.rabbitmq.reply-to"), 406, text)


@check()
def direct_reply_to_is_one_of_a_channel(b):
    wire = b.wire()
    consume(wire, "amq.rabbitmq.reply-to", no_ack=True)
    channel_error(wire, Basic.Consume(queue="amq.rabbitmq.reply-to", no_ack=True), 406, "PRECONDITION_FAILED - reply consumer already set")


@check()
def direct_reply_to_needs_its_consumer_first(b):
    wire = b.wire()
    wire.publish("", queue(wire), b"1", spec.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    close = wire.expect(Channel.Close).method
    equal((close.reply_code, close.reply_text), (406, "PRECONDITION_FAILED - fast reply consumer does not exist"))


@check()
def direct_reply_to_is_cancelled_like_others(b):
    asking, answering = b.wire(), b.wire()
    name = queue(answering, b.name(), exclusive=False)
    consume(answering, name, no_ack=True)
    tag = consume(asking, "amq.rabbitmq.reply-to", no_ack=True)
    asking.publish("", name, b"question", spec.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    address = delivery(answering).properties.reply_to
    asking.call(Basic.Cancel(consumer_tag=tag))
    answering.publish("", address, b"answer", mandatory=True)
    equal(str(answering.receive().method.NAME), "Basic.Return")


@check()
def direct_reply_to_of_a_channel_that_is_gone(b):
    asking, answering = b.wire(), b.wire()
    name = queue(answering, b.name(), exclusive=False)
    consume(answering, name, no_ack=True)
    consume(asking, "amq.rabbitmq.reply-to", no_ack=True)
    asking.publish("", name, b"question", spec.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    address = delivery(answering).properties.reply_to
    asking.call(Channel.Close(200, "", 0, 0))
    channel_error(answering, Queue.Declare(queue=address, passive=True), 404, f"NOT_FOUND - no queue '{address}' in vhost 'checks'")
    answering.publish("", address, b"answer", mandatory=True)
    answering.expect(Basic.Return)


@check()
def direct_reply_to_is_no_queue_otherwise(b):
    wire = b.wire()
    equal(wire.call(Queue.Declare(queue="amq.rabbitmq.reply-to", passive=True)).queue, "amq.rabbitmq.reply-to")
    text = "NOT_FOUND - no queue 'amq.rabbitmq.reply-to' in vhost 'checks'"
    channel_error(wire, Basic.Get(queue="amq.rabbitmq.reply-to"), 404, text)


@check()
def direct_reply_to_returns_what_is_mandatory_and_delivers_it(b):
    asking, answering = b.wire(), b.wire()
    name = queue(answering, b.name(), exclusive=False)
    consume(answering, name, no_ack=True)
    consume(asking, "amq.rabbitmq.reply-to", no_ack=True)
    asking.publish("", name, b"question", spec.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    answering.publish("", delivery(answering).properties.reply_to, b"answer", mandatory=True)
    equal(answering.expect(Basic.Return).body, b"answer")
    equal(delivery(asking).body, b"answer")
