"""The scenarios of `restarts.py`. A scenario is a generator that works on one broker, tells `see` what a client sees, and yields where the broker is
restarted. Both brokers have to show the same.

The connections of a scenario are open at the restart. Names are the same on both brokers."""

import select
import time

from pika.spec import Basic, BasicProperties, Channel, Exchange, Queue, Tx

from check import bind, confirm, consume, delivery, depth, exchange, fill, get, publish_confirmed, queue
from side import described
from wire import PATIENCE_S

# Ends while a broker is restarted, or soon after.
SHORT_MS = 2_000
# Ends some time after most restarts. A time that begins anew at the restart ends later than one that goes on.
MIDDLE_MS = 12_000
EXPIRES_MS = 20_000
HOUR_MS = 3_600_000
QUORUM = {"x-queue-type": "quorum"}
# Kinds of durable queues by the arguments of their declaration.
KINDS = {"classic": {}, "quorum": QUORUM}

ALL = []


def scenario(function):
    ALL.append(function)
    return function


def persistent(**properties):
    return BasicProperties(delivery_mode=2, **properties)


def durable(b, wire, word="q", auto_delete=False, **arguments):
    """Declares a durable queue. Underscores in the names of arguments stand for hyphens."""
    arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
    return queue(wire, b.name(word), exclusive=False, durable=True, auto_delete=auto_delete, arguments=arguments)


def with_dead_letters(b, wire, arguments, **others):
    dead = durable(b, wire, "dead")
    return durable(b, wire, x_dead_letter_exchange="", x_dead_letter_routing_key=dead, **arguments, **others), dead


def put(wire, name, *bodies, **properties):
    """Publishes persistent messages to a queue, with confirms."""
    fill(wire, name, *bodies, properties=persistent(**properties))


def look(item):
    return (*described(item), item.method.redelivered)


def look_at_expired(item):
    """RabbitMQ 3.10 has forgotten the first expiration of messages in classic queues after a restart: it does not decode their properties again."""
    for death in (item.properties.headers or {}).get("x-death", []):
        death.pop("original-expiration", None)
    return look(item)


def take(wire, name, count, channel=1, no_ack=True):
    """Consumes so many messages of a queue. Returns their items."""
    set_prefetch(wire, 0 if no_ack else count, channel)
    tag = consume(wire, name, channel, no_ack=no_ack)
    items = [delivery(wire) for _ in range(count)]
    wire.send(Basic.Cancel(consumer_tag=tag), channel)
    wire.wait_for(Basic.CancelOk)
    return items


def rest(wire, name, count, look=look):
    """The content of a queue that has so many messages, and the number of messages behind them."""
    return [look(item) for item in take(wire, name, count)], depth(wire, name)


def reject(wire, item, requeue, channel=1):
    wire.send(Basic.Reject(item.method.delivery_tag, requeue), channel)


def set_prefetch(wire, count, channel=1):
    wire.send(Basic.Qos(prefetch_count=count), channel)
    wire.wait_for(Basic.QosOk)


def settled(wire, channel=1):
    """The broker has handled all methods on the channel."""
    set_prefetch(wire, 0, channel)


def is_there(wire, name):
    """Returns the counts of a queue, or the error of a passive declaration."""
    wire.send(Queue.Declare(queue=name, passive=True))
    item = wire.wait_for((Queue.DeclareOk, Channel.Close))
    if isinstance(item.method, Queue.DeclareOk):
        return item.method.message_count, item.method.consumer_count
    wire.send(Channel.CloseOk())
    wire.call(Channel.Open())
    return item.method.reply_code, item.method.reply_text


def await_counts(wire, name, expected, deadline=None):
    """Waits until a queue has these counts of messages and consumers. Returns the last counts."""
    deadline = deadline or time.monotonic() + PATIENCE_S
    while (found := is_there(wire, name)) != expected and time.monotonic() < deadline:
        # The broker says nothing by itself.
        select.select([wire.socket], [], [], 0.02)
    return found


# Lifetimes of queues.


