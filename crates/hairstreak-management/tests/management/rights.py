"""Which user may do what over HTTP: a table of requests and tags, and what a user sees of others."""

from urllib.parse import quote

from check import check, consume, equal, queue
from node import ALL, eventually

# A user of each tag may do everything in the virtual host MINE, and nothing in THEIRS. "y" is a status of 200, 201 or 204. Users without
# a tag, and requests without credentials, are always answered 401. NEW is a name of the user's own.
TAGS = ["management", "policymaker", "monitoring", "administrator"]
TABLE = """
#                                           management  policymaker  monitoring  administrator
GET overview                                y           y            y           y
GET whoami                                  y           y            y           y
GET cluster-name                            y           y            y           y
GET extensions                              y           y            y           y
GET nodes                                   401         401          y           y
GET nodes/NODE                              401         401          y           y
GET definitions                             401         401          401         y
GET definitions/MINE                        401         401          401         y
GET definitions/THEIRS                      401         401          401         y
GET connections                             y           y            y           y
GET channels                                y           y            y           y
GET consumers                               y           y            y           y
GET consumers/MINE                          y           y            y           y
GET consumers/THEIRS                        y           y            y           y
GET exchanges                               y           y            y           y
GET exchanges/MINE                          y           y            y           y
GET exchanges/THEIRS                        401         401          401         y
GET exchanges/MINE/amq.direct               y           y            y           y
GET exchanges/THEIRS/amq.direct             401         401          401         y
GET queues                                  y           y            y           y
GET queues/MINE                             y           y            y           y
GET queues/THEIRS                           401         401          401         y
GET queues/nowhere                          404         404          404         404
GET queues/MINE/q                           y           y            y           y
GET queues/THEIRS/q                         401         401          401         y
GET queues/MINE/nothing                     404         404          404         404
GET bindings                                y           y            y           y
GET bindings/MINE                           y           y            y           y
GET bindings/THEIRS                         401         401          401         y
GET queues/MINE/q/bindings                  y           y            y           y
GET queues/THEIRS/q/bindings                401         401          401         y
GET vhosts                                  y           y            y           y
GET vhosts/MINE                             401         401          401         y
GET vhosts/THEIRS                           401         401          401         y
GET vhosts/nowhere                          401         401          401         404
GET vhosts/MINE/permissions                 401         401          401         y
GET vhosts/MINE/topic-permissions           401         401          401         y
GET vhosts/MINE/connections                 y           y            y           y
GET users                                   401         401          401         y
GET users/guest                             401         401          401         y
GET users/guest/permissions                 401         401          401         y
GET users/nobody                            401         401          401         404
GET users/without-permissions               401         401          401         y
GET permissions                             401         401          401         y
GET permissions/MINE/guest                  401         401          401         y
GET topic-permissions                       401         401          401         y
GET parameters                              401         y            401         y
GET parameters/vhost-limits                 401         y            401         y
GET parameters/vhost-limits/MINE            401         y            401         y
GET parameters/vhost-limits/THEIRS          401         401          401         y
GET global-parameters                       401         y            401         y
GET policies                                y           y            y           y
GET policies/MINE                           y           y            y           y
GET policies/THEIRS                         401         401          401         y
GET operator-policies                       y           y            y           y
GET operator-policies/MINE                  y           y            y           y
GET vhost-limits                            y           y            y           y
GET vhost-limits/MINE                       y           y            y           y
GET vhost-limits/THEIRS                     401         401          y           y
GET user-limits                             y           y            y           y
GET user-limits/guest                       y           y            y           y
GET aliveness-test/MINE                     y           y            y           y
GET aliveness-test/THEIRS                   401         401          401         401
GET health/checks/alarms                    y           y            y           y
GET auth/attempts/NODE                      401         401          y           y
PUT queues/MINE/NEW                         y           y            y           y
PUT queues/THEIRS/NEW                       401         401          401         401
DELETE queues/MINE/NEW                      y           y            y           y
DELETE queues/THEIRS/NEW                    401         401          401         404
DELETE queues/MINE/q/contents               y           y            y           y
DELETE queues/THEIRS/q/contents             401         401          401         401
POST queues/MINE/q/get                      y           y            y           y
POST queues/THEIRS/q/get                    401         401          401         401
PUT exchanges/MINE/NEW                      y           y            y           y
PUT exchanges/THEIRS/NEW                    401         401          401         401
POST exchanges/MINE/amq.direct/publish      y           y            y           y
POST exchanges/THEIRS/amq.direct/publish    401         401          401         401
DELETE exchanges/MINE/NEW                   y           y            y           y
DELETE exchanges/THEIRS/NEW                 401         401          401         404
POST bindings/MINE/e/amq.direct/q/q         y           y            y           y
POST bindings/THEIRS/e/amq.direct/q/q       401         401          401         401
PUT policies/MINE/NEW                       401         y            401         y
PUT policies/THEIRS/NEW                     401         401          401         y
DELETE policies/MINE/NEW                    401         y            401         y
DELETE policies/THEIRS/NEW                  401         401          401         y
PUT operator-policies/MINE/NEW              401         401          401         y
DELETE operator-policies/MINE/NEW           401         401          401         y
PUT vhost-limits/MINE/max-queues            401         401          401         y
DELETE vhost-limits/MINE/max-queues         401         401          401         y
PUT user-limits/USER/max-channels           401         401          401         y
DELETE user-limits/USER/max-channels        401         401          401         y
PUT parameters/vhost-limits/MINE/limits     401         y            401         y
PUT global-parameters/NEW                   401         y            401         y
DELETE global-parameters/NEW                401         y            401         y
PUT vhosts/NEW                              401         401          401         y
DELETE vhosts/NEW                           401         401          401         y
PUT users/NEW                               401         401          401         y
PUT permissions/MINE/NEW                    401         401          401         y
DELETE permissions/MINE/NEW                 401         401          401         y
PUT topic-permissions/MINE/NEW              401         401          401         y
DELETE users/NEW                            401         401          401         y
POST users/bulk-delete                      401         401          401         y
POST definitions                            401         401          401         y
POST definitions/MINE                       401         401          401         y
POST definitions/THEIRS                     401         401          401         y
PUT cluster-name                            401         401          401         y
POST rebalance/queues                       401         401          401         y
"""

