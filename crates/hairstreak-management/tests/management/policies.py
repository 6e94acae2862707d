"""Policies: each key acts on what is there when it is set, changed and cleared; which policy applies; and what is refused."""

from pika.spec import Basic

from check import bind, bodies_of, check, confirm, consume, depth, equal, exchange, fill, get, publish_confirmed, queue
from node import eventually


class Host:
    """A virtual host of its own, whose policies the check sets, and a channel with confirms in it."""

    def __init__(self, node):
        self.node, self.name = node, node.host()
        self.wire = confirm(node.wire_to(self.name))

    def queue(self, name="q", **options):
        return queue(self.wire, name, exclusive=False, **options)

    def set(self, definition, name="p", kind="policies", pattern="^q", **more):
        """Sets a policy. Options are written with underscores: apply_to="queues"."""
        body = {"pattern": pattern, "definition": definition} | {key.replace("_", "-"): value for key, value in more.items()}
        answer = self.node.api.put(kind, self.name, name, body=body)
        assert answer.status in (201, 204), answer

    def operate(self, definition, name="o", **more):
        self.set(definition, name, "operator-policies", **more)

    def clear(self, name="p", kind="policies"):
        equal(self.node.api.delete(kind, self.name, name).status, 204, f"deletion of {name}")

    def effective(self, name="q", kind="queues"):
        """The policy, the operator policy, and what they come to."""
        one = self.node.api.read(kind, self.name, name)
        return one.get("policy"), one.get("operator_policy"), one.get("effective_policy_definition")

    def await_policy(self, *expected, name="q", kind="queues"):
        """Waits until a queue has these; a queue applies them for itself."""
        eventually(lambda: self.effective(name, kind), lambda found: found == expected)

    def await_depth(self, count, name="q"):
        eventually(lambda: depth(self.wire, name)[0], lambda found: found == count)

    def refused(self, name="q"):
        """Whether the queue refuses a message."""
        return not publish_confirmed(self.wire, "", name, b"m")


# Each key, on a queue that was there before.


@check()
def policies_max_length(node):
    host = Host(node)
    host.queue()
    fill(host.wire, "q", b"1", b"2", b"3", b"4")
    host.set({"max-length": 3})
    host.await_depth(3)
    host.set({"max-length": 2})
    host.await_depth(2)
    fill(host.wire, "q", b"5")
    host.await_depth(2)
    host.clear()
    host.await_policy(None, None, {})
    fill(host.wire, "q", b"6", b"7")
    equal(bodies_of(host.wire, "q"), [b"4", b"5", b"6", b"7"])


@check()
def policies_max_length_bytes(node):
    host = Host(node)
    host.queue()
    fill(host.wire, "q", b"12345", b"12345", b"12345")
    host.set({"max-length-bytes": 10})
    host.await_depth(2)
    host.clear()
    host.await_policy(None, None, {})
    fill(host.wire, "q", b"12345")
    host.await_depth(3)


@check()
def policies_overflow(node):
    host = Host(node)
    host.queue()
    host.queue("graves")
    fill(host.wire, "q", b"1")
    host.set({"max-length": 1, "overflow": "reject-publish"})
    eventually(host.refused)
    host.set({"max-length": 1, "overflow": "drop-head"})
    eventually(lambda: not host.refused())
    dead = {"dead-letter-exchange": "", "dead-letter-routing-key": "graves"}
    host.set({"max-length": 1, "overflow": "reject-publish-dlx", **dead})
    eventually(host.refused)
    consume(host.wire, "graves", no_ack=True)
    item = host.wire.wait_for(Basic.Deliver)
    equal(item.properties.headers["x-death"][0]["reason"], "maxlen")
    host.clear()
    eventually(lambda: not host.refused())


@check()
def policies_message_ttl(node):
    host = Host(node)
    host.queue()
    fill(host.wire, "q", b"before")
    host.set({"message-ttl": 1})
    host.await_policy("p", None, {"message-ttl": 1})
    fill(host.wire, "q", b"mortal")
    # The time of a message is set when it comes; the first one has none.
    equal([one.body for one in [get(host.wire, "q")]], [b"before"])
    host.await_depth(0)
    host.set({"message-ttl": 600_000})
    host.await_policy("p", None, {"message-ttl": 600_000})
    fill(host.wire, "q", b"long")
    host.clear()
    host.await_policy(None, None, {})
    fill(host.wire, "q", b"for ever")
    equal(bodies_of(host.wire, "q"), [b"long", b"for ever"])


@check()
def policies_expires(node):
    host = Host(node)
    for name in ("q-kept", "q-gone"):
        host.queue(name)
    host.set({"expires": 600_000})
    host.await_policy("p", None, {"expires": 600_000}, name="q-gone")
    host.set({"expires": 50}, pattern="gone$")
    gone = lambda: node.api.get("queues", host.name, "q-gone").status == 404
    eventually(gone)
    equal(depth(host.wire, "q-kept"), (0, 0))


