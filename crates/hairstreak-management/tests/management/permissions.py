"""Which permissions each method of AMQP asks for, and what a client is told that lacks one of them: a table, each row of which is tried
with just the permissions that it names, and without each of them."""

import re

from pika import spec
from pika.spec import BasicProperties, Basic, Channel, Exchange, Queue, Tx, Confirm

from check import bind, channel_error, check, consume, equal, exchange, fill, queue

VERBS = ("configure", "write", "read")


def configure(kind, name):
    return "configure", kind, name


def write(kind, name):
    return "write", kind, name


def read(kind, name):
    return "read", kind, name


QUEUE, OTHER, X, TOPIC, Y = "q", "other", "x", "topic", "y"
DEFAULT = "amq.default"


def publish(exchange, key="", properties=None, **options):
    """Publishes, and asks for something behind which a refusal would have come."""

    def act(wire, channel):
        wire.publish(exchange, key, b"", properties, channel, **options)
        wire.send(Basic.Qos(), channel)

    act.method = Basic.Publish
    return act


def behind(first, act):
    """Does something after a method that has to succeed."""

    def both(wire, channel):
        wire.call(first, channel)
        act(wire, channel)

    both.method = act.method
    return both


# The name of a row; the method, or a function that does what is to be tried; and what it needs, in the order in which it is asked for.
# The queues q and other, the direct exchanges x and y and the topic exchange exist; those named new do not.
TABLE = [
    ("queue.declare", Queue.Declare(queue="new"), [configure("queue", "new")]),
    ("queue.declare of a queue that exists", Queue.Declare(queue=QUEUE), [configure("queue", QUEUE)]),
    ("queue.declare, passive", Queue.Declare(queue=QUEUE, passive=True), []),
    (
        "queue.declare with x-dead-letter-exchange",
        Queue.Declare(queue="new", arguments={"x-dead-letter-exchange": X}),
        [configure("queue", "new"), read("queue", "new"), write("exchange", X)],
    ),
    (
        "queue.declare with the default exchange for dead letters",
        Queue.Declare(queue="new", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": QUEUE}),
        [configure("queue", "new"), read("queue", "new"), write("exchange", DEFAULT)],
    ),
    (
        "queue.declare with a dead letter exchange that does not exist",
        Queue.Declare(queue="new", arguments={"x-dead-letter-exchange": "new"}),
        [configure("queue", "new"), read("queue", "new"), write("exchange", "new")],
    ),
    ("queue.delete", Queue.Delete(queue=QUEUE), [configure("queue", QUEUE)]),
    ("queue.delete of nothing", Queue.Delete(queue="new"), [configure("queue", "new")]),
    ("queue.purge", Queue.Purge(queue=QUEUE), [read("queue", QUEUE)]),
    ("queue.bind", Queue.Bind(queue=QUEUE, exchange=X), [write("queue", QUEUE), read("exchange", X)]),
    ("queue.unbind", Queue.Unbind(queue=QUEUE, exchange=X), [write("queue", QUEUE), read("exchange", X)]),
    ("exchange.declare", Exchange.Declare(exchange="new"), [configure("exchange", "new")]),
    ("exchange.declare of an exchange that exists", Exchange.Declare(exchange=X), [configure("exchange", X)]),
    ("exchange.declare, passive", Exchange.Declare(exchange=X, passive=True), []),
    (
        "exchange.declare with alternate-exchange",
        Exchange.Declare(exchange="new", arguments={"alternate-exchange": X}),
        [configure("exchange", "new"), read("exchange", "new"), write("exchange", X)],
    ),
    ("exchange.delete", Exchange.Delete(exchange=X), [configure("exchange", X)]),
    ("exchange.delete of nothing", Exchange.Delete(exchange="new"), [configure("exchange", "new")]),
    ("exchange.bind", Exchange.Bind(destination=X, source=Y), [write("exchange", X), read("exchange", Y)]),
    ("exchange.unbind", Exchange.Unbind(destination=X, source=Y), [write("exchange", X), read("exchange", Y)]),
    ("basic.publish", publish(X), [write("exchange", X)]),
    ("basic.publish to the default exchange", publish("", QUEUE), [write("exchange", DEFAULT)]),
    ("basic.publish to a topic exchange", publish(TOPIC, "a.b"), [write("exchange", TOPIC)]),
    ("basic.publish, mandatory", publish(X, "nowhere", mandatory=True), [write("exchange", X)]),
    ("basic.publish with CC", publish(X, properties=BasicProperties(headers={"CC": [QUEUE]})), [write("exchange", X)]),
    ("basic.publish with reply-to", publish(X, properties=BasicProperties(reply_to=OTHER)), [write("exchange", X)]),
    ("basic.publish in a transaction", behind(Tx.Select(), publish(X)), [write("exchange", X)]),
    ("basic.publish with confirms", behind(Confirm.Select(), publish(X)), [write("exchange", X)]),
    ("basic.get", Basic.Get(queue=QUEUE), [read("queue", QUEUE)]),
    ("basic.consume", Basic.Consume(queue=QUEUE), [read("queue", QUEUE)]),
    ("basic.consume of replies", Basic.Consume(queue="amq.rabbitmq.reply-to", no_ack=True), []),
    ("basic.qos", Basic.Qos(), []),
    ("basic.recover", Basic.Recover(requeue=True), []),
    ("tx.select", Tx.Select(), []),
    ("confirm.select", Confirm.Select(), []),
]


class Table:
    """A user, a virtual host, and a connection of both, on which each attempt has a channel of its own."""

    def __init__(self, node):
        self.node, self.host = node, node.host()
        self.name = node.user(host=self.host)
        self.wire = node.wire_to(self.host, self.name, "secret")
        self.admin = node.wire_to(self.host)

    def grant(self, needs):
        """Permits just this."""
        patterns = {verb: [re.escape(name) for other, _, name in needs if other == verb] for verb in VERBS}
        self.node.permit(self.name, self.host, **{verb: f"^({'|'.join(p)})$" if p else "" for verb, p in patterns.items()})

    def prepare(self):
        for name in (QUEUE, OTHER, "new"):
            self.admin.call(Queue.Delete(queue=name))
        for name in (X, TOPIC, Y, "new"):
            self.admin.call(Exchange.Delete(exchange=name))
        for name in (QUEUE, OTHER):
            self.admin.call(Queue.Declare(queue=name))
        for name, kind in ((X, "direct"), (Y, "direct"), (TOPIC, "topic")):
            self.admin.call(Exchange.Declare(exchange=name, type=kind))

    def attempt(self, method):
        """Tries it on a channel of its own. Returns None, or what the channel was closed with."""
        self.wire.open(2)
        if callable(method):
            method(self.wire, 2)
            blamed = method.method
        else:
            self.wire.send(method, 2)
            blamed = type(method)
        while True:
            item = self.wire.receive()
            if isinstance(item.method, (Basic.Return, Basic.Ack)):
                continue
            if not isinstance(item.method, Channel.Close):
                self.wire.send(Channel.Close(200, "", 0, 0), 2)
                self.wire.wait_for(Channel.CloseOk)
                # A confirm may have come in between.
                self.wire.waiting.clear()
                return None
            self.wire.send(Channel.CloseOk(), 2)
            close = item.method
            equal(spec.methods[close.class_id << 16 | close.method_id], blamed, "blamed")
            return close.reply_code, close.reply_text

    def refusal(self, _verb, kind, name):
        """The code and the text with which a channel is closed. RabbitMQ 3.10 does not name the permission."""
        return 403, f"ACCESS_REFUSED - access to {kind} '{name}' in vhost '{self.host}' refused for user '{self.name}'"


@check()
def permissions_that_each_method_asks_for(node):
    table = Table(node)
    for name, method, needs in TABLE:
        table.prepare()
        table.grant(needs)
        equal(table.attempt(method), None, f"{name} with all it needs:")
        for missing in needs:
            table.prepare()
            table.grant([need for need in needs if need != missing])
            equal(table.attempt(method), table.refusal(*missing), f"{name} without {missing}:")
        if needs:
            table.prepare()
            table.grant([])
            equal(table.attempt(method), table.refusal(*needs[0]), f"{name} without all:")


@check()
def permissions_of_names_that_the_server_makes(node):
    table = Table(node)
    equal_but_for_name(table, table.attempt(Queue.Declare()))
    node.permit(table.name, table.host, configure=r"^amq\.gen-")
    equal(table.attempt(Queue.Declare()), None)


def equal_but_for_name(table, found):
    code, text = table.refusal("configure", "queue", "NAME")
    found = found and (found[0], re.sub(r"'amq\.gen-[A-Za-z0-9_-]{22}'", "'NAME'", found[1]))
    equal(found, (code, text))


@check()
def permissions_are_patterns_that_may_match_anywhere(node):
    table = Table(node)
    # A pattern; names that it matches; and names that it does not.
    rows = [
        ("b", ["abc", "b"], ["a"]),
        ("^b", ["bc"], ["ab"]),
        (".*", ["", "a"], []),
        ("^$", [], ["a"]),
        ("", [], ["a"]),
        (r"^(?!amq\.|secret).*", ["a"], ["secret.a"]),
        (r"^a\d{2,3}$", ["a12"], ["a1", "a1234"]),
        ("(?i)^mine", ["MINE.x"], ["yours"]),
        ("a|b", ["xb"], ["c"]),
        ("^ü$", ["ü"], ["u"]),
    ]
    for pattern, right, wrong in rows:
        node.permit(table.name, table.host, configure=pattern)
        for name in right:
            equal(table.attempt(Queue.Declare(queue=name)), None, f"{name!r} by {pattern!r}:")
        for name in wrong:
            equal(table.attempt(Queue.Declare(queue=name)), table.refusal("configure", "queue", name), f"{name!r} by {pattern!r}:")


@check()
def permissions_that_change_are_seen_by_the_next_channel(node):
    table = Table(node)
    table.prepare()
    table.grant([])
    equal(table.attempt(Basic.Get(queue=QUEUE)), table.refusal("read", "queue", QUEUE))
    table.grant([read("queue", QUEUE)])
    equal(table.attempt(Basic.Get(queue=QUEUE)), None)
    node.api.remove("permissions", table.host, table.name)
    equal(table.attempt(Basic.Get(queue=QUEUE)), table.refusal("read", "queue", QUEUE))


@check()
def permissions_of_one_virtual_host_are_none_in_another(node):
    first, second = node.host(), node.host()
    user = node.user(host=first, configure=".*", write=".*", read=".*")
    node.permit(user, second)
    queue(node.wire_to(first, user, "secret"))
    wire = node.wire_to(second, user, "secret")
    wire.send(Queue.Declare(queue="q"))
    equal(wire.expect(Channel.Close).method.reply_code, 403)


@check()
def permissions_are_not_asked_for_when_a_letter_is_dead(node):
    """Dead letters go to the exchange of the queue, whatever the publisher may do there."""
    host = node.host()
    user = node.user(host=host, write="^amq.default$")
    admin = node.wire_to(host)
    queue(admin, "graves", exclusive=False)
    queue(admin, "short", exclusive=False, arguments={"x-max-length": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "graves"})
    wire = node.wire_to(host, user, "secret")
    wire.call(Confirm.Select())
    fill(wire, "short", b"m")
    consume(admin, "graves")
    equal(admin.wait_for(Basic.Deliver).body, b"m")


@check()
def permissions_of_an_exchange_are_not_asked_for_behind_another(node):
    host = node.host()
    user = node.user(host=host, write="^front$")
    admin = node.wire_to(host)
    for name in ("front", "behind"):
        exchange(admin, name, "fanout")
    queue(admin, "q", exclusive=False)
    admin.call(Exchange.Bind(destination="behind", source="front"))
    bind(admin, "q", "behind")
    wire = node.wire_to(host, user, "secret")
    wire.publish("front", "", b"m")
    consume(admin, "q")
    equal(admin.wait_for(Basic.Deliver).body, b"m")


@check()
def permissions_come_before_what_exists_and_what_is_internal(node):
    table = Table(node)
    exchange(table.admin, "inner", internal=True)
    table.grant([])
    equal(table.attempt(publish("nothing")), table.refusal("write", "exchange", "nothing"))
    equal(table.attempt(publish("inner")), table.refusal("write", "exchange", "inner"))
    equal(table.attempt(Basic.Get(queue="nothing")), table.refusal("read", "queue", "nothing"))
    everything = [write("exchange", "nothing"), write("exchange", "inner"), read("queue", "nothing")]
    table.grant(everything)
    equal(table.attempt(publish("nothing")), (404, f"NOT_FOUND - no exchange 'nothing' in vhost '{table.host}'"))
    equal(table.attempt(publish("inner"))[0], 403)
    equal(table.attempt(Basic.Get(queue="nothing")), (404, f"NOT_FOUND - no queue 'nothing' in vhost '{table.host}'"))


@check()
def permissions_to_name_another_user_are_the_impersonator_s(node):
    host = node.host()
    text = "PRECONDITION_FAILED - user_id property set to 'somebody' but authenticated user was '{}'"
    for tags, is_allowed in (("", False), ("administrator", False), ("impersonator", True)):
        user = node.user(tags, host=host, write=".*")
        wire = node.wire_to(host, user, "secret")
        wire.publish("", "nowhere", properties=BasicProperties(user_id=user))
        wire.publish("", "nowhere", properties=BasicProperties(user_id="somebody"))
        if is_allowed:
            wire.call(Basic.Qos())
        else:
            channel_error(wire, Basic.Qos(), 406, text.format(user), said=Basic.Publish())
