"""x-max-length, x-max-length-bytes and x-overflow."""

from pika.spec import Basic

from check import await_get, bind, bodies_of, check, confirm, consume, delivery, depth, equal, exchange, fill, get, publish_confirmed, queue


@check()
def length_drops_the_oldest(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 2})
    fill(wire, name, b"1", b"2", b"3", b"4")
    equal(bodies_of(wire, name), [b"3", b"4"])


@check()
def length_0_keeps_nothing(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 0})
    fill(wire, name, b"1")
    equal(depth(wire, name), (0, 0))
    consume(wire, name, no_ack=True)
    fill(wire, name, b"2")
    equal(delivery(wire).body, b"2")


@check()
def length_in_bytes_counts_bodies(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length-bytes": 10})
    fill(wire, name, b"aaaa", b"bbbb", b"cc")
    equal(depth(wire, name)[0], 3)
    fill(wire, name, b"d")
    equal(bodies_of(wire, name), [b"bbbb", b"cc", b"d"])
    fill(wire, name, b"larger than all of it")
    equal(bodies_of(wire, name), [])


@check()
def length_both_count(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length-bytes": 10, "x-max-length": 3})
    fill(wire, name, b"1", b"2", b"3", b"4")
    equal(depth(wire, name)[0], 3)
    fill(wire, name, b"nine byte")
    equal(bodies_of(wire, name), [b"4", b"nine byte"])


@check()
def length_counts_what_is_ready(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 2})
    fill(wire, name, b"1", b"2")
    get(wire, name, no_ack=False)
    fill(wire, name, b"3")
    equal(depth(wire, name)[0], 2)
    fill(wire, name, b"4")
    equal(bodies_of(wire, name), [b"3", b"4"])


@check()
def length_holds_for_what_is_requeued(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 2})
    fill(wire, name, b"1", b"2")
    item = get(wire, name, no_ack=False)
    fill(wire, name, b"3")
    wire.send(Basic.Nack(item.method.delivery_tag))
    equal(bodies_of(wire, name), [b"2", b"3"])


@check()
def length_drop_head_is_the_default(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 1, "x-overflow": "drop-head"})
    fill(wire, name, b"1", b"2")
    equal(bodies_of(wire, name), [b"2"])


@check()
def length_reject_publish_keeps_the_oldest(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    equal([publish_confirmed(wire, "", name, body) for body in (b"1", b"2", b"3")], [True, True, False])
    equal(bodies_of(wire, name), [b"1", b"2"])


@check()
def length_in_bytes_reject_publish(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length-bytes": 4, "x-overflow": "reject-publish"})
    equal([publish_confirmed(wire, "", name, body) for body in (b"123", b"45678", b"9", b"", b"0")], [True, False, True, True, False])
    equal(bodies_of(wire, name), [b"123", b"9", b""])


@check()
def length_reject_publish_without_confirms_drops(b):
    wire = b.wire()
    name = queue(wire, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    wire.publish("", name, b"1")
    wire.publish("", name, b"2")
    equal(bodies_of(wire, name), [b"1"])


@check()
def length_0_reject_publish_refuses_even_with_a_ready_consumer(b):
    wire = confirm(b.wire())
    name = queue(wire, arguments={"x-max-length": 0, "x-overflow": "reject-publish"})
    consume(wire, name, no_ack=True)
    equal(publish_confirmed(wire, "", name, b"1"), False)


@check()
def length_reject_publish_does_not_dead_letter(b):
    wire = confirm(b.wire())
    dead = queue(wire)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-max-length": 1}
    name = queue(wire, arguments={**arguments, "x-overflow": "reject-publish"})
    equal([publish_confirmed(wire, "", name, body) for body in (b"1", b"2")], [True, False])
    equal(depth(wire, dead), (0, 0))


@check()
def length_reject_publish_dlx_dead_letters_the_newest(b):
    wire = confirm(b.wire())
    dead = queue(wire)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-max-length": 1}
    name = queue(wire, arguments={**arguments, "x-overflow": "reject-publish-dlx"})
    equal([publish_confirmed(wire, "", name, body) for body in (b"1", b"2")], [True, False])
    item = await_get(wire, dead)
    equal((item.body, item.properties.headers["x-death"][0]["reason"]), (b"2", "maxlen"))
    equal(bodies_of(wire, name), [b"1"])


@check()
def length_dropped_heads_are_dead_letters(b):
    wire = confirm(b.wire())
    dead = queue(wire)
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-max-length": 1}
    name = queue(wire, arguments=arguments)
    fill(wire, name, b"1", b"2", b"3")
    items = [await_get(wire, dead) for _ in range(2)]
    equal([(item.body, item.properties.headers["x-death"][0]["reason"]) for item in items], [(b"1", "maxlen"), (b"2", "maxlen")])
    equal(bodies_of(wire, name), [b"3"])


@check()
def length_reject_publish_by_one_queue_of_a_fanout(b):
    wire = confirm(b.wire())
    full, free = queue(wire, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}), queue(wire)
    name = exchange(wire, b.name("x"), "fanout")
    bind(wire, full, name)
    bind(wire, free, name)
    equal([publish_confirmed(wire, name, "", body) for body in (b"1", b"2")], [True, False])
    equal((bodies_of(wire, full), bodies_of(wire, free)), ([b"1"], [b"1", b"2"]))
