"""What every script needs: a socket that joins as it is told to, gives up after a minute, and lines to
and from the test on the other side."""

import sys

import zmq

LONG_MS = 60_000


def socket(kind, join, endpoint, **options):
    """A socket of `kind` ("PUSH") that binds or connects; says what it bound."""
    made = zmq.Context.instance().socket(getattr(zmq, kind))
    made.sndtimeo = made.rcvtimeo = LONG_MS
    for name, value in options.items():
        made.setsockopt(getattr(zmq, name), value)
    if join == "bind":
        made.bind(endpoint)
        say("bound", made.last_endpoint.decode())
    else:
        made.connect(endpoint)
    return made


def say(*words):
    print(*words, flush=True)


def hear():
    """The test's next word; the test is gone when there is none."""
    return sys.stdin.readline().strip() or sys.exit("the test is gone")


def end():
    """Sends what is left, then ends the script."""
    zmq.Context.instance().destroy(linger=LONG_MS)
