"""The arguments of queue.declare: which values are refused, and how they are compared when the queue is declared again."""

import struct

from pika.spec import Queue

from check import channel_error, check, equal, queue

# An argument, a value for it that is refused, and why in the broker's words.
REFUSED = [
    ("x-message-ttl", "soon", '"expected integer, got longstr"'),
    ("x-message-ttl", -1, "{value_negative,-1}"),
    ("x-message-ttl", 2**40, "{value_too_large,1099511627776}"),
    ("x-expires", 0, "{value_zero,0}"),
    ("x-expires", -5, "{value_negative,-5}"),
    ("x-expires", "1000", '"expected integer, got longstr"'),
    ("x-expires", 2**40, "{value_too_large,1099511627776}"),
    ("x-max-length", "many", '"expected integer, got longstr"'),
    ("x-max-length", -1, "{value_negative,-1}"),
    ("x-max-length-bytes", -1, "{value_negative,-1}"),
    ("x-max-length-bytes", "?", '"expected integer, got longstr"'),
    ("x-overflow", "explode", "invalid_overflow"),
    ("x-overflow", 1, "{unacceptable_type,signedint}"),
    ("x-max-priority", 256, "{max_value_exceeded,256}"),
    ("x-max-priority", -1, "{value_negative,-1}"),
    ("x-max-priority", "10", '"expected integer, got longstr"'),
    ("x-dead-letter-routing-key", 5, "{unacceptable_type,signedint}"),
    ("x-dead-letter-routing-key", "without an exchange", "routing_key_but_no_dlx_defined"),
    ("x-single-active-consumer", "yes", "{unacceptable_type,longstr}"),
    ("x-queue-mode", "eager", "\"unsupported queue mode 'eager'\""),
    ("x-queue-mode", 1, "{unacceptable_type,signedint}"),
    ("x-queue-version", 3, "\"unsupported queue version '3'\""),
    ("x-queue-version", "2", '"expected integer, got longstr"'),
    ("x-queue-type", "cubic", "\"unsupported queue type 'cubic'\""),
    ("x-queue-type", 5, "{unacceptable_type,signedint}"),
]

# Arguments that a classic queue does not have.
OF_OTHER_TYPES = [
    "x-dead-letter-strategy",
    "x-queue-leader-locator",
    "x-delivery-limit",
    "x-quorum-initial-group-size",
    "x-max-in-memory-length",
    "x-max-in-memory-bytes",
    "x-max-age",
    "x-stream-max-segment-size-bytes",
    "x-initial-cluster-size",
]


def refused(argument, value, why):
    def run(b):
        wire = b.wire()
        name = b.name()
        text = f"PRECONDITION_FAILED - invalid arg '{argument}' for queue '{name}' in vhost 'checks': {why}"
        channel_error(wire, Queue.Declare(queue=name, arguments={argument: value}), 406, text)

    words = "".join(c if c.isalnum() else "_" for c in f"{argument}_of_{value}")
    run.__name__ = f"argument_{words}_is_refused"
    check()(run)


def refused_for_classic(argument):
    def run(b):
        wire = b.wire()
        name = b.name()
        text = f"PRECONDITION_FAILED - invalid arg '{argument}' for queue '{name}' in vhost 'checks' of queue type rabbit_classic_queue"
        channel_error(wire, Queue.Declare(queue=name, arguments={argument: 5}), 406, text)

    run.__name__ = f"argument_{argument.replace('-', '_')}_is_not_for_classic_queues"
    check(needs="strictness of 3.10" if argument == "x-queue-leader-locator" else None)(run)


for row in REFUSED:
    refused(*row)
for name in OF_OTHER_TYPES:
    refused_for_classic(name)


@check()
def argument_x_dead_letter_exchange_of_a_wrong_type(b):
    wire = b.wire()
    name = b.name()
    text = f"PRECONDITION_FAILED - invalid type 'signedint' for arg 'x-dead-letter-exchange' in queue '{name}' in vhost 'checks'"
    channel_error(wire, Queue.Declare(queue=name, arguments={"x-dead-letter-exchange": 5}), 406, text)


@check()
def argument_nobody_knows_is_accepted_and_not_compared(b):
    wire = b.wire()
    name = queue(wire, b.name(), arguments={"x-of-nobody": 5, "x-cancel-on-ha-failover": True})
    queue(wire, name, arguments={"x-of-nobody": "six"})
    queue(wire, name)


