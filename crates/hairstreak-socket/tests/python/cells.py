"""The other end of every cell of tests/interop/matrix: for each line ROLE JOIN ENDPOINT TALK COUNT on the
input it opens a socket, has its half of the talk, and says so."""

import select
import sys

import peer

FAREWELL_MS = 60_000


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


def ask(end, role, count):
    for number in range(count):
        end.send_multipart(message(number))
        assert end.recv_multipart() == message(number), number


def ask_rep(end, role, count):
    """A DEALER has to make REQ's envelope itself."""
    for number in range(count):
        end.send_multipart([b"", *message(number)])
        assert end.recv_multipart() == [b"", *message(number)], number


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
    if role == "sub":
        end.subscribe(b"t")
    elif role == "xsub":
        end.send(b"\x01t")
    for number in range(count):
        assert end.recv_multipart() == message(number), number


TALKS = {talk.__name__: talk for talk in (echo, ask, ask_rep, send, receive)}

while line := sys.stdin.readline():
    role, join, endpoint, talk, count = line.split()
    options = {"IDENTITY": b"them"} if role in ("router", "dealer", "req") else {}
    end = peer.make(role, SNDHWM=0, RCVHWM=0, **options)
    peer.join(end, join, endpoint)
    TALKS[talk](end, role, int(count))
    peer.say("done")
    # A subscriber that reconnects would wait for somebody to hear its subscriptions.
    end.close(linger=0 if talk == "receive" else FAREWELL_MS)
peer.end()
