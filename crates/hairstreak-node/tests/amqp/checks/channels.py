"""Channels: open, close, flow, and what is not allowed on them."""

from pika.spec import Access, Basic, Channel, Connection, Exchange, Queue

from check import channel_error, check, connection_error, equal, queue, refused_connection


UNEXPECTED = "CHANNEL_ERROR - unexpected method in connection state running"
UNIMPLEMENTED = "COMMAND_INVALID - unimplemented method"


@check()
def channel_open_and_close(b):
    wire = b.wire()
    wire.call(Channel.Close(200, "", 0, 0))
    wire.open()


@check()
def channel_number_is_free_again_at_once(b):
    wire = b.wire()
    for _ in range(50):
        wire.call(Channel.Close(200, "", 0, 0))
        wire.open()


@check()
def channel_open_twice(b):
    wire = b.wire()
    connection_error(wire, Channel.Open(), 504, "CHANNEL_ERROR - second 'channel.open' seen")


@check()
def channel_not_open(b):
    wire = b.wire()
    text = "CHANNEL_ERROR - expected 'channel.open'"
    connection_error(wire, Queue.Declare(queue="x"), 504, text, channel=7)


@check()
def channel_above_the_negotiated_maximum(b):
    wire = b.tcp().login(channel_max=10)
    text = "NOT_ALLOWED - number of channels opened (10) has reached the negotiated channel_max (10)"
    for channel in range(1, 11):
        wire.open(channel)
    connection_error(wire, Channel.Open(), 530, text, channel=11, blamed=False)


@check()
def channel_numbers_may_be_above_the_maximum_of_channels(b):
    b.tcp().login(channel_max=10).open(11)


@check()
def channel_flow_on_is_answered(b):
    wire = b.wire()
    equal(wire.call(Channel.Flow(active=True)).active, True)


@check()
def channel_flow_off_is_not_implemented(b):
    wire = b.wire()
    connection_error(wire, Channel.Flow(active=False), 540, "NOT_IMPLEMENTED - active=false")


@check()
def channel_access_request_is_answered_as_of_old(b):
    wire = b.wire()
    equal(wire.call(Access.Request("/data")).ticket, 1)


@check()
def channel_error_leaves_other_channels(b):
    wire = b.wire().open(2)
    name = queue(wire, channel=2)
    missing = b.name()
    channel_error(wire, Queue.Purge(queue=missing), 404, f"NOT_FOUND - no queue '{missing}' in vhost 'checks'")
    equal(wire.call(Queue.Declare(queue=name, passive=True), 2).queue, name)


@check()
def channel_drops_what_comes_between_its_close_and_close_ok(b):
    wire = b.wire()
    name = queue(wire)
    wire.send(Queue.Purge(queue=b.name()))
    wire.publish("", name, b"lost")
    wire.send(Queue.Declare(queue="", exclusive=True))
    wire.expect(Channel.Close)
    wire.send(Basic.Get(queue=name))
    wire.send(Channel.CloseOk())
    wire.open()
    equal(wire.call(Queue.Declare(queue=name, passive=True)).message_count, 0)


@check()
def channel_close_crossing_the_brokers(b):
    wire = b.wire()
    wire.send(Queue.Purge(queue=b.name()))
    wire.expect(Channel.Close)
    wire.call(Channel.Close(200, "", 0, 0))
    wire.send(Channel.CloseOk())
    wire.open()


@check()
def channel_close_ok_without_close(b):
    wire = b.wire()
    connection_error(wire, Channel.CloseOk(), 503, UNIMPLEMENTED)


@check()
def channel_0_is_the_connections(b):
    wire = b.wire()
    connection_error(wire, Queue.Declare(queue="x"), 504, UNEXPECTED, channel=0)


@check()
def channel_0_cannot_be_opened(b):
    wire = b.wire()
    connection_error(wire, Channel.Open(), 504, UNEXPECTED, channel=0)


@check()
def channel_with_a_method_of_the_connection(b):
    wire = b.wire()
    connection_error(wire, Connection.Close(200, "", 0, 0), 503, UNIMPLEMENTED)


@check()
def channel_0_with_a_content(b):
    wire = b.wire()
    wire.publish("", "x", b"y", channel=0)
    refused_connection(wire, 504, UNEXPECTED, Basic.Publish())


@check()
def channel_with_a_method_that_only_brokers_send(b):
    wire = b.wire()
    connection_error(wire, Queue.DeclareOk("x", 0, 0), 503, UNIMPLEMENTED)


@check()
def channel_answers_come_in_the_order_of_requests(b):
    wire = b.wire()
    name = queue(wire)
    for _ in range(20):
        wire.send(Queue.Declare(queue=name, passive=True))
        wire.send(Exchange.Declare(exchange="amq.direct", passive=True))
    for _ in range(20):
        wire.expect(Queue.DeclareOk)
        wire.expect(Exchange.DeclareOk)


@check()
def channel_numbers_need_no_order(b):
    wire = b.tcp().login()
    for channel in (2047, 3, 1000, 1):
        wire.open(channel)
        equal(wire.call(Basic.Qos(prefetch_count=1), channel).NAME, "Basic.QosOk")
