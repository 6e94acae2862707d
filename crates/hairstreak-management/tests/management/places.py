"""Where a node is: the addresses of AMQP, of the management HTTP API and of the metrics."""


class Places:
    def __init__(self, text):
        """`text`: the three as HOST:PORT, with slashes between them."""
        self.amqp, self.http, self.metrics = (address(place) for place in text.split("/"))


def address(place):
    host, port = place.rsplit(":", 1)
    return host, int(port)
