"""AMQP over TLS: who gets in, who does not and how, and what is left of a client that dies. Run against our node and against RabbitMQ.

    tls.py --plain HOST:PORT --tls HOST:PORT --certificates FOLDER --asks none|optional|required [--without NEED]..."""

import argparse
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import warnings

import pika

PATIENCE = 60
# The longest that a broker may take to end what is no handshake: RabbitMQ's time for a handshake of AMQP, and a busy machine.
END_TIME = 40

checks = []


def check(function):
    checks.append(function)
    return function


class Broker:
    def __init__(self, options):
        self.plain, self.tls = (split(address) for address in (options.plain, options.tls))
        self.certificates, self.asks, self.without = options.certificates, options.asks, options.without

    def path(self, name):
        return os.path.join(self.certificates, name)

    def context(self, client=None, key=None, ca="ca.pem", version=None):
        context = ssl.create_default_context(cafile=self.path(ca))
        if client:
            context.load_cert_chain(self.path(client + ".pem"), self.path((key or client) + ".key"))
        if version:
            context.minimum_version = context.maximum_version = version
        return context

    def usual(self):
        """A context that this broker accepts."""
        return self.context("client" if self.asks == "required" else None)

    def connect(self, context=None, credentials=None, host="localhost"):
        return pika.BlockingConnection(
            pika.ConnectionParameters(
                self.tls[0],
                self.tls[1],
                credentials=credentials or pika.PlainCredentials("guest", "guest"),
                ssl_options=pika.SSLOptions(context or self.usual(), host),
                socket_timeout=PATIENCE,
                blocked_connection_timeout=PATIENCE,
            )
        )

    def socket(self, address):
        sock = socket.create_connection(address)
        sock.settimeout(END_TIME)
        return sock

    def is_there(self):
        """A client comes in as always."""
        self.connect().close()


