"""The checks of health that probes and load balancers ask for: 200 when all is well, 503 with a reason when it is not."""

from check import check, equal
from node import eventually

# Asked without a path below them.
WELL = ["alarms", "local-alarms", "virtual-hosts", "node-is-quorum-critical"]


@check()
def health_is_well(node):
    port = str(node.places.amqp[1])
    asked = [[name] for name in WELL] + [["port-listener", port], ["protocol-listener", "amqp"]]
    asked += [["certificate-expiration", "1", unit] for unit in ("days", "weeks", "months", "years")]
    for segments in asked:
        # A virtual host that another test makes meanwhile is down at first.
        answer = eventually(lambda: node.api.get("health", "checks", *segments), lambda answer: answer.status == 200)
        equal(answer.json["status"], "ok", str(segments))
    equal(node.api.read("aliveness-test", "/"), {"status": "ok"}, "aliveness-test")


@check()
def health_names_what_does_not_listen(node):
    answer = node.api.get("health", "checks", "port-listener", "1")
    equal((answer.status, answer.json["status"], answer.json["missing"]), (503, "failed", 1))
    assert node.places.amqp[1] in answer.json["ports"], answer
    answer = node.api.get("health", "checks", "protocol-listener", "mqtt")
    equal((answer.status, answer.json["status"], answer.json["missing"]), (503, "failed", "mqtt"))
    assert "amqp" in answer.json["protocols"], answer


@check()
def health_refuses_what_it_cannot_read(node):
    for segments in (["port-listener", "many"], ["certificate-expiration", "1", "moons"], ["certificate-expiration", "many", "days"]):
        equal(node.api.get("health", "checks", *segments).status, 400, str(segments))
    equal(node.api.get("health", "checks", "nothing").status, 404)
    equal(node.api.get("aliveness-test", "nowhere").status, 404)


@check()
def health_asks_for_credentials(node):
    for user, password in ((None, None), ("guest", "wrong")):
        equal(node.api.as_user(user, password).get("health", "checks", "alarms").status, 401, f"status for {user}")


@check(needs="4.0")
def health_for_probes_asks_for_no_credentials(node):
    stranger = node.api.as_user(None, None)
    for name in ("is-in-service", "below-node-connection-limit", "ready-to-serve-clients", "reached-target-cluster-size"):
        equal(stranger.read("health", "checks", name)["status"], "ok", name)


@check(needs="alarm")
def health_knows_an_alarm(node):
    with node.alarm():
        answer = node.api.get("health", "checks", "alarms")
        equal((answer.status, answer.json["status"], answer.json["reason"]), (503, "failed", "There are alarms in effect in the cluster"))
        equal([alarm["resource"] for alarm in answer.json["alarms"]], ["memory"])
        answer = node.api.get("health", "checks", "local-alarms")
        equal((answer.status, answer.json["reason"]), (503, "There are alarms in effect on the node"))
        eventually(lambda: node.api.read("nodes")[0]["mem_alarm"])
        state_of_a_publisher(node)
    equal(node.api.get("health", "checks", "alarms").status, 200)
    eventually(lambda: not node.api.read("nodes")[0]["mem_alarm"])


def state_of_a_publisher(node):
    """A connection that publishes is blocked while the alarm lasts."""
    host = node.host()
    wire = node.wire_to(host)
    states = lambda: [one.get("state") for one in node.api.read("connections") if one.get("vhost") == host]
    wire.publish("", "nowhere")
    eventually(states, lambda found: found == ["blocked"])
