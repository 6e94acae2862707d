"""From the protocol header to connection.open-ok, and how a connection ends."""

import re

from pika.spec import Basic, Channel, Connection, Queue

from check import check, connection_error, equal, refused_connection
from wire import HEARTBEAT, METHOD, PROTOCOL_HEADER, frame, payload_of

REFUSED_LOGIN = (
    "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."
)


@check()
def handshake_start_names_version_mechanisms_and_locale(b):
    start = b.tcp().start()
    equal((start.version_major, start.version_minor), (0, 9))
    assert {"PLAIN", "AMQPLAIN"} <= set(start.mechanisms.decode().split()), start.mechanisms
    equal(start.locales, b"en_US")


@check()
def handshake_server_properties_have_what_clients_look_at(b):
    properties = b.tcp().start().server_properties
    named = {"product", "version", "platform", "copyright", "information", "cluster_name", "capabilities"}
    equal(named - set(properties), set(), "missing")
    # py-amqp reads the version as numbers, to choose how it sets the prefetch count.
    major, minor = properties["version"].split(".")[:2]
    assert (3, 3) <= (int(major), int(minor)), properties["version"]


@check()
def handshake_capabilities_are_those_of_rabbitmq(b):
    names = """publisher_confirms exchange_exchange_bindings basic.nack consumer_cancel_notify connection.blocked
        consumer_priorities authentication_failure_close per_consumer_qos direct_reply_to""".split()
    equal(b.tcp().start().server_properties["capabilities"], dict.fromkeys(names, True))


@check()
def handshake_tune_proposes_the_limits(b):
    wire = b.wire()
    equal((wire.tune.channel_max, wire.tune.frame_max, wire.tune.heartbeat), (2047, 131072, 60))


@check()
def handshake_amqplain(b):
    wire = b.tcp()
    wire.start()
    table = b"\x05LOGINS\x00\x00\x00\x05guest\x08PASSWORDS\x00\x00\x00\x05guest"
    wire.start_ok(mechanism="AMQPLAIN", response=table.decode())
    wire.expect(Connection.Tune)


@check()
def handshake_limits_may_be_lowered(b):
    b.tcp().login(channel_max=10, frame_max=4096).open(10)


def refused_tune(b, channel_max, frame_max):
    """RabbitMQ closes the socket without a word, after 3 s that are to slow down who tries."""
    wire = b.tcp()
    wire.start()
    wire.start_ok()
    wire.expect(Connection.Tune)
    wire.send(Connection.TuneOk(channel_max, frame_max, 0), 0)
    wire.expect_end()


@check()
def handshake_channel_max_of_0_is_more_than_the_brokers(b):
    refused_tune(b, 0, 131072)


@check()
def handshake_frame_max_of_0_is_more_than_the_brokers(b):
    refused_tune(b, 2047, 0)


@check()
def handshake_channel_max_above_the_brokers_is_refused(b):
    refused_tune(b, 4096, 131072)


@check()
def handshake_frame_max_above_the_brokers_is_refused(b):
    refused_tune(b, 2047, 262144)


@check()
def handshake_frame_max_below_4096_is_refused(b):
    refused_tune(b, 2047, 4095)