BODIES = {
    "get": {"count": 1, "ackmode": "ack_requeue_true", "encoding": "auto"},
    "publish": {"properties": {}, "routing_key": "nowhere", "payload": "", "payload_encoding": "string"},
    "exchanges": {"type": "direct"},
    "policies": {"pattern": "^new", "definition": {"max-length": 1}},
    "operator-policies": {"pattern": "^new", "definition": {"max-length": 1}},
    "vhost-limits": {"value": 100},
    "user-limits": {"value": 100},
    "parameters": {"value": {"max-queues": 100}},
    "global-parameters": {"value": 1},
    "users": {"password": "secret", "tags": ""},
    "permissions": ALL,
    "topic-permissions": {"exchange": "amq.topic", "write": ".*", "read": ".*"},
    "bulk-delete": {"users": []},
}


class Users:
    """A user of each tag, and the two virtual hosts, each of which has a queue of the name q."""

    def __init__(self, node):
        self.node, self.mine, self.theirs = node, node.host(), node.host()
        self.apis = {}
        for tag in ["", *TAGS]:
            user = node.user(tag, host=self.mine, **ALL)
            self.apis[tag] = node.api.as_user(user, "secret")
        for host in (self.mine, self.theirs):
            queue(node.wire_to(host), "q", exclusive=False)
        self.node_name = node.api.read("nodes")[0]["name"]

    def ask(self, tag, method, path):
        """The answer that a user of a tag gets; tag None sends no credentials."""
        api = self.apis[tag] if tag is not None else self.node.api.as_user(None, None)
        new = f"{self.mine}-{tag}"
        names = {"MINE": self.mine, "THEIRS": self.theirs, "NODE": self.node_name, "USER": self.apis[""].user, "NEW": new}
        segments = path.split("/")
        body = None
        if method in ("PUT", "POST"):
            body = BODIES.get(segments[-1], BODIES.get(segments[0], {}))
        if path == "cluster-name":
            body = self.node.api.read("cluster-name")
        if path in ("vhosts/NEW", "users/NEW"):
            (self.node.hosts if segments[0] == "vhosts" else self.node.users).append(new)
        path = "/".join(quote(names.get(segment, segment), safe="") for segment in segments)
        return api.request(method, f"/api/{path}", body)


@check()
def rights_of_each_tag(node):
    users = Users(node)
    for line in TABLE.strip().splitlines()[1:]:
        method, path, *expected = line.split()
        for tag in (None, ""):
            equal(users.ask(tag, method, path).status, 401, f"{method} {path} as {tag!r}:")
        for tag, status in zip(TAGS, expected, strict=True):
            found = users.ask(tag, method, path).status
            equal("y" if found in (200, 201, 204) else str(found), status, f"{method} {path} as {tag}:")


@check()
def rights_refused_say_why(node):
    users = Users(node)
    rows = [
        ("", "GET", "overview", "Not management user"),
        ("management", "GET", "nodes", "Not monitor user"),
        ("monitoring", "GET", "users", "Not administrator user"),
        ("management", "GET", "queues/THEIRS", "User not authorised to access virtual host"),
        ("policymaker", "PUT", "policies/THEIRS/NEW", "User not authorised to access object"),
        ("management", "PUT", "policies/MINE/NEW", "User not authorised to access object"),
    ]
    for tag, method, path, reason in rows:
        equal(users.ask(tag, method, path).error, (401, "not_authorised", reason), f"{method} {path} as {tag!r}:")