# Each argument that is compared, a value, another one, and how RabbitMQ writes both.
COMPARED = [
    ("x-message-ttl", 1000, 2000, "received '2000' but current is '1000'"),
    ("x-expires", 60000, 70000, "received '70000' but current is '60000'"),
    ("x-max-length", 5, 6, "received '6' but current is '5'"),
    ("x-max-length-bytes", 5, 6, "received '6' but current is '5'"),
    ("x-max-priority", 5, 6, "received '6' but current is '5'"),
    ("x-overflow", "drop-head", "reject-publish", "received 'reject-publish' but current is 'drop-head'"),
    ("x-dead-letter-exchange", "a", "b", "received 'b' but current is 'a'"),
    ("x-single-active-consumer", True, False, "received 'false' but current is 'true'"),
    ("x-queue-mode", "lazy", "default", "received 'default' but current is 'lazy'"),
    ("x-queue-version", 1, 2, "received '2' but current is '1'"),
    ("x-queue-type", "classic", "quorum", "received 'quorum' but current is 'classic'"),
]


def compared(argument, value, other, text):
    def run(b):
        wire = b.wire()
        name = queue(wire, b.name(), exclusive=False, durable=True, arguments={argument: value})
        queue(wire, name, exclusive=False, durable=True, arguments={argument: value})
        start = f"PRECONDITION_FAILED - inequivalent arg '{argument}' for queue '{name}' in vhost 'checks': "
        again = Queue.Declare(queue=name, durable=True, arguments={argument: other})
        channel_error(wire, again, 406, start + text)

    run.__name__ = f"argument_{argument.replace('-', '_')}_is_compared"
    check()(run)


for row in COMPARED:
    compared(*row)


@check()
def argument_left_out_is_not_the_same(b):
    wire = b.wire()
    name = queue(wire, b.name(), arguments={"x-max-length": 5})
    text = f"PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue '{name}' in vhost 'checks': received none but current is the value '5' of type 'signedint'"
    channel_error(wire, Queue.Declare(queue=name, exclusive=True), 406, text)


@check()
def argument_added_is_not_the_same(b):
    wire = b.wire()
    name = queue(wire, b.name())
    text = f"PRECONDITION_FAILED - inequivalent arg 'x-max-length' for queue '{name}' in vhost 'checks': received the value '5' of type 'signedint' but current is none"
    channel_error(wire, Queue.Declare(queue=name, exclusive=True, arguments={"x-max-length": 5}), 406, text)


@check()
def argument_number_of_another_width_is_the_same(b):
    wire = b.wire()
    name = queue(wire, b.name(), arguments={"x-max-length": 5})
    queue(wire, name, arguments={"x-max-length": 5})
    wire.send_arguments(Queue.Declare(queue=name, exclusive=True), b"\x0cx-max-lengthl" + (5).to_bytes(8, "big"))
    equal(wire.receive().method.NAME, "Queue.DeclareOk")
    wire.send_arguments(Queue.Declare(queue=name, exclusive=True), b"\x0cx-max-lengthb\x05")
    equal(wire.receive().method.NAME, "Queue.DeclareOk")


@check()
def argument_a_float_is_no_integer(b):
    wire = b.wire()
    name = queue(wire, b.name(), arguments={"x-message-ttl": 60000})
    wire.send_arguments(Queue.Declare(queue=name, exclusive=True), b"\x0dx-message-ttld" + struct.pack(">d", 60000.0))
    equal(wire.receive().method.reply_code, 406)


@check()
def argument_x_queue_type_classic_is_the_same_as_none(b):
    wire = b.wire()
    name = queue(wire, b.name(), arguments={"x-queue-type": "classic"})
    queue(wire, name)
    name = queue(wire, b.name())
    queue(wire, name, arguments={"x-queue-type": "classic"})


@check()
def argument_the_first_difference_is_named(b):
    wire = b.wire()
    name = queue(wire, b.name(), exclusive=False, arguments={"x-max-length": 5, "x-message-ttl": 6})
    text = f"PRECONDITION_FAILED - inequivalent arg 'durable' for queue '{name}' in vhost 'checks': received 'true' but current is 'false'"
    other = {"x-message-ttl": 7, "x-max-length": 8}
    channel_error(wire, Queue.Declare(queue=name, durable=True, auto_delete=True, arguments=other), 406, text)
    text = f"PRECONDITION_FAILED - inequivalent arg 'x-message-ttl' for queue '{name}' in vhost 'checks': received '7' but current is '6'"
    channel_error(wire, Queue.Declare(queue=name, arguments=other), 406, text)
