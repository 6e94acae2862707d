"""pika as most programs use it: BlockingConnection, each of its features."""

import threading
from decimal import Decimal

import pika
from pika import exceptions
from pika.exchange_type import ExchangeType

from check import VIRTUAL_HOST, check, equal, given, process_until
from checks.publishing import EVERYTHING


def raises(error, call, *arguments, **options):
    """Calls, and returns the error that has to be raised."""
    try:
        call(*arguments, **options)
    except error as raised:
        return raised
    raise AssertionError(f"{call.__name__} raised no {error.__name__}")


def declare(channel, name="", **options):
    return channel.queue_declare(name, **{"exclusive": True, **options}).method.queue


@check(pika=["PlainCredentials", "client_properties", "channel_max", "frame_max"])
def blocking_connection_with_every_parameter(b):
    connection = b.connect(
        credentials=pika.PlainCredentials("guest", "guest"),
        client_properties={"connection_name": "checks"},
        channel_max=100,
        frame_max=8192,
        locale="en_US",
        blocked_connection_timeout=60,
        connection_attempts=2,
        retry_delay=1,
        tcp_options={"TCP_NODELAY": 1},
    )
    channel = connection.channel()
    name = declare(channel)
    channel.basic_publish("", name, b"x" * 20_000)
    equal(len(channel.basic_get(name, auto_ack=True)[2]), 20_000)
    assert connection.is_open and not connection.is_closed
    connection.close()
    assert connection.is_closed


@check(pika=["URLParameters"])
def blocking_connection_by_url(b):
    host, port = b.address
    connection = pika.BlockingConnection(pika.URLParameters(f"amqp://guest:guest@{host}:{port}/{VIRTUAL_HOST}?heartbeat=30"))
    connection.channel()
    connection.close()


@check(pika=["ConnectionParameters: several endpoints"])
def blocking_connection_to_the_first_that_answers(b):
    nobody = b.parameters()
    nobody.port, nobody.connection_attempts = 1, 1
    connection = pika.BlockingConnection([nobody, b.parameters()])
    connection.channel()
    connection.close()


@check(pika=["context managers"])
def blocking_connection_as_a_context(b):
    with pika.BlockingConnection(b.parameters()) as connection:
        with connection.channel() as channel:
            equal(channel.channel_number, 1)
        assert channel.is_closed
    assert connection.is_closed


@check(pika=["ProbableAuthenticationError"])
def blocking_wrong_password(b):
    error = raises(exceptions.ProbableAuthenticationError, b.connect, credentials=pika.PlainCredentials("guest", "wrong"))
    assert "403" in str(error) and "ACCESS_REFUSED" in str(error), error


@check(pika=["ProbableAccessDeniedError"])
def blocking_unknown_virtual_host(b):
    error = raises(exceptions.ProbableAccessDeniedError, b.connect, virtual_host="nowhere")
    assert "(530) 'NOT_ALLOWED - vhost nowhere not found'" in str(error), error


@check(pika=["ConnectionClosedByBroker"])
def blocking_connection_closed_by_the_broker(b):
    channel = b.channel()
    error = raises(exceptions.ConnectionClosedByBroker, channel.exchange_declare, b.name("x"), exchange_type="x-unknown")
    equal((error.reply_code, error.reply_text), (503, "COMMAND_INVALID - unknown exchange type 'x-unknown'"))


@check()
def blocking_capabilities_of_the_broker(b):
    connection = b.connect()
    for name in ("basic_nack", "consumer_cancel_notify", "exchange_exchange_bindings", "publisher_confirms"):
        assert getattr(connection, name), name
        assert getattr(connection, f"{name}_supported"), name


@check()
def blocking_update_secret(b):
    b.connect().update_secret("guest", "renewed")


