"""rabbitmqadmin of RabbitMQ 4, which scripts/rabbitmqadmin builds, with its verbs. Its types are strict: a key that is missing
fails the command."""

import json
import subprocess
import tempfile
from pathlib import Path

from pika.spec import Basic, Connection

from check import check, consume, equal, queue
from node import eventually

PROGRAM = Path(__file__).parents[4] / ".rabbitmqadmin/bin/rabbitmqadmin"

# Codes with which it exits, of sysexits.h.
USAGE, DATA_ERROR, UNAVAILABLE = 64, 65, 69


class Admin:
    """The program at one node, as guest, and at one virtual host of it."""

    def __init__(self, node):
        self.node, self.host = node, node.host()
        (self.place, self.port) = node.places.http

    def run(self, *words, code=0, input=None, user=("guest", "guest")):
        """Runs a command, which exits with this code, and returns what it said."""
        options = ["-H", self.place, "-P", str(self.port), "-u", user[0], "-p", user[1], "-V", self.host]
        # A configuration file of the user would be read.
        with tempfile.TemporaryDirectory() as home:
            environment = {"HOME": home}
            ran = subprocess.run([PROGRAM, *options, "--non-interactive", *words], input=input, capture_output=True, text=True, env=environment)
        equal(ran.returncode, code, f"{' '.join(words)}: {ran.stdout} {ran.stderr}")
        return ran.stdout + ran.stderr

    def shows(self, *words, having=(), **options):
        said = self.run(*words, **options)
        for part in having:
            assert str(part) in said, f"{' '.join(words)}: no {part!r} in {said}"
        return said


@check()
def v2_overview(node):
    admin = Admin(node)
    overview = node.api.read("overview")
    admin.shows("show", "overview", having=[overview["rabbitmq_version"], overview["product_name"], overview["erlang_version"]])
    admin.shows("show", "churn", having=["onnection", "hannel", "ueue"])


@check(needs="4.0")
def v2_nodes(node):
    name = node.api.read("overview")["node"]
    for words in (["list", "nodes"], ["nodes", "list"]):
        Admin(node).shows(*words, having=[name])
    Admin(node).run("plugins", "list_all")
    Admin(node).run("plugins", "list_on_node", "--node", name)


@check(needs="4.0")
def v2_memory(node):
    admin = Admin(node)
    name = node.api.read("overview")["node"]
    for command in ("memory_breakdown_in_bytes", "memory_breakdown_in_percent"):
        admin.shows("show", command, "--node", name, having=["otal", "onnection", "queue"])


@check()
def v2_auth_attempts(node):
    admin = Admin(node)
    admin.shows("auth_attempts", "stats", "--node", node.api.read("overview")["node"], having=["http"])


@check()
def v2_hosts(node):
    admin = Admin(node)
    name = node.new_name("declared")
    node.hosts.append(name)
    admin.run("declare", "vhost", "--name", name, "--description", "of v2")
    admin.shows("list", "vhosts", having=[name])
    admin.run("vhosts", "declare", "--name", name)
    admin.run("delete", "vhost", "--name", name)
    admin.run("delete", "vhost", "--name", name, code=DATA_ERROR)
    admin.run("delete", "vhost", "--name", name, "--idempotently")


@check(needs="4.0")
def v2_protected_hosts(node):
    admin = Admin(node)
    admin.run("vhosts", "enable_deletion_protection", "--name", admin.host)
    admin.run("delete", "vhost", "--name", admin.host, code=DATA_ERROR)
    admin.run("vhosts", "disable_deletion_protection", "--name", admin.host)
    admin.run("delete", "vhost", "--name", admin.host)


@check()
def v2_users_and_permissions(node):
    admin = Admin(node)
    name, hashed = (node.new_name(word) for word in ("user", "hashed"))
    node.users += [name, hashed]
    admin.run("declare", "user", "--name", name, "--password", "secret", "--tags", "management,policymaker")
    [hash] = [word for word in admin.run("passwords", "salt_and_hash", "secret").split() if len(word) == 48]
    admin.run("declare", "user", "--name", hashed, "--password-hash", hash, "--tags", "administrator")
    admin.shows("list", "users", having=[name, hashed, "management", "administrator"])
    admin.run("list", "vhosts", user=(hashed, "secret"))
    admin.run("declare", "permissions", "--username", name, "--configure", "^c", "--write", "^w", "--read", "^r")
    admin.shows("list", "permissions", having=[name, "^c", "^w", "^r"])
    admin.run("declare", "queue", "--name", "c", user=(name, "secret"))
    admin.run("declare", "queue", "--name", "q", user=(name, "secret"), code=DATA_ERROR)
    admin.run("list", "users", user=(name, "secret"), code=DATA_ERROR)
    admin.run("list", "users", user=(name, "wrong"), code=DATA_ERROR)
    admin.run("delete", "permissions", "--username", name)
    admin.run("delete", "user", "--name", name)
    admin.run("delete", "user", "--name", name, code=DATA_ERROR)


