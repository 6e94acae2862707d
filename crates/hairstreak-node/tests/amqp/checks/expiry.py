"""Time to live of messages and queues."""

import time

from pika.spec import Basic, BasicProperties, Exchange, Queue

from check import await_get, bind, bodies_of, channel_error, check, confirm, consume, depth, equal, exchange, fill, get, publish_confirmed, queue
from wire import PATIENCE_S

# As short as can be told from none on a busy machine.
SHORT_MS = 40
# Longer than a busy machine takes from one request to the next.
LONG_MS = 1000


def with_dead_letters(wire, **arguments):
    """A queue whose dead letters go to another: the names of both. What expires arrives there, so that a check can wait for it."""
    dead = queue(wire)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, **arguments}
    return queue(wire, arguments={name.replace("_", "-"): value for name, value in arguments.items()}), dead


@check()
def ttl_of_the_queue(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire, x_message_ttl=SHORT_MS)
    fill(wire, name, b"1", b"2")
    equal([await_get(wire, dead).body, await_get(wire, dead).body], [b"1", b"2"])
    equal(depth(wire, name), (0, 0))


@check()
def ttl_of_the_message(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire)
    fill(wire, name, b"1", properties=BasicProperties(expiration=str(SHORT_MS)))
    equal(await_get(wire, dead).body, b"1")
    equal(depth(wire, name), (0, 0))


@check()
def ttl_the_shorter_of_both_counts(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire, x_message_ttl=SHORT_MS)
    fill(wire, name, b"1", properties=BasicProperties(expiration="60000"))
    equal(await_get(wire, dead).body, b"1")
    name, dead = with_dead_letters(wire, x_message_ttl=60000)
    fill(wire, name, b"2", properties=BasicProperties(expiration=str(SHORT_MS)))
    equal(await_get(wire, dead).body, b"2")


@check()
def ttl_of_a_message_ends_at_the_head_of_its_queue(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire)
    fill(wire, name, b"stays")
    fill(wire, name, b"short", properties=BasicProperties(expiration="0"))
    equal((depth(wire, name)[0], depth(wire, dead)[0]), (2, 0))
    equal(get(wire, name).body, b"stays")
    equal(await_get(wire, dead).body, b"short")


@check()
def ttl_0_expires_unless_a_consumer_takes_it(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire, x_message_ttl=0)
    fill(wire, name, b"1")
    equal(await_get(wire, dead).body, b"1")
    consume(wire, name, no_ack=True)
    fill(wire, name, b"2")
    equal(wire.wait_for(Basic.Deliver).body, b"2")


@check()
def ttl_expiration_0_of_a_message(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", properties=BasicProperties(expiration="0"))
    equal(depth(wire, name), (0, 0))
    consume(wire, name, no_ack=True)
    fill(wire, name, b"2", properties=BasicProperties(expiration="0"))
    equal(wire.wait_for(Basic.Deliver).body, b"2")


@check()
def ttl_does_not_end_what_is_unacknowledged(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire, x_message_ttl=LONG_MS)
    marker, marked = with_dead_letters(wire, x_message_ttl=LONG_MS + 3 * SHORT_MS)
    fill(wire, name, b"1")
    item = get(wire, name, no_ack=False)
    fill(wire, marker, b"time passes")
    await_get(wire, marked)
    equal(depth(wire, dead)[0], 0)
    wire.send(Basic.Ack(item.method.delivery_tag))
    equal((bodies_of(wire, dead), bodies_of(wire, name)), ([], []))


@check()
def ttl_ends_a_requeued_message_that_is_over(b):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(wire, x_message_ttl=LONG_MS)
    marker, marked = with_dead_letters(wire, x_message_ttl=LONG_MS + 3 * SHORT_MS)
    fill(wire, name, b"1")
    item = get(wire, name, no_ack=False)
    fill(wire, marker, b"time passes")
    await_get(wire, marked)
    wire.send(Basic.Nack(item.method.delivery_tag))
    equal(await_get(wire, dead).body, b"1")


@check()
def ttl_expiration_stays_in_the_properties(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill(wire, name, b"1", properties=BasicProperties(expiration="60000"))
    equal(get(wire, name).properties.expiration, "60000")


@check()
def ttl_without_dead_letters_drops(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-message-ttl": SHORT_MS})
    marker, marked = with_dead_letters(wire, x_message_ttl=3 * SHORT_MS)
    fill(wire, name, b"1")
    fill(wire, marker, b"time passes")
    await_get(wire, marked)
    equal(depth(wire, name), (0, 0))


def expiring(b, wire, **arguments):
    """A queue that expires, and an exchange that goes with it: asking for the queue itself would keep it."""
    name, witness = b.name(), exchange(wire, b.name("x"), "fanout", auto_delete=True)
    queue(wire, name, exclusive=False, arguments={"x-expires": LONG_MS, **arguments})
    bind(wire, name, witness)
    return name, witness


def await_end(b, name, witness):
    wire, deadline = b.wire(), time.monotonic() + PATIENCE_S
    while True:
        wire.send(Exchange.Declare(exchange=witness, passive=True))
        if wire.receive().method.NAME == "Channel.Close":
            break
        assert time.monotonic() < deadline, f"queue '{name}' does not end within {PATIENCE_S} s"
    wire = b.wire()
    channel_error(wire, Queue.Declare(queue=name, passive=True), 404, f"NOT_FOUND - no queue '{name}' in vhost 'checks'")


@check()
def expires_deletes_an_unused_queue(b):
    await_end(b, *expiring(b, b.wire()))


@check()
def expires_waits_for_the_last_consumer(b):
    wire = confirm(b.wire())
    name, witness = expiring(b, wire)
    tag = consume(wire, name)
    marker, marked = with_dead_letters(wire, x_message_ttl=LONG_MS + 3 * SHORT_MS)
    fill(wire, marker, b"time passes")
    await_get(wire, marked)
    equal(depth(wire, name), (0, 1))
    wire.call(Basic.Cancel(consumer_tag=tag))
    await_end(b, name, witness)


@check()
def expires_dead_letters_nothing(b):
    wire = confirm(b.wire())
    dead = queue(wire)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead}
    name, witness = expiring(b, wire, **arguments)
    fill(wire, name, b"1")
    await_end(b, name, witness)
    equal(depth(wire, dead), (0, 0))


@check()
def expires_is_put_off_by_get_and_by_declare(b):
    """Each step comes two thirds of the time after the step before, and finds the queue only if the step before has put off its end."""
    wire = confirm(b.wire())
    arguments = {"x-expires": 3 * LONG_MS}
    name = queue(wire, b.name(), exclusive=False, arguments=arguments)
    ticks, ticked = with_dead_letters(wire, x_message_ttl=2 * LONG_MS)
    declare = lambda: queue(wire, name, exclusive=False, arguments=arguments)
    for step in (declare, lambda: get(wire, name), lambda: depth(wire, name), lambda: depth(wire, name)):
        publish_confirmed(wire, "", ticks, b"tick")
        await_get(wire, ticked)
        step()