@check()
def blocking_timers_and_thread_safe_callbacks(b):
    connection = b.connect()
    called = []
    connection.call_later(0.01, lambda: called.append("later"))
    timer = connection.call_later(0.01, lambda: called.append("never"))
    connection.remove_timeout(timer)
    threading.Thread(target=lambda: connection.add_callback_threadsafe(lambda: called.append("thread"))).start()
    process_until(connection, "two calls", lambda: len(called) == 2)
    connection.sleep(0.02)
    equal(sorted(called), ["later", "thread"])


@check(pika=["exchange types: ExchangeType"])
def blocking_exchanges(b):
    channel = b.channel()
    for kind in ExchangeType:
        source, destination = b.name("x"), b.name("x")
        for name in (source, destination):
            channel.exchange_declare(name, exchange_type=kind, durable=True, auto_delete=False, internal=False, arguments={})
            channel.exchange_declare(name, passive=True)
        channel.exchange_bind(destination, source, routing_key="a")
        channel.exchange_unbind(destination, source, routing_key="a")
        channel.exchange_delete(source, if_unused=True)
        channel.exchange_delete(destination)


@check()
def blocking_queues(b):
    channel = b.channel()
    name = declare(channel, b.name(), arguments={"x-max-length": 5})
    channel.queue_declare(name, passive=True)
    channel.queue_bind(name, "amq.topic", routing_key=f"{name}.*")
    channel.basic_publish("amq.topic", f"{name}.a", b"1")
    channel.basic_publish("amq.topic", f"{name}.b", b"2")
    channel.queue_unbind(name, "amq.topic", routing_key=f"{name}.*")
    equal(channel.basic_get(name, auto_ack=True)[2], b"1")
    equal(channel.queue_purge(name).method.message_count, 1)
    equal(channel.queue_delete(name, if_unused=True, if_empty=True).method.message_count, 0)


@check(pika=["every property of a message", "field tables of every type"])
def blocking_properties(b):
    channel = b.channel()
    name = declare(channel)
    headers = {"text": "ä", "bytes": b"\0", "int": 5, "long": 2**50, "true": True, "none": None, "decimal": Decimal("1.25"), "list": [1, ["a"]], "table": {"k": {}}}
    properties = pika.BasicProperties(**{**EVERYTHING, "headers": headers})
    channel.basic_publish("", name, b"body", properties)
    method, found, body = channel.basic_get(name)
    equal((given(found), body), (given(properties), b"body"))
    channel.basic_ack(method.delivery_tag)
    equal(channel.basic_get(name), (None, None, None))