@check()
def v2_topology(node):
    admin = Admin(node)
    arguments = json.dumps({"x-max-length": 10, "x-overflow": "reject-publish"})
    admin.run("declare", "queue", "--name", "q.one", "--durable", "true", "--auto-delete", "false", "--arguments", arguments)
    admin.run("declare", "queue", "--name", "q.two", "--type", "classic")
    admin.run("declare", "queue", "--name", "q.one", "--durable", "false", code=DATA_ERROR)
    admin.shows("list", "queues", having=["q.one", "q.two", "classic"])
    admin.shows("list", "queues", "--page", "1", "--page-size", "1", having=["q.one"])
    found = node.api.read("queues", admin.host, "q.one")["arguments"]
    # It names the type of the queue beside.
    equal(found, json.loads(arguments) | {"x-queue-type": "classic"})
    for kind in ("direct", "fanout", "topic", "headers"):
        admin.run("declare", "exchange", "--name", f"x.{kind}", "--type", kind)
    admin.shows("list", "exchanges", having=["x.direct", "x.headers", "amq.topic"])
    bind = ("--source", "x.topic", "--destination-type", "queue", "--destination", "q.one", "--routing-key", "a.#")
    admin.run("declare", "binding", *bind)
    other = ("--destination-type", "exchange", "--destination", "x.fanout", "--routing-key", "*")
    admin.run("exchanges", "bind", "--source", "x.topic", *other)
    headers = ("--source", "x.headers", "--destination-type", "queue", "--destination", "q.two", "--routing-key", "")
    headers = (*headers, "--arguments", '{"x-match":"any","n":1}')
    admin.run("declare", "binding", *headers)
    admin.shows("list", "bindings", having=["x.topic", "q.one", "a.#", "x.fanout"])
    for binding in (bind, headers):
        admin.run("delete", "binding", *binding)
        admin.run("delete", "binding", *binding, code=DATA_ERROR)
    admin.run("delete", "exchange", "--name", "x.direct")
    admin.run("delete", "exchange", "--name", "x.direct", code=DATA_ERROR)
    admin.run("delete", "queue", "--name", "q.two")
    admin.run("delete", "queue", "--name", "q.two", code=DATA_ERROR)
    for number in range(3):
        admin.run("declare", "queue", "--name", f"many.{number}")
    admin.run("queues", "delete_multiple", "--name-pattern", "^many", "--dry-run")
    equal(len(node.api.read("queues", admin.host)), 4)
    admin.run("queues", "delete_multiple", "--name-pattern", "^many", "--approve")
    equal([one["name"] for one in node.api.read("queues", admin.host)], ["q.one"])


@check()
def v2_messages(node):
    admin = Admin(node)
    admin.run("declare", "queue", "--name", "q")
    admin.run("publish", "message", "--routing-key", "q", "--payload", "first")
    properties = json.dumps({"delivery_mode": 2, "headers": {"n": 1}, "content_type": "text/plain"})
    admin.run("publish", "message", "-k", "q", "-m", "second", "-p", properties)
    admin.run("publish", "message", "-k", "q", "-f", "-", input="third ü")
    admin.shows("get", "messages", "-q", "q", "-c", "3", "-a", "ack_requeue_true", having=["first", "second", "third ü"])
    admin.shows("get", "messages", "-q", "q", "-a", "reject_requeue_false", having=["first"])
    admin.shows("get", "messages", "-q", "q", "-a", "ack_requeue_false", having=["second"])
    admin.run("purge", "queue", "--name", "q")
    admin.run("purge", "queue", "--name", "nothing", code=DATA_ERROR)
    assert "third" not in admin.run("get", "messages", "-q", "q")
    admin.run("publish", "message", "-e", "nothing", "-k", "q", code=DATA_ERROR)


@check()
def v2_policies(node):
    admin = Admin(node)
    for kind, plural in (("policy", "policies"), ("operator_policy", "operator_policies")):
        declare = ("--name", "p", "--pattern", "^q", "--apply-to", "queues", "--priority", "3")
        admin.run("declare", kind, *declare, "--definition", '{"max-length":10,"expires":90000}')
        admin.shows("list", plural, having=["p", "^q", "queues", "max-length"])
        admin.shows(plural, "list_in", having=["p", "^q"])
        admin.shows(plural, "list_matching_object", "--name", "q1", "--type", "queues", having=["p"])
        admin.run(plural, "update_definition", "--name", "p", "--definition-key", "max-length", "--new-value", "20")
        admin.run(plural, "patch", "--name", "p", "--definition", '{"message-ttl":1000}')
        admin.run(plural, "delete_definition_keys", "--name", "p", "--definition-keys", "expires")
        route = plural.replace("_", "-")
        equal(node.api.read(route, admin.host, "p")["definition"], {"max-length": 20, "message-ttl": 1000})
        bad = ("--name", "bad", "--pattern", "(", "--apply-to", "all", "--definition", '{"max-length":1}')
        admin.run("declare", kind, *bad, code=DATA_ERROR)
        admin.run("delete", kind, "--name", "p")
        admin.run("delete", kind, "--name", "p", code=DATA_ERROR)


