"""Which methods of AMQP and which features of pika the checks used: measured, so that the table at the end cannot claim more."""

import functools
import threading
from contextlib import contextmanager

from pika import spec
from pika.adapters import blocking_connection

import wire

# No broker of today speaks them, and RabbitMQ sends none: the security layer of SASL and what 0-9-1 left over from 0-8.
UNSPOKEN = {"connection.secure", "connection.secure-ok"}
# What only a broker that is short of memory brings about.
OF_ALARMS = {
    "connection.blocked",
    "connection.unblocked",
    "blocked_connection_timeout",
    "BlockingConnection.add_on_connection_blocked_callback",
    "BlockingConnection.add_on_connection_unblocked_callback",
}

features = {}
current = threading.local()


@contextmanager
def check(one):
    current.name = one.name
    for feature in one.features:
        features.setdefault(feature, set()).add(one.name)
    yield
    current.name = None


def watch_pika():
    """Has each public method of pika's blocking classes say that it is called."""
    for owner in (blocking_connection.BlockingConnection, blocking_connection.BlockingChannel):
        for name, member in list(vars(owner).items()):
            if name.startswith("_") or not callable(member):
                continue
            feature = f"{owner.__name__}.{name}"
            features.setdefault(feature, set())
            setattr(owner, name, watched(member, feature))
    for feature in NAMED:
        features.setdefault(feature, set())


def watched(member, feature):
    @functools.wraps(member)
    def call(*arguments, **options):
        features[feature].add(getattr(current, "name", None) or "a thread of a check")
        return member(*arguments, **options)

    return call


# Features that are not a method of the blocking classes; a check names the ones it uses.
NAMED = [
    "URLParameters",
    "ConnectionParameters: several endpoints",
    "PlainCredentials",
    "SelectConnection",
    "asynchronous Channel: confirm_delivery callbacks",
    "asynchronous Channel: add_on_return_callback",
    "asynchronous Channel: add_on_cancel_callback",
    "asynchronous Channel: add_on_close_callback",
    "asynchronous Channel: flow",
    "asyncio adapter",
    "heartbeats",
    "blocked_connection_timeout",
    "client_properties",
    "channel_max",
    "frame_max",
    "context managers",
    "mandatory: UnroutableError",
    "NackError",
    "ChannelClosedByBroker",
    "ConnectionClosedByBroker",
    "ProbableAuthenticationError",
    "ProbableAccessDeniedError",
    "every property of a message",
    "field tables of every type",
    "exchange types: ExchangeType",
    "direct reply-to",
]


def report(without):
    """Prints what was used, and returns what was not, but for what the broker is said to be without."""
    print("\nFeatures of pika and the checks that used them:")
    for feature, names in sorted(features.items()):
        shown = ", ".join(sorted(names)[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        print(f"  {feature:60} {shown or '-'}")
    methods = {wire.name_of(method) for method in spec.methods.values()}
    excused = UNSPOKEN | (OF_ALARMS if "alarm" in without else set())
    unseen = sorted(methods - wire.methods_seen - excused)
    unused = sorted(feature for feature, names in features.items() if not names and feature not in excused)
    print(f"Methods of AMQP 0-9-1 sent or received as raw frames: {len(methods & wire.methods_seen)} of {len(methods)}")
    for missing in unseen + unused:
        print(f"NOT USED: {missing}")
    return unseen + unused