@check()
def policies_dead_letters(node):
    host = Host(node)
    for name in ("q", "graves", "others"):
        host.queue(name)
    reject = lambda: reject_next(host.wire)
    host.set({"dead-letter-exchange": "", "dead-letter-routing-key": "graves"})
    host.await_policy("p", None, {"dead-letter-exchange": "", "dead-letter-routing-key": "graves"})
    fill(host.wire, "q", b"1")
    reject()
    host.await_depth(1, "graves")
    host.set({"dead-letter-exchange": "", "dead-letter-routing-key": "others"})
    host.await_policy("p", None, {"dead-letter-exchange": "", "dead-letter-routing-key": "others"})
    fill(host.wire, "q", b"2")
    reject()
    host.await_depth(1, "others")
    host.clear()
    host.await_policy(None, None, {})
    fill(host.wire, "q", b"3")
    reject()
    host.await_depth(0)
    equal((depth(host.wire, "graves")[0], depth(host.wire, "others")[0]), (1, 1))


def reject_next(wire):
    item = get(wire, "q", no_ack=False)
    wire.send(Basic.Reject(delivery_tag=item.method.delivery_tag, requeue=False))


@check()
def policies_alternate_exchange(node):
    host = Host(node)
    exchange(host.wire, "x")
    host.queue("lost")
    bind(host.wire, "lost", "amq.fanout")
    host.set({"alternate-exchange": "amq.fanout"}, pattern="^x$", apply_to="exchanges")
    equal(node.api.read("exchanges", host.name, "x")["policy"], "p")
    assert publish_confirmed(host.wire, "x", "nowhere", b"1", mandatory=True)
    equal(bodies_of(host.wire, "lost"), [b"1"])
    host.clear()
    equal(node.api.read("exchanges", host.name, "x").get("policy"), None)
    host.wire.publish("x", "nowhere", b"2", mandatory=True)
    equal(host.wire.wait_for(Basic.Return).method.reply_code, 312)
    host.wire.wait_for(Basic.Ack)
    equal(depth(host.wire, "lost")[0], 0)


@check()
def policies_delivery_limit(node):
    host = Host(node)
    host.queue(durable=True, arguments={"x-queue-type": "quorum"})
    host.set({"delivery-limit": 1})
    host.await_policy("p", None, {"delivery-limit": 1})
    fill(host.wire, "q", b"m")
    for _ in range(2):
        item = eventually(lambda: get(host.wire, "q", no_ack=False))
        host.wire.send(Basic.Reject(delivery_tag=item.method.delivery_tag, requeue=True))
    host.await_depth(0)


@check()
def policies_that_have_no_effect_are_accepted(node):
    host = Host(node)
    host.queue()
    fill(host.wire, "q", b"m")
    for definition in (
        {"queue-mode": "lazy"},
        {"queue-mode": "default"},
        {"queue-version": 2},
        {"dead-letter-strategy": "at-most-once"},
        {"max-in-memory-length": 10},
        {"max-in-memory-bytes": 10},
        {"max-age": "1h"},
        {"stream-max-segment-size-bytes": 1000},
        {"queue-leader-locator": "balanced"},
        {"initial-cluster-size": 3},
        {"ha-mode": "all", "ha-sync-mode": "automatic"},
    ):
        host.set(definition)
        equal(node.api.read("policies", host.name, "p")["definition"], definition)
    host.clear()
    equal(bodies_of(host.wire, "q"), [b"m"])


@check(needs="3.12")
def policies_that_are_newer_are_accepted(node):
    host = Host(node)
    for definition in ({"consumer-timeout": 1000}, {"stream-filter-size-bytes": 16}):
        host.set(definition)
    for kind in ("classic_queues", "quorum_queues", "streams"):
        host.set({"max-length": 1}, apply_to=kind)
    host.queue("q")
    equal(host.effective(), (None, None, {}))
    host.set({"max-length": 1}, apply_to="classic_queues")
    host.await_policy("p", None, {"max-length": 1})


# Which policy applies.


@check()
def policies_apply_to_what_their_pattern_matches(node):
    host = Host(node)
    exchange(host.wire, "q")
    for name in ("q", "aq", "Q"):
        host.queue(name)
    host.set({"max-length": 9}, pattern="^q$")
    host.await_policy("p", None, {"max-length": 9})
    for name in ("aq", "Q"):
        equal(host.effective(name), (None, None, {}), name)
    host.set({"max-length": 9}, pattern="q")
    host.await_policy("p", None, {"max-length": 9}, name="aq")
    host.set({"max-length": 9}, pattern="^(?!a)")
    host.await_policy(None, None, {}, name="aq")
    host.await_policy("p", None, {"max-length": 9}, name="Q")
    host.queue("later")
    host.await_policy("p", None, {"max-length": 9}, name="later")
    queue(host.wire, "exclusive")
    host.await_policy("p", None, {"max-length": 9}, name="exclusive")