@check()
def v2_limits_and_parameters(node):
    admin = Admin(node)
    user = node.user()
    admin.run("declare", "vhost_limit", "--name", "max-queues", "--value", "7")
    admin.shows("list", "vhost_limits", having=["max-queues", "7"])
    admin.run("delete", "vhost_limit", "--name", "max-queues")
    admin.run("declare", "user_limit", "--username", user, "--name", "max-channels", "--value", "9")
    admin.shows("list", "user_limits", having=[user, "max-channels"])
    admin.run("delete", "user_limit", "--username", user, "--name", "max-channels")
    name = node.new_name("global")
    admin.run("global_parameters", "set", "--name", name, "--value", '{"a":1}')
    admin.shows("global_parameters", "list", having=[name])
    admin.run("global_parameters", "clear", "--name", name)
    admin.run("list", "parameters")
    admin.run("parameters", "list_all")


@check()
def v2_connections(node):
    admin = Admin(node)
    user = node.user(host=admin.host, configure=".*", write=".*", read=".*")
    wires = [node.wire_to(admin.host, user, "secret") for _ in range(2)]
    queue(wires[0], "q")
    wires[0].call(Basic.Qos(prefetch_count=3))
    consume(wires[0], "q")
    named = lambda: [one["name"] for one in node.api.read("connections") if one.get("user") == user]
    first, second = eventually(named, lambda found: len(found) == 2)
    admin.shows("list", "connections", having=[first, second, user])
    admin.shows("list", "user_connections", "--username", user, having=[first, second])
    admin.shows("list", "channels", having=[first])
    admin.run("close", "connection", "--name", first)
    admin.run("close", "user_connections", "--username", user)
    for wire in wires:
        equal(wire.wait_for(Connection.Close).method.reply_code, 320)
        wire.close()
    eventually(named, lambda found: not found)
    admin.run("close", "connection", "--name", first, code=DATA_ERROR)
    admin.run("close", "connection", "--name", first, "--idempotently")


@check(needs="4.0")
def v2_consumers(node):
    admin = Admin(node)
    wire = node.wire_to(admin.host)
    queue(wire, "taken")
    consume(wire, "taken", consumer_tag="taker")
    eventually(lambda: node.api.read("consumers", admin.host))
    admin.shows("list", "consumers", having=["taken", "taker"])


@check()
def v2_health_checks(node):
    admin = Admin(node)
    port = str(node.places.amqp[1])
    for words in (["local_alarms"], ["cluster_wide_alarms"], ["node_is_quorum_critical"], ["port_listener", "--port", port]):
        admin.run("health_check", *words)
    admin.run("health_check", "protocol_listener", "--protocol", "amqp")
    admin.run("health_check", "port_listener", "--port", "1", code=UNAVAILABLE)
    admin.run("health_check", "protocol_listener", "--protocol", "mqtt", code=UNAVAILABLE)


@check()
def v2_feature_flags(node):
    admin = Admin(node)
    [flag, *_] = [one["name"] for one in node.api.read("feature-flags") if one["state"] == "enabled"]
    admin.shows("feature_flags", "list", having=[flag])
    admin.run("feature_flags", "enable", "--name", flag)
    admin.run("feature_flags", "enable_all")
    admin.run("rebalance", "queues")


@check(needs="4.0")
def v2_deprecated_features(node):
    admin = Admin(node)
    admin.run("deprecated_features", "list")
    admin.run("deprecated_features", "list_used")


@check()
def v2_definitions(node):
    admin = Admin(node)
    admin.run("declare", "queue", "--name", "q", "--durable", "true")
    with tempfile.TemporaryDirectory() as folder:
        whole, part = f"{folder}/whole.json", f"{folder}/part.json"
        admin.run("definitions", "export", "--file", whole)
        admin.run("definitions", "export_from_vhost", "--file", part)
        said = json.loads(Path(whole).read_text())
        assert "guest" in [one["name"] for one in said["users"]]
        equal([one["name"] for one in said["queues"] if one["vhost"] == admin.host], ["q"])
        admin.run("delete", "queue", "--name", "q")
        admin.run("definitions", "import_into_vhost", "--file", part)
        equal([one["name"] for one in node.api.read("queues", admin.host)], ["q"])
        more = {"name": "more", "vhost": admin.host, "durable": True, "auto_delete": False, "arguments": {}}
        mine = {"vhosts": [{"name": admin.host}], "queues": [more]}
        admin.run("definitions", "import", "--stdin", input=json.dumps(mine))
        equal([one["name"] for one in node.api.read("queues", admin.host)], ["more", "q"])
        admin.run("definitions", "import", "--stdin", input="{", code=DATA_ERROR)


@check()
def v2_errors(node):
    admin = Admin(node)
    admin.run("list", "nothing", code=2)
    admin.host = "rabbitmqadmin-nowhere"
    admin.run("declare", "queue", "--name", "q", code=DATA_ERROR)
