"""What every script needs: a socket that joins as it is told to and gives up after a minute, and lines
for the test on the other side."""

import zmq

LONG_MS = 60_000


def make(kind, **options):
    """A socket of `kind` ("push")."""
    made = zmq.Context.instance().socket(getattr(zmq, kind.upper()))
    made.sndtimeo = made.rcvtimeo = LONG_MS
    for name, value in options.items():
        made.setsockopt(getattr(zmq, name), value)
    return made


def join(made, how, endpoint):
    """Binds or connects; says what it bound."""
    if how == "connect":
        made.connect(endpoint)
    else:
        made.bind(endpoint)
        say("bound", made.last_endpoint.decode())


def say(*words):
    print(*words, flush=True)


def end():
    """Sends what is left, then ends the script."""
    zmq.Context.instance().destroy(linger=LONG_MS)