@scenario
def lifetimes(b, see):
    wire = confirm(b.wire())
    exclusive = [queue(wire, b.name(f"exclusive.{is_durable}"), durable=is_durable) for is_durable in (False, True)]
    deleted_later = durable(b, wire, "unused", auto_delete=True)
    for name in (*exclusive, deleted_later):
        put(wire, name, b"1")
    yield
    wire = b.wire()
    see([is_there(wire, name) for name in exclusive])
    see(is_there(wire, deleted_later))
    see([look(item) for item in take(wire, deleted_later, 1)])
    see(is_there(wire, deleted_later))


# Order, content and places.


@scenario
def order_and_properties(b, see):
    wire = confirm(b.wire())
    name = durable(b, wire)
    everything = {
        "content_type": "text/plain",
        "content_encoding": "utf-8",
        "headers": {"n": 1, "text": "x", "list": [1, "two", {"three": 3}], "none": None, "true": True},
        "priority": 7,
        "correlation_id": "c",
        "reply_to": "r",
        "expiration": str(HOUR_MS),
        "message_id": "m",
        "timestamp": 1_700_000_000,
        "type": "t",
        "user_id": "guest",
        "app_id": "a",
    }
    put(wire, name, b"first", **everything)
    put(wire, name, b"")
    put(wire, name, *[b"%d" % number for number in range(100)])
    put(wire, name, b"x" * 300_000)
    yield
    see(rest(b.wire(), name, 103))


@scenario
def acknowledged_messages_are_gone(b, see):
    wire = confirm(b.wire())
    name = durable(b, wire)
    put(wire, name, *[b"%d" % number for number in range(300)])
    items = take(wire, name, 200, no_ack=False)
    for item in items[1::2]:
        wire.send(Basic.Ack(item.method.delivery_tag))
    wire.send(Basic.Ack(items[48].method.delivery_tag, multiple=True))
    settled(wire)
    yield
    see(rest(b.wire(), name, 175))


@scenario
def a_long_queue(b, see):
    wire = confirm(b.wire())
    name = durable(b, wire)
    for number in range(3_000):
        wire.publish("", name, b"%d " % number + b"x" * 2_000, properties=persistent())
    confirmed = 0
    while confirmed < 3_000:
        confirmed = wire.wait_for(Basic.Ack).method.delivery_tag
    items = take(wire, name, 1_000, no_ack=False)
    for item in items[::3]:
        wire.send(Basic.Ack(item.method.delivery_tag))
    settled(wire)
    yield
    wire = b.wire()
    see([(item.body[:5], item.method.redelivered) for item in take(wire, name, 2_666)])
    see(depth(wire, name))


@scenario
def transient_messages(b, see):
    wire = confirm(b.wire())
    for kind, arguments in KINDS.items():
        name = durable(b, wire, kind, **arguments)
        for number in range(6):
            fill(wire, name, b"%d" % number, properties=BasicProperties(delivery_mode=1 + number % 2))
    lost = queue(wire, b.name("lost"), exclusive=False)
    put(wire, lost, b"in a transient queue")
    yield
    wire = b.wire()
    see(rest(wire, b.names[0], 3))
    see(rest(wire, b.names[1], 6))
    see(is_there(wire, lost))


@scenario
def a_message_in_several_queues(b, see):
    wire = confirm(b.wire())
    names = [durable(b, wire, kind, **arguments) for kind, arguments in KINDS.items()]
    names.append(queue(wire, b.name(), exclusive=False))
    put(wire, names[0], b"1", b"2", headers={"CC": names[1:], "BCC": []})
    get(wire, names[0])
    get(wire, names[1])
    yield
    wire = b.wire()
    see([rest(wire, name, 1) for name in names[:2]])


# Redelivered flags.


@scenario
def flags_of_unacknowledged_messages(b, see):
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire().open(2))
        name = durable(b, wire, kind, **arguments)
        put(wire, name, *[b"%d" % number for number in range(6)])
        wire.call(Basic.Qos(prefetch_count=3), 2)
        consume(wire, name, 2)
        items = [delivery(wire) for _ in range(3)]
        wire.send(Basic.Ack(items[1].method.delivery_tag), 2)
        see(look(delivery(wire)))
    yield
    for name in b.names:
        see(rest(b.wire(), name, 5))


