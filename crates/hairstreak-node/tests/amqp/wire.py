"""A connection as raw frames: pika's codec of methods and properties, and nothing of its behaviour. Each frame is seen in
the order it came, and anything can be sent."""

import socket
import struct

from pika import spec

# A broker answers sooner; what does not come within this time does not come.
PATIENCE_S = 30

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
WITH_CONTENT = (spec.Basic.Deliver, spec.Basic.GetOk, spec.Basic.Return)
CLOSES = (spec.Channel.Close, spec.Connection.Close)

# What a client that can do everything says of itself.
CAPABILITIES = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}

# The names of methods that were sent and received, for the table at the end.
methods_seen = set()


class End(Exception):
    """The broker closed the socket."""


class Item:
    """What came on a channel: a method, and with some of them a content."""

    def __init__(self, channel, method, properties=None, body=None):
        self.channel, self.method, self.properties, self.body = channel, method, properties, body

    def __repr__(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self.method).items())
        content = "" if self.body is None else f" {self.body[:60]!r}"
        return f"{name_of(self.method)}({fields}) on channel {self.channel}{content}"


def name_of(method):
    """As the specification writes it: queue.declare-ok."""
    words = method.NAME.split(".")
    letters = "".join(("-" + c.lower()) if c.isupper() else c for c in words[1])
    return f"{words[0].lower()}.{letters.lstrip('-')}"


def frame(kind, channel, payload, end=b"\xce"):
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + end


def payload_of(method):
    return struct.pack(">I", method.INDEX) + b"".join(method.encode())


def header_payload(size, properties=None, class_id=60):
    encoded = b"".join((properties or spec.BasicProperties()).encode())
    return struct.pack(">HHQ", class_id, 0, size) + encoded


