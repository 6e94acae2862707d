"""x-max-priority."""

from pika.spec import Basic, BasicProperties, Queue

from check import bodies_of, check, confirm, consume, delivery, equal, fill, get, publish_confirmed, queue


def fill_with(wire, name, *priorities):
    """Messages whose bodies are their numbers and priorities."""
    for number, priority in enumerate(priorities):
        body = f"{number}:{priority}".encode()
        publish_confirmed(wire, "", name, body, properties=BasicProperties(priority=priority))


@check()
def priority_higher_goes_first_and_equal_in_order(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 5})
    fill_with(wire, name, 1, 5, 0, 5, None, 3, 1)
    equal(bodies_of(wire, name), [b"1:5", b"3:5", b"5:3", b"0:1", b"6:1", b"2:0", b"4:None"])


@check()
def priority_above_the_maximum_is_the_maximum(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 2})
    fill_with(wire, name, 1, 2, 200, 2)
    equal(bodies_of(wire, name), [b"1:2", b"2:200", b"3:2", b"0:1"])


@check()
def priority_means_nothing_to_other_queues(b):
    wire = confirm(b.wire())
    name = queue(wire)
    fill_with(wire, name, 1, 2)
    equal(bodies_of(wire, name), [b"0:1", b"1:2"])


@check()
def priority_of_requeued_messages(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 5})
    fill_with(wire, name, 1, 2)
    item = get(wire, name, no_ack=False)
    fill_with(wire, name, 2)
    wire.send(Basic.Nack(item.method.delivery_tag))
    equal(bodies_of(wire, name), [b"1:2", b"0:2", b"0:1"])


@check()
def priority_with_a_maximal_length_drops_the_highest(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 5, "x-max-length": 2})
    fill_with(wire, name, 3, 1, 2, 1)
    equal(bodies_of(wire, name), [b"1:1", b"3:1"])


@check()
def priority_purge_counts_all(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 5})
    fill_with(wire, name, 1, 2, 3)
    equal(wire.call(Queue.Purge(queue=name)).message_count, 3)


@check()
def priority_deliveries_to_a_consumer(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 5})
    fill_with(wire, name, 1, 5, 3)
    wire.call(Basic.Qos(prefetch_count=1))
    consume(wire, name)
    found = []
    for _ in range(3):
        item = delivery(wire)
        found.append(item.body)
        wire.send(Basic.Ack(item.method.delivery_tag))
    equal(found, [b"1:5", b"2:3", b"0:1"])


@check()
def priority_property_255_on_a_maximum_of_255(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-priority": 255})
    fill_with(wire, name, 254, 255)
    equal(bodies_of(wire, name), [b"1:255", b"0:254"])
    fill(wire, name, b"1")
