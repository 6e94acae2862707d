"""The node under test as a check of this folder sees it: a broker, the API of its administrator, and users and virtual hosts that go with
the check."""

import time

from api import Api
from check import Broker, quietly

PATIENCE_S = 60
ALL = {"configure": ".*", "write": ".*", "read": ".*"}


class Node(Broker):
    def __init__(self, places, check_name):
        super().__init__(places.amqp, check_name)
        self.places = places
        self.api = Api(places.http)
        self.users, self.hosts = [], []

    # Names have no points: patterns are made of them.

    def new_name(self, word):
        return super().name(word).replace(".", "-")

    def host(self):
        """A new virtual host, in which guest may do everything."""
        name = self.new_name("host")
        self.hosts.append(name)
        self.api.set("vhosts", name)
        self.api.set("permissions", name, "guest", body=ALL)
        return name

    def user(self, tags="", password="secret", host=None, **permissions):
        """A new user, with permissions in a host if there is one: user(host=h, write="^x") may write and nothing else."""
        name = self.new_name("user")
        self.users.append(name)
        self.api.set("users", name, body={"password": password, "tags": tags})
        if host is not None:
            self.permit(name, host, **permissions)
        return name

    def permit(self, user, host, **permissions):
        self.api.set("permissions", host, user, body={"configure": "", "write": "", "read": "", **permissions})

    def wire_to(self, host, user="guest", password="guest"):
        """A connection of raw frames to a virtual host, with channel 1 open."""
        return self.wire(virtual_host=host, user=user, password=password)

    @property
    def version(self):
        """The version of the RabbitMQ that the node is or claims to be: (3, 10, 8)."""
        return tuple(int(part) for part in self.api.read("overview")["rabbitmq_version"].split("."))

    def leave(self):
        self.names.clear()
        super().leave()
        for kind, names in (("vhosts", self.hosts), ("users", self.users)):
            for name in names:
                with quietly():
                    self.api.remove(kind, name)


def eventually(what, is_right=bool):
    """The result of `what()` once it is right. RabbitMQ's statistics are late, and what a policy changes is applied by each queue for
    itself."""
    deadline = time.monotonic() + PATIENCE_S
    while not is_right(value := what()):
        assert time.monotonic() < deadline, f"still {value!r}"
        time.sleep(0.02)  # tidy: allow(sleeps) nothing tells a client that statistics have come
    return value