@check()
def policies_have_patterns_of_pcre(node):
    host = Host(node)
    rows = [
        (r"\h", "a b", ["aa", "a<b", "tab"]),
        ("^a{,3}$", "a{,3}", ["aa"]),
        (r"\<", "a<b", ["aa", "tab"]),
        (r"^\Qa.c\E$", "a.c", ["abc"]),
        ("^[a&&b]+$", "a&b", ["&c"]),
        ("^(x)?(?(1)a|b)$", "xa", ["xb"]),
        ("^(x)?(?(1))y$", "y", ["by"]),
    ]
    for name in {name for _, matched, others in rows for name in (matched, *others)}:
        host.queue(name)
    for pattern, matched, others in rows:
        # Each definition is another: what a queue shows is of this pattern.
        definition = {"max-length": 1 + rows.index((pattern, matched, others))}
        host.set(definition, pattern=pattern)
        host.await_policy("p", None, definition, name=matched)
        for name in others:
            host.await_policy(None, None, {}, name=name)


@check()
def policies_apply_to_queues_or_exchanges_or_both(node):
    host = Host(node)
    exchange(host.wire, "q")
    host.queue("q")
    both = lambda: (host.effective("q")[0], node.api.read("exchanges", host.name, "q").get("policy"))
    for apply_to, wanted in (("queues", ("p", None)), ("exchanges", (None, "p")), ("all", ("p", "p"))):
        definition = {"alternate-exchange": "amq.fanout"} if apply_to == "exchanges" else {"max-length": 9}
        host.set(definition, apply_to=apply_to)
        eventually(both, lambda found: found == wanted)
    equal(node.api.read("policies", host.name, "p")["apply-to"], "all")


@check()
def policies_of_the_highest_priority_apply(node):
    host = Host(node)
    host.queue()
    host.set({"max-length": 1}, "low", priority=-1)
    host.await_policy("low", None, {"max-length": 1})
    host.set({"message-ttl": 600_000}, "high", priority=5)
    # One policy applies, not both together.
    host.await_policy("high", None, {"message-ttl": 600_000})
    host.set({"max-length": 2}, "low", priority=6)
    host.await_policy("low", None, {"max-length": 2})
    host.clear("low")
    host.await_policy("high", None, {"message-ttl": 600_000})
    host.clear("high")
    host.await_policy(None, None, {})


@check()
def policies_are_of_one_virtual_host(node):
    one, other = Host(node), Host(node)
    for host in (one, other):
        host.queue()
    one.set({"max-length": 1})
    one.await_policy("p", None, {"max-length": 1})
    equal(other.effective(), (None, None, {}))


@check()
def policies_give_way_to_arguments_but_for_the_smaller_number(node):
    host = Host(node)
    for name in ("graves", "others"):
        host.queue(name)
    arguments = {"x-max-length": 2, "x-overflow": "reject-publish"}
    host.queue(arguments=arguments | {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "graves"})
    dead = {"dead-letter-exchange": "", "dead-letter-routing-key": "others"}
    host.set({"max-length": 5, "overflow": "drop-head", **dead})
    host.await_policy("p", None, {"max-length": 5, "overflow": "drop-head", **dead})
    fill(host.wire, "q", b"1", b"2")
    assert host.refused(), "the argument is smaller, and its overflow counts"
    reject_next(host.wire)
    host.await_depth(1, "graves")
    host.set({"max-length": 1, **dead})
    host.await_policy("p", None, {"max-length": 1, **dead})
    eventually(host.refused)
    equal(depth(host.wire, "others")[0], 0)


# Operator policies.


@check()
def policies_of_operators_merge_by_the_smaller_number(node):
    host = Host(node)
    host.queue()
    host.set({"max-length": 3, "message-ttl": 500_000, "overflow": "reject-publish"})
    host.operate({"max-length": 2, "message-ttl": 600_000, "expires": 900_000})
    merged = {"max-length": 2, "message-ttl": 500_000, "expires": 900_000, "overflow": "reject-publish"}
    host.await_policy("p", "o", merged)
    fill(host.wire, "q", b"1", b"2")
    eventually(host.refused)
    host.clear()
    host.await_policy(None, "o", {"max-length": 2, "message-ttl": 600_000, "expires": 900_000})
    fill(host.wire, "q", b"3")
    host.await_depth(2)
    host.clear("o", "operator-policies")
    host.await_policy(None, None, {})


