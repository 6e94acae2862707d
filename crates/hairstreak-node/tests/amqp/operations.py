"""A round of the differential test: random operations by seed, each done on both sides."""

import os
import random

from pika import spec

from side import CHANNELS, settle, silence

KINDS = ["direct", "fanout", "topic", "headers"]
KEYS = ["a", "b", "a.b", "a.b.c", ""]
PATTERNS = [*KEYS, "#", "a.*", "*.b", "a.#", "#.c", "*"]
HEADERS = [None, {"h": 1}, {"h": 2, "i": "x"}, {}]
MATCHES = [{}, {"x-match": "any", "h": 1, "i": "x"}, {"x-match": "all", "h": 1}, {"h": 2, "i": "x"}]
# In a round with time, what is this short is over before the next operation.
SHORT_MS = 40
PAUSE_S = 0.3

WEIGHTS = {
    "publish": 30,
    "get": 10,
    "acknowledge": 16,
    "consume": 8,
    "cancel": 3,
    "declare_queue": 8,
    "declare_exchange": 4,
    "bind_queue": 8,
    "unbind_queue": 2,
    "bind_exchange": 2,
    "unbind_exchange": 1,
    "delete_queue": 2,
    "delete_exchange": 1,
    "purge": 1,
    "qos": 2,
    "recover": 1,
    "close_channel": 1,
    "close_connection": 1,
    "look": 3,
    "begin_transaction": 1,
    "end_transaction": 2,
}