@scenario
def flags_of_returned_messages(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire)
    put(wire, name, *[b"%d" % number for number in range(8)])
    items = take(wire, name, 6, 2, no_ack=False)
    reject(wire, items[4], True, 2)
    wire.send(Basic.Nack(items[2].method.delivery_tag, requeue=True), 2)
    reject(wire, items[0], False, 2)
    settled(wire, 2)
    wire.send(Basic.Ack(items[1].method.delivery_tag), 2)
    settled(wire, 2)
    yield
    see(rest(b.wire(), name, 6))


@scenario
def flags_of_a_closed_channel(b, see):
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire().open(2))
        name = durable(b, wire, kind, **arguments)
        put(wire, name, b"0", b"1", b"2", b"3")
        take(wire, name, 2, 2, no_ack=False)
        wire.call(Channel.Close(200, "", 0, 0), 2)
    yield
    for name in b.names:
        see(rest(b.wire(), name, 4))


@scenario
def flags_of_got_messages(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire)
    put(wire, name, b"0", b"1", b"2")
    get(wire, name, 2, no_ack=False)
    yield
    wire = b.wire()
    see([look(get(wire, name)) for _ in range(3)])


@scenario
def delivered_at_once_and_unacknowledged(b, see):
    """The consumer waits for messages, which never wait for the consumer."""
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire().open(2))
        name = durable(b, wire, kind, **arguments)
        consume(wire, name, 2)
        for number in range(3):
            wire.publish("", name, b"%d" % number, properties=persistent())
        items = [delivery(wire) for _ in range(3)]
        wire.send(Basic.Ack(items[1].method.delivery_tag), 2)
        settled(wire, 2)
    yield
    for name in b.names:
        see(rest(b.wire(), name, 2))


@scenario
def places_of_messages_that_return_after_the_restart(b, see):
    wire = confirm(b.wire())
    name = durable(b, wire)
    put(wire, name, *[b"%d" % number for number in range(6)])
    yield
    wire = confirm(b.wire().open(2))
    items = take(wire, name, 4, 2, no_ack=False)
    put(wire, name, b"new")
    for index in (2, 0):
        reject(wire, items[index], True, 2)
    wire.send(Basic.Ack(items[1].method.delivery_tag), 2)
    settled(wire, 2)
    see(depth(wire, name))
    wire.call(Basic.Recover(requeue=True), 2)
    see(rest(wire, name, 6))


# Quorum queues: delivery counts and limits.


@scenario
def delivery_counts(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire, **QUORUM)
    put(wire, name, b"1")
    for _ in range(3):
        item = take(wire, name, 1, 2, no_ack=False)[0]
        see(look(item))
        reject(wire, item, True, 2)
        settled(wire, 2)
    yield
    wire = b.wire().open(2)
    for _ in range(2):
        item = take(wire, name, 1, 2, no_ack=False)[0]
        see(look(item))
        reject(wire, item, True, 2)
    see(rest(wire, name, 1))


@scenario
def delivery_counts_of_messages_that_the_stop_returns(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire, **QUORUM)
    put(wire, name, b"1", b"2")
    take(wire, name, 1, 2, no_ack=False)
    yield
    see(rest(b.wire(), name, 2))


@scenario
def a_delivery_limit(b, see):
    wire = confirm(b.wire().open(2))
    name, dead = with_dead_letters(b, wire, QUORUM, x_delivery_limit=2)
    put(wire, name, b"1")
    for _ in range(2):
        reject(wire, take(wire, name, 1, 2, no_ack=False)[0], True, 2)
        settled(wire, 2)
    yield
    wire = b.wire().open(2)
    item = take(wire, name, 1, 2, no_ack=False)[0]
    see(look(item))
    reject(wire, item, True, 2)
    see(rest(wire, dead, 1))
    see(depth(wire, name))


