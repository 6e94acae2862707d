"""x-dead-letter-exchange: which messages go there, under which key, and what x-death says of them."""

from pika.spec import Basic, BasicProperties, Queue

from check import await_get, bind, bodies_of, check, confirm, depth, equal, exchange, fill, get, given, publish_confirmed, queue


def mortal(wire, key=None, name="", **arguments):
    """A queue, its dead-letter exchange (of any key), and a queue behind that: the names of all three."""
    dead_exchange, dead = exchange(wire, f"{wire.b.name('dlx')}", "fanout"), queue(wire)
    bind(wire, dead, dead_exchange)
    arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
    if key is not None:
        arguments["x-dead-letter-routing-key"] = key
    return queue(wire, name, arguments={"x-dead-letter-exchange": dead_exchange, **arguments}), dead_exchange, dead


def start(b):
    wire = confirm(b.wire())
    wire.b = b
    return wire


def reject(wire, name):
    item = get(wire, name, no_ack=False)
    wire.send(Basic.Reject(item.method.delivery_tag, requeue=False))


def deaths(item):
    """x-death without the time, which is there."""
    found = []
    for death in item.properties.headers["x-death"]:
        death = dict(death)
        assert death.pop("time").timestamp() > 1_600_000_000
        found.append(death)
    return found


@check()
def dead_letter_of_a_rejected_message(b):
    wire = start(b)
    name, dead_exchange, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(headers={"a": 1}, message_id="m", priority=3))
    reject(wire, name)
    item = await_get(wire, dead)
    method = item.method
    equal((item.body, method.exchange, method.routing_key, method.redelivered), (b"1", dead_exchange, name, False))
    equal(deaths(item), [{"count": 1, "exchange": "", "queue": name, "reason": "rejected", "routing-keys": [name]}])
    properties = given(item.properties)
    headers = properties.pop("headers")
    equal(properties, {"message_id": "m", "priority": 3})
    headers.pop("x-death")
    equal(headers, {"a": 1, "x-first-death-exchange": "", "x-first-death-queue": name, "x-first-death-reason": "rejected"})


