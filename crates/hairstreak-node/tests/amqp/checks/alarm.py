"""What happens while the broker is short of memory. Checks of this kind run alone, after all others."""

import pika
from pika import exceptions
from pika.spec import Basic, Channel, Connection

from check import check, confirm, equal, fill, get, nothing_more, process_until, queue


@check(needs="alarm")
def alarm_blocks_who_publishes_and_nobody_else(b):
    publishing, consuming = confirm(b.wire()), confirm(b.wire())
    name = queue(consuming, b.name(), exclusive=False)
    fill(consuming, name, b"1")
    with b.alarm():
        publishing.publish("", name, b"2")
        equal(publishing.expect(Connection.Blocked, 0).method.reason, "low on memory")
        item = get(consuming, name, no_ack=False)
        consuming.send(Basic.Ack(item.method.delivery_tag))
        equal(get(consuming, name), None)
    publishing.expect(Connection.Unblocked, 0)
    publishing.expect(Basic.Ack, 1)
    equal(get(consuming, name).body, b"2")


@check(needs="alarm")
def alarm_is_not_told_to_clients_that_cannot_hear_it(b):
    wire = confirm(b.wire(capabilities={}))
    with b.alarm():
        wire.publish("", "nowhere", b"1")
    wire.expect(Basic.Ack)


@check(needs="alarm")
def alarm_of_a_connection_that_comes_during_it(b):
    with b.alarm():
        wire = confirm(b.wire())
        nothing_more(wire)
        wire.publish("", "nowhere", b"1")
        wire.expect(Connection.Blocked)
    wire.expect(Connection.Unblocked)
    wire.expect(Basic.Ack)
    wire.call(Channel.Close(200, "", 0, 0))


@check(needs="alarm", pika=["blocked_connection_timeout"])
def alarm_ends_a_blocking_connection_that_waits_no_longer(b):
    connection = b.connect(blocked_connection_timeout=0.2)
    channel = connection.channel()
    with b.alarm():
        channel.basic_publish("", "nowhere", b"1")
        try:
            connection.sleep(10)
        except exceptions.ConnectionBlockedTimeout:
            return
    raise AssertionError("the connection was not ended")


@check(needs="alarm")
def alarm_calls_back(b):
    connection = b.connect()
    channel = connection.channel()
    told = []
    connection.add_on_connection_blocked_callback(lambda _, frame: told.append(frame.method.reason))
    connection.add_on_connection_unblocked_callback(lambda _, frame: told.append(frame.method.NAME))
    with b.alarm():
        channel.basic_publish("", "nowhere", b"1", pika.BasicProperties())
        process_until(connection, "connection.blocked", lambda: told)
    process_until(connection, "connection.unblocked", lambda: len(told) == 2)
    equal(told, ["low on memory", "Connection.Unblocked"])