@check()
def policies_of_operators_have_priorities_of_their_own(node):
    host = Host(node)
    host.queue()
    host.set({"max-length": 9}, priority=100)
    host.operate({"max-length": 8}, "one", priority=1)
    host.operate({"max-length": 7}, "two", priority=2)
    host.await_policy("p", "two", {"max-length": 7})
    host.clear("two", "operator-policies")
    host.await_policy("p", "one", {"max-length": 8})


# Refusals and lists.

REFUSED = [
    ({}, "no policy provided"),
    ({"colour": "red"}, "are not recognised policy settings"),
    ({"max-length": 1, "colour": "red"}, "are not recognised policy settings"),
    ({"max-length": "many"}, "is not a valid maximum length"),
    ({"max-length": -1}, "-1 is not a valid maximum length"),
    ({"max-length": 1.5}, "is not a valid maximum length"),
    ({"max-length-bytes": -1}, "-1 is not a valid maximum length in bytes"),
    ({"message-ttl": -1}, "-1 is not a valid message TTL"),
    ({"expires": 0}, "0 is not a valid queue expiry"),
    ({"delivery-limit": "x"}, "is not a valid delivery limit"),
]
REFUSED_OF_USERS = [
    ({"overflow": "nothing"}, "is not a valid overflow value"),
    ({"dead-letter-exchange": 1}, "1 is not a valid dead letter exchange name"),
    ({"dead-letter-routing-key": 1}, "1 is not a valid dead letter routing key"),
    ({"alternate-exchange": 1}, "1 is not a valid alternate exchange name"),
    ({"queue-mode": "nothing"}, "is not a valid queue-mode value"),
    ({"queue-version": 3}, "3 is not a valid queue-version value"),
    ({"dead-letter-strategy": "x"}, "is not a valid dead letter strategy"),
]
REFUSED_OF_OPERATORS = [
    ({"alternate-exchange": "amq.fanout"}, "are not recognised policy settings"),
    ({"dead-letter-exchange": "amq.fanout"}, "are not recognised policy settings"),
    ({"queue-mode": "lazy"}, "are not recognised policy settings"),
]


@check()
def policies_refused(node):
    host = node.host()
    for kind, rows in (("policies", REFUSED + REFUSED_OF_USERS), ("operator-policies", REFUSED + REFUSED_OF_OPERATORS)):
        for definition, text in rows:
            refuse(node, kind, host, {"pattern": ".*", "definition": definition}, text)
        whole = {"pattern": ".*", "definition": {"max-length": 1}}
        refuse(node, kind, host, whole | {"pattern": "("}, "pattern should be regular expression but is invalid")
        for pattern, text in (("(?(1))", "reference to non-existent subpattern"), ("(?(2)a)(b)", "reference to non-existent"), ("(?R)", "invalid")):
            refuse(node, kind, host, whole | {"pattern": pattern}, text)
        refuse(node, kind, host, whole | {"apply-to": "nothing"}, "apply-to 'nothing' unrecognised; should be")
        refuse(node, kind, host, whole | {"priority": "high"}, "priority should be a number, actually was")
        equal(node.api.put(kind, host, "p", body={"pattern": ".*"}).error[:2], (400, "bad_request"))
        equal(node.api.put(kind, host, "p", body={"definition": {"max-length": 1}}).error[:2], (400, "bad_request"))
        equal(node.api.get(kind, host).json, [])
        equal(node.api.put(kind, "nowhere", "p", body=whole).status, 404)


def refuse(node, kind, host, body, text):
    status, error, reason = node.api.put(kind, host, "p", body=body).error
    equal((status, error), (400, "bad_request"), f"{kind} {body}:")
    assert "Validation failed" in reason and text in reason, f"{kind} {body}: {reason!r}"


@check()
def policies_listed(node):
    host = Host(node)
    host.set({"max-length": 1}, "one")
    host.set({"alternate-exchange": "x"}, "a/b", pattern="ü", apply_to="exchanges", priority=3)
    one = {"name": "one", "pattern": "^q", "apply-to": "all", "definition": {"max-length": 1}, "priority": 0}
    other = {"name": "a/b", "pattern": "ü", "apply-to": "exchanges", "definition": {"alternate-exchange": "x"}, "priority": 3}
    one, other = {"vhost": host.name} | one, {"vhost": host.name} | other
    equal(sorted(node.api.read("policies", host.name), key=lambda each: each["name"]), [other, one])
    equal(node.api.read("policies", host.name, "a/b"), other)
    listed = [each for each in node.api.read("policies") if each["vhost"] == host.name]
    equal(sorted(listed, key=lambda each: each["name"]), [other, one])
    equal(node.api.read("operator-policies", host.name), [])
    node.api.set("queues", host.name, "q")
    host.await_policy("one", None, {"max-length": 1})
    listed = node.api.read("queues", host.name)[0]
    equal((listed["policy"], listed["operator_policy"], listed["effective_policy_definition"]), ("one", None, {"max-length": 1}))