@check()
def handshake_wrong_password_is_told_to_who_can_hear_it(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok(password="wrong")
    refused_connection(wire, 403, REFUSED_LOGIN)


@check()
def handshake_unknown_user_is_answered_as_a_wrong_password(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok(user="nobody")
    refused_connection(wire, 403, REFUSED_LOGIN)


@check()
def handshake_wrong_password_without_the_capability_ends_the_connection(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok(password="wrong", capabilities={})
    wire.expect_end()


@check()
def handshake_wrong_password_by_amqplain(b):
    wire = b.tcp()
    wire.start()
    table = b"\x05LOGINS\x00\x00\x00\x05guest\x08PASSWORDS\x00\x00\x00\x05wrong"
    wire.start_ok(mechanism="AMQPLAIN", response=table.decode())
    refused_connection(wire, 403, REFUSED_LOGIN.replace("PLAIN", "AMQPLAIN"))


@check()
def handshake_plain_response_without_password(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok(response="guest")
    wire.expect_end()


@check()
def handshake_unknown_mechanism(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok(mechanism="KERBEROS")
    wire.expect_end()


@check()
def handshake_unknown_virtual_host(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok()
    wire.expect(Connection.Tune)
    wire.send(Connection.TuneOk(2047, 131072, 0), 0)
    connection_error(wire, Connection.Open("nowhere"), 530, "NOT_ALLOWED - vhost nowhere not found", channel=0)


@check(needs="permissions")
def handshake_virtual_host_without_permission(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok()
    wire.expect(Connection.Tune)
    wire.send(Connection.TuneOk(2047, 131072, 0), 0)
    text = "NOT_ALLOWED - access to vhost 'closed' refused for user 'guest'"
    connection_error(wire, Connection.Open("closed"), 530, text, channel=0)


@check()
def handshake_open_before_tune_ok(b):
    wire = b.tcp()
    wire.start()
    wire.start_ok()
    wire.expect(Connection.Tune)
    wire.send(Connection.Open("checks"), 0)
    wire.expect_end()


@check()
def handshake_virtual_hosts_are_apart(b):
    name = b.name()
    here, there = b.wire(), b.wire(virtual_host="other")
    here.call(Queue.Declare(queue=name, exclusive=True))
    there.send(Queue.Declare(queue=name, passive=True))
    equal(there.receive().method.reply_text, f"NOT_FOUND - no queue '{name}' in vhost 'other'")


@check()
def handshake_wrong_protocol_headers_are_answered_with_ours(b):
    for header in (b"AMQP\x00\x00\x09\x02", b"AMQP\x01\x01\x00\x0a", b"AMQP\x00\x00\x08\x00", b"AMQP\x03\x01\x00\x00", b"HTTP/1.1"):
        wire = b.tcp()
        wire.send_bytes(header)
        answer = wire.socket.recv(8, 0x100)
        equal(answer, PROTOCOL_HEADER, f"{header!r} is answered with")
        wire.expect_end()


@check()
def handshake_short_garbage_ends_with_the_socket(b):
    wire = b.tcp()
    wire.send_bytes(b"GET / HTTP/1.0\r\n\r\n")
    equal(wire.socket.recv(8, 0x100), PROTOCOL_HEADER)
    wire.expect_end()


@check()
def handshake_half_a_header_and_gone(b):
    wire = b.tcp()
    wire.send_bytes(b"AMQP")
    wire.close()
    b.wire()


@check()
def handshake_header_in_pieces(b):
    wire = b.tcp()
    for byte in PROTOCOL_HEADER[:-1]:
        wire.send_bytes(bytes([byte]))
    wire.send_bytes(PROTOCOL_HEADER[-1:])
    wire.expect(Connection.Start, 0)


@check()
def handshake_everything_in_one_write(b):
    wire = b.tcp()
    start_ok = Connection.StartOk({}, "PLAIN", "\0guest\0guest", "en_US")
    methods = [(start_ok, 0), (Connection.TuneOk(2047, 131072, 0), 0), (Connection.Open("checks"), 0), (Channel.Open(), 1)]
    wire.send_bytes(PROTOCOL_HEADER, *(frame(METHOD, channel, payload_of(method)) for method, channel in methods))
    for method in (Connection.Start, Connection.Tune, Connection.OpenOk, Channel.OpenOk):
        wire.expect(method)


@check()
def connection_close_is_answered(b):
    wire = b.wire()
    wire.call(Connection.Close(200, "bye", 0, 0), 0)


@check()
def connection_close_answers_what_came_before_it(b):
    wire = b.wire()
    wire.send(Queue.Declare(exclusive=True))
    wire.send(Connection.Close(200, "bye", 0, 0), 0)
    wire.expect(Queue.DeclareOk, 1)
    wire.expect(Connection.CloseOk, 0)


@check()
def connection_update_secret_is_accepted(b):
    wire = b.wire()
    wire.call(Connection.UpdateSecret("guest", "renewed"), 0)
    wire.open(2)


@check()
def connection_heartbeats_come_at_half_the_interval(b):
    wire = b.tcp().login(heartbeat=1)
    kind, channel, payload = wire.frame()
    equal((kind, channel, payload), (8, 0, b""))


@check()
def connection_silent_for_two_intervals_is_closed(b):
    wire = b.tcp().login(heartbeat=1)
    while True:
        try:
            kind, _, _ = wire.frame()
        except Exception as end:
            equal(type(end).__name__, "End")
            break
        equal(kind, 8, "kind of frame")


@check()
def connection_traffic_stands_for_heartbeats(b):
    wire = b.tcp().login(heartbeat=1)
    # The broker's heartbeats tell the time.
    for channel in range(1, 5):
        kind, _, _ = wire.frame()
        equal(kind, HEARTBEAT, "kind of frame")
        wire.open(channel)


@check(needs="permissions")
def permissions_configure_is_refused(b):
    wire = b.wire(user="limited", password="limited")
    wire.send(Queue.Declare(queue="yours"))
    text = "ACCESS_REFUSED - access to queue 'yours' in vhost 'checks' refused for user 'limited'"
    equal(unnamed(wire.receive().method.reply_text), text)


def unnamed(text):
    """The text of a refusal without the name of the permission, which RabbitMQ says from 3.12 on."""
    return re.sub(r"- (configure|write|read) access", "- access", text)


@check(needs="permissions")
def permissions_write_and_read_are_refused(b):
    wire = b.wire(user="limited", password="limited")
    wire.publish("amq.direct", "x")
    close = wire.expect(Channel.Close).method
    text = "ACCESS_REFUSED - access to exchange 'amq.direct' in vhost 'checks' refused for user 'limited'"
    equal((close.reply_code, unnamed(close.reply_text)), (403, text))
