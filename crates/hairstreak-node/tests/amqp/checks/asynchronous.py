"""pika's SelectConnection and its asyncio adapter: callbacks all the way."""

import asyncio

import pika
from pika.adapters.asyncio_connection import AsyncioConnection

from check import check, equal


class Session:
    """A SelectConnection whose steps are a generator: each `yield` hands out a function that is called with a callback,
    and goes on with what the callback got."""

    def __init__(self, b, steps):
        self.problem = None
        self.steps = steps(self)
        parameters = b.parameters()
        self.connection = pika.SelectConnection(
            parameters,
            on_open_callback=self.begin,
            on_open_error_callback=self.on_end,
            on_close_callback=self.on_end,
        )
        self.connection.ioloop.call_later(10, lambda: self.fail(AssertionError("nothing more came")))
        self.connection.ioloop.start()
        if self.problem:
            raise self.problem

    def begin(self, connection):
        self.go_on_with(None)

    def go_on(self, *got):
        self.go_on_with(got)

    def go_on_with(self, got):
        try:
            self.steps.send(got)(self.go_on)
        except StopIteration:
            self.connection.close()
        except Exception as problem:
            self.fail(problem)

    def fail(self, problem):
        self.problem = problem
        self.connection.ioloop.stop()

    def on_end(self, connection, reason):
        self.connection.ioloop.stop()

    def channel(self):
        """The step that opens a channel."""
        return lambda callback: self.connection.channel(on_open_callback=callback)


@check(pika=["SelectConnection", "asynchronous Channel: confirm_delivery callbacks"])
def asynchronous_confirms(b):
    def steps(session):
        (channel,) = yield session.channel()
        (declared,) = yield lambda callback: channel.queue_declare("", exclusive=True, callback=callback)
        acks = []
        wanted = []

        def on_confirm(frame):
            acks.append((frame.method.NAME, frame.method.delivery_tag))
            if wanted and frame.method.delivery_tag >= 3:
                wanted.pop()()

        yield lambda callback: channel.confirm_delivery(on_confirm, callback=callback)

        def publish(callback):
            wanted.append(callback)
            for body in (b"1", b"2", b"3"):
                channel.basic_publish("", declared.method.queue, body)

        yield publish
        equal({name for name, _ in acks}, {"Basic.Ack"})
        equal(acks[-1][1], 3)

    Session(b, steps)


@check(pika=["asynchronous Channel: add_on_return_callback"])
def asynchronous_returns(b):
    def steps(session):
        (channel,) = yield session.channel()

        def publish(callback):
            channel.add_on_return_callback(callback)
            channel.basic_publish("", b.name(), b"1", mandatory=True)

        _, method, _, body = yield publish
        equal((method.reply_code, body), (312, b"1"))

    Session(b, steps)


@check(pika=["asynchronous Channel: add_on_cancel_callback"])
def asynchronous_cancel_by_the_broker(b):
    def steps(session):
        (channel,) = yield session.channel()
        (declared,) = yield lambda callback: channel.queue_declare("", exclusive=True, callback=callback)
        name = declared.method.queue
        yield lambda callback: channel.basic_consume(name, lambda *_: None, callback=callback)

        def delete(callback):
            channel.add_on_cancel_callback(callback)
            channel.queue_delete(name)

        (cancelled,) = yield delete
        equal(cancelled.method.NAME, "Basic.Cancel")

    Session(b, steps)


@check(pika=["asynchronous Channel: add_on_close_callback"])
def asynchronous_channel_closed_by_the_broker(b):
    def steps(session):
        (channel,) = yield session.channel()

        def declare(callback):
            channel.add_on_close_callback(callback)
            channel.queue_declare(b.name(), passive=True)

        _, reason = yield declare
        equal(reason.reply_code, 404)
        yield session.channel()

    Session(b, steps)


@check(pika=["asynchronous Channel: flow"])
def asynchronous_everything_else_of_a_channel(b):
    def steps(session):
        (channel,) = yield session.channel()
        name, exchange = b.name(), b.name("x")
        (flow,) = yield lambda callback: channel.flow(True, callback=callback)
        equal(flow, True)
        yield lambda callback: channel.exchange_declare(exchange, "topic", callback=callback)
        yield lambda callback: channel.queue_declare(name, exclusive=True, callback=callback)
        yield lambda callback: channel.queue_bind(name, exchange, "#", callback=callback)
        yield lambda callback: channel.exchange_bind(exchange, "amq.topic", name, callback=callback)
        yield lambda callback: channel.basic_qos(prefetch_count=5, callback=callback)
        channel.basic_publish("amq.topic", name, b"1")
        _, method, _, body = yield lambda callback: channel.basic_get(name, callback)
        equal(body, b"1")
        channel.basic_nack(method.delivery_tag, requeue=True)
        yield lambda callback: channel.basic_recover(requeue=True, callback=callback)
        _, method, _, body = yield lambda callback: channel.basic_consume(name, callback, consumer_tag="mine")
        equal((body, method.redelivered, method.consumer_tag), (b"1", True, "mine"))
        channel.basic_ack(method.delivery_tag)
        yield lambda callback: channel.basic_cancel("mine", callback=callback)
        yield lambda callback: channel.queue_purge(name, callback=callback)
        yield lambda callback: channel.exchange_unbind(exchange, "amq.topic", name, callback=callback)
        yield lambda callback: channel.queue_unbind(name, exchange, "#", callback=callback)
        yield lambda callback: channel.queue_delete(name, callback=callback)
        yield lambda callback: channel.exchange_delete(exchange, callback=callback)
        yield lambda callback: channel.tx_select(callback=callback)
        yield lambda callback: channel.tx_commit(callback=callback)
        yield lambda callback: channel.tx_rollback(callback=callback)
        yield lambda callback: session.connection.update_secret("guest", "renewed", callback=callback)

    Session(b, steps)


@check(pika=["asyncio adapter"])
def asynchronous_on_asyncio(b):
    async def run():
        loop = asyncio.get_running_loop()
        received = loop.create_future()

        def on_channel(channel):
            name = b.name()
            channel.queue_declare(name, exclusive=True)
            channel.basic_consume(name, lambda channel, method, properties, body: received.set_result(body), auto_ack=True)
            channel.basic_publish("", name, b"1")

        connection = AsyncioConnection(
            b.parameters(),
            on_open_callback=lambda connection: connection.channel(on_open_callback=on_channel),
            on_open_error_callback=lambda _, problem: received.set_exception(problem),
            custom_ioloop=loop,
        )
        equal(await asyncio.wait_for(received, 10), b"1")
        connection.close()

    asyncio.run(run())
