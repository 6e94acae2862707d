"""The other end of every cell of tests/interop/matrix: for each line ROLE JOIN ENDPOINT TALK COUNT SECURITY...
on the input it opens and joins a socket, has its half of the talk when it is told "start", says "done", and closes the
socket when it is told "close". SECURITY is

null | plain-client USER PASSWORD | curve-client SERVER_KEY PUBLIC SECRET
     | plain-server USER PASSWORD | curve-server PUBLIC SECRET ALLOWED_KEY"""

import select
import sys

import zmq
from zmq.auth.thread import ThreadAuthenticator

import peer

# Questions asked before the first is answered, but by a REQ.
OUTSTANDING_COUNT = 100

auth = None


class Keys:
    """Who may come: CURVE keys."""

    allowed = set()

    def callback(self, domain, key):
        return key.decode() in self.allowed


def authenticator():
    global auth
    if auth is None:
        auth = ThreadAuthenticator(zmq.Context.instance())
        auth.start()
        auth.configure_curve_callback(domain="test", credentials_provider=Keys())
    return auth


def secure(end, role, arguments):
    if role.endswith("-server"):
        end.zap_domain = b"test"
    if role == "plain-client":
        end.plain_username, end.plain_password = (argument.encode() for argument in arguments)
    elif role == "plain-server":
        authenticator().configure_plain(domain="test", passwords={arguments[0]: arguments[1]})
        end.plain_server = True
    elif role == "curve-client":
        end.curve_serverkey, end.curve_publickey, end.curve_secretkey = (a.encode() for a in arguments)
    elif role == "curve-server":
        authenticator()
        end.curve_publickey, end.curve_secretkey = (a.encode() for a in arguments[:2])
        Keys.allowed.add(arguments[2])
        end.curve_server = True


def message(number):
    """As tests/interop/matrix/talk.rs has it."""
    first = b"t%d" % number
    if number % 50 == 0:
        return [first + b"x" * 20_000]
    if number % 7 == 0:
        return [first, b"", b"y" * 300]
    return [first]


def echo(end, role, count):
    for _ in range(count):
        end.send_multipart(end.recv_multipart())


def ask(end, role, count, envelope=()):
    outstanding = 1 if role == "req" else OUTSTANDING_COUNT
    for first in range(0, count, outstanding):
        numbers = range(first, min(count, first + outstanding))
        for number in numbers:
            end.send_multipart([*envelope, *message(number)])
        for number in numbers:
            assert end.recv_multipart() == [*envelope, *message(number)], number


def ask_rep(end, role, count):
    """A DEALER has to make REQ's envelope itself."""
    ask(end, role, count, envelope=[b""])


def send(end, role, count):
    if role in ("pub", "xpub"):
        # Until the subscriber has heard something there is no telling that it is subscribed.
        while not select.select([sys.stdin], [], [], 0.01)[0]:
            end.send(b"tsync")
        sys.stdin.readline()
    for number in range(count):
        end.send_multipart(message(number))
        if role in ("pub", "xpub"):
            end.send(b"u: nobody subscribed to this")


def receive(end, role, count):
    for number in range(count):
        assert end.recv_multipart() == message(number), number


TALKS = {talk.__name__: talk for talk in (echo, ask, ask_rep, send, receive)}

while line := sys.stdin.readline():
    role, join, endpoint, talk, count, *security = line.split()
    options = {"IDENTITY": b"them"} if role in ("router", "dealer", "req") else {}
    end = peer.make(role, SNDHWM=0, RCVHWM=0, **options)
    if role == "sub":
        end.subscribe(b"t")
    elif role == "xsub":
        end.send(b"\x01t")
    secure(end, security[0], security[1:])
    peer.join(end, join, endpoint)
    # Meanwhile the socket does what it has to: subscriptions are sent by its own thread.
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        end.getsockopt(zmq.EVENTS)
    line = sys.stdin.readline()
    if line == "start\n":
        TALKS[talk](end, role, int(count))
        peer.say("done")
        line = sys.stdin.readline()
    assert line == "close\n", line
    end.close(linger=0)
if auth:
    auth.stop()
peer.end()