@scenario
def a_delivery_limit_that_the_stop_passes(b, see):
    """RabbitMQ may lose the dead letter, because it stops."""
    wire = confirm(b.wire().open(2))
    name, _ = with_dead_letters(b, wire, QUORUM, x_delivery_limit=1)
    put(wire, name, b"1", b"2")
    reject(wire, take(wire, name, 1, 2, no_ack=False)[0], True, 2)
    settled(wire, 2)
    take(wire, name, 1, 2, no_ack=False)
    yield
    see(rest(b.wire(), name, 1))


# Priorities.


@scenario
def priorities(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire, x_max_priority=5)
    for number in range(24):
        put(wire, name, b"%d" % number, priority=number * 7 % 9)
    put(wire, name, b"without")
    items = take(wire, name, 6, 2, no_ack=False)
    wire.send(Basic.Ack(items[0].method.delivery_tag), 2)
    reject(wire, items[3], True, 2)
    settled(wire, 2)
    yield
    wire = confirm(b.wire())
    put(wire, name, b"new", priority=3)
    see(rest(wire, name, 25))


@scenario
def priorities_of_transient_and_persistent_messages(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire, x_max_priority=3, x_max_length=20, x_queue_mode="lazy")
    for number in range(24):
        fill(wire, name, b"%d" % number, properties=BasicProperties(delivery_mode=1 + number % 2, priority=number % 5))
    take(wire, name, 3, 2, no_ack=False)
    yield
    wire = confirm(b.wire())
    count = depth(wire, name)[0]
    see(count)
    see(rest(wire, name, count))


# Lengths.


@scenario
def lengths_drop_the_oldest(b, see):
    pairs = []
    for arguments in KINDS.values():
        wire = confirm(b.wire())
        pairs.append(with_dead_letters(b, wire, arguments, x_max_length=5))
        put(wire, pairs[-1][0], *[b"%d" % number for number in range(5)])
        pairs.append(with_dead_letters(b, wire, arguments, x_max_length_bytes=10))
        put(wire, pairs[-1][0], *[b"%d." % number for number in range(5)])
    yield
    for name, dead in pairs:
        wire = confirm(b.wire())
        put(wire, name, b"n1", b"n2")
        see(rest(wire, dead, 2))
        see(rest(wire, name, 5))


@scenario
def lengths_refuse_the_newest(b, see):
    wire = confirm(b.wire())
    for limit in ({"x_max_length": 3}, {"x_max_length_bytes": 6}):
        name = durable(b, wire, x_overflow="reject-publish", **limit)
        put(wire, name, b"1.", b"2.", b"3.")
    yield
    for name in b.names:
        wire = confirm(b.wire())
        see([publish_confirmed(wire, "", name, b"new", properties=persistent()) for _ in range(2)])
        get(wire, name)
        see(publish_confirmed(wire, "", name, b"4.", properties=persistent()))
        see(publish_confirmed(wire, "", name, b"5.", properties=persistent()))
        see(rest(wire, name, 3))


@scenario
def lengths_count_what_the_stop_returns(b, see):
    wire = confirm(b.wire().open(2))
    name, dead = with_dead_letters(b, wire, {}, x_max_length=3)
    put(wire, name, b"0", b"1", b"2")
    take(wire, name, 2, 2, no_ack=False)
    put(wire, name, b"3", b"4")
    yield
    wire = confirm(b.wire())
    see([is_there(wire, dead), is_there(wire, name)])
    put(wire, name, b"5")
    see(rest(wire, name, 3))
    see(rest(wire, dead, 3))


@scenario
def lengths_refuse_the_newest_to_dead_letters(b, see):
    wire = confirm(b.wire())
    name, dead = with_dead_letters(b, wire, {}, x_max_length=2, x_overflow="reject-publish-dlx")
    put(wire, name, b"1", b"2")
    see(publish_confirmed(wire, "", name, b"3", properties=persistent()))
    yield
    wire = confirm(b.wire())
    see(publish_confirmed(wire, "", name, b"4", properties=persistent()))
    see(rest(wire, dead, 2))
    see(rest(wire, name, 2))