@check(pika=["mandatory: UnroutableError", "NackError"])
def blocking_confirms(b):
    channel = b.channel()
    channel.confirm_delivery()
    name = declare(channel, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    channel.basic_publish("", name, b"1", mandatory=True)
    error = raises(exceptions.NackError, channel.basic_publish, "", name, b"2")
    equal(len(error.messages), 0)
    error = raises(exceptions.UnroutableError, channel.basic_publish, "", b.name(), b"3", mandatory=True)
    returned = error.messages[0]
    equal((returned.body, returned.method.reply_code, returned.method.reply_text), (b"3", 312, "NO_ROUTE"))


@check()
def blocking_returns_without_confirms(b):
    connection = b.connect()
    channel = connection.channel()
    returned = []
    channel.add_on_return_callback(lambda channel, method, properties, body: returned.append((method.reply_text, body)))
    channel.basic_publish("", b.name(), b"1", mandatory=True)
    process_until(connection, "basic.return", lambda: returned)
    equal(returned, [("NO_ROUTE", b"1")])


@check()
def blocking_consume_with_callbacks(b):
    channel = b.channel()
    name = declare(channel)
    received = []

    def on_message(channel, method, properties, body):
        received.append(body)
        channel.basic_ack(method.delivery_tag)
        if len(received) == 3:
            channel.stop_consuming()

    channel.basic_qos(prefetch_count=2)
    tag = channel.basic_consume(name, on_message, exclusive=True, consumer_tag="mine", arguments={"x-priority": 1})
    equal((tag, channel.consumer_tags), ("mine", ["mine"]))
    for body in (b"1", b"2", b"3"):
        channel.basic_publish("", name, body)
    channel.start_consuming()
    equal(received, [b"1", b"2", b"3"])


@check()
def blocking_consume_as_a_generator(b):
    channel = b.channel()
    name = declare(channel)
    for body in (b"1", b"2", b"3", b"4"):
        channel.basic_publish("", name, body)
    received = []
    for method, _, body in channel.consume(name, inactivity_timeout=10):
        received.append(body)
        if body == b"2":
            channel.basic_nack(method.delivery_tag, requeue=False)
            break
        channel.basic_reject(method.delivery_tag, requeue=False)
    channel.get_waiting_message_count()
    channel.cancel()
    equal(received, [b"1", b"2"])
    equal([channel.basic_get(name, auto_ack=True)[2] for _ in range(2)], [b"3", b"4"])


@check()
def blocking_generator_ends_when_nothing_comes(b):
    channel = b.channel()
    for item in channel.consume(declare(channel), inactivity_timeout=0.01):
        equal(item, (None, None, None))
        break


@check()
def blocking_cancelled_by_the_broker(b):
    connection = b.connect()
    channel, other = connection.channel(), connection.channel()
    name = declare(channel)
    cancelled = []
    channel.add_on_cancel_callback(cancelled.append)
    tag = channel.basic_consume(name, lambda *_: None)
    other.queue_delete(name)
    process_until(connection, "basic.cancel", lambda: cancelled)
    equal((cancelled[0].method.consumer_tag, channel.consumer_tags), (tag, []))


@check()
def blocking_cancel_returns_nothing_pending(b):
    channel = b.channel()
    tag = channel.basic_consume(declare(channel), lambda *_: None, auto_ack=True)
    equal(channel.basic_cancel(tag), [])


@check()
def blocking_recover(b):
    channel = b.channel()
    name = declare(channel)
    channel.basic_publish("", name, b"1")
    channel.basic_get(name)
    channel.basic_recover(requeue=True)
    method, _, body = channel.basic_get(name, auto_ack=True)
    equal((body, method.redelivered), (b"1", True))


@check()
def blocking_transactions(b):
    channel = b.channel()
    name = declare(channel)
    channel.tx_select()
    channel.basic_publish("", name, b"1")
    channel.tx_rollback()
    channel.basic_publish("", name, b"2")
    channel.tx_commit()
    equal(channel.basic_get(name)[2], b"2")


@check()
def blocking_flow(b):
    equal(b.channel().flow(True), True)


@check(pika=["ChannelClosedByBroker"])
def blocking_channel_closed_by_the_broker(b):
    connection = b.connect()
    channel = connection.channel()
    name = b.name()
    error = raises(exceptions.ChannelClosedByBroker, channel.queue_declare, name, passive=True)
    equal((error.reply_code, error.reply_text), (404, f"NOT_FOUND - no queue '{name}' in vhost '{VIRTUAL_HOST}'"))
    raises(exceptions.ChannelWrongStateError, channel.queue_declare, name)
    connection.channel().close(reply_code=200, reply_text="bye")


@check(pika=["heartbeats"])
def blocking_heartbeats_keep_an_idle_connection(b):
    connection = b.connect(heartbeat=1)
    connection.sleep(2.5)
    connection.channel()


@check(pika=["direct reply-to"])
def blocking_rpc(b):
    connection = b.connect()
    channel = connection.channel()
    name = declare(channel)
    answers = []

    def answer(channel, method, properties, body):
        channel.basic_publish("", properties.reply_to, body.upper(), pika.BasicProperties(correlation_id=properties.correlation_id))

    channel.basic_consume(name, answer, auto_ack=True)
    channel.basic_consume("amq.rabbitmq.reply-to", lambda *message: answers.append(message), auto_ack=True)
    properties = pika.BasicProperties(reply_to="amq.rabbitmq.reply-to", correlation_id="7")
    channel.basic_publish("", name, b"question", properties)
    process_until(connection, "an answer", lambda: answers)
    _, _, properties, body = answers[0]
    equal((properties.correlation_id, body), ("7", b"QUESTION"))
