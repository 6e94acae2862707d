"""Logins from another machine. The node has an administrator of the name and password "operator", beside guest."""

from pika.spec import Connection

from check import check, equal, refused_connection


def operator(node):
    return node.api.as_user("operator", "operator")


@check()
def strangers_are_no_guests_over_amqp(node):
    wire = node.tcp()
    wire.start()
    wire.start_ok("guest", "guest")
    text = "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."
    refused_connection(wire, 403, text)


@check()
def strangers_are_no_guests_over_http(node):
    reason = "User can only log in via localhost"
    equal(node.api.get("whoami").error, (401, "not_authorised", reason))
    equal(node.api.put("queues", "/", "q").error, (401, "not_authorised", reason))


@check()
def strangers_with_a_user_of_their_own_get_in(node):
    wire = node.tcp()
    wire.login("/", user="operator", password="operator")
    equal(operator(node).read("whoami")["name"], "operator")
    wire.send(Connection.Close(200, "", 0, 0), 0)
    wire.wait_for(Connection.CloseOk)


@check()
def strangers_without_credentials_are_asked_for_them(node):
    for segments in (["overview"], ["queues"], ["health", "checks", "alarms"]):
        answer = node.api.as_user(None, None).get(*segments)
        equal((answer.status, answer.headers["WWW-Authenticate"]), (401, 'Basic realm="RabbitMQ Management"'), str(segments))
