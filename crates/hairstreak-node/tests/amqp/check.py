"""What a check is given, and the list of them. A check is a function that takes a `Broker` and asserts what a client sees."""

import itertools
import os
import subprocess
import time
import traceback
from contextlib import contextmanager

import pika
from pika import spec

from wire import PATIENCE_S, Wire, name_of

VIRTUAL_HOST = "checks"
PROPERTIES = (
    "content_type content_encoding headers delivery_mode priority correlation_id reply_to expiration message_id timestamp "
    "type user_id app_id cluster_id"
).split()

registry = []
# Sets the alarm of the broker under test, followed by "on" or "off".
alarm_command = []
run_id = f"{os.getpid():x}"


class Check:
    def __init__(self, function, needs, features):
        self.name, self.function, self.needs, self.features = function.__name__, function, needs, features

    def run(self, broker):
        """Runs it, and returns what went wrong, or None."""
        try:
            self.function(broker)
        except AssertionError as error:
            return f"{error}\n    at {place(error)}"
        except Exception as error:  # A check may fail in any way; the others go on.
            return f"{type(error).__name__}: {error}\n    at {place(error)}"
        finally:
            broker.leave()
        return None


def check(needs=None, pika=()):
    """Registers a check. `needs` names what not every broker has; `pika` names features of pika that it uses."""

    def register(function):
        registry.append(Check(function, needs, pika))
        return function

    return register


def place(error):
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return " < ".join(f"{os.path.basename(f.filename)}:{f.lineno}" for f in reversed(frames))


def equal(found, expected, what="found"):
    assert found == expected, f"{what} {found!r} instead of {expected!r}"


