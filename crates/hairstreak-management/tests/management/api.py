"""The management HTTP API as a client of a few lines sees it: one request, one answer, nothing followed."""

import base64
import collections
import http.client
import json
from urllib.parse import quote

PATIENCE_S = 60
# A GET is sent at most so often. RabbitMQ may answer a list with 500 and no body while an object of the list is deleted. No other node
# may.
gets_max = 1
# How often a GET was sent again, by its target.
retries = collections.Counter()


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """The status and what an error's body says: (400, "bad_request", "..."). A body of another form comes as it is."""
        try:
            return self.status, self.json["error"], self.json.get("reason")
        except (ValueError, KeyError, TypeError):
            return self.status, self.body.decode(errors="replace"), None

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


def path(*segments):
    """A path below /api, each segment of it encoded: path("queues", "/", "a b") is "/api/queues/%2F/a%20b"."""
    return "/api/" + "/".join(quote(segment, safe="") for segment in segments)


class Api:
    """A node's API as one user. A user of None sends no credentials."""

    def __init__(self, address, user="guest", password="guest"):
        self.address, self.user, self.password = address, user, password

    def as_user(self, user, password):
        return Api(self.address, user, password)

    def request(self, method, target, body=None, headers=()):
        """Sends one request on a connection of its own. A body that is no bytes goes as JSON."""
        headers = dict(headers)
        if self.user is not None:
            pair = f"{self.user}:{self.password}".encode()
            headers.setdefault("Authorization", "Basic " + base64.b64encode(pair).decode())
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        answer = self.ask(method, target, body, headers)
        for _ in range(gets_max - 1):
            if (method, answer.status, answer.body) != ("GET", 500, b""):
                break
            retries[target] += 1
            answer = self.ask(method, target, body, headers)
        return answer

    def ask(self, method, target, body, headers):
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE_S)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    # Requests by segments of a path: api.get("queues", "/").

    def get(self, *segments, query=""):
        return self.request("GET", path(*segments) + query)

    def put(self, *segments, body=None):
        return self.request("PUT", path(*segments), {} if body is None else body)

    def post(self, *segments, body=None):
        return self.request("POST", path(*segments), {} if body is None else body)

    def delete(self, *segments, headers=()):
        return self.request("DELETE", path(*segments), headers=headers)

    # Requests that have to succeed.

    def read(self, *segments, query=""):
        """The answer to a GET, which has to succeed."""
        answer = self.get(*segments, query=query)
        assert answer.status == 200, f"GET {path(*segments)}{query}: {answer}"
        return answer.json

    def set(self, *segments, body=None):
        answer = self.put(*segments, body=body)
        assert answer.status in (201, 204), f"PUT {path(*segments)}: {answer}"

    def remove(self, *segments):
        answer = self.delete(*segments)
        assert answer.status in (204, 404), f"DELETE {path(*segments)}: {answer}"