class Wire:
    """One connection. `login()` takes it through the handshake; the constructor sends nothing."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = b""
        self.frame_max = 131072
        self.waiting = []

    # Sending.

    def send_bytes(self, *parts):
        self.socket.sendall(b"".join(parts))

    def send(self, method, channel=1):
        methods_seen.add(name_of(method))
        self.send_bytes(frame(METHOD, channel, payload_of(method)))

    def send_arguments(self, method, table, channel=1):
        """Sends a method that ends with a table of arguments, which is given as it goes over the wire."""
        methods_seen.add(name_of(method))
        payload = payload_of(method)
        assert payload[-4:] == bytes(4), "the method ends with an empty table"
        self.send_bytes(frame(METHOD, channel, payload[:-4] + struct.pack(">I", len(table)) + table))

    def publish(self, exchange, routing_key, body=b"", properties=None, channel=1, mandatory=False, immediate=False):
        methods_seen.add("basic.publish")
        method = spec.Basic.Publish(exchange=exchange, routing_key=routing_key, mandatory=mandatory, immediate=immediate)
        frames = [frame(METHOD, channel, payload_of(method)), frame(HEADER, channel, header_payload(len(body), properties))]
        step = self.frame_max - 8
        frames += [frame(BODY, channel, body[at : at + step]) for at in range(0, len(body), step)]
        self.send_bytes(*frames)

    def send_header(self, size, flags=0, encoded=b"", channel=1, class_id=60):
        """A content header whose properties are given as they go over the wire."""
        self.send_bytes(frame(HEADER, channel, struct.pack(">HHQH", class_id, 0, size, flags) + encoded))

    def send_body(self, part, channel=1):
        self.send_bytes(frame(BODY, channel, part))

    # Receiving.

    def frame(self):
        """The next frame: kind, channel, payload."""
        while True:
            if len(self.input) >= 7:
                kind, channel, size = struct.unpack(">BHI", self.input[:7])
                if len(self.input) >= size + 8:
                    payload, end = self.input[7 : size + 7], self.input[size + 7]
                    assert end == 0xCE, f"the frame ends with {end:#x}"
                    self.input = self.input[size + 8 :]
                    return kind, channel, payload
            self.fill()

    def fill(self):
        try:
            received = self.socket.recv(1 << 18)
        except ConnectionResetError:
            received = b""
        if not received:
            raise End("the broker closed the socket")
        self.input += received

    def receive(self):
        """The next item from the broker, of whichever channel. Heartbeats are left out."""
        if self.waiting:
            return self.waiting.pop(0)
        kind, channel, payload = self.frame()
        while kind == HEARTBEAT:
            kind, channel, payload = self.frame()
        assert kind == METHOD, f"a frame of kind {kind} without a method"
        method = decode_method(payload)
        methods_seen.add(name_of(method))
        if not isinstance(method, WITH_CONTENT):
            return Item(channel, method)
        kind, same, payload = self.frame()
        assert (kind, same) == (HEADER, channel), "a content header follows on the same channel"
        class_id, weight, size = struct.unpack(">HHQ", payload[:12])
        assert (class_id, weight) == (60, 0)
        properties = spec.BasicProperties()
        properties.decode(payload[12:])
        body = b""
        while len(body) < size:
            kind, same, part = self.frame()
            assert (kind, same) == (BODY, channel), "the body follows on the same channel"
            assert len(part) <= self.frame_max - 8, f"a frame of {len(part) + 8} bytes"
            body += part
        return Item(channel, method, properties, body)

    def expect(self, method_class, channel=None):
        """The next item, which has to be this method."""
        item = self.receive()
        is_right = isinstance(item.method, method_class) and channel in (None, item.channel)
        assert is_right, f"{item} instead of {method_class.NAME}"
        return item

    def wait_for(self, method_class):
        """The next item with this method; others stay in their order for later."""
        for index, item in enumerate(self.waiting):
            if isinstance(item.method, method_class):
                return self.waiting.pop(index)
        passed = self.waiting
        self.waiting = []
        while True:
            item = self.receive()
            if isinstance(item.method, method_class):
                self.waiting = passed
                return item
            assert not isinstance(item.method, CLOSES), f"{item} instead of {method_class}"
            passed.append(item)

    def call(self, method, channel=1):
        """Sends a method and returns the next item, which has to be the answer to it."""
        self.send(method, channel)
        item = self.receive()
        name = item.method.NAME
        is_answer = name.startswith(method.NAME) and name != method.NAME or name == "Basic.GetEmpty"
        assert is_answer, f"{item} instead of {method.NAME}Ok"
        return item.method

    def delete(self, names):
        """Deletes queues and exchanges of these names, but for what is locked: that goes with its connection."""
        for method in [kind(0, name) for name in names for kind in (spec.Queue.Delete, spec.Exchange.Delete)]:
            self.send(method)
            if isinstance(self.receive().method, spec.Channel.Close):
                self.send(spec.Channel.CloseOk())
                self.open()

    def expect_end(self):
        """Nothing more comes, and the broker closes the socket."""
        try:
            kind, channel, payload = self.frame()
        except End:
            return
        raise AssertionError(f"a frame of kind {kind} on channel {channel}: {payload[:80]!r} instead of the end")

    def close(self):
        self.socket.close()

    # The handshake.

    def start(self):
        """Sends the protocol header and returns connection.start."""
        self.send_bytes(PROTOCOL_HEADER)
        return self.expect(spec.Connection.Start, 0).method

    def start_ok(self, user="guest", password="guest", capabilities=None, mechanism="PLAIN", response=None):
        capabilities = CAPABILITIES if capabilities is None else capabilities
        properties = {"product": "checks", "capabilities": capabilities}
        response = f"\0{user}\0{password}" if response is None else response
        self.send(spec.Connection.StartOk(properties, mechanism, response, "en_US"), 0)

    def login(self, virtual_host="checks", frame_max=131072, channel_max=2047, heartbeat=0, **credentials):
        """The whole handshake with the least heartbeat trouble: none."""
        self.start()
        self.start_ok(**credentials)
        self.tune = self.expect(spec.Connection.Tune, 0).method
        self.frame_max = frame_max
        self.send(spec.Connection.TuneOk(channel_max, frame_max, heartbeat), 0)
        self.send(spec.Connection.Open(virtual_host), 0)
        self.expect(spec.Connection.OpenOk, 0)
        return self

    def open(self, channel=1):
        self.call(spec.Channel.Open(), channel)
        return self


def decode_method(payload):
    index = struct.unpack(">I", payload[:4])[0]
    method = spec.methods[index]()
    method.decode(payload, 4)
    return method