# Dead letters.


@scenario
def dead_letters(b, see):
    """The letters are in two queues before the restart, and die there after it."""
    found = []
    for arguments in KINDS.values():
        wire = confirm(b.wire().open(2))
        letters_exchange = exchange(wire, b.name("x"), "fanout", durable=True)
        pairs = [with_dead_letters(b, wire, {}) for _ in range(2)]
        for letters, _ in pairs:
            bind(wire, letters, letters_exchange)
        name = durable(b, wire, x_dead_letter_exchange=letters_exchange, **arguments)
        put(wire, name, b"1", b"2", headers={"h": 1})
        for item in take(wire, name, 2, 2, no_ack=False):
            reject(wire, item, False, 2)
        settled(wire, 2)
        see([await_counts(wire, letters, (2, 0)) for letters, _ in pairs])
        found.append((name, pairs))
    yield
    for name, pairs in found:
        wire = b.wire().open(2)
        see(is_there(wire, name))
        for letters, ends in pairs:
            items = take(wire, letters, 2, 2, no_ack=False)
            see([look(item) for item in items])
            for item in items:
                reject(wire, item, False, 2)
            see(rest(wire, ends, 2))


@scenario
def a_message_that_dies_in_a_ring(b, see):
    """The message dies in the same queue before the restart and after, and its counts go on."""
    wire = confirm(b.wire().open(2))
    first, second = b.name("first"), b.name("second")
    for name, other in ((first, second), (second, first)):
        arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": other}
        queue(wire, name, exclusive=False, durable=True, arguments=arguments)
    put(wire, first, b"1")
    for name in (first, second, first):
        reject(wire, take(wire, name, 1, 2, no_ack=False)[0], False, 2)
    settled(wire, 2)
    yield
    wire = b.wire().open(2)
    for name in (second, first):
        item = take(wire, name, 1, 2, no_ack=False)[0]
        see(look(item))
        reject(wire, item, False, 2)
    see(rest(wire, second, 1))


# Queues and consumers.


@scenario
def a_queue_that_goes_with_its_consumers(b, see):
    """The stop of the broker ends the consumer, and the queue with it or not."""
    wire = confirm(b.wire().open(2))
    name = durable(b, wire, auto_delete=True)
    put(wire, name, b"1")
    consume(wire, name, 2)
    see(look(delivery(wire)))
    yield
    see(is_there(b.wire(), name))


@scenario
def deliveries_without_acknowledgement(b, see):
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire().open(2))
        name = durable(b, wire, kind, **arguments)
        put(wire, name, b"1", b"2")
        consume(wire, name, 2, no_ack=True)
        see([look(delivery(wire)) for _ in range(2)])
        wire.publish("", name, b"3", properties=persistent(), channel=2)
        see(look(delivery(wire)))
        settled(wire, 2)
    yield
    see([is_there(b.wire(), name) for name in b.names])


@scenario
def exclusive_consumers(b, see):
    wire = confirm(b.wire().open(2))
    name = durable(b, wire)
    put(wire, name, b"1")
    consume(wire, name, 2, exclusive=True)
    see(look(delivery(wire)))
    yield
    wire = b.wire().open(2)
    consume(wire, name, 2)
    see(look(delivery(wire)))


@scenario
def single_active_consumers(b, see):
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire().open(2))
        name = durable(b, wire, kind, x_single_active_consumer=True, **arguments)
        put(wire, name, *[b"%d" % number for number in range(4)])
        wire.call(Basic.Qos(prefetch_count=1), 2)
        consume(wire, name, 2)
        consume(wire, name, 2)
        see(look(delivery(wire)))
    yield
    for name in b.names:
        wire = b.wire().open(2)
        wire.call(Basic.Qos(prefetch_count=2), 2)
        active = consume(wire, name, 2)
        consume(wire, name, 2)
        items = [delivery(wire) for _ in range(2)]
        see([(look(item), item.method.consumer_tag == active) for item in items])
        wire.send(Basic.Ack(items[1].method.delivery_tag, multiple=True), 2)
        items = [delivery(wire) for _ in range(2)]
        see([(look(item), item.method.consumer_tag == active) for item in items])


