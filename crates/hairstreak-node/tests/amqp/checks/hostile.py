"""Broken frames, broken methods, and what belongs nowhere."""

import struct

from pika.spec import Basic, Channel, Connection, Queue

from check import check, confirm, equal, get, queue, refused_connection
from wire import BODY, HEADER, HEARTBEAT, METHOD, End, frame, header_payload, payload_of

EXPECTED_METHOD = "UNEXPECTED_FRAME - expected method frame, got non method frame instead"
EXPECTED_HEADER = "UNEXPECTED_FRAME - expected content header for class 60, got non content header frame instead"
EXPECTED_BODY = "UNEXPECTED_FRAME - expected content body, got non content body frame instead"

DECLARE = payload_of(Queue.Declare(queue="x", passive=True))


def answer(wire):
    """What comes next, for a table of expectations: the name of a method and its text, or the end."""
    try:
        item = wire.receive()
    except End:
        return "the end"
    method = item.method
    if isinstance(method, (Connection.Close, Channel.Close)):
        return method.NAME, method.reply_code, method.reply_text
    return method.NAME


def refuses(b, code, text, *parts):
    """Sends bytes on a connection with channel 1 open; the connection is closed with this code and text."""
    wire = b.wire()
    wire.send_bytes(*parts)
    refused_connection(wire, code, text)


def frame_error(b, *parts):
    """As `refuses`, where the text ends with Erlang's picture of the bytes."""
    wire = b.wire()
    wire.send_bytes(*parts)
    method = wire.expect(Connection.Close, 0).method
    equal((method.reply_code, method.reply_text[:14]), (501, "FRAME_ERROR - "))
    wire.send(Connection.CloseOk(), 0)
    wire.expect_end()


def ends(wire):
    """RabbitMQ stumbles over this: the connection ends, with some close or without."""
    try:
        while not isinstance(wire.receive().method, Connection.Close):
            pass
    except End:
        pass


@check()
def hostile_frame_end(b):
    frame_error(b, frame(METHOD, 1, DECLARE, end=b"\x00"))


@check()
def hostile_frame_of_an_unknown_kind(b):
    frame_error(b, frame(7, 1, b"abc"))


@check()
def hostile_frame_of_an_unknown_kind_on_channel_0(b):
    frame_error(b, frame(7, 0, b"abc"))


@check()
def hostile_frame_larger_than_negotiated(b):
    wire = b.tcp().login(frame_max=4096).open()
    wire.send_bytes(frame(METHOD, 1, bytes(4097)))
    refused_connection(wire, 501, "FRAME_ERROR - type 1, all octets = <<>>: {frame_too_large,4097,4088}")


@check()
def hostile_frame_of_the_size_negotiated(b):
    wire = confirm(b.tcp().login(frame_max=4096).open())
    name = queue(wire)
    wire.publish("", name, bytes(4088))
    wire.expect(Basic.Ack)


@check()
def hostile_frame_header_of_4_gigabytes(b):
    frame_error(b, struct.pack(">BHI", METHOD, 1, 0xFFFFFFFF))


@check()
def hostile_heartbeat_on_a_channel(b):
    refuses(b, 505, "UNEXPECTED_FRAME - type 8, all octets = <<>>", frame(HEARTBEAT, 1, b""))


@check()
def hostile_heartbeat_with_a_payload(b):
    frame_error(b, frame(HEARTBEAT, 0, b"x"))


@check()
def hostile_heartbeat_without_having_agreed_on_it(b):
    wire = b.wire()
    wire.send_bytes(frame(HEARTBEAT, 0, b""))
    wire.open(2)


@check()
def hostile_method_of_an_unknown_class(b):
    wire = b.wire()
    wire.send_bytes(frame(METHOD, 1, struct.pack(">HH", 999, 10)))
    ends(wire)


@check()
def hostile_method_that_is_unknown(b):
    wire = b.wire()
    wire.send_bytes(frame(METHOD, 1, struct.pack(">HH", 50, 999)))
    ends(wire)


@check()
def hostile_method_that_is_empty(b):
    frame_error(b, frame(METHOD, 1, b""))


