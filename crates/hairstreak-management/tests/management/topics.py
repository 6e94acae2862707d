"""Topic permissions: they narrow what a user may publish to an exchange of the type topic, and bind to it, by routing key."""

from pika.spec import Basic, BasicProperties, Channel, Exchange, Queue

from check import check, equal, exchange, queue

X, OTHER, DIRECT, Q = "t", "other", "d", "q"


class Topics:
    """A user with all permissions in a virtual host, who gets topic permissions."""

    def __init__(self, node):
        self.node, self.host = node, node.host()
        self.name = node.user(host=self.host, configure=".*", write=".*", read=".*")
        self.wire = node.wire_to(self.host, self.name, "secret")
        admin = node.wire_to(self.host)
        for name, kind in ((X, "topic"), (OTHER, "topic"), (DIRECT, "direct")):
            exchange(admin, name, kind)
        queue(admin, Q, exclusive=False)

    def permit(self, exchange_name=X, write=".*", read=".*"):
        body = {"exchange": exchange_name, "write": write, "read": read}
        self.node.api.set("topic-permissions", self.host, self.name, body=body)

    def refusal(self, _verb, key, exchange_name=X):
        """The code and the text with which a channel is closed."""
        where = f"'{exchange_name}' in vhost '{self.host}'"
        return 403, f"ACCESS_REFUSED - access to topic '{key}' in exchange {where} refused for user '{self.name}'"

    def close_of(self, method):
        self.wire.send(method, 2)
        item = self.wire.receive()
        if isinstance(item.method, Channel.Close):
            self.wire.send(Channel.CloseOk(), 2)
            return item.method.reply_code, item.method.reply_text
        self.wire.send(Channel.Close(200, "", 0, 0), 2)
        self.wire.wait_for(Channel.CloseOk)
        return None

    def publish(self, key, exchange_name=X, headers=None):
        self.wire.open(2)
        self.wire.publish(exchange_name, key, b"", BasicProperties(headers=headers), 2)
        return self.close_of(Basic.Qos())

    def bind(self, key, exchange_name=X):
        self.wire.open(2)
        return self.close_of(Queue.Bind(queue=Q, exchange=exchange_name, routing_key=key))

    def unbind(self, key, exchange_name=X):
        self.wire.open(2)
        return self.close_of(Queue.Unbind(queue=Q, exchange=exchange_name, routing_key=key))

    def bind_exchange(self, key, source=X):
        self.wire.open(2)
        return self.close_of(Exchange.Bind(destination=OTHER, source=source, routing_key=key))


@check()
def topics_without_a_row_are_allowed(node):
    topics = Topics(node)
    equal(topics.publish("a.b"), None)
    equal(topics.bind("#"), None)
    topics.permit(OTHER, write="^x", read="^x")
    equal(topics.publish("a.b"), None, "with a row for another exchange:")
    equal(topics.bind("#"), None, "with a row for another exchange:")


@check()
def topics_are_written_by_routing_key(node):
    topics = Topics(node)
    topics.permit(write=r"^a\.")
    equal(topics.publish("a.b"), None)
    equal(topics.publish("b.a"), topics.refusal("write", "b.a"))
    equal(topics.publish(""), topics.refusal("write", ""))
    equal(topics.bind("b.a"), None, "read:")


@check()
def topics_are_read_by_binding_key(node):
    topics = Topics(node)
    topics.permit(read=r"^a\.")
    equal(topics.bind("a.#"), None)
    equal(topics.bind("#"), topics.refusal("read", "#"))
    equal(topics.unbind("a.#"), None)
    equal(topics.unbind("#"), topics.refusal("read", "#"))
    equal(topics.bind_exchange("a.*"), None)
    equal(topics.bind_exchange("*"), topics.refusal("read", "*"))
    equal(topics.publish("b.a"), None, "write:")


@check()
def topics_of_other_exchange_types_are_not_looked_at(node):
    topics = Topics(node)
    topics.permit(DIRECT, write="^x", read="^x")
    equal(topics.publish("a", DIRECT), None)
    equal(topics.bind("a", DIRECT), None)


