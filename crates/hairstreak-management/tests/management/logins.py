"""Logins over AMQP, and the answers to refused ones."""

import pika
from pika.exceptions import ProbableAccessDeniedError, ProbableAuthenticationError
from pika.spec import Connection, Queue

from check import check, connection_error, equal, queue, refused_connection
from node import eventually
from wire import CAPABILITIES

REFUSED = "ACCESS_REFUSED - Login was refused using authentication mechanism {}. For details see the broker logfile."
# The hash of "test12" with the salt 908DC60A; the first as RabbitMQ's page about passwords has it. The algorithm of no name is SHA-256.
HASHES = [
    ("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", None),
    ("kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR", "rabbit_password_hashing_sha256"),
    ("kI3GChuNuIYf8lRbCCxZjgjKwsY19ns6+uFO0zcXRBGA/XGJPYD8OWMy7EB8TaOmAzjP2azv84GbINYwX2cDWb4DHnc=", "rabbit_password_hashing_sha512"),
    ("kI3GChNpte2FApYFXScl+0dIluk=", "rabbit_password_hashing_md5"),
]


def refused(node, user, password, mechanism="PLAIN", **start_ok):
    wire = node.tcp()
    wire.start()
    wire.start_ok(user, password, mechanism=mechanism, **start_ok)
    refused_connection(wire, 403, REFUSED.format(mechanism))


def open_error(node, host, text, user="guest", password="guest"):
    wire = node.tcp()
    wire.start()
    wire.start_ok(user, password)
    wire.expect(Connection.Tune)
    wire.send(Connection.TuneOk(2047, 131072, 0), 0)
    connection_error(wire, Connection.Open(host), 530, f"NOT_ALLOWED - {text}", channel=0)


def forced_to_close(wire, *texts):
    """The connection is closed with one of these texts; RabbitMQ may wait for no answer."""
    close = wire.wait_for(Connection.Close).method
    equal(close.reply_code, 320)
    assert close.reply_text in [f"CONNECTION_FORCED - {text}" for text in texts], close.reply_text


@check()
def logins_with_a_wrong_password_or_user_are_told_the_same(node):
    user = node.user(host=node.host())
    refused(node, user, "wrong")
    refused(node, user, "")
    refused(node, user + "x", "secret")
    refused(node, "", "")
    refused(node, user.upper(), "secret")


@check()
def logins_of_clients_that_cannot_be_told_end(node):
    wire = node.tcp()
    wire.start()
    wire.start_ok(password="wrong", capabilities={**CAPABILITIES, "authentication_failure_close": False})
    wire.expect_end()


@check()
def logins_by_other_mechanisms(node):
    user = node.user(host=node.host())
    response = f"\x05LOGINS\0\0\0{chr(len(user))}{user}\x08PASSWORDS\0\0\0\x06secret"
    wire = node.tcp()
    wire.start()
    wire.start_ok(mechanism="AMQPLAIN", response=response)
    wire.expect(Connection.Tune)
    refused(node, None, None, "AMQPLAIN", response=response.replace("secret", "wronge"))


@check()
def logins_to_virtual_hosts_that_are_not_theirs(node):
    host = node.host()
    user = node.user("administrator")
    open_error(node, "nowhere", "vhost nowhere not found", user, "secret")
    open_error(node, host, f"access to vhost '{host}' refused for user '{user}'", user, "secret")
    # A permission that permits nothing lets in.
    node.permit(user, host)
    node.wire_to(host, user, "secret")


@check()
def logins_by_hash(node):
    host = node.host()
    user = node.user(host=host)
    for hash, algorithm in HASHES:
        body = {"password_hash": hash, "tags": ""}
        node.api.set("users", user, body=body | ({"hashing_algorithm": algorithm} if algorithm else {}))
        node.wire_to(host, user, "test12")
        refused(node, user, "test13")


@check()
def logins_with_no_password_are_none(node):
    host = node.host()
    user = node.user(host=host)
    node.api.set("users", user, body={"tags": ""})
    for password in ("", "secret"):
        refused(node, user, password)
    equal(node.api.put("users", user, body={"password_hash": "", "tags": ""}).status, 204)
    refused(node, user, "")