def split(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def exchange(connection, size):
    """A message goes through a queue of the connection's own."""
    channel = connection.channel()
    channel.confirm_delivery()
    queue = channel.queue_declare("", exclusive=True).method.queue
    body = os.urandom(1024) * (size // 1024)
    channel.basic_publish("", queue, body)
    frame, _, got = channel.basic_get(queue, auto_ack=True)
    assert frame and got == body, f"{len(got or b'')} bytes instead of {len(body)}"


def refused(act, *kinds):
    """The error of `act`."""
    try:
        connection = act()
    except kinds as error:
        return error
    connection.close()
    raise AssertionError("a connection came about")


REFUSALS = (pika.exceptions.AMQPConnectionError, ssl.SSLError, ConnectionError)


def rest(sock):
    """The bytes up to the end, or up to a reset."""
    got = b""
    try:
        while data := sock.recv(65536):
            got += data
    except ConnectionError:
        pass
    return got


@check
def messages_pass_with_each_version(broker):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        client = "client" if broker.asks == "required" else None
        connection = broker.connect(broker.context(client, version=version))
        exchange(connection, 8 << 20)
        connection.close()


@check
def a_client_may_show_a_certificate(broker):
    connection = broker.connect(broker.context("client"))
    exchange(connection, 1 << 20)
    connection.close()


@check
def a_client_without_a_certificate_comes_in_unless_one_is_required(broker):
    if broker.asks == "required":
        refused(lambda: broker.connect(broker.context()), *REFUSALS)
    else:
        exchange(broker.connect(broker.context()), 1024)
    broker.is_there()


@check
def a_certificate_that_has_expired_is_refused_where_one_is_asked_for(broker):
    context = broker.context("expired-client", "client")
    if broker.asks == "none":
        broker.connect(context).close()
    else:
        refused(lambda: broker.connect(context), *REFUSALS)
    broker.is_there()


@check
def a_client_that_does_not_know_the_ca_goes_away(broker):
    error = refused(lambda: broker.connect(broker.context(ca="stranger-ca.pem")), *REFUSALS)
    assert "certificate verify failed" in repr(error) or isinstance(error, pika.exceptions.AMQPConnectionError), repr(error)
    broker.is_there()


@check
def a_client_that_wants_another_host_goes_away(broker):
    refused(lambda: broker.connect(host="elsewhere.test"), *REFUSALS)
    broker.is_there()


@check
def an_old_version_is_refused(broker):
    if "strict versions" in broker.without:
        return
    warnings.simplefilter("ignore", DeprecationWarning)
    context = broker.usual()
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    refused(lambda: broker.connect(context), *REFUSALS)
    broker.is_there()


@check
def a_wrong_password_is_refused_as_without_tls(broker):
    wrong = pika.PlainCredentials("guest", "wrong")
    error = refused(lambda: broker.connect(credentials=wrong), *REFUSALS)
    assert isinstance(error, pika.exceptions.ProbableAuthenticationError), repr(error)


@check
def a_client_without_tls_at_the_port_of_tls_sees_an_end_and_no_amqp(broker):
    sock = broker.socket(broker.tls)
    sock.sendall(b"AMQP\x00\x00\x09\x01")
    got = rest(sock)
    # An alert of TLS, or nothing.
    assert got == b"" or got[0] == 21, got
    broker.is_there()


@check
def a_client_with_tls_at_the_port_without_sees_an_end_in_the_words_of_amqp(broker):
    sock = broker.socket(broker.plain)
    refused(lambda: broker.usual().wrap_socket(sock, server_hostname="localhost"), ssl.SSLError)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = broker.usual().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        pass
    sock = broker.socket(broker.plain)
    sock.sendall(outgoing.read())
    assert rest(sock).startswith(b"AMQP"), "the broker does not say which version it speaks"


@check
def a_handshake_that_is_cut_anywhere_hurts_nobody(broker):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = broker.usual().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        pass
    hello = outgoing.read()
    for size in [0, 1, 4, 5, 6, 50, len(hello) - 1, len(hello)]:
        sock = broker.socket(broker.tls)
        sock.sendall(hello[:size])
        if size % 2:
            # A reset instead of an end.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        sock.close()
    broker.is_there()


@check
def handshakes_that_stall_are_ended_and_keep_nobody_waiting(broker):
    begun = time.monotonic()
    stalled = [broker.socket(broker.tls) for _ in range(50)]
    for sock in stalled:
        sock.sendall(b"\x16\x03\x01")
    broker.is_there()
    came_in = time.monotonic() - begun
    for sock in stalled:
        rest(sock)
    ended = time.monotonic() - begun
    assert came_in < ended, f"a client came in after {came_in} s, and the stalled ones were ended after {ended} s"
    broker.is_there()


@check
def a_client_that_is_killed_gives_back_what_it_had(broker):
    if "killed clients" in broker.without:
        return
    connection = broker.connect()
    channel = connection.channel()
    queue = f"tls-{os.getpid()}-{broker.tls[1]}"
    channel.queue_declare(queue)
    for number in range(100):
        channel.basic_publish("", queue, b"%d" % number)
    victim = subprocess.Popen(
        [sys.executable, "-B", *sys.argv, "--victim", queue], stdout=subprocess.PIPE, text=True
    )
    assert victim.stdout.readline() == "has all\n"
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    got, deadline = [], time.monotonic() + PATIENCE
    while len(got) < 100:
        method, _, body = channel.basic_get(queue, auto_ack=True)
        if method:
            assert method.redelivered
            got.append(int(body))
        assert time.monotonic() < deadline, f"{len(got)} messages came back"
    assert got == list(range(100)), got
    channel.queue_delete(queue)
    connection.close()


def be_killed(broker, queue):
    """Takes all messages, acknowledges none, publishes in the middle of it all, and waits for the end."""
    channel = broker.connect().channel()
    channel.basic_qos(prefetch_count=100)
    count = 0
    for _ in channel.consume(queue):
        count += 1
        if count == 100:
            print("has all", flush=True)
        channel.basic_publish("amq.fanout", "nowhere", b"x" * 100_000)


def external(broker, context):
    return broker.connect(context, pika.credentials.ExternalCredentials())


@check
def a_certificate_logs_in_the_user_that_it_names(broker):
    if "external" in broker.without:
        return
    exchange(external(broker, broker.context("client")), 1024)


@check
def a_certificate_of_nobody_and_no_certificate_log_nobody_in(broker):
    if "external" in broker.without:
        return
    contexts = [broker.context("names")] + ([broker.context()] if broker.asks == "optional" else [])
    for context in contexts:
        error = refused(lambda: external(broker, context), *REFUSALS)
        # The client refuses itself where the mechanism is not offered.
        kinds = (pika.exceptions.ProbableAuthenticationError, pika.exceptions.AuthenticationError)
        assert isinstance(error, kinds), repr(error)


def offered(broker, context):
    """The mechanisms of connection.start."""
    with broker.socket(broker.tls) as plain, context.wrap_socket(plain, server_hostname="localhost") as sock:
        sock.sendall(b"AMQP\0\0\x09\x01")
        frame = b""
        while len(frame) < 7 or len(frame) < 8 + int.from_bytes(frame[3:7], "big"):
            data = sock.recv(65536)
            assert data, "the end of the connection in place of connection.start"
            frame += data
    # The class, the method, the version and the properties of the server come first.
    at = 13
    at += 4 + int.from_bytes(frame[at : at + 4], "big")
    return frame[at + 4 : at + 4 + int.from_bytes(frame[at : at + 4], "big")].decode().split()


@check
def external_is_offered_to_clients_that_show_a_certificate(broker):
    if broker.asks != "none":
        assert "EXTERNAL" in offered(broker, broker.context("client"))
    if broker.asks != "required" and "offers by certificate" not in broker.without:
        assert "EXTERNAL" not in offered(broker, broker.context())
        # A certificate that nobody asks for is not shown.
        assert broker.asks != "none" or "EXTERNAL" not in offered(broker, broker.context("client"))


def main():
    parser = argparse.ArgumentParser()
    for name in ("plain", "tls", "certificates", "asks"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--victim")
    options = parser.parse_args()
    broker = Broker(options)
    if options.victim:
        return be_killed(broker, options.victim)
    for function in checks:
        begun = time.monotonic()
        try:
            function(broker)
        except Exception as error:
            raise SystemExit(f"{function.__name__}: {error!r}") from error
        print(f"{function.__name__}: {time.monotonic() - begun:.1f} s")


main()
