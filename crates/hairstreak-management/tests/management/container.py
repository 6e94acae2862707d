"""A node that was started by environment alone, as images are by Testcontainers: RABBITMQ_DEFAULT_USER=shop, RABBITMQ_DEFAULT_PASS=secret,
RABBITMQ_DEFAULT_VHOST=orders, RABBITMQ_NODE_IP_ADDRESS=0.0.0.0. It is looked at from another machine, at its default ports."""

import subprocess
import sys

import pika

from check import check, confirm, equal, fill, get, queue, refused_connection
from exposition import Scrape
from rabbitmqadmin import PROGRAM


def shop(node):
    return node.api.as_user("shop", "secret")


@check()
def container_lets_the_default_user_in(node):
    wire = confirm(node.wire(virtual_host="orders", user="shop", password="secret"))
    queue(wire, "q")
    fill(wire, "q", b"m")
    equal(get(wire, "q").body, b"m")
    url = "amqp://shop:secret@{}:{}/orders".format(*node.places.amqp)
    pika.BlockingConnection(pika.URLParameters(url)).close()
    who = shop(node).read("whoami")
    equal((who["name"], who["tags"]), ("shop", ["administrator"]))
    equal([one["name"] for one in shop(node).read("vhosts")], ["orders"])
    row = {"user": "shop", "vhost": "orders", "configure": ".*", "write": ".*", "read": ".*"}
    equal(shop(node).read("permissions"), [row])


@check()
def container_has_no_other_user(node):
    equal([one["name"] for one in shop(node).read("users")], ["shop"])
    wire = node.tcp()
    wire.start()
    wire.start_ok("guest", "guest")
    text = "ACCESS_REFUSED - Login was refused using authentication mechanism PLAIN. For details see the broker logfile."
    refused_connection(wire, 403, text)
    equal(node.api.get("whoami").status, 401)


@check()
def container_is_declared_to_by_rabbitmqadmin(node):
    """The command of Testcontainers for Java in the container."""
    host, port = node.places.http
    login = ["--host", host, "--port", str(port), "--username", "shop", "--password", "secret", "--vhost=orders"]
    flags = ["auto_delete=false", "durable=true", "arguments={}"]
    for words in (
        ["queue", "name=declared", *flags],
        ["exchange", "name=declared", "type=direct", "internal=false", *flags],
        ["binding", "source=declared", "destination=declared", "destination_type=queue", "routing_key=", "arguments={}"],
    ):
        subprocess.run([sys.executable, PROGRAM, *login, "declare", *words], check=True, capture_output=True)
    equal(shop(node).read("bindings", "orders", "e", "declared", "q", "declared")[0]["properties_key"], "~")


@check(needs="metrics without credentials")
def container_is_watched_by_prometheus(node):
    [(labels, _)] = Scrape(node.places.metrics).of("rabbitmq_identity_info")
    assert labels["rabbitmq_node"], labels