def process_until(connection, expected, is_so):
    """Has pika's connection take what arrives until `is_so()`. A failure names what was expected."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"expected within {PATIENCE_S} s: {expected}"
        connection.process_data_events(time_limit=1)


class Broker:
    """The broker under test, as one check sees it: connections that end with the check, and names that are its own."""

    def __init__(self, address, check_name):
        self.address, self.check_name = address, check_name
        self.numbers = itertools.count()
        self.names, self.wires, self.connections = [], [], []

    def name(self, word="q"):
        """A name that no other check has. A queue or an exchange of this name is deleted after the check."""
        name = f"{self.check_name}.{word}{next(self.numbers)}.{run_id}"
        self.names.append(name)
        return name

    def tcp(self):
        """A connection on which nothing has been sent."""
        wire = Wire(self.address)
        self.wires.append(wire)
        return wire

    def wire(self, **login):
        """A connection of raw frames, logged in, with channel 1 open."""
        return self.tcp().login(**login).open()

    def parameters(self, **options):
        options = {"virtual_host": VIRTUAL_HOST, "heartbeat": 0, "socket_timeout": 60, "stack_timeout": 60, **options}
        return pika.ConnectionParameters(*self.address, **options)

    def connect(self, **options):
        """pika's BlockingConnection."""
        connection = pika.BlockingConnection(self.parameters(**options))
        self.connections.append(connection)
        return connection

    def channel(self, **options):
        return self.connect(**options).channel()

    @contextmanager
    def alarm(self):
        """While this lasts, the broker believes that it is short of memory."""
        subprocess.run([*alarm_command, "on"], check=True, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            subprocess.run([*alarm_command, "off"], check=True, stdout=subprocess.DEVNULL)

    def leave(self):
        for connection in self.connections:
            with quietly():
                connection.close()
        for wire in self.wires:
            wire.close()
        if self.names:
            with quietly():
                self.forget_names()

    def forget_names(self):
        wire = Wire(self.address).login().open()
        wire.delete(self.names)
        wire.close()


@contextmanager
def quietly():
    try:
        yield
    except Exception:
        # Checks leave connections in every state.
        pass


# Topology in one line.


def queue(wire, name="", channel=1, **options):
    """Declares a queue and returns its name; exclusive unless said otherwise."""
    options = {"exclusive": True, **options}
    return wire.call(spec.Queue.Declare(queue=name, **options), channel).queue


def exchange(wire, name, kind="direct", channel=1, **options):
    wire.call(spec.Exchange.Declare(exchange=name, type=kind, **options), channel)
    return name


def bind(wire, queue_name, exchange_name, key="", channel=1, **arguments):
    wire.call(spec.Queue.Bind(queue=queue_name, exchange=exchange_name, routing_key=key, **arguments), channel)


def consume(wire, queue_name, channel=1, **options):
    """Starts a consumer and returns its tag."""
    wire.send(spec.Basic.Consume(queue=queue_name, **options), channel)
    return wire.wait_for(spec.Basic.ConsumeOk).method.consumer_tag


def confirm(wire, channel=1):
    wire.call(spec.Confirm.Select(), channel)
    return wire


def publish_confirmed(wire, exchange_name, key, body=b"", channel=1, **options):
    """Publishes and waits until the broker has it. Returns True for basic.ack and False for basic.nack."""
    wire.publish(exchange_name, key, body, channel=channel, **options)
    return isinstance(wire.wait_for((spec.Basic.Ack, spec.Basic.Nack)).method, spec.Basic.Ack)


def fill(wire, queue_name, *bodies, **options):
    """Publishes bodies to a queue, in confirm mode."""
    for body in bodies:
        assert publish_confirmed(wire, "", queue_name, body, **options), f"{body!r} was refused"


def get(wire, queue_name, channel=1, no_ack=True):
    """basic.get: the item, or None."""
    wire.send(spec.Basic.Get(queue=queue_name, no_ack=no_ack), channel)
    item = wire.wait_for((spec.Basic.GetOk, spec.Basic.GetEmpty))
    return item if isinstance(item.method, spec.Basic.GetOk) else None


def bodies_of(wire, queue_name, channel=1):
    """Takes everything that a queue has."""
    bodies = []
    while (item := get(wire, queue_name, channel)) is not None:
        bodies.append(item.body)
    return bodies


def await_get(wire, queue_name, channel=1, no_ack=True):
    """The next message of a queue, which is on its way there."""
    consumer = consume(wire, queue_name, channel, no_ack=no_ack)
    item = wire.wait_for(spec.Basic.Deliver)
    wire.send(spec.Basic.Cancel(consumer_tag=consumer), channel)
    wire.wait_for(spec.Basic.CancelOk)
    return item


def delivery(wire, channel=None):
    item = wire.wait_for(spec.Basic.Deliver)
    assert channel in (None, item.channel), f"{item} on another channel"
    return item


def depth(wire, queue_name, channel=1):
    """Messages that are ready and consumers, as a passive declaration has them."""
    status = wire.call(spec.Queue.Declare(queue=queue_name, passive=True), channel)
    return status.message_count, status.consumer_count


def nothing_more(wire, channel=1):
    """The broker has sent nothing that has not been looked at, as far as one round trip can tell."""
    wire.call(spec.Basic.Qos(prefetch_count=0), channel)
    equal(wire.waiting, [], "also came")


def given(properties):
    """The properties that a message has, by name."""
    return {name: getattr(properties, name) for name in PROPERTIES if getattr(properties, name) is not None}


# Errors.


def channel_error(wire, method, code, text, channel=1, said=None):
    """Sends a method, which closes the channel with this code and text; opens the channel anew."""
    if isinstance(method, bytes):
        wire.send_bytes(method)
    else:
        wire.send(method, channel)
    refused_channel(wire, code, text, said or (None if isinstance(method, bytes) else method), channel)
    wire.call(spec.Channel.Open(), channel)


def refused_channel(wire, code, text, method=None, channel=1):
    """The channel is closed with this code and text. `method`: the one that the broker blames."""
    item = wire.wait_for((spec.Channel.Close, spec.Connection.Close))
    compare_close(item, spec.Channel.Close, code, text, method)
    equal(item.channel, channel, "channel")
    wire.send(spec.Channel.CloseOk(), channel)


def connection_error(wire, method, code, text, channel=1, blamed=True):
    """Sends a method, which closes the connection with this code and text."""
    if isinstance(method, bytes):
        wire.send_bytes(method)
    else:
        wire.send(method, channel)
    refused_connection(wire, code, text, method if blamed and not isinstance(method, bytes) else None)


def refused_connection(wire, code, text, method=None):
    item = wire.wait_for((spec.Channel.Close, spec.Connection.Close))
    compare_close(item, spec.Connection.Close, code, text, method)
    equal(item.channel, 0, "channel")
    wire.send(spec.Connection.CloseOk(), 0)
    wire.expect_end()


def compare_close(item, scope, code, text, method):
    close = item.method
    found = (type(close).NAME, close.reply_code, close.reply_text)
    # A short string has room for 255 bytes.
    text = text if len(text.encode()) <= 255 else text[:252] + "..."
    equal(found, (scope.NAME, code, text), "closed:")
    if method is not None:
        blamed = spec.methods.get(close.class_id << 16 | close.method_id)
        blamed = name_of(blamed) if blamed else (close.class_id, close.method_id)
        equal(blamed, name_of(method), "blamed")