@check()
def hostile_method_cut_short(b):
    frame_error(b, frame(METHOD, 1, DECLARE[:-7]))


@check()
def hostile_method_with_bytes_behind_it(b):
    frame_error(b, frame(METHOD, 1, DECLARE + b"more"))


@check()
def hostile_table_longer_than_its_method(b):
    frame_error(b, frame(METHOD, 1, DECLARE[:-4] + struct.pack(">I", 1000)))


@check()
def hostile_table_with_an_unknown_type(b):
    wire = b.wire()
    wire.send_arguments(Queue.Declare(queue="x"), b"\x01aZ")
    ends(wire)


@check()
def hostile_table_with_a_string_longer_than_it(b):
    wire = b.wire()
    wire.send_arguments(Queue.Declare(queue="x"), b"\x01aS\x00\x00\x10\x00abc")
    ends(wire)


@check(needs="tables of any depth")
def hostile_table_of_depth_1000(b):
    table = b""
    for _ in range(1000):
        table = b"\x01aF" + struct.pack(">I", len(table)) + table
    wire = b.wire()
    wire.send_arguments(Queue.Declare(exclusive=True), table)
    equal(answer(wire), "Queue.DeclareOk")


@check()
def hostile_table_with_a_key_twice(b):
    wire = b.wire()
    wire.send_arguments(Queue.Declare(exclusive=True), b"\x01aI\0\0\0\1\x01aI\0\0\0\2")
    equal(answer(wire), "Queue.DeclareOk")


@check()
def hostile_table_with_every_type(b):
    wire = confirm(b.wire())
    name = queue(wire)
    entries = [
        b"\x01tt\x01", b"\x01bb\xff", b"\x01BB\xff", b"\x01ss\xff\xfe", b"\x01uu\xff\xfe", b"\x01II\xff\xff\xff\xfd",
        b"\x01ii\xff\xff\xff\xfd", b"\x01ll\xff\xff\xff\xff\xff\xff\xff\xfc", b"\x01ff\x3f\x80\x00\x00", b"\x01dd\x3f\xf0\0\0\0\0\0\0",
        b"\x01DD\x02\x00\x00\x00\x7b", b"\x01SS\0\0\0\3abc", b"\x01AA\0\0\0\2t\x01", b"\x01TT\0\0\0\0\x65\x92\0\0", b"\x01FF\0\0\0\0",
        b"\x01VV", b"\x01xx\0\0\0\2\0\xff",
    ]
    table = b"".join(entries)
    wire.send(Basic.Publish(routing_key=name))
    wire.send_header(0, 0x2000, struct.pack(">I", len(table)) + table)
    equal(answer(wire), "Basic.Ack")
    wire.send(Basic.Get(queue=name, no_ack=True))
    kinds = [wire.frame(), wire.frame()]
    # As they came: no value is written in another width.
    assert table in kinds[1][2], kinds[1][2]


@check()
def hostile_header_without_method(b):
    refuses(b, 505, EXPECTED_METHOD, frame(HEADER, 1, header_payload(0)))


@check()
def hostile_body_without_method(b):
    refuses(b, 505, EXPECTED_METHOD, frame(BODY, 1, b"abc"))