@scenario
def purged_and_deleted_queues(b, see):
    for kind, arguments in KINDS.items():
        wire = confirm(b.wire())
        purged, deleted, again = (durable(b, wire, f"{word}.{kind}", **arguments) for word in ("purged", "deleted", "again"))
        for name in (purged, deleted, again):
            put(wire, name, b"1", b"2")
        wire.call(Queue.Purge(queue=purged))
        put(wire, purged, b"3")
        for name in (deleted, again):
            wire.call(Queue.Delete(queue=name))
        queue(wire, again, exclusive=False, durable=True, arguments=arguments)
        put(wire, again, b"3")
    yield
    for name in b.names:
        wire = b.wire()
        see(is_there(wire, name) if "deleted" in name else rest(wire, name, 1))


@scenario
def bindings(b, see):
    wire = confirm(b.wire())
    names = {word: b.name(word) for word in ("alternate", "direct", "headers", "topic", "transient", "unused")}
    exchange(wire, names["alternate"], "fanout", durable=True)
    exchange(wire, names["direct"], "direct", durable=True, arguments={"alternate-exchange": names["alternate"]})
    exchange(wire, names["headers"], "headers", durable=True)
    exchange(wire, names["topic"], "topic", durable=True)
    exchange(wire, names["transient"], "topic")
    exchange(wire, names["unused"], "fanout", durable=True, auto_delete=True)
    queues = [durable(b, wire, word) for word in "abc"]
    lost = queue(wire, b.name("lost"), exclusive=False)
    bind(wire, queues[0], names["direct"], "a")
    bind(wire, queues[1], names["alternate"])
    bind(wire, queues[2], names["topic"], "#.c")
    bind(wire, queues[0], names["headers"], arguments={"x-match": "any", "h": 1, "i": "x"})
    bind(wire, queues[0], names["transient"], "#")
    bind(wire, queues[0], names["unused"])
    bind(wire, lost, names["direct"], "lost")
    for key in ("a", "gone"):
        bind(wire, queues[1], names["direct"], key)
    wire.call(Queue.Unbind(queue=queues[1], exchange=names["direct"], routing_key="gone"))
    wire.call(Exchange.Bind(destination=names["topic"], source=names["direct"], routing_key="b.c"))
    yield
    wire = confirm(b.wire())
    for word, keys in (("direct", ("a", "gone", "lost", "b.c")), ("topic", ("x.c", "x")), ("headers", ("",)), ("unused", ("",))):
        for key in keys:
            wire.publish(names[word], key, f"{word} {key}".encode(), properties=persistent(headers={"i": "x"}), mandatory=True)
            see(type(wire.wait_for((Basic.Return, Basic.Ack)).method).NAME)
    wire = b.wire()
    for name, count in zip(queues, (3, 3, 2)):
        see(rest(wire, name, count))
    wire.send(Exchange.Declare(exchange=names["transient"], passive=True))
    see(wire.wait_for((Exchange.DeclareOk, Channel.Close)).method.NAME)


# Transactions.


@scenario
def transactions(b, see):
    wire = confirm(b.wire().open(2))
    name, other = durable(b, wire), durable(b, wire)
    put(wire, name, *[b"%d" % number for number in range(6)])
    wire.call(Tx.Select(), 2)
    items = take(wire, name, 4, 2, no_ack=False)
    wire.send(Basic.Ack(items[0].method.delivery_tag), 2)
    reject(wire, items[1], True, 2)
    for target in (name, other):
        wire.publish("", target, b"committed", properties=persistent(), channel=2)
    wire.call(Tx.Commit(), 2)
    wire.publish("", other, b"rolled back", properties=persistent(), channel=2)
    wire.call(Tx.Rollback(), 2)
    wire.publish("", other, b"open", properties=persistent(), channel=2)
    wire.send(Basic.Ack(items[2].method.delivery_tag), 2)
    settled(wire, 2)
    yield
    wire = b.wire()
    see(rest(wire, name, 6))
    see(rest(wire, other, 1))