@check()
def dead_letter_x_death_fields_come_in_this_order(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1")
    reject(wire, name)
    item = await_get(wire, dead)
    equal(list(item.properties.headers), ["x-death", "x-first-death-exchange", "x-first-death-queue", "x-first-death-reason"])
    equal(list(item.properties.headers["x-death"][0]), ["count", "reason", "queue", "time", "exchange", "routing-keys"])


@check()
def dead_letter_of_a_nack_of_many(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", b"2", b"3")
    tags = [get(wire, name, no_ack=False).method.delivery_tag for _ in range(3)]
    wire.send(Basic.Nack(tags[1], multiple=True, requeue=False))
    equal([await_get(wire, dead).body for _ in range(2)], [b"1", b"2"])


@check()
def dead_letter_of_an_expired_message(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(expiration="30"))
    item = await_get(wire, dead)
    death = {"count": 1, "exchange": "", "original-expiration": "30", "queue": name, "reason": "expired", "routing-keys": [name]}
    equal(deaths(item), [death])
    equal(item.properties.expiration, None)


@check()
def dead_letter_of_a_message_of_an_expiring_queue(b):
    wire = start(b)
    name, _, dead = mortal(wire, x_message_ttl=30)
    fill(wire, name, b"1")
    equal(deaths(await_get(wire, dead)), [{"count": 1, "exchange": "", "queue": name, "reason": "expired", "routing-keys": [name]}])


@check()
def dead_letter_rejected_with_an_expiration_loses_it(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(expiration="60000"))
    reject(wire, name)
    item = await_get(wire, dead)
    equal((deaths(item)[0].get("original-expiration"), item.properties.expiration), ("60000", None))


@check()
def dead_letter_by_a_key_of_its_own(b):
    wire = start(b)
    name, _, dead = mortal(wire, key="other")
    fill(wire, name, b"1", properties=BasicProperties(headers={"CC": ["cc"]}))
    reject(wire, name)
    item = await_get(wire, dead)
    equal((item.method.routing_key, deaths(item)[0]["routing-keys"]), ("other", [name, "cc"]))
    equal("CC" in item.properties.headers, False, "CC in the headers")


@check()
def dead_letter_by_the_keys_of_the_message(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(headers={"CC": ["cc"], "BCC": ["bcc"]}))
    reject(wire, name)
    item = await_get(wire, dead)
    equal((item.method.routing_key, deaths(item)[0]["routing-keys"], item.properties.headers["CC"]), (name, [name, "cc"], ["cc"]))


@check()
def dead_letter_counts_its_deaths(b):
    wire = start(b)
    first, second = b.name(), b.name()
    queue(wire, first, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": second})
    queue(wire, second, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": first})
    fill(wire, first, b"1")
    for name in (first, second, first):
        item = await_get(wire, name, no_ack=False)
        wire.send(Basic.Reject(item.method.delivery_tag, requeue=False))
    item = await_get(wire, second)
    expected = [
        {"count": 2, "exchange": "", "queue": first, "reason": "rejected", "routing-keys": [first]},
        {"count": 1, "exchange": "", "queue": second, "reason": "rejected", "routing-keys": [second]},
    ]
    equal(deaths(item), expected)
    equal(item.properties.headers["x-first-death-queue"], first)


@check()
def dead_letter_last_reason_comes_first(b):
    wire = start(b)
    dead = queue(wire)
    exchange_name = exchange(wire, b.name("x"), "fanout")
    bind(wire, dead, exchange_name)
    second = queue(wire, b.name(), arguments={"x-dead-letter-exchange": exchange_name})
    first = queue(wire, b.name(), arguments={"x-message-ttl": 30, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": second})
    fill(wire, first, b"1")
    item = await_get(wire, second, no_ack=False)
    wire.send(Basic.Reject(item.method.delivery_tag, requeue=False))
    item = await_get(wire, dead)
    equal([(death["queue"], death["reason"], death["count"]) for death in deaths(item)], [(second, "rejected", 1), (first, "expired", 1)])


@check()
def dead_letter_circle_of_expiry_ends(b):
    wire = start(b)
    name = b.name()
    queue(wire, name, arguments={"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": name})
    fill(wire, name, b"1")
    equal(bodies_of(wire, name), [])


@check()
def dead_letter_circle_with_a_rejection_goes_on(b):
    wire = start(b)
    name = b.name()
    queue(wire, name, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name})
    fill(wire, name, b"1")
    for count in (1, 2, 3):
        item = await_get(wire, name, no_ack=False)
        wire.send(Basic.Reject(item.method.delivery_tag, requeue=False))
    equal(deaths(await_get(wire, name))[0]["count"], 3)


@check()
def dead_letter_exchange_that_does_not_exist_drops(b):
    wire = start(b)
    name = queue(wire, arguments={"x-dead-letter-exchange": b.name("none")})
    fill(wire, name, b"1")
    reject(wire, name)
    equal(depth(wire, name), (0, 0))


@check()
def dead_letter_exchange_may_be_declared_later(b):
    wire = start(b)
    dead_exchange, dead = b.name("x"), queue(wire)
    name = queue(wire, arguments={"x-dead-letter-exchange": dead_exchange})
    exchange(wire, dead_exchange, "fanout")
    bind(wire, dead, dead_exchange)
    fill(wire, name, b"1")
    reject(wire, name)
    equal(await_get(wire, dead).body, b"1")


@check()
def dead_letter_is_not_what_is_purged_or_deleted(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", b"2")
    wire.call(Queue.Purge(queue=name))
    fill(wire, name, b"3")
    wire.call(Queue.Delete(queue=name))
    equal(depth(wire, dead), (0, 0))


@check()
def dead_letter_keeps_headers_that_look_like_its_own(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(headers={"x-first-death-reason": "mine", "z": 1}))
    reject(wire, name)
    headers = await_get(wire, dead).properties.headers
    equal((headers["x-first-death-reason"], headers["z"]), ("rejected", 1))


@check()
def dead_letter_with_an_x_death_by_the_publisher(b):
    wire = start(b)
    name, _, dead = mortal(wire)
    fill(wire, name, b"1", properties=BasicProperties(headers={"x-death": "mine"}))
    reject(wire, name)
    equal(deaths(await_get(wire, dead))[0]["count"], 1)


@check()
def dead_letter_through_a_fanout_reaches_all(b):
    wire = start(b)
    name, dead_exchange, dead = mortal(wire)
    other = queue(wire)
    bind(wire, other, dead_exchange)
    publish_confirmed(wire, "", name, b"1")
    reject(wire, name)
    equal([await_get(wire, one).body for one in (dead, other)], [b"1", b"1"])
