"""One of two brokers of the differential test: its connections, and what a client saw since the last look.

What is seen is made comparable: each consumer's deliveries are a list of their own, because no order is promised between
queues; delivery tags are numbers of a consumer; confirms are a set; and times are left out."""

import select

from pika import spec

from check import given
from wire import Wire

# Three channels on the first connection, one of them with confirms and one for topology, and one on the second.
CHANNELS = [(0, 1), (0, 2), (0, 3), (1, 1)]
WITH_CONFIRMS = {(0, 1)}


class Unequal(Exception):
    """The two brokers do not agree."""


class Side:
    def __init__(self, address, virtual_host):
        self.address, self.virtual_host = address, virtual_host
        self.wires = {}
        self.names = set()
        # For each channel what is unacknowledged, by (consumer or "get", number): the delivery tag.
        self.unacknowledged = {channel: {} for channel in CHANNELS}
        self.numbers = {}
        self.auto = set()
        self.seen = {}
        self.confirms = {}
        self.uncommitted = {}
        for connection in (0, 1):
            self.connect(connection)

    # Connections and channels.

    def connect(self, connection):
        self.wires[connection] = Wire(self.address).login(virtual_host=self.virtual_host)
        for channel in [channel for channel in CHANNELS if channel[0] == connection]:
            self.open(channel)

    def open(self, channel):
        wire = self.wires[channel[0]]
        wire.send(spec.Channel.Open(), channel[1])
        self.confirms[channel] = set()
        self.unacknowledged[channel].clear()
        self.auto -= {key for key in self.auto if key[0] == channel}
        self.numbers = {key: value for key, value in self.numbers.items() if key[0] != channel}
        if channel in WITH_CONFIRMS:
            wire.send(spec.Confirm.Select(), channel[1])

    def reconnect(self, connection):
        wire = self.wires[connection]
        wire.send(spec.Connection.Close(200, "", 0, 0), 0)
        wire.wait_for(spec.Connection.CloseOk)
        wire.close()
        self.connect(connection)

    def reopen(self, channel):
        wire = self.wires[channel[0]]
        wire.send(spec.Channel.Close(200, "", 0, 0), channel[1])
        while True:
            item = wire.receive()
            if isinstance(item.method, spec.Channel.CloseOk):
                break
            self.note(channel[0], item)
        self.open(channel)

    def forget(self):
        """Deletes what the round declared, and closes."""
        for wire in self.wires.values():
            wire.close()
        wire = Wire(self.address).login(virtual_host=self.virtual_host).open()
        wire.delete(self.names)
        wire.close()

    # What is done.

    def send(self, channel, method):
        self.wires[channel[0]].send(method, channel[1])

    def publish(self, channel, *message, **options):
        self.wires[channel[0]].publish(*message, channel=channel[1], **options)

    # What is seen.

    def ask(self):
        """Asks on every channel for an answer, behind which nothing of before can come from the channel itself."""
        for channel in CHANNELS:
            self.send(channel, spec.Channel.Flow(active=True))

    def listen(self):
        """Notes what came, up to the answers to `ask`."""
        for connection, wire in list(self.wires.items()):
            waiting = {number for of, number in CHANNELS if of == connection}
            while waiting:
                item = wire.receive()
                if isinstance(item.method, spec.Channel.FlowOk):
                    waiting.discard(item.channel)
                    continue
                self.note(connection, item)
                if isinstance(item.method, spec.Channel.Close):
                    waiting.discard(item.channel)
                elif isinstance(item.method, spec.Connection.Close):
                    wire.close()
                    self.connect(connection)
                    break

    def note(self, connection, item):
        channel, method = (connection, item.channel), item.method
        name = method.NAME
        if name == "Basic.Deliver":
            self.number(channel, method.consumer_tag, method.delivery_tag)
            self.saw(("deliver", channel, method.consumer_tag), (*described(item), method.redelivered))
        elif name == "Basic.GetOk":
            self.number(channel, "get", method.delivery_tag)
            self.saw(("get", channel), (*described(item), method.redelivered, method.message_count))
        elif name == "Basic.Return":
            self.saw(("return", channel), (*described(item), method.reply_code))
        elif name in ("Basic.Ack", "Basic.Nack"):
            self.confirmed(channel, method, name)
        elif name == "Channel.Close":
            self.saw(("closed", channel), self.close_of(method))
            self.wires[connection].send(spec.Channel.CloseOk(), channel[1])
            self.open(channel)
        elif name == "Connection.Close":
            self.saw(("closed", connection), self.close_of(method))
        elif name == "Basic.Cancel":
            self.seen.setdefault(("cancelled", channel), set()).add(method.consumer_tag)
        elif name in ("Channel.OpenOk", "Confirm.SelectOk"):
            pass
        else:
            self.saw(("answer", channel), (name, tuple(sorted(vars(method).items()))))

    def saw(self, what, value):
        self.seen.setdefault(what, []).append(value)

    def number(self, channel, consumer, tag):
        """Numbers a delivery among those of its consumer, and remembers its tag if it is to be acknowledged."""
        count = self.numbers[channel, consumer] = self.numbers.get((channel, consumer), 0) + 1
        if (channel, consumer) not in self.auto:
            self.unacknowledged[channel][consumer, count] = tag
        return channel, consumer, count

    def confirmed(self, channel, method, name):
        done = self.seen.setdefault(("confirmed", channel), {})
        known = self.confirms[channel]
        numbers = [method.delivery_tag]
        if method.multiple:
            numbers = [n for n in range(1, method.delivery_tag + 1) if n not in known]
        for number in numbers:
            known.add(number)
            done[number] = name

    def close_of(self, method):
        text = method.reply_text.replace(f"vhost '{self.virtual_host}'", "vhost 'V'")
        return method.reply_code, text, method.class_id, method.method_id


def described(item):
    properties = given(item.properties)
    headers = dict(properties.pop("headers", None) or {})
    if isinstance(headers.get("x-death"), list):
        headers["x-death"] = [{name: value for name, value in death.items() if name != "time"} for death in headers["x-death"]]
    # A table that is there and empty is not one that is absent, but no broker promises to keep them apart.
    return item.body, item.method.exchange, item.method.routing_key, repr(sorted(properties.items())), repr(headers)


# What may differ between the two, each with its reason: a name, and a function of both sides' views.
ALLOWED = []


def settle(sides, pause_s=0.0):
    """Lets both brokers finish, and compares what was seen. Queues work on their own, so a difference gets time to go away. Returns whether
    a channel or a connection was closed."""
    silence(sides, pause_s)
    for number, wait_s in enumerate((0.001, 0.002, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0, 3.0)):
        silence(sides, wait_s)
        for side in sides:
            side.ask()
        for side in sides:
            side.listen()
        first, second = views(sides)
        if number > 0 and first == second:
            break
    else:
        raise Unequal(difference(first, second))
    for side in sides:
        side.seen = {}
    return any(what[0] == "closed" for what in first)


def silence(sides, seconds):
    """Reads until no broker has said anything for this long."""
    wires = {wire.socket: wire for side in sides for wire in side.wires.values()}
    while ready := select.select(wires, [], [], seconds)[0]:
        for one in ready:
            wires[one].fill()


def views(sides):
    first, second = (dict(side.seen) for side in sides)
    for _, allowed in ALLOWED:
        first, second = allowed(first, second)
    return first, second


def difference(first, second):
    lines = []
    for what in sorted(set(first) | set(second), key=repr):
        if first.get(what) != second.get(what):
            lines.append(f"  {what}:\n    first  {first.get(what)}\n    second {second.get(what)}")
    return "\n".join(lines)