@check()
def hostile_method_instead_of_a_header(b):
    refuses(b, 505, EXPECTED_HEADER, frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x"))), frame(METHOD, 1, DECLARE))


@check()
def hostile_body_instead_of_a_header(b):
    refuses(b, 505, EXPECTED_HEADER, frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x"))), frame(BODY, 1, b"abc"))


@check()
def hostile_method_instead_of_a_body(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    refuses(b, 505, EXPECTED_BODY, publish, frame(HEADER, 1, header_payload(5)), frame(METHOD, 1, DECLARE))


@check()
def hostile_header_instead_of_a_body(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    refuses(b, 505, EXPECTED_BODY, publish, frame(HEADER, 1, header_payload(5)), frame(HEADER, 1, header_payload(5)))


@check()
def hostile_body_behind_an_empty_one(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    refuses(b, 505, EXPECTED_METHOD, publish, frame(HEADER, 1, header_payload(0)), frame(BODY, 1, b""))


@check()
def hostile_header_of_another_class(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    text = "UNEXPECTED_FRAME - expected content header for class 60, got one for class 50 instead"
    refuses(b, 505, text, publish, frame(HEADER, 1, header_payload(2, class_id=50)))


@check()
def hostile_header_with_a_weight(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    refuses(b, 505, EXPECTED_HEADER, publish, frame(HEADER, 1, struct.pack(">HHQH", 60, 5, 2, 0)))


@check()
def hostile_header_cut_short(b):
    publish = frame(METHOD, 1, payload_of(Basic.Publish(routing_key="x")))
    frame_error(b, publish, frame(HEADER, 1, struct.pack(">HH", 60, 0)))


@check()
def hostile_header_with_properties_cut_short(b):
    wire = b.wire()
    wire.send(Basic.Publish(routing_key=queue(wire)))
    wire.send_header(0, 0x8000, b"\xffabc")
    ends(wire)


@check()
def hostile_header_with_bytes_behind_the_properties(b):
    wire = confirm(b.wire())
    wire.send(Basic.Publish(routing_key=queue(wire)))
    wire.send_header(0, 0, b"more")
    ends(wire)


@check(needs="late refusal of large messages")
def hostile_header_with_a_body_size_of_2_to_the_63(b):
    wire = b.wire()
    wire.send(Basic.Publish(routing_key=queue(wire)))
    wire.send_header(1 << 63)
    wire.send_body(b"abc")
    wire.open(2)


@check()
def hostile_content_on_a_channel_that_is_not_open(b):
    wire = b.wire()
    wire.publish("", "x", b"1", channel=9)
    refused_connection(wire, 504, "CHANNEL_ERROR - expected 'channel.open'", Basic.Publish())


@check()
def hostile_content_cut_off_by_the_end(b):
    wire, other = b.wire(), b.wire()
    name = queue(other, b.name(), exclusive=False)
    wire.send(Basic.Publish(routing_key=name))
    wire.send_header(5)
    wire.send_body(b"ab")
    wire.close()
    equal(get(other, name), None)


@check()
def hostile_content_left_by_a_closed_channel(b):
    wire = b.wire()
    wire.send(Basic.Publish(routing_key="x"))
    wire.send_header(5)
    wire.send(Channel.Close(200, "", 0, 0))
    refused_connection(wire, 505, EXPECTED_BODY)


@check()
def hostile_start_ok_again(b):
    wire = b.wire()
    wire.start_ok()
    refused_connection(wire, 504, "CHANNEL_ERROR - unexpected method in connection state running")


@check()
def hostile_secure_ok_again(b):
    wire = b.wire()
    wire.send(Connection.Open("checks"), 0)
    refused_connection(wire, 504, "CHANNEL_ERROR - unexpected method in connection state running", Connection.Open())


@check()
def hostile_method_before_the_login(b):
    wire = b.tcp()
    wire.start()
    wire.send(Queue.Declare(queue="x"), 1)
    wire.expect_end()


@check()
def hostile_names_that_are_no_utf_8(b):
    wire = b.wire()
    name = b"\xff\xfe" + b.name().encode()
    wire.send_bytes(frame(METHOD, 1, struct.pack(">HHHB", 50, 10, 0, len(name)) + name + b"\x04" + bytes(4)))
    refused_connection(wire, 501, "FRAME_ERROR - Malformed UTF-8 in shortstr")


@check()
def hostile_255_channels_with_a_consumer_each(b):
    wire = b.wire()
    name = queue(wire)
    for channel in range(2, 256):
        wire.send(Channel.Open(), channel)
        wire.send(Basic.Consume(queue=name, no_ack=True), channel)
    for _ in range(2, 256):
        wire.wait_for(Channel.OpenOk)
        wire.wait_for(Basic.ConsumeOk)
    for number in range(254):
        wire.publish("", name, b"%d" % number)
    channels = {wire.wait_for(Basic.Deliver).channel for _ in range(254)}
    equal(channels, set(range(2, 256)))


