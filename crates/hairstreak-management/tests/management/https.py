"""The management HTTP API over TLS: the clients that get in and those that do not, by Python's ssl and by curl. Run against our node and against RabbitMQ.

    https.py --plain HOST:PORT --tls HOST:PORT --certificates FOLDER --asks none|optional|required"""

import argparse
import base64
import http.client
import json
import os
import socket
import ssl
import subprocess

PATIENCE_S = 20
GUEST = {"Authorization": "Basic " + base64.b64encode(b"guest:guest").decode()}

checks = []


def check(function):
    checks.append(function)
    return function


class Broker:
    def __init__(self, options):
        self.plain, self.tls = (split(address) for address in (options.plain, options.tls))
        self.certificates, self.asks = options.certificates, options.asks

    def path(self, name):
        return os.path.join(self.certificates, name)

    def context(self, client=None, ca="ca.pem", version=None):
        context = ssl.create_default_context(cafile=self.path(ca))
        if client:
            context.load_cert_chain(self.path(client + ".pem"), self.path("client.key"))
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def usual(self, **options):
        """A context that this broker accepts."""
        return self.context("client" if self.asks == "required" else None, **options)

    def connect(self, context=None):
        return http.client.HTTPSConnection("localhost", self.tls[1], timeout=PATIENCE_S, context=context or self.usual())

    def whoami(self, context=None):
        return ask(self.connect(context), "GET", "/api/whoami")["name"]


def split(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def ask(connection, method, target, body=None):
    connection.request(method, target, body, GUEST | {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    assert response.status < 300, f"{method} {target}: {response.status} {text[:300]!r}"
    return json.loads(text) if text else None


def refused(act):
    try:
        found = act()
    except (OSError, http.client.HTTPException):
        return
    raise AssertionError(f"{found!r} instead of a refusal")


@check
def the_api_answers_with_each_version_of_tls(broker):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        assert broker.whoami(broker.usual(version=version)) == "guest", version


@check
def requests_of_every_size_follow_each_other_on_one_connection(broker):
    connection = broker.connect()
    place = "/api/queues/%2F/https"
    ask(connection, "PUT", place, json.dumps({"durable": False, "arguments": {}}))
    payload = "x" * (2 << 20)
    message = {"properties": {}, "routing_key": "https", "payload": payload, "payload_encoding": "string"}
    assert ask(connection, "POST", "/api/exchanges/%2F/amq.default/publish", json.dumps(message)) == {"routed": True}
    wanted = {"count": 1, "ackmode": "ack_requeue_false", "encoding": "auto"}
    [found] = ask(connection, "POST", f"{place}/get", json.dumps(wanted))
    assert found["payload"] == payload
    ask(connection, "DELETE", place)


@check
def the_client_has_to_know_the_authority(broker):
    refused(lambda: broker.whoami(broker.context("client", ca="stranger-ca.pem")))
    assert broker.whoami() == "guest"


@check
def clients_show_certificates_where_they_have_to(broker):
    if broker.asks == "required":
        refused(lambda: broker.whoami(broker.context()))
    else:
        assert broker.whoami(broker.context()) == "guest"
    if broker.asks != "none":
        refused(lambda: broker.whoami(broker.context("expired-client")))
    assert broker.whoami(broker.context("client")) == "guest"


@check
def a_certificate_is_no_password(broker):
    connection = broker.connect(broker.context("client"))
    connection.request("GET", "/api/whoami")
    assert connection.getresponse().status == 401


@check
def each_port_speaks_one_of_both(broker):
    refused(lambda: ask(http.client.HTTPConnection(*broker.tls, timeout=PATIENCE_S), "GET", "/api/whoami"))
    refused(lambda: broker.usual().wrap_socket(socket.create_connection(broker.plain, PATIENCE_S), server_hostname="localhost"))
    assert ask(http.client.HTTPConnection(*broker.plain, timeout=PATIENCE_S), "GET", "/api/whoami")["name"] == "guest"


@check
def who_says_nothing_or_nonsense_is_in_nobodys_way(broker):
    silent = [socket.create_connection(broker.tls, PATIENCE_S) for _ in range(20)]
    for stranger in silent[:10]:
        stranger.sendall(os.urandom(500))
    assert broker.whoami() == "guest"
    for stranger in silent:
        stranger.close()


@check
def a_client_that_would_rather_speak_http_2_is_answered(broker):
    context = broker.usual()
    context.set_alpn_protocols(["h2", "http/1.1"])
    assert broker.whoami(context) == "guest"


@check
def the_listener_is_listed(broker):
    listeners = ask(broker.connect(), "GET", "/api/overview")["listeners"]
    assert ("https", broker.tls[1]) in [(one["protocol"], one["port"]) for one in listeners], listeners
    found = ask(broker.connect(), "GET", "/api/health/checks/protocol-listener/https")
    assert found["status"] == "ok", found
    assert ask(broker.connect(), "GET", f"/api/health/checks/port-listener/{broker.tls[1]}")["status"] == "ok"


@check
def curl_gets_in(broker):
    words = ["curl", "--silent", "--show-error", "--fail", "--user", "guest:guest", "--cacert", broker.path("ca.pem")]
    if broker.asks == "required":
        words += ["--cert", broker.path("client.pem"), "--key", broker.path("client.key")]
    done = subprocess.run([*words, f"https://localhost:{broker.tls[1]}/api/whoami"], capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0 and json.loads(done.stdout)["name"] == "guest", done


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plain", required=True, metavar="HOST:PORT")
    parser.add_argument("--tls", required=True, metavar="HOST:PORT")
    parser.add_argument("--certificates", required=True, metavar="FOLDER")
    parser.add_argument("--asks", required=True, choices=("none", "optional", "required"))
    broker = Broker(parser.parse_args())
    for one in checks:
        one(broker)
        print(f"{one.__name__:70} ok", flush=True)


if __name__ == "__main__":
    main()