class Round:
    def __init__(self, sides, seed, leave_out=()):
        self.sides, self.seed, self.leave_out = sides, seed, leave_out
        self.random = random.Random(f"{seed} start")
        self.done = []
        self.has_time = self.random.random() < 0.1
        # Several of these tests may use the same brokers.
        self.prefix = f"diff.{os.getpid():x}.{seed}."
        self.queues = [f"{self.prefix}q{number}" for number in range(4)]
        self.exchanges = [f"{self.prefix}x{number}" for number in range(3)]
        for side in sides:
            side.names.update(self.queues + self.exchanges)
        # In these rounds one queue is a quorum queue whenever it is declared.
        self.quorum = self.queues[3] if self.random.random() < 0.3 else None
        self.declared = set()
        self.consumers, self.in_transaction = [], False
        self.message_count = 0

    def step(self, number):
        """One operation, unless it is left out."""
        self.random = random.Random(f"{self.seed} {number}")
        # The first operations make something to work with.
        if number < 4:
            name = "declare_queue"
        elif number < 6:
            name = "declare_exchange"
        else:
            name = self.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        if number in self.leave_out:
            return
        getattr(self, name)()
        is_closed = settle(self.sides, PAUSE_S if self.has_time else 0)
        # A quorum queue of RabbitMQ forgets the consumers of a channel that is gone only some time after the channel.
        if is_closed and self.quorum:
            silence(self.sides, PAUSE_S)

    def finish(self):
        """Empties the queues and compares what was in them."""
        for connection in (0, 1):
            self.cancel_all(connection)
            for side in self.sides:
                side.reconnect(connection)
            settle(self.sides)
        self.note("empty the queues")
        for name in self.queues:
            empty = False
            while not empty:
                self.get_from(name, (0, 2), True)
                for side in self.sides:
                    side.ask()
                    side.listen()
                empty = ("get", (0, 2)) not in self.sides[0].seen
                settle(self.sides)

    # The words for the list of operations.

    def note(self, text):
        self.done.append(text.replace(self.prefix, ""))

    def send(self, channel, method):
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(method).items() if value not in (0, False, None, {}))
        self.note(f"{channel} {method.NAME}({fields})")
        for side in self.sides:
            side.send(channel, method)

    # What is picked.

    def one(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    # An error ends the consumers of its channel, so that the errors of topology mostly have a channel of their own, and
    # mostly what was declared is used.

    def channel(self):
        return self.one((0, 1), (0, 2), (1, 1))

    def channel_for_topology(self):
        return (0, 3) if self.chance(0.9) else self.channel()

    def any_queue(self):
        known = [name for name in self.queues if name in self.declared]
        return self.one(*known) if known and self.chance(0.95) else self.one(*self.queues)

    def any_exchange(self):
        known = ["amq.topic", *(name for name in self.exchanges if name in self.declared)]
        return self.one(*known) if self.chance(0.95) else self.one(*self.exchanges)

    # Topology.

    def declare_queue(self):
        name = self.one(*self.queues)
        if name == self.quorum:
            self.declare_quorum_queue(name)
        else:
            self.declare_classic_queue(name)

    def declare_quorum_queue(self, name):
        arguments = {"x-queue-type": "quorum"}
        if self.chance(0.4):
            arguments["x-delivery-limit"] = self.one(0, 1, 2)
        if self.chance(0.3):
            arguments["x-max-length"] = self.one(1, 2, 3)
            arguments["x-overflow"] = "drop-head"
        if self.chance(0.5):
            arguments["x-dead-letter-exchange"] = self.one("", *self.exchanges)
            if self.chance(0.6):
                arguments["x-dead-letter-routing-key"] = self.one(*KEYS, *self.queues)
        if self.chance(0.15):
            arguments["x-single-active-consumer"] = True
        if self.has_time and self.chance(0.5):
            arguments["x-message-ttl"] = SHORT_MS
        self.declared.add(name)
        is_passive, is_durable = self.chance(0.1), self.chance(0.95)
        self.send(self.channel_for_topology(), spec.Queue.Declare(queue=name, passive=is_passive, durable=is_durable, arguments=arguments))

    def declare_classic_queue(self, name):
        arguments = {}
        if self.chance(0.3):
            arguments["x-max-length"] = self.one(0, 1, 2, 3)
        if self.chance(0.1):
            arguments["x-max-length-bytes"] = self.one(0, 5, 20)
        if arguments and self.chance(0.5):
            arguments["x-overflow"] = self.one("drop-head", "reject-publish", "reject-publish-dlx")
        if self.chance(0.5):
            arguments["x-dead-letter-exchange"] = self.one("", *self.exchanges)
            if self.chance(0.6):
                arguments["x-dead-letter-routing-key"] = self.one(*KEYS, *self.queues)
        if self.chance(0.2):
            arguments["x-max-priority"] = self.one(1, 3, 10)
        if self.chance(0.15):
            arguments["x-single-active-consumer"] = True
        if self.chance(0.1):
            arguments["x-message-ttl"] = self.one(0, 60000)
        if self.has_time and self.chance(0.5):
            arguments["x-message-ttl"] = SHORT_MS
        if self.has_time and self.chance(0.1):
            arguments["x-expires"] = SHORT_MS
        method = spec.Queue.Declare(
            queue=name,
            passive=self.chance(0.1),
            exclusive=self.chance(0.1),
            durable=self.chance(0.2),
            auto_delete=self.chance(0.1),
            arguments=arguments,
        )
        self.declared.add(method.queue)
        self.send(self.channel_for_topology(), method)

    def declare_exchange(self):
        arguments = {"alternate-exchange": self.one(*self.exchanges)} if self.chance(0.2) else {}
        method = spec.Exchange.Declare(
            exchange=self.one(*self.exchanges),
            type=self.one(*KINDS),
            passive=self.chance(0.1),
            auto_delete=self.chance(0.1),
            internal=self.chance(0.05),
            arguments=arguments,
        )
        self.declared.add(method.exchange)
        self.send(self.channel_for_topology(), method)

    def delete_queue(self):
        name, if_unused, if_empty = self.any_queue(), self.chance(0.3), self.chance(0.3)
        if name == self.quorum:
            # RabbitMQ has neither for quorum queues (540), and ours has both.
            if_unused = if_empty = False
        self.send(self.channel_for_topology(), spec.Queue.Delete(queue=name, if_unused=if_unused, if_empty=if_empty))

    def delete_exchange(self):
        self.send(self.channel_for_topology(), spec.Exchange.Delete(exchange=self.any_exchange(), if_unused=self.chance(0.5)))

    def binding(self, **ends):
        return {**ends, "routing_key": self.one(*PATTERNS), "arguments": self.one(*MATCHES) if self.chance(0.4) else {}}

    def bind_queue(self):
        self.send(self.channel_for_topology(), spec.Queue.Bind(**self.binding(queue=self.any_queue(), exchange=self.any_exchange())))

    def unbind_queue(self):
        self.send(self.channel_for_topology(), spec.Queue.Unbind(**self.binding(queue=self.any_queue(), exchange=self.any_exchange())))

    def bind_exchange(self):
        self.send(self.channel_for_topology(), spec.Exchange.Bind(**self.binding(destination=self.any_exchange(), source=self.any_exchange())))

    def unbind_exchange(self):
        self.send(self.channel_for_topology(), spec.Exchange.Unbind(**self.binding(destination=self.any_exchange(), source=self.any_exchange())))

    def purge(self):
        self.send(self.channel_for_topology(), spec.Queue.Purge(queue=self.any_queue()))

    def look(self):
        self.send(self.channel_for_topology(), spec.Queue.Declare(queue=self.any_queue(), passive=True))

    # Messages.

    def publish(self):
        self.message_count += 1
        body = b"m%d" % self.message_count + b"." * self.one(0, 0, 0, 3, 30)
        properties = {}
        if self.chance(0.3):
            properties["priority"] = self.one(0, 1, 2, 5, 200)
        # RabbitMQ 3.10 looks for expired messages only if the queue was empty: an expired message that is in front by its priority is delivered.
        # So messages with a priority do not expire here.
        if self.chance(0.1):
            properties["expiration"] = "60000" if "priority" in properties else self.one("0", "60000")
        if self.has_time and self.chance(0.3) and "priority" not in properties:
            properties["expiration"] = str(SHORT_MS)
        headers = self.one(*HEADERS)
        for name in ("CC", "BCC"):
            if self.chance(0.07):
                headers = {**(headers or {}), name: self.random.sample([*KEYS, *self.queues], self.one(0, 1, 2))}
        properties["headers"] = headers
        if self.chance(0.1):
            properties["delivery_mode"] = self.one(1, 2)
        exchange, key = ("", self.any_queue()) if self.chance(0.5) else (self.any_exchange(), self.one(*KEYS))
        is_mandatory, channel = self.chance(0.3), self.channel()
        self.note(f"{channel} publish({exchange!r}, {key!r}, {body!r}, {properties}, mandatory={is_mandatory})")
        for side in self.sides:
            side.publish(channel, exchange, key, body, spec.BasicProperties(**properties), mandatory=is_mandatory)

    def get(self):
        name, no_ack = self.any_queue(), self.chance(0.5)
        self.get_from(name, self.channel(), no_ack or name == self.quorum)

    def get_from(self, name, channel, no_ack):
        for side in self.sides:
            (side.auto.add if no_ack else side.auto.discard)((channel, "get"))
        self.send(channel, spec.Basic.Get(queue=name, no_ack=no_ack))

    def consume(self):
        channel, no_ack = self.channel(), self.chance(0.4)
        name = self.any_queue()
        tag = f"{'quorum' if name == self.quorum else 'c'}{len(self.done)}"
        for side in self.sides:
            if no_ack:
                side.auto.add((channel, tag))
        arguments = {"x-priority": self.one(-1, 1, 5)} if self.chance(0.2) else {}
        self.consumers.append((channel, tag))
        is_exclusive = self.chance(0.1)
        self.send(channel, spec.Basic.Consume(0, name, tag, False, no_ack, is_exclusive, False, arguments))

    def cancel(self):
        if self.consumers:
            channel, tag = self.consumers.pop(self.random.randrange(len(self.consumers)))
            self.send(channel, spec.Basic.Cancel(consumer_tag=tag))

    def cancel_all(self, connection):
        """The channels of a connection that ends do so in any order in RabbitMQ: what returns from one of them may still go to a consumer of
        another, and is gone with it if nobody acknowledges there."""
        for channel, tag in [consumer for consumer in self.consumers if consumer[0][0] == connection]:
            self.consumers.remove((channel, tag))
            self.send(channel, spec.Basic.Cancel(consumer_tag=tag))
            settle(self.sides)

    def qos(self):
        self.send(self.channel(), spec.Basic.Qos(prefetch_count=self.one(0, 1, 2, 3)))

    # Acknowledgements.

    def acknowledge(self):
        channels = [channel for channel in CHANNELS if self.sides[0].unacknowledged[channel]]
        if not channels:
            return
        channel = self.one(*channels)
        known = [side.unacknowledged[channel] for side in self.sides]
        key = self.one(*known[0])
        how = self.one("ack", "ack", "nack", "reject")
        requeue = self.chance(0.5)
        up_to = [{other for other, tag in tags.items() if tag <= tags[key]} for tags in known]
        # What "multiple" covers depends on the order in which deliveries of several queues came.
        is_multiple = how != "reject" and self.chance(0.4) and up_to[0] == up_to[1]
        covered = up_to[0] if is_multiple else {key}
        if any(consumer.startswith("quorum") for consumer, _ in covered):
            # Ours puts a message back to its place. RabbitMQ 3.10 puts the message to the end, or to the front if there is a delivery limit.
            requeue = False
        self.note(f"{channel} {how} of {key}{' and before' if is_multiple else ''}{', requeue' if requeue and how != 'ack' else ''}")
        for side, tags in zip(self.sides, known):
            method = {
                "ack": lambda tag: spec.Basic.Ack(tag, is_multiple),
                "nack": lambda tag: spec.Basic.Nack(tag, is_multiple, requeue),
                "reject": lambda tag: spec.Basic.Reject(tag, requeue),
            }[how](tags[key])
            side.send(channel, method)
            gone = {name: tags.pop(name) for name in covered}
            if self.in_transaction and channel == (1, 1):
                side.uncommitted.update(gone)

    def recover(self):
        channel = self.channel()
        for side in self.sides:
            side.unacknowledged[channel].clear()
        self.send(channel, spec.Basic.Recover(requeue=True))

    # Ends.

    def close_channel(self):
        channel = self.one(*CHANNELS)
        self.note(f"{channel} close and open")
        for side in self.sides:
            side.reopen(channel)
        self.forget_transaction(channel)

    def close_connection(self):
        # The channels of the other connection end in no order.
        self.note("close and open connection 1")
        for side in self.sides:
            side.reconnect(1)
        self.forget_transaction((1, 1))

    # Transactions, on a channel of their own.

    def begin_transaction(self):
        self.send((1, 1), spec.Tx.Select())
        self.in_transaction = True
        for side in self.sides:
            side.uncommitted = {}

    def end_transaction(self):
        if not self.in_transaction:
            return
        is_committed = self.chance(0.6)
        self.send((1, 1), spec.Tx.Commit() if is_committed else spec.Tx.Rollback())
        for side in self.sides:
            if not is_committed:
                side.unacknowledged[1, 1].update(side.uncommitted)
            side.uncommitted = {}

    def forget_transaction(self, channel):
        if channel == (1, 1):
            self.in_transaction = False