@check()
def logins_after_a_change_of_the_password(node):
    host = node.host()
    user = node.user(host=host)
    old = node.wire_to(host, user, "secret")
    node.api.set("users", user, body={"password": "other", "tags": ""})
    refused(node, user, "secret")
    node.wire_to(host, user, "other")
    # A connection that is open stays.
    old.send(Queue.Declare())
    equal(old.receive().method.NAME, "Channel.Close")


@check()
def logins_end_with_their_user(node):
    host = node.host()
    user = node.user(host=host)
    wire = node.wire_to(host, user, "secret")
    node.api.remove("users", user)
    forced_to_close(wire, f"user '{user}' is deleted")
    refused(node, user, "secret")


@check()
def logins_end_with_their_virtual_host(node):
    host = node.host()
    wire = node.wire_to(host)
    queue(wire)
    node.api.remove("vhosts", host)
    forced_to_close(wire, f"vhost '{host}' is deleted", f"vhost '{host}' is down")
    open_error(node, host, f"vhost {host} not found")


@check()
def logins_stay_when_a_permission_goes(node):
    host = node.host()
    user = node.user(host=host, configure=".*")
    wire = node.wire_to(host, user, "secret")
    node.api.remove("permissions", host, user)
    wire.open(2)
    wire.send(Queue.Declare(queue="q"), 2)
    equal(wire.receive().method.reply_code, 403)
    open_error(node, host, f"access to vhost '{host}' refused for user '{user}'", user, "secret")


@check()
def logins_by_pika(node):
    """The exceptions that a client of Python sees."""
    host = node.host()
    user = node.user(host=host)
    for kind, options in (
        (ProbableAuthenticationError, {"credentials": pika.PlainCredentials(user, "wrong")}),
        (ProbableAccessDeniedError, {"credentials": pika.PlainCredentials(user, "secret"), "virtual_host": "nowhere"}),
    ):
        try:
            node.connect(**{"virtual_host": host, **options})
            raise AssertionError("let in")
        except kind:
            pass


@check()
def logins_are_counted_by_protocol(node):
    """Other checks log in meanwhile, so that counts may be higher."""
    host = node.host()
    user = node.user(host=host)
    [name] = [one["name"] for one in node.api.read("nodes")]
    place = "auth", "attempts", name
    rows = lambda: {one["protocol"]: one for one in node.api.read(*place)}
    counts = lambda protocol: [rows().get(protocol, {}).get(f"auth_attempts_{kind}", 0) for kind in ("failed", "succeeded")]
    for protocol, fail, succeed in (
        ("http", lambda: node.api.as_user(user, "wrong").get("whoami"), lambda: node.api.get("whoami")),
        # A request without the permission counts as a failed login, too.
        ("http", lambda: node.api.as_user(user, "secret").get("whoami"), lambda: node.api.get("queues", "nowhere")),
        ("amqp091", lambda: refused(node, user, "wrong"), lambda: node.wire_to(host)),
    ):
        before = counts(protocol)
        for _ in range(20):
            fail()
        for _ in range(5):
            succeed()
        after = eventually(lambda: counts(protocol), lambda after: after[0] >= before[0] + 20 and after[1] >= before[1] + 5)
        row = rows()[protocol]
        equal(sorted(row), ["auth_attempts", "auth_attempts_failed", "auth_attempts_succeeded", "protocol"])
        equal(row["auth_attempts"], row["auth_attempts_failed"] + row["auth_attempts_succeeded"], str(row))
    for segments in (place, (*place, "source")):
        equal(node.api.delete(*segments).status, 204, str(segments))
        assert counts("amqp091")[0] < after[0], f"{counts('amqp091')} after {after}"
    equal(node.api.read(*place, "source"), [])
    for segments in ((*place[:2], "nothing"), (*place[:2], "nothing", "source")):
        equal([node.api.get(*segments).status, node.api.delete(*segments).status], [404, 404], str(segments))