@check()
def rights_without_credentials_are_asked_for_them(node):
    answer = node.api.as_user(None, None).get("whoami")
    equal((answer.status, answer.headers["WWW-Authenticate"]), (401, 'Basic realm="RabbitMQ Management"'))
    reason = "Not_Authorized" if node.version >= (3, 13) else "Login failed"
    user = node.user("administrator")
    for name, password in ((user, "wrong"), (user + "x", "secret"), (user, ""), ("", "")):
        answer = node.api.as_user(name, password).get("whoami")
        equal(answer.error, (401, "not_authorized", reason), f"for {name!r} and {password!r}:")


@check()
def rights_that_change_act_at_once(node):
    user = node.user("management")
    api = node.api.as_user(user, "secret")
    equal(api.get("nodes").status, 401)
    node.api.set("users", user, body={"password": "secret", "tags": "monitoring"})
    equal(api.get("nodes").status, 200)
    node.api.set("users", user, body={"password": "other", "tags": "monitoring"})
    equal(api.get("nodes").status, 401)
    equal(node.api.as_user(user, "other").get("nodes").status, 200)
    node.api.remove("users", user)
    equal(node.api.as_user(user, "other").get("nodes").status, 401)


@check()
def rights_to_see_what_others_have(node):
    """A user sees the queues of its virtual hosts, and its own connections; monitoring sees all connections."""
    users = Users(node)
    own, others = users.apis["management"].user, users.apis[""].user
    for name in (own, others):
        wire = node.wire_to(users.mine, name, "secret")
        consume(wire, "q")
    for tag, is_all in (("management", False), ("policymaker", False), ("monitoring", True), ("administrator", True)):
        api = users.apis[tag]
        hosts = {users.mine, users.theirs} if tag == "administrator" else {users.mine}
        seen = {one["vhost"] for one in api.read("queues")} & {users.mine, users.theirs}
        equal(seen, hosts, f"hosts of queues as {tag}:")
        names = {one["name"] for one in api.read("vhosts")} & {users.mine, users.theirs}
        equal(names, hosts if tag != "monitoring" else {users.mine, users.theirs}, f"virtual hosts as {tag}:")
        wanted = {own, others} if is_all else {own} if tag == "management" else set()
        for kind in ("connections", "channels"):
            found = lambda: {one.get("user") for one in api.read(kind) if one.get("vhost") == users.mine} & {own, others}
            eventually(found, lambda seen: seen == wanted)


@check()
def rights_to_close_a_connection(node):
    """A user closes its own connections, and an administrator all."""
    users = Users(node)
    own = users.apis["management"].user
    wires = [node.wire_to(users.mine, own, "secret") for _ in range(2)]
    of_own = lambda: [one["name"] for one in node.api.read("connections") if one.get("user") == own]
    first, second = eventually(of_own, lambda names: len(names) == 2)
    for tag in ("policymaker", "monitoring"):
        answer = users.apis[tag].delete("connections", first)
        equal(answer.error, (401, "not_authorised", "User not authorised to access object"), tag)
    equal(users.apis["management"].delete("connections", first).status, 204)
    equal(users.apis["administrator"].delete("connections", second, headers={"X-Reason": "enough"}).status, 204)
    texts = sorted(wire.receive().method.reply_text for wire in wires)
    equal(texts, ["CONNECTION_FORCED - Closed via management plugin", "CONNECTION_FORCED - enough"])


@check()
def rights_of_amqp_hold_over_http(node):
    """Tags never widen what a user may do in a virtual host."""
    host = node.host()
    user = node.user("administrator", host=host, configure="^mine", read="^mine")
    api = node.api.as_user(user, "secret")
    equal(api.put("queues", host, "mine").status, 201)
    equal(api.put("queues", host, "yours").error[:2], (401, "not_authorised"))
    equal(api.put("exchanges", host, "yours", body={"type": "direct"}).error[:2], (401, "not_authorised"))
    equal(api.post("bindings", host, "e", "amq.direct", "q", "mine").error[:2], (401, "not_authorised"))
    status, error, reason = api.post("exchanges", host, "amq.default", "publish", body=BODIES["publish"]).error
    equal((status, error), (400, "bad_request"))
    assert reason.endswith(f"access to exchange 'amq.default' in vhost '{host}' refused for user '{user}'"), reason
    equal(api.post("queues", host, "mine", "get", body=BODIES["get"]).json, [])
    equal(api.delete("queues", host, "mine").status, 204)
