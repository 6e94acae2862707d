"""Bad input on two brokers: each row of the table is sent to both, in one piece and cut into many, and the answers are compared.

    python bad_input.py RABBITMQ OURS [--only WORD] [--rounds N] [--print]

An answer is each close with its code, text and method, the end of the socket, or the method that shows that the input was taken. A row whose
answers differ for a reason has our answer beside it, and docs/amqp.md has the reason."""

import argparse
import re
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

from pika import spec
from pika.spec import Basic, BasicProperties, Channel, Confirm, Connection, Exchange, Queue, Tx

from wire import BODY, HEADER, HEARTBEAT, METHOD, PROTOCOL_HEADER, End, Wire, frame, header_payload, payload_of

# The limit that the rows of frames agree on.
FRAME_MAX = 4096
# RabbitMQ waits for three seconds before it ends a connection whose frames it cannot read.
JOBS = 48
# The brokers' own names differ.
MADE = re.compile(r"amq\.gen-[A-Za-z0-9_-]{22}")
# Erlang breaks a long term into lines.
BROKEN = re.compile(r",\n +")
# Rows that declare something first share its names.
ALONE = threading.Lock()


class Row:
    """`parts` is the bad input, frame by frame. `user`: the sender. `before`: methods that are answered first. `ours`: our answer, where it differs. `stage`:
    `open` has a connection with channel 1, and `none` a connection on which nothing was sent."""

    def __init__(self, name, *parts, user="guest", before=(), ours=None, stage="open"):
        self.name, self.parts, self.user, self.before, self.ours, self.stage = name, parts, user, before, ours, stage


def method(value, channel=1):
    return frame(METHOD, channel, payload_of(value))


def raw(class_id, method_id, fields=b"", channel=1):
    return frame(METHOD, channel, struct.pack(">HH", class_id, method_id) + fields)


def header(size=0, flags=0, encoded=b"", channel=1, class_id=60, weight=0):
    return frame(HEADER, channel, struct.pack(">HHQH", class_id, weight, size, flags) + encoded)


def closed(code, text, blamed):
    """The end of a connection, where our answer is not RabbitMQ's: that crashes over bytes that it cannot decode."""
    return [f"Connection.Close {code} {text} {blamed}", "end"]


def declare(table, queue=""):
    """queue.declare with arguments as they go over the wire."""
    payload = payload_of(Queue.Declare(queue=queue, exclusive=True))
    return frame(METHOD, 1, payload[:-4] + struct.pack(">I", len(table)) + table)


def announced(size, channel=1, kind=METHOD):
    return struct.pack(">BHI", kind, channel, size)


PUBLISH = method(Basic.Publish(routing_key="nowhere"))
# The methods that end a row that is taken.
LAST = (Channel.OpenOk, Basic.QosOk, Connection.CloseOk)
# Shows that what came before was taken.
ASK = method(Channel.Open(), 7)
# The same, behind all that channel 1 has to do.
SAME = method(Basic.Qos())
HEARTBEAT_FRAME = frame(HEARTBEAT, 0, b"")
X = "mine.x"
Q = "mine.q"


def limited(name, *parts, **options):
    """A row of the user that may use only what begins with `mine`."""
    return Row(name, *parts, user="limited", **options)


def publish(exchange="", key="nowhere", properties=None, body=b"", **options):
    head = method(Basic.Publish(exchange=exchange, routing_key=key, **options))
    parts = [head, frame(HEADER, 1, header_payload(len(body), properties))]
    return [*parts, frame(BODY, 1, body)] if body else parts