# Times to live. These scenarios come last before the restart, so that the short times end while the brokers are down. RabbitMQ may lose dead letters of
# quorum queues while it stops and starts: the queues themselves are compared.


@scenario
def times_to_live_that_end_during_the_restart(b, see):
    found = []
    for arguments in KINDS.values():
        wire = confirm(b.wire())
        name, dead = with_dead_letters(b, wire, arguments, x_message_ttl=SHORT_MS)
        put(wire, name, b"1", b"2")
        mixed, letters = with_dead_letters(b, wire, arguments)
        put(wire, mixed, b"1", expiration=str(SHORT_MS))
        put(wire, mixed, b"2", expiration=str(SHORT_MS), headers={"h": 1})
        put(wire, mixed, b"stays", expiration=str(HOUR_MS))
        put(wire, mixed, b"behind", expiration=str(SHORT_MS))
        found.append((name, dead, mixed, letters))
    yield
    for kind, (name, dead, mixed, letters) in zip(KINDS, found):
        wire = b.wire()
        see(await_counts(wire, name, (0, 0)))
        see(await_counts(wire, mixed, (2, 0)))
        if kind == "classic":
            see(rest(wire, dead, 2, look_at_expired))
            see(rest(wire, letters, 2, look_at_expired))
        see([look(item) for item in take(wire, mixed, 1)])
        see(await_counts(wire, mixed, (0, 0)))
        if kind == "classic":
            see(rest(wire, letters, 1, look_at_expired))


@scenario
def times_to_live_without_dead_letters(b, see):
    for arguments in KINDS.values():
        wire = confirm(b.wire())
        put(wire, durable(b, wire, x_message_ttl=SHORT_MS, **arguments), b"1", b"2")
    yield
    wire = b.wire()
    see([await_counts(wire, name, (0, 0)) for name in b.names])


@scenario
def times_to_live_of_unacknowledged_messages(b, see):
    found = []
    for arguments in KINDS.values():
        wire = confirm(b.wire().open(2))
        name, dead = with_dead_letters(b, wire, arguments)
        put(wire, name, b"1", expiration=str(SHORT_MS))
        put(wire, name, b"stays")
        take(wire, name, 1, 2, no_ack=False)
        found.append((name, dead))
    yield
    for kind, (name, dead) in zip(KINDS, found):
        wire = b.wire()
        if kind == "classic":
            see(rest(wire, dead, 1, look_at_expired))
        see(await_counts(wire, name, (1, 0)))
        see(rest(wire, name, 1))


@scenario
def times_to_live_that_go_on_after_the_restart(b, see):
    found = []
    for arguments in KINDS.values():
        wire = confirm(b.wire())
        pairs = [with_dead_letters(b, wire, arguments, x_message_ttl=MIDDLE_MS), with_dead_letters(b, wire, arguments)]
        put(wire, pairs[0][0], b"1", b"2")
        put(wire, pairs[1][0], b"1", b"2", expiration=str(MIDDLE_MS))
        found.append(pairs)
    started = time.monotonic()
    yield
    # Times that begin anew end later.
    deadline = max(time.monotonic(), started + MIDDLE_MS / 1000) + 5
    for kind, pairs in zip(KINDS, found):
        wire = b.wire()
        see([await_counts(wire, name, (0, 0), deadline) for name, _ in pairs])
        if kind == "classic":
            see([rest(wire, dead, 2, look_at_expired) for _, dead in pairs])


@scenario
def the_time_of_an_unused_queue_begins_anew(b, see):
    wire = confirm(b.wire())
    name = durable(b, wire, x_expires=EXPIRES_MS)
    put(wire, name, b"1")
    started = time.monotonic()
    yield
    wire = b.wire()
    # The broker says nothing by itself.
    select.select([wire.socket], [], [], max(0, started + EXPIRES_MS / 1000 + 0.5 - time.monotonic()))
    see(is_there(wire, name))