@check()
def topics_that_are_empty_allow_nothing(node):
    topics = Topics(node)
    topics.permit(write="", read="")
    equal(topics.publish("a"), topics.refusal("write", "a"))
    equal(topics.bind("a"), topics.refusal("read", "a"))


@check()
def topics_expand_the_user_and_the_virtual_host(node):
    topics = Topics(node)
    topics.permit(write=r"^{username}\.{vhost}\.", read=r"^{vhost}$")
    equal(topics.publish(f"{topics.name}.{topics.host}.a"), None)
    equal(topics.publish("{username}.{vhost}.a"), topics.refusal("write", "{username}.{vhost}.a"))
    equal(topics.bind(topics.host), None)
    equal(topics.bind(topics.name), topics.refusal("read", topics.name))


@check()
def topics_come_after_the_permission_of_the_exchange(node):
    topics = Topics(node)
    topics.permit(write="^x")
    node.permit(topics.name, topics.host, configure=".*", read=".*")
    code, text = topics.publish("a")
    assert (code, "exchange 't'" in text) == (403, True), text


@check()
def topics_that_change_are_seen_by_the_next_channel(node):
    topics = Topics(node)
    topics.permit(write="^x")
    equal(topics.publish("a"), topics.refusal("write", "a"))
    topics.permit(write="^a")
    equal(topics.publish("a"), None)
    node.api.remove("topic-permissions", topics.host, topics.name)
    equal(topics.publish("b"), None)


@check(needs="4.0")
def topics_of_copies_are_checked(node):
    """RabbitMQ before 4.0 looks at the routing key only."""
    topics = Topics(node)
    topics.permit(write="^a")
    for name in ("CC", "BCC"):
        equal(topics.publish("a", headers={name: ["a.b"]}), None)
        equal(topics.publish("a", headers={name: ["b"]}), topics.refusal("write", "b"), name)


@check()
def topics_are_listed(node):
    topics = Topics(node)
    topics.permit(write="^a", read="^b")
    topics.permit(OTHER, write="", read=".*")
    row = {"user": topics.name, "vhost": topics.host}
    rows = [row | {"exchange": OTHER, "write": "", "read": ".*"}, row | {"exchange": X, "write": "^a", "read": "^b"}]
    by_exchange = lambda found: sorted(found, key=lambda one: one["exchange"])
    lists = ["topic-permissions", topics.host, topics.name], ["vhosts", topics.host, "topic-permissions"]
    for segments in (*lists, ["users", topics.name, "topic-permissions"]):
        equal(by_exchange(node.api.read(*segments)), rows, str(segments))
    mine = [one for one in node.api.read("topic-permissions") if one["user"] == topics.name]
    equal(by_exchange(mine), rows)
    equal(node.api.delete("topic-permissions", topics.host, topics.name).status, 204)
    equal(node.api.get("topic-permissions", topics.host, topics.name).status, 404)
    equal(node.api.put("topic-permissions", topics.host, topics.name, body={"exchange": X, "write": "(", "read": ""}).status, 400)


@check()
def topics_of_a_user_are_one_object(node):
    """The first row of a user in a virtual host is new; further ones, for other exchanges too, change what is there."""
    host = node.host()
    user = node.user(host=host)
    place = "topic-permissions", host, user
    put = lambda name, write, *more: node.api.put(*place, *more, body={"exchange": name, "write": write, "read": ""}).status
    for _ in range(2):
        equal([put(X, "^a"), put(X, "^a"), put(X, "^b"), put(OTHER, "^a"), put(OTHER, "^a", OTHER)], [201, 204, 204, 204, 204])
        equal([node.api.delete(*place, OTHER).status for _ in range(2)], [204, 204])
        equal([(row["exchange"], row["write"]) for row in node.api.read(*place)], [(X, "^b")])
        equal([put(OTHER, "^a"), node.api.delete(*place).status, node.api.delete(*place).status], [204, 204, 404])