FRAMES = [
    Row("heartbeat that nobody agreed on", HEARTBEAT_FRAME, ASK),
    Row("heartbeat on a channel", frame(HEARTBEAT, 1, b"")),
    Row("heartbeat with a payload", frame(HEARTBEAT, 0, b"x"), ASK),
    Row("heartbeat with a payload on a channel", frame(HEARTBEAT, 1, b"xyz")),
    Row("frame type 0", frame(0, 1, b"")),
    Row("frame type 4", frame(4, 1, bytes(20))),
    Row("frame type 7 with letters", frame(7, 1, b"abc")),
    Row("frame type 9 on channel 0", frame(9, 0, b"abc\x00")),
    Row("frame type 255 with a long payload", frame(255, 1, bytes(range(40)))),
    Row("frame type of an HTTP request", b"GET / HT" + bytes(100)),
    Row("end of a method", frame(METHOD, 1, payload_of(Queue.Declare(queue="x", passive=True)), end=b"\x00")),
    Row("end of a method on channel 0", frame(METHOD, 0, payload_of(Connection.CloseOk()), end=b"A")),
    Row("end of a content header", PUBLISH, frame(HEADER, 1, header_payload(5), end=b"\x00")),
    Row("end of a body", PUBLISH, header(5), frame(BODY, 1, b"hello", end=b"\x01")),
    Row("end of a body that binary bytes fill", PUBLISH, header(20), frame(BODY, 1, bytes(range(20)), end=b"\x01")),
    Row("end of a body that nobody asked for", frame(BODY, 1, b"hello", end=b"\x01")),
    Row("end of an empty body", PUBLISH, header(5), frame(BODY, 1, b"", end=b"\xcd")),
    Row("end of a heartbeat", frame(HEARTBEAT, 0, b"", end=b"\x00")),
    Row("frame one octet over the allowance", announced(FRAME_MAX + 1)),
    Row("body one octet over the allowance", PUBLISH, header(9000), frame(BODY, 1, bytes(FRAME_MAX + 1))),
    Row("whole message one octet over the allowance", PUBLISH, header(FRAME_MAX + 1), frame(BODY, 1, bytes(FRAME_MAX + 1)), SAME),
    Row("body of frame_max", PUBLISH, header(FRAME_MAX), frame(BODY, 1, bytes(FRAME_MAX)), SAME),
    Row("body of frame_max less the overhead", PUBLISH, header(FRAME_MAX - 8), frame(BODY, 1, bytes(FRAME_MAX - 8)), SAME),
    Row("method of frame_max", declare(b"\x01aS" + struct.pack(">I", FRAME_MAX - 19) + bytes(FRAME_MAX - 19)), SAME),
    Row("content header over the allowance", PUBLISH, announced(FRAME_MAX + 9, kind=HEADER)),
    Row("heartbeat over the allowance", announced(1 << 20, 0, HEARTBEAT)),
    Row("unknown frame over the allowance", announced(1 << 20, 0, 77)),
    Row("frame of 4 GB", announced(0xFFFFFFFF)),
]

CONTENT = [
    Row("content header on channel 0", header(5, channel=0)),
    Row("body on channel 0", frame(BODY, 0, b"abc")),
    Row("content header without its method", header()),
    Row("body without its method", frame(BODY, 1, b"abc")),
    Row("method in place of a content header", PUBLISH, method(Basic.Qos())),
    Row("body in place of a content header", PUBLISH, frame(BODY, 1, b"abc")),
    Row("method in place of a body", PUBLISH, header(5), method(Basic.Qos())),
    Row("content header in place of a body", PUBLISH, header(5), header(5)),
    Row("publish in place of a content header", PUBLISH, PUBLISH),
    Row("channel.close in place of a content header", PUBLISH, method(Channel.Close(200, "", 0, 0))),
    Row("body behind an empty message", PUBLISH, header(0), frame(BODY, 1, b"")),
    Row("body longer than announced", PUBLISH, header(2), frame(BODY, 1, b"abc"), SAME),
    Row("body longer than announced in its second frame", PUBLISH, header(5), frame(BODY, 1, b"abc"), frame(BODY, 1, b"abc"), SAME),
    Row("empty body frames", PUBLISH, header(3), frame(BODY, 1, b""), frame(BODY, 1, b"abc"), SAME),
    Row("content header of another class", PUBLISH, header(2, class_id=50)),
    Row("content header of no class", PUBLISH, header(2, class_id=999)),
    Row("content header with a weight", PUBLISH, header(2, weight=5)),
    Row("content header cut short", PUBLISH, frame(HEADER, 1, struct.pack(">HH", 60, 0))),
    Row("content header without a payload", PUBLISH, frame(HEADER, 1, b"")),
    Row("content header without flags", PUBLISH, frame(HEADER, 1, struct.pack(">HHQ", 60, 0, 0)), SAME, ours=closed(501, "FRAME_ERROR - the bytes end inside a field", (60, 40))),
    Row("property flag 0", PUBLISH, header(0, 1), SAME),
    Row("property flag 1", PUBLISH, header(0, 2), SAME),
    Row("property flags 0 and 1 with a property", PUBLISH, header(0, 0x8003, b"\x01a"), SAME),
    Row("properties cut short", PUBLISH, header(0, 0x8000, b"\xffabc"), SAME, ours=closed(501, "FRAME_ERROR - the bytes end inside a field", (60, 40))),
    Row("properties that are missing", PUBLISH, header(0, 0x8000), SAME, ours=closed(501, "FRAME_ERROR - the bytes end inside a field", (60, 40))),
    Row("bytes behind the properties", PUBLISH, header(0, 0, b"more"), SAME, ours=closed(501, "FRAME_ERROR - 4 bytes follow the last field", (60, 40))),
    Row("headers with an unknown type", PUBLISH, header(0, 0x2000, struct.pack(">I", 3) + b"\x01aZ"), SAME, ours=closed(502, "SYNTAX_ERROR - field type 0x5a is unknown", (60, 40))),
    Row("headers longer than the frame", PUBLISH, header(0, 0x2000, struct.pack(">I", 300) + b"\x01at\x01"), SAME, ours=closed(501, "FRAME_ERROR - the bytes end inside a field", (60, 40))),
    Row("content on a channel that is not open", *publish(), header(0, channel=9)),
    Row("content header on a channel that is not open", header(0, channel=9)),
    Row("immediate", *publish(immediate=True)),
    Row("expiration that is no number", *publish(properties=BasicProperties(expiration="soon"))),
    Row("expiration below 0", *publish(properties=BasicProperties(expiration="-1"))),
    Row("user-id of another", *publish(properties=BasicProperties(user_id="nobody"))),
    Row("CC that is no array", *publish(properties=BasicProperties(headers={"CC": "x"}))),
    Row("BCC that is no array", *publish(properties=BasicProperties(headers={"BCC": 5}))),
]

