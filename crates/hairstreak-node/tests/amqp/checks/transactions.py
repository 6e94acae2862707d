"""The class tx."""

from pika.spec import Basic, Channel, Exchange, Queue, Tx

from check import bodies_of, channel_error, check, confirm, depth, equal, fill, get, queue, refused_channel


@check()
def tx_commit_publishes(b):
    wire = b.wire()
    name = queue(wire)
    wire.call(Tx.Select())
    wire.publish("", name, b"1")
    wire.publish("", name, b"2")
    equal(depth(wire, name), (0, 0))
    wire.call(Tx.Commit())
    equal(bodies_of(wire, name), [b"1", b"2"])


@check()
def tx_routes_when_it_is_published(b):
    wire = b.wire()
    bound, late, again = queue(wire), queue(wire), b.name()
    exchange = b.name()
    queue(wire, again)
    wire.call(Exchange.Declare(exchange=exchange, type="fanout"))
    for name in (bound, again):
        wire.call(Queue.Bind(queue=name, exchange=exchange))
    wire.call(Tx.Select())
    wire.publish(exchange, "", b"1")
    wire.call(Queue.Bind(queue=late, exchange=exchange))
    wire.call(Exchange.Delete(exchange=exchange))
    # The queue of that name at the commit gets the message.
    wire.call(Queue.Delete(queue=again))
    queue(wire, again)
    wire.call(Tx.Commit())
    equal([bodies_of(wire, name) for name in (bound, late, again)], [[b"1"], [], [b"1"]])


@check()
def tx_returns_with_the_commit(b):
    wire = b.wire()
    wire.call(Tx.Select())
    wire.publish("", "nobody", b"1", mandatory=True)
    wire.send(Tx.Commit())
    equal(wire.expect(Basic.Return).body, b"1")
    wire.expect(Tx.CommitOk)


@check()
def tx_rollback_forgets(b):
    wire = b.wire()
    name = queue(wire)
    wire.call(Tx.Select())
    wire.publish("", name, b"1")
    wire.call(Tx.Rollback())
    wire.publish("", name, b"2")
    wire.call(Tx.Commit())
    equal(bodies_of(wire, name), [b"2"])


@check()
def tx_acknowledgements_wait_for_the_commit(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    fill(wire, name, b"1", b"2")
    wire.call(Tx.Select(), 2)
    wire.send(Basic.Get(queue=name), 2)
    tag = wire.expect(Basic.GetOk).method.delivery_tag
    wire.send(Basic.Ack(tag), 2)
    wire.call(Tx.Rollback(), 2)
    wire.send(Basic.Ack(tag), 2)
    wire.call(Tx.Commit(), 2)
    wire.call(Channel.Close(200, "", 0, 0), 2)
    equal(bodies_of(wire, name), [b"2"])


@check()
def tx_reject_waits_for_the_commit(b):
    wire = confirm(b.wire().open(2))
    name = queue(wire)
    fill(wire, name, b"1")
    wire.call(Tx.Select(), 2)
    wire.send(Basic.Get(queue=name), 2)
    tag = wire.expect(Basic.GetOk).method.delivery_tag
    wire.send(Basic.Reject(tag, requeue=True), 2)
    equal(depth(wire, name), (0, 0))
    wire.call(Tx.Commit(), 2)
    item = get(wire, name)
    equal((item.body, item.method.redelivered), (b"1", True))


@check()
def tx_closed_channel_forgets(b):
    wire = b.wire()
    name = queue(wire)
    wire.call(Tx.Select())
    wire.publish("", name, b"1")
    wire.call(Channel.Close(200, "", 0, 0))
    wire.open()
    equal(depth(wire, name), (0, 0))


@check()
def tx_return_comes_before_the_commit_ok(b):
    wire = b.wire()
    wire.call(Tx.Select())
    wire.publish("", b.name(), b"1", mandatory=True)
    wire.call(Basic.Qos(prefetch_count=0))
    wire.send(Tx.Commit())
    wire.expect(Basic.Return)
    wire.expect(Tx.CommitOk)


@check()
def tx_commit_without_select(b):
    wire = b.wire()
    channel_error(wire, Tx.Commit(), 406, "PRECONDITION_FAILED - channel is not transactional")
    channel_error(wire, Tx.Rollback(), 406, "PRECONDITION_FAILED - channel is not transactional")


@check()
def tx_select_may_be_repeated(b):
    wire = b.wire()
    wire.call(Tx.Select())
    wire.call(Tx.Select())


@check()
def tx_select_on_a_channel_of_confirms(b):
    wire = confirm(b.wire())
    channel_error(wire, Tx.Select(), 406, "PRECONDITION_FAILED - cannot switch from confirm to tx mode")


@check()
def tx_unknown_exchange_is_told_at_once(b):
    wire = b.wire()
    name = b.name("x")
    wire.call(Tx.Select())
    wire.publish(name, "", b"1")
    refused_channel(wire, 404, f"NOT_FOUND - no exchange '{name}' in vhost 'checks'", Basic.Publish())


@check()
def tx_unknown_delivery_tag_is_told_at_once(b):
    wire = b.wire()
    wire.call(Tx.Select())
    channel_error(wire, Basic.Ack(5), 406, "PRECONDITION_FAILED - unknown delivery tag 5")