METHODS = [
    Row("class 999", raw(999, 10), ours=closed(503, "COMMAND_INVALID - class 999 with method 10 is unknown", (999, 10))),
    Row("class 999 on channel 0", raw(999, 10, channel=0), ours=closed(503, "COMMAND_INVALID - class 999 with method 10 is unknown", (999, 10))),
    Row("method 999 of queue", raw(50, 999), ours=closed(540, "NOT_IMPLEMENTED - class 50 has no method 999", (50, 999))),
    Row("method 999 of connection", raw(10, 999, channel=0), ours=closed(540, "NOT_IMPLEMENTED - class 10 has no method 999", (10, 999))),
    Row("method without ids", frame(METHOD, 1, b"")),
    Row("method with half of its ids", frame(METHOD, 1, b"\x00\x32")),
    Row("method without ids on channel 0", frame(METHOD, 0, b"\x00\x0a\x00")),
    Row("queue.declare cut short", raw(50, 10, b"\0\0\x05abc")),
    Row("queue.declare without fields", raw(50, 10)),
    Row("bytes behind basic.qos", raw(60, 10, bytes(7) + b"more")),
    Row("many bytes behind basic.qos", raw(60, 10, bytes(7) + bytes(range(200)))),
    Row("name that is no UTF-8", raw(50, 10, b"\0\0\x03a\xff\xfe\x04" + bytes(4))),
    Row("table longer than its method", raw(50, 10, b"\0\0\x03bad\x04" + struct.pack(">I", 1000))),
    Row("table with an unknown type", declare(b"\x01aZ"), SAME, ours=closed(502, "SYNTAX_ERROR - field type 0x5a is unknown", (50, 10))),
    Row("table with a string longer than the table", declare(b"\x01aS\0\0\x10\0abc"), SAME, ours=closed(502, "SYNTAX_ERROR - a table or an array ends inside one of its fields", (50, 10))),
    Row("table with a name and nothing else", declare(b"\x01a"), SAME, ours=closed(502, "SYNTAX_ERROR - a table or an array ends inside one of its fields", (50, 10))),
    Row("connection.start-ok again", method(Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US"), 0)),
    Row("connection.tune-ok again", method(Connection.TuneOk(0, 4096, 0), 0)),
    Row("connection.open again", method(Connection.Open("checks"), 0)),
    Row("connection.close-ok without a close", method(Connection.CloseOk(), 0), ASK),
    Row("connection.tune of a client", method(Connection.Tune(0, 0, 0), 0)),
    Row("connection.blocked of a client", method(Connection.Blocked("x"), 0)),
    Row("connection.open on a channel", method(Connection.Open("checks"), 1)),
    Row("connection.close on a channel", method(Connection.Close(200, "", 0, 0), 1)),
    Row("queue.declare on channel 0", method(Queue.Declare(), 0)),
    Row("channel.open on channel 0", method(Channel.Open(), 0)),
    Row("channel.open again", method(Channel.Open(), 1)),
    Row("method on a channel that is not open", method(Queue.Declare(), 9)),
    Row("channel.close on a channel that is not open", method(Channel.Close(200, "", 0, 0), 9)),
    Row("channel.close-ok on a channel that is not open", method(Channel.CloseOk(), 9)),
    Row("channel.close-ok without a close", method(Channel.CloseOk(), 1)),
    Row("channel beyond channel_max", method(Channel.Open(), 2048)),
    Row("channel.open-ok of a client", method(Channel.OpenOk(), 1)),
    Row("channel.flow inactive", method(Channel.Flow(False))),
    Row("channel.flow-ok without a flow", method(Channel.FlowOk(True)), SAME),
    Row("basic.deliver of a client", method(Basic.Deliver("c", 1, False, "", "k")), frame(HEADER, 1, header_payload(0))),
    Row("basic.ack-ok in the other direction", method(Basic.ConsumeOk("c"))),
    Row("basic.qos with a prefetch size", method(Basic.Qos(prefetch_size=1))),
    Row("basic.ack of nothing", method(Basic.Ack(5))),
    Row("basic.nack of nothing", method(Basic.Nack(5))),
    Row("basic.reject of nothing", method(Basic.Reject(5))),
    Row("basic.ack of all of nothing", method(Basic.Ack(0, True)), SAME),
    Row("basic.recover without requeue", method(Basic.Recover(False))),
    Row("basic.cancel of nobody", method(Basic.Cancel("nobody")), SAME),
    Row("tx.commit without a transaction", method(Tx.Commit())),
    Row("tx.rollback without a transaction", method(Tx.Rollback())),
    Row("tx.select behind confirm.select", method(Tx.Select()), before=[Confirm.Select()]),
    Row("confirm.select behind tx.select", method(Confirm.Select()), before=[Tx.Select()]),
    Row("two consumers with one tag", method(Basic.Consume(queue=Q, consumer_tag="c")), before=[Queue.Declare(queue=Q), Basic.Consume(queue=Q, consumer_tag="c")]),
]

OBJECTS = [
    Row("no queue was declared", method(Basic.Get())),
    Row("basic.get of no queue", method(Basic.Get(queue="none"))),
    Row("basic.consume of no queue", method(Basic.Consume(queue="none"))),
    Row("queue.purge of no queue", method(Queue.Purge(queue="none"))),
    Row("queue.bind of no queue", method(Queue.Bind(queue="none", exchange="amq.topic"))),
    Row("queue.bind to no exchange", method(Queue.Bind(queue=Q, exchange="none")), before=[Queue.Declare(queue=Q)]),
    Row("queue.bind of no queue to no exchange", method(Queue.Bind(queue="none", exchange="none"))),
    Row("queue.bind to the default exchange", method(Queue.Bind(queue=Q, exchange="")), before=[Queue.Declare(queue=Q)]),
    Row("queue.unbind from the default exchange", method(Queue.Unbind(queue=Q, exchange="")), before=[Queue.Declare(queue=Q)]),
    Row("passive queue.declare of no queue", method(Queue.Declare(queue="none", passive=True))),
    Row("passive exchange.declare of no exchange", method(Exchange.Declare(exchange="none", passive=True))),
    Row("passive exchange.declare of the default exchange", method(Exchange.Declare(exchange="", passive=True))),
    Row("publish to no exchange", *publish("none")),
    Row("exchange.declare of an unknown type", method(Exchange.Declare(exchange="none", type="odd"))),
    Row("exchange.declare of a reserved name", method(Exchange.Declare(exchange="amq.none"))),
    Row("exchange.declare of a reserved name with a line feed", method(Exchange.Declare(exchange="am\nq.none"))),
    Row("exchange.declare of the default exchange", method(Exchange.Declare(exchange=""))),
    Row("exchange.declare of a line feed", method(Exchange.Declare(exchange="\n"))),
    Row("exchange.delete of the default exchange", method(Exchange.Delete(exchange=""))),
    Row("exchange.delete of a system exchange", method(Exchange.Delete(exchange="amq.topic"))),
    Row("exchange.delete of a system exchange with a line feed", method(Exchange.Delete(exchange="amq.\rtopic"))),
    Row("exchange.declare of another type", method(Exchange.Declare(exchange="amq.topic", type="direct", durable=True))),
    Row("exchange.bind from the default exchange", method(Exchange.Bind(destination="amq.topic", source=""))),
    Row("exchange.bind to the default exchange", method(Exchange.Bind(destination="", source="amq.topic"))),
    Row("exchange.bind of no exchange", method(Exchange.Bind(destination="none", source="amq.topic"))),
    Row("exchange.bind from no exchange", method(Exchange.Bind(destination="amq.topic", source="none"))),
    Row("queue.declare of a reserved name", method(Queue.Declare(queue="amq.none"))),
    Row("queue.declare of a reserved name with line feeds", method(Queue.Declare(queue="\r\namq.none"))),
    Row("queue.declare with another property", method(Queue.Declare(queue=Q, durable=True)), before=[Queue.Declare(queue=Q)]),
    Row("queue.declare with another argument", method(Queue.Declare(queue=Q, arguments={"x-expires": 5000})), before=[Queue.Declare(queue=Q)]),
    Row("queue.declare with x-message-ttl below 0", method(Queue.Declare(queue="bad", arguments={"x-message-ttl": -1}))),
    Row("queue.declare with x-message-ttl of a string", method(Queue.Declare(queue="bad", arguments={"x-message-ttl": "1"}))),
    Row("queue.declare with x-expires of 0", method(Queue.Declare(queue="bad", arguments={"x-expires": 0}))),
    Row("queue.declare with a dead letter exchange of a number", method(Queue.Declare(queue="bad", arguments={"x-dead-letter-exchange": 5}))),
    Row("queue.declare with a dead letter key alone", method(Queue.Declare(queue="bad", arguments={"x-dead-letter-routing-key": "k"}))),
    Row("exchange.declare with an alternate exchange of a number", method(Exchange.Declare(exchange="bad", arguments={"alternate-exchange": 5}))),
    Row("queue.delete of a queue in use", method(Queue.Delete(queue=Q, if_unused=True)), before=[Queue.Declare(queue=Q), Basic.Consume(queue=Q, consumer_tag="c")]),
    Row("exchange.delete of an exchange in use", method(Exchange.Delete(exchange=X, if_unused=True)), before=[Queue.Declare(queue=Q), Exchange.Declare(exchange=X), Queue.Bind(queue=Q, exchange=X)]),
]

RIGHTS = [
    limited("queue.declare without the right", method(Queue.Declare(queue="secret"))),
    limited("queue.declare with a line feed without the right", method(Queue.Declare(queue="se\ncret"))),
    limited("queue.declare of a server's name without the right", method(Queue.Declare())),
    limited("queue.declare of a line feed without the right", method(Queue.Declare(queue="\n"))),
    limited("queue.declare of a reserved name without the right", method(Queue.Declare(queue="amq.none"))),
    limited("queue.delete without the right", method(Queue.Delete(queue="secret"))),
    limited("queue.delete with a line feed without the right", method(Queue.Delete(queue="secret\n"))),
    limited("queue.purge without the right", method(Queue.Purge(queue="secret"))),
    limited("queue.purge with a line feed without the right", method(Queue.Purge(queue="secret\n"))),
    limited("basic.get without the right", method(Basic.Get(queue="sec\nret"))),
    limited("basic.consume without the right", method(Basic.Consume(queue="secret\r"))),
    limited("basic.get of a queue with a line feed", method(Basic.Get(queue="mine\n"))),
    limited("passive queue.declare of no queue with a line feed", method(Queue.Declare(queue="mi\nne.none", passive=True))),
    limited("passive exchange.declare of no exchange with a line feed", method(Exchange.Declare(exchange="no\nne", passive=True))),
    limited("queue.bind of a queue without the right", method(Queue.Bind(queue="secret", exchange="amq.topic"))),
    limited("queue.bind of a queue with a line feed without the right", method(Queue.Bind(queue="sec\rret", exchange="amq.topic"))),
    limited("queue.bind of a line feed", method(Queue.Bind(queue="\n", exchange="amq.topic"))),
    limited("queue.bind to an exchange without the right", method(Queue.Bind(queue="mine.none", exchange="amq.topic"))),
    limited("queue.bind to an exchange with a line feed without the right", method(Queue.Bind(queue="mine.none", exchange="\namq.topic"))),
    limited("queue.bind to the default exchange without the right", method(Queue.Bind(queue="mine.none", exchange=""))),
    limited("queue.bind of a queue without the right to the default exchange", method(Queue.Bind(queue="secret", exchange=""))),
    limited("queue.unbind with a line feed without the right", method(Queue.Unbind(queue="mine.none", exchange="amq.\ntopic"))),
    limited("queue.unbind without the right", method(Queue.Unbind(queue="secret", exchange="amq.topic"))),
    limited("exchange.declare without the right", method(Exchange.Declare(exchange="secret"))),
    limited("exchange.declare with a line feed without the right", method(Exchange.Declare(exchange="s\necret"))),
    limited("exchange.declare of a reserved name without the right", method(Exchange.Declare(exchange="amq.none"))),
    limited("exchange.declare of the default exchange without the right", method(Exchange.Declare(exchange=""))),
    limited("exchange.declare of an unknown type without the right", method(Exchange.Declare(exchange="secret", type="odd"))),
    limited("exchange.delete without the right", method(Exchange.Delete(exchange="secret"))),
    limited("exchange.delete with a line feed without the right", method(Exchange.Delete(exchange="sec\nret"))),
    limited("exchange.delete of a system exchange without the right", method(Exchange.Delete(exchange="amq.topic"))),
    limited("exchange.delete of the default exchange without the right", method(Exchange.Delete(exchange=""))),
    limited("exchange.bind to an exchange without the right", method(Exchange.Bind(destination="secret", source="mine.none"))),
    limited("exchange.bind to an exchange with a line feed without the right", method(Exchange.Bind(destination="se\ncret", source="mine.none"))),
    limited("exchange.bind from an exchange without the right", method(Exchange.Bind(destination="mine.none", source="secret"))),
    limited("exchange.bind from an exchange with a line feed without the right", method(Exchange.Bind(destination="mine.none", source="secret\r\n"))),
    limited("exchange.bind from the default exchange without the right", method(Exchange.Bind(destination="mine.none", source=""))),
    limited("exchange.unbind without the right", method(Exchange.Unbind(destination="mine.none", source="se\ncret"))),
    limited("publish without the right", *publish("secret")),
    limited("publish to the default exchange without the right", *publish("")),
    limited("publish to a name with a line feed", *publish("mine\nnone")),
    limited("dead letter exchange without the right", method(Queue.Declare(queue="mine.bad", arguments={"x-dead-letter-exchange": "secret"}))),
    limited("dead letter exchange with a line feed", method(Queue.Declare(queue="mine.bad", arguments={"x-dead-letter-exchange": "se\ncret"}))),
    limited("default exchange for dead letters without the right", method(Queue.Declare(queue="mine.bad", arguments={"x-dead-letter-exchange": ""}))),
    limited("dead letter exchange of a number without the right", method(Queue.Declare(queue="mine.bad", arguments={"x-dead-letter-exchange": 5}))),
    limited("alternate exchange without the right", method(Exchange.Declare(exchange="mine.bad", arguments={"alternate-exchange": "secret"}))),
    limited("alternate exchange with a line feed", method(Exchange.Declare(exchange="mine.bad", arguments={"alternate-exchange": "se\ncret"}))),
    limited("alternate exchange of a number without the right", method(Exchange.Declare(exchange="secret", arguments={"alternate-exchange": 5}))),
    limited("queue.declare of direct replies", method(Queue.Declare(queue="amq.rabbitmq.reply-to")), SAME),
    limited("queue.declare of direct replies with a line feed", method(Queue.Declare(queue="amq.rabbitmq.reply-to\n")), SAME),
    limited("queue.declare of an address of direct replies", method(Queue.Declare(queue="amq.rabbitmq.reply-to.none"))),
    limited("queue.delete of direct replies without the right", method(Queue.Delete(queue="amq.rabbitmq.reply-to"))),
    limited("long name without the right", method(Queue.Declare(queue="s" * 250))),
]


def start_ok(password="guest", mechanism="PLAIN", response=None, capabilities=True):
    properties = {"capabilities": {"authentication_failure_close": capabilities}}
    return method(Connection.StartOk(properties, mechanism, response or f"\0guest\0{password}", "en_US"), 0)


TUNE_OK = method(Connection.TuneOk(2047, 131072, 0), 0)


def shake(name, *parts, **options):
    """A row whose bytes are the first of a connection."""
    return Row(name, *parts, stage="none", **options)


HANDSHAKES = [
    shake("header of AMQP 0-9", b"AMQP\x01\x01\x00\x09"),
    shake("header of AMQP 1.0", b"AMQP\x00\x01\x00\x00"),
    shake("header of AMQP 1.0 with SASL", b"AMQP\x03\x01\x00\x00"),
    shake("header of AMQP 0-10", b"AMQP\x01\x01\x00\x0a"),
    shake("header of AMQP 0-8", b"AMQP\x01\x01\x08\x00", ours=["AMQP\\x00\\x00\\t\\x01", "end"]),
    shake("header of AMQP 0-8 as the site has it", b"AMQP\x01\x01\x09\x01", ours=["AMQP\\x00\\x00\\t\\x01", "end"]),
    shake("header of AMQP 0-9-2", b"AMQP\x00\x00\x09\x02"),
    shake("request of HTTP", b"GET / HTTP/1.1\r\n\r\n"),
    shake("hello of TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    shake("method before the login", PROTOCOL_HEADER, method(Queue.Declare())),
    shake("method on channel 0 before the login", PROTOCOL_HEADER, method(Connection.Open("checks"), 0)),
    shake("content before the login", PROTOCOL_HEADER, header(channel=0)),
    shake("unknown frame before the login", PROTOCOL_HEADER, frame(7, 0, b"abc")),
    shake("unknown method before the login", PROTOCOL_HEADER, raw(10, 999, channel=0)),
    shake("start-ok cut short", PROTOCOL_HEADER, raw(10, 11, b"\0\0", channel=0)),
    shake("frame end before the login", PROTOCOL_HEADER, frame(METHOD, 0, payload_of(Connection.CloseOk()), end=b"x")),
    shake("large frame before the login", PROTOCOL_HEADER, announced(4097, 0)),
    shake("connection.close before the login", PROTOCOL_HEADER, method(Connection.Close(200, "", 0, 0), 0), ours=["Connection.Start", "Connection.CloseOk"]),
    shake("wrong password", PROTOCOL_HEADER, start_ok("wrong")),
    shake("wrong password of a client that knows no such close", PROTOCOL_HEADER, start_ok("wrong", capabilities=False)),
    shake("unknown mechanism", PROTOCOL_HEADER, start_ok(mechanism="KERBEROS")),
    shake("response that is none", PROTOCOL_HEADER, start_ok(response="guest")),
    shake("frame_max too small", PROTOCOL_HEADER, start_ok(), method(Connection.TuneOk(2047, 4095, 0), 0)),
    shake("frame_max too large", PROTOCOL_HEADER, start_ok(), method(Connection.TuneOk(2047, 131073, 0), 0)),
    shake("channel_max too large", PROTOCOL_HEADER, start_ok(), method(Connection.TuneOk(2048, 131072, 0), 0)),
    shake("connection.open without tune-ok", PROTOCOL_HEADER, start_ok(), method(Connection.Open("checks"), 0)),
    shake("start-ok on a channel", PROTOCOL_HEADER, method(Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US"), 1)),
    shake("tune-ok again before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, TUNE_OK),
    shake("unknown frame before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, frame(7, 0, b"abc")),
    shake("frame end before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, frame(METHOD, 0, b"abcd", end=b"x")),
    shake("content on channel 0 before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, header(channel=0)),
    shake("large frame before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, announced(131073, 0)),
    shake("method before connection.open", PROTOCOL_HEADER, start_ok(), TUNE_OK, method(Queue.Declare())),
    shake("unknown virtual host", PROTOCOL_HEADER, start_ok(), TUNE_OK, method(Connection.Open("nowhere"), 0)),
    shake("virtual host without the right", PROTOCOL_HEADER, start_ok(), TUNE_OK, method(Connection.Open("closed"), 0)),
]

TABLE = [*FRAMES, *CONTENT, *METHODS, *OBJECTS, *RIGHTS, *HANDSHAKES]


def cuts(parts):
    """The same bytes in one piece, frame by frame, before each frame's end, behind each frame's header, and octet by octet."""
    whole = b"".join(parts)
    yield "in one piece", [whole]
    yield "frame by frame", list(parts)
    yield "before each end", split(parts, lambda part: len(part) - 1)
    yield "behind each header", split(parts, lambda part: 7)
    if len(whole) <= 1000:
        yield "octet by octet", [whole[at : at + 1] for at in range(len(whole))]


def split(parts, place):
    """Pieces that end at a place of each part."""
    pieces, begun = [], b""
    for part in parts:
        at = place(part)
        pieces.append(begun + part[:at])
        begun = part[at:]
    return [piece for piece in [*pieces, begun] if piece]


def answers(address, row, pieces):
    """All that a broker says to a row."""
    with ALONE if row.before else nullcontext():
        wire = Wire(address)
        try:
            if row.stage == "open":
                wire.login(frame_max=FRAME_MAX, user=row.user, password=row.user).open()
                for one in row.before:
                    wire.call(one)
            for piece in pieces:
                try:
                    wire.send_bytes(piece)
                except OSError:
                    # The broker has refused what came before.
                    break
            return list(said(wire))
        finally:
            wire.close()
            if row.before:
                other = Wire(address).login().open()
                other.delete([X, Q])
                other.close()


def said(wire):
    """Each answer until a close, the end, or the method that shows that the input was taken."""
    while True:
        try:
            if not wire.input:
                wire.fill()
            if wire.input[:1] == b"A":
                while len(wire.input) < 8:
                    wire.fill()
                yield repr(wire.input[:8])[2:-1]
                wire.input = wire.input[8:]
                continue
            method = wire.receive().method
        except End:
            yield "end"
            return
        except TimeoutError:
            yield "nothing"
            return
        if not isinstance(method, (Connection.Close, Channel.Close)):
            yield method.NAME
            if isinstance(method, LAST):
                return
            continue
        text = BROKEN.sub(",", MADE.sub("amq.gen-NAME", method.reply_text))
        yield f"{method.NAME} {method.reply_code} {text} ({method.class_id}, {method.method_id})"
        if isinstance(method, Channel.Close):
            return
        try:
            wire.send(Connection.CloseOk(), 0)
        except OSError:
            # The broker has ended the connection already.
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rabbitmq", metavar="RABBITMQ")
    parser.add_argument("ours", metavar="OURS")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--rounds", type=int, default=1, help="how often RabbitMQ may be asked")
    parser.add_argument("--print", action="store_true", help="print RabbitMQ's answers")
    options = parser.parse_args()
    rows = [row for row in TABLE if options.only in row.name]
    with ThreadPoolExecutor(JOBS) as pool:
        problems = [line for lines in pool.map(lambda row: compare(row, options), rows) for line in lines]
    print("\n".join(problems))
    print(f"{len(rows)} rows, {len(problems)} problems")
    return 1 if problems or not rows else 0


def compare(row, options):
    """The differences of a row, in words. Two addresses that are one: RabbitMQ against itself."""
    rabbitmq, ours = place_of(options.rabbitmq), place_of(options.ours)
    expected = of_rabbitmq(rabbitmq, row, [b"".join(row.parts)], None, options.rounds)
    if options.print:
        print(f"{row.name}: {expected}", flush=True)
    problems = []
    for cut, pieces in cuts(row.parts):
        if ours == rabbitmq:
            found, right = of_rabbitmq(rabbitmq, row, pieces, expected, options.rounds), expected
        else:
            found, right = answers(ours, row, pieces), row.ours or expected
        if found != right:
            problems.append(f"{row.name}, {cut}: {found} instead of {right}")
    return problems


def of_rabbitmq(address, row, pieces, expected, rounds):
    """RabbitMQ's answers to a row. A busy RabbitMQ that says nothing, or something else than before, is asked again."""
    found = None
    for _ in range(rounds):
        try:
            found = answers(address, row, pieces)
        except (AssertionError, OSError, End) as error:
            found = repr(error)
            continue
        if "nothing" not in found and expected in (None, found):
            break
    return found


def place_of(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


if __name__ == "__main__":
    sys.exit(main())
