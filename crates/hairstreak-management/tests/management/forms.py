"""The forms of the management HTTP API that every route has: methods, bodies, pages, columns, names in paths, errors."""

import gzip
import json

from api import path
from check import check, equal
from node import eventually


@check()
def forms_of_declaring_and_deleting(node):
    host = node.host()
    user = node.user()
    rows = [
        (["vhosts", node.new_name("v")], {}),
        (["users", node.new_name("u")], {"password": "x", "tags": []}),
        (["permissions", host, user], {"configure": "", "write": "", "read": ""}),
        (["queues", host, "q"], {}),
        (["exchanges", host, "x"], {"type": "topic"}),
        (["policies", host, "p"], {"pattern": "", "definition": {"max-length": 1}}),
        (["operator-policies", host, "p"], {"pattern": "", "definition": {"max-length": 1}}),
        (["global-parameters", node.new_name("g")], {"value": {"a": [1, "b", True]}}),
    ]
    for segments, body in rows:
        for status in (201, 204):
            answer = node.api.put(*segments, body=body)
            equal((answer.status, answer.body), (status, b""), f"PUT {segments}")
        equal(node.api.get(*segments).status, 200, f"GET {segments}")
        for status in (204, 404):
            equal(node.api.delete(*segments).status, status, f"DELETE {segments}")
        equal(node.api.get(*segments).error, (404, "Object Not Found", "Not Found"), f"GET {segments}")


@check()
def forms_of_methods(node):
    host = node.host()
    answer = node.api.request("POST", "/api/whoami", {})
    equal((answer.status, sorted(answer.headers["Allow"].split(", "))), (405, ["GET", "HEAD", "OPTIONS"]))
    answer = node.api.request("OPTIONS", f"/api/queues/{host}/q")
    equal((answer.status, answer.body), (200, b""))
    equal(set(answer.headers["Allow"].split(", ")), {"HEAD", "GET", "PUT", "DELETE", "OPTIONS"})
    answer = node.api.request("HEAD", "/api/whoami")
    equal((answer.status, answer.body, answer.headers["Content-Type"]), (200, b"", "application/json"))
    equal(node.api.get("whoami").headers["Cache-Control"], "no-cache")
    equal(node.api.get("nothing").error, (404, "Object Not Found", "Not Found"))


@check()
def forms_of_bodies(node):
    host = node.host()
    target = f"/api/queues/{host}/q"
    for body in (b"", b"{}", b"null", b"undefined", b'{"unknown": 1}', b'{"durable": "true"}', b'{"durable": true, "arguments": {}}'):
        node.api.remove("queues", host, "q")
        answer = node.api.request("PUT", target, body)
        equal(answer.status, 201, f"PUT with {body}: {answer}")
    for body in (b"{", b"[]", b"1", b"\xff", b"[1,,]", b"{,}", b"# a\n{}"):
        # A node says the line and the column as well.
        status, error, reason = node.api.request("PUT", target, body).error
        equal((status, error, reason[:8]), (400, "bad_request", "not_json"), f"PUT with {body}:")
    for body in (b'{"durable":true,}', b"// a\n{'durable':true /* b */}", b'\xef\xbb\xbf{"durable":true}'):
        equal(node.api.request("PUT", target, body).status, 204, f"PUT with {body}:")
    equal(node.api.request("PUT", target, b'"{}"').error[:2], (400, "bad_request"))
    equal(node.api.put("queues", host, "q", body={"durable": "perhaps"}).error[:2], (400, "bad_request"))
    equal(node.api.put("users", "nobody", body={}).error, (400, "bad_request", "tags_not_present"))
    equal(node.api.put("permissions", host, "guest", body={"configure": ""}).error[:2], (400, "bad_request"))


@check()
def forms_of_inequivalent_declarations(node):
    host = node.host()
    node.api.set("queues", host, "q", body={"durable": True})
    reason = f"inequivalent arg 'durable' for queue 'q' in vhost '{host}': received 'false' but current is 'true'"
    equal(node.api.put("queues", host, "q", body={"durable": False}).error, (400, "bad_request", reason))
    node.api.set("exchanges", host, "x", body={"type": "topic"})
    reason = f"inequivalent arg 'type' for exchange 'x' in vhost '{host}': received 'fanout' but current is 'topic'"
    equal(node.api.put("exchanges", host, "x", body={"type": "fanout"}).error, (400, "bad_request", reason))
    reason = "unknown exchange type 'no-such-type'"
    equal(node.api.put("exchanges", host, "y", body={"type": "no-such-type"}).error, (400, "bad_request", reason))


@check()
def forms_of_conditional_deletion(node):
    host = node.host()
    node.api.set("queues", host, "q")
    node.api.post("exchanges", host, "amq.default", "publish", body=message("q"))
    answer = node.api.request("DELETE", f"/api/queues/{host}/q?if-empty=true")
    equal(answer.error, (400, "bad_request", f"queue 'q' in vhost '{host}' not empty"))
    node.api.set("exchanges", host, "x", body={"type": "fanout"})
    node.api.post("bindings", host, "e", "x", "q", "q")
    answer = node.api.request("DELETE", f"/api/exchanges/{host}/x?if-unused=true")
    equal(answer.error, (400, "bad_request", f"exchange 'x' in vhost '{host}' in use"))
    equal(node.api.request("DELETE", f"/api/exchanges/{host}/x?if-unused=false").status, 204)
    equal(node.api.request("DELETE", f"/api/queues/{host}/q").status, 204)


def message(key, payload="m", **more):
    return {"properties": {}, "routing_key": key, "payload": payload, "payload_encoding": "string", **more}


@check()
def forms_of_names_in_paths(node):
    host = node.host()
    for name in ("a b", "a/b", "ü", "%", "%2F", "a+b", "a?b", "a#b", "a&b=c", "~", "a:b;c,d", "{}"):
        equal(node.api.put("queues", host, name).status, 201, name)
        equal(node.api.read("queues", host, name)["name"], name)
        equal(node.api.read("queues", host, name, "bindings")[0]["routing_key"], name)
        # Every byte as a code, as rabbitmqadmin of RabbitMQ 4 and Rust's clients write names.
        coded = "".join(f"%{byte:02X}" for byte in name.encode())
        equal(node.api.request("DELETE", f"/api/queues/{host}/{coded}").status, 204, coded)
    slash = node.new_name("slash") + "/"
    node.hosts.append(slash)
    node.api.set("vhosts", slash)
    equal(node.api.read("vhosts", slash)["name"], slash)
    equal(node.api.get("exchanges", slash, "amq.default").json["name"], "")


@check()
def forms_of_trailing_slashes(node):
    equal(node.api.request("GET", "/api/connections/").status, 200)
    equal(node.api.request("GET", "/api/queues/%2F/").status, 200)


@check()
def forms_of_the_default_exchange_in_paths(node):
    """An empty segment, which rabbitmqadmin of RabbitMQ 4 sends, and a name of its own."""
    host = node.host()
    node.api.set("queues", host, "q")
    own_binding = {"source": "", "destination": "q", "destination_type": "queue", "routing_key": "q", "properties_key": "q"}
    own_binding |= {"vhost": host, "arguments": {}}
    for name in ("", "amq.default"):
        of_exchange = f"/api/exchanges/{host}/{name}"
        equal(node.api.request("POST", f"{of_exchange}/publish", message("q")).json, {"routed": True}, name)
        equal(node.api.request("POST", f"{of_exchange}/publish", message("nowhere")).json, {"routed": False}, name)
        equal(node.api.request("GET", f"{of_exchange}/bindings/source").json, [own_binding], name)
        equal(node.api.request("GET", f"{of_exchange}/bindings/destination").json, [], name)
        equal(node.api.request("GET", f"/api/bindings/{host}/e/{name}/q/q").json, [own_binding], name)
        equal(node.api.request("GET", f"/api/bindings/{host}/e/{name}/q/q/q").json, own_binding, name)
        answer = node.api.request("POST", f"/api/bindings/{host}/e/{name}/q/q", {"routing_key": "k"})
        equal(answer.error, (401, "not_authorised", "Access refused."), name)
    exchange = node.api.request("GET", f"/api/exchanges/{host}//").json
    equal((exchange["name"], exchange["type"], exchange["vhost"]), ("", "direct", host))
    equal([one["name"] for one in node.api.request("GET", f"/api/exchanges/{host}/").json][:2], ["", "amq.direct"])
    for method, body in (("PUT", {"type": "direct"}), ("DELETE", None)):
        answer = node.api.request(method, f"/api/exchanges/{host}//", body)
        equal(answer.error, (401, "not_authorised", "Access refused."), method)
    for target in ("/api//overview", "/api/exchanges//", "/api/exchanges//amq.direct", f"/api/queues/{host}//", "/api/users//permissions"):
        equal(node.api.request("GET", target).error, (404, "Object Not Found", "Not Found"), target)


@check()
def forms_of_pages(node):
    host = node.host()
    for number in range(7):
        node.api.set("queues", host, f"Queue{number}")
    names = lambda page: [one["name"] for one in page["items"]]
    page = node.api.read("queues", host, query="?page=2&page_size=3")
    sizes = {key: value for key, value in page.items() if key != "items"}
    wanted = {"total_count": 7, "item_count": 3, "filtered_count": 7, "page": 2, "page_size": 3, "page_count": 3}
    equal(sizes, wanted)
    equal(names(page), ["Queue3", "Queue4", "Queue5"])
    equal(names(node.api.read("queues", host, query="?page=3&page_size=3")), ["Queue6"])
    page = node.api.read("queues", host, query="?page=1&name=qUEUE1&use_regex=false")
    equal((names(page), page["page_size"], page["filtered_count"], page["total_count"]), (["Queue1"], 100, 1, 7))
    page = node.api.read("queues", host, query="?page=1&name=%5EQueue%5B12%5D%24&use_regex=true&pagination=true")
    equal(names(page), ["Queue1", "Queue2"])
    page = node.api.read("queues", host, query="?page=1&name=nothing")
    equal((page["items"], page["page_count"], page["filtered_count"], page["item_count"]), ([], 0, 0, 0))
    wrong = {
        "page=0": "invalid_pagination_parameters",
        "page=-1": "invalid_pagination_parameters",
        "page=1&page_size=501": "invalid_pagination_parameters",
        "page=1&page_size=0": "invalid_pagination_parameters",
        "page=2": "page_out_of_range",
        "page=x": "bad_request",
        "page=1&page_size=x": "bad_request",
    }
    for query, error in wrong.items():
        equal(node.api.get("queues", host, query=f"?{query}").error[:2], (400, error), query)
    equal(node.api.get("queues", host, query="?page=2").error[2], "Page out of range, page: 2 page size: 100, len: 7")
    equal(node.api.get("queues", host, query="?page=1&page_size=500").status, 200)


@check()
def forms_of_columns_and_order(node):
    host = node.host()
    for name in ("b", "c", "a"):
        node.api.set("exchanges", host, name, body={"type": "topic", "arguments": {"alternate-exchange": name}})
    mine = lambda rows: [one for one in rows if not one["name"].startswith("amq.") and one["name"]]
    rows = mine(node.api.read("exchanges", host, query="?columns=name,arguments.alternate-exchange"))
    equal(rows, [{"name": name, "arguments": {"alternate-exchange": name}} for name in "abc"])
    rows = mine(node.api.read("exchanges", host, query="?columns=name,nothing&sort=name&sort_reverse=true"))
    equal(rows, [{"name": name} for name in "cba"])
    rows = mine(node.api.read("exchanges", host, query="?sort=arguments.alternate-exchange&columns=name"))
    equal(rows, [{"name": name} for name in "abc"])
    equal(node.api.read("exchanges", host, "a", query="?columns=type"), {"type": "topic"})
    equal(list(node.api.read("overview", query="?columns=object_totals.queues")), ["object_totals"])


@check()
def forms_of_a_virtual_host_in_a_header(node):
    host = node.host()
    node.api.set("queues", host, "q")
    answer = node.api.request("GET", "/api/queues?columns=vhost,name", headers={"x-vhost": host})
    equal(answer.json, [{"vhost": host, "name": "q"}])


@check()
def forms_of_compression(node):
    answer = node.api.request("GET", "/api/overview", headers={"Accept-Encoding": "gzip"})
    equal(answer.headers["Content-Encoding"], "gzip")
    assert "rabbitmq_version" in json.loads(gzip.decompress(answer.body))


@check()
def forms_of_bindings(node):
    host = node.host()
    for name in ("q", "a/b"):
        node.api.set("queues", host, name)
    node.api.set("exchanges", host, "x", body={"type": "headers"})
    node.api.set("exchanges", host, "y", body={"type": "topic"})
    rows = [
        (["x", "q", "q"], {}, "~"),
        (["x", "q", "q"], {"routing_key": "a.b"}, "a.b"),
        (["x", "q", "a/b"], {"routing_key": "a b/~"}, None),
        (["x", "q", "q"], {"routing_key": "k", "arguments": {"x-match": "all", "n": 1}}, None),
        (["x", "e", "y"], {"routing_key": "r"}, "r"),
    ]
    for place, body, key in rows:
        answer = node.api.post("bindings", host, "e", *place, body=body)
        equal((answer.status, answer.body), (201, b""), str(place))
        # Tools take the last segment of the place for the key, which is where a binding is found.
        last = answer.headers["Location"].split("/")[-1]
        assert key in (None, last), f"{last} instead of {key}"
        found = node.api.request("GET", path("bindings", host, "e", *place) + "/" + last)
        equal(found.status, 200, last)
        equal((found.json["routing_key"], found.json["arguments"]), (body.get("routing_key", ""), body.get("arguments", {})))
        assert found.json["properties_key"], found.json
        listed = node.api.read("bindings", host, "e", *place)
        assert any(one["properties_key"] == found.json["properties_key"] for one in listed), listed
    equal(len(node.api.read("exchanges", host, "x", "bindings", "source")), 5)
    equal(len(node.api.read("exchanges", host, "y", "bindings", "destination")), 1)
    equal(len(node.api.read("queues", host, "q", "bindings")), 4)
    for one in node.api.read("exchanges", host, "x", "bindings", "source"):
        kind = one["destination_type"][0]
        for status in (204, 404):
            answer = node.api.delete("bindings", host, "e", "x", kind, one["destination"], one["properties_key"])
            equal(answer.status, status, one["properties_key"])
    equal(node.api.post("bindings", host, "e", "nothing", "q", "q").status, 404)


@check()
def forms_of_messages(node):
    host = node.host()
    node.api.set("queues", host, "q")
    publish = lambda **body: node.api.post("exchanges", host, "amq.default", "publish", body=message("q", **body))
    equal(publish(payload="first").json, {"routed": True})
    equal(publish(payload="//4=", payload_encoding="base64").json, {"routed": True})
    headers = {"n": 1, "t": {"a": [True, "x", 1.5]}}
    equal(publish(payload="third", properties={"headers": headers, "delivery_mode": 2}).json, {"routed": True})
    equal(node.api.post("exchanges", host, "amq.default", "publish", body=message("nowhere")).json, {"routed": False})
    defaults = {"count": 5, "ackmode": "ack_requeue_true", "encoding": "auto"}
    get = lambda **body: node.api.post("queues", host, "q", "get", body=defaults | body)
    rows = eventually(lambda: get().json, lambda rows: len(rows) == 3)
    payloads = [(one["payload"], one["payload_encoding"], one["payload_bytes"]) for one in rows]
    equal(payloads, [("first", "string", 5), ("//4=", "base64", 2), ("third", "string", 5)])
    equal([one["properties"] for one in rows], [[], [], {"headers": headers, "delivery_mode": 2}])
    equal([(one["exchange"], one["routing_key"], one["message_count"]) for one in rows], [("", "q", 2), ("", "q", 1), ("", "q", 0)])
    rows = get(count=1, truncate=3, ackmode="reject_requeue_true").json
    equal([(one["payload"], one["payload_bytes"], one["redelivered"]) for one in rows], [("fir", 5, True)])
    equal([one["payload"] for one in get(count=2, encoding="base64", ackmode="ack_requeue_false").json], ["Zmlyc3Q=", "//4="])
    equal(len(get(ackmode="reject_requeue_false").json), 1)
    equal(get().json, [])
    for body in ({"count": 1}, {"count": 1, "ackmode": "ack_requeue_true"}, {"ackmode": "ack_requeue_true", "encoding": "auto"}):
        equal(node.api.post("queues", host, "q", "get", body=body).error[:2], (400, "bad_request"), str(body))
    for missing in ("properties", "routing_key", "payload", "payload_encoding"):
        body = {key: value for key, value in message("q").items() if key != missing}
        equal(node.api.post("exchanges", host, "amq.default", "publish", body=body).error[:2], (400, "bad_request"), missing)


@check()
def forms_of_files_that_name_what_is_not_there(node):
    """Bindings without their ends and names that a node gives itself are passed over; other items are imported or named."""
    host = node.host()
    queue = {"name": "work", "vhost": host, "durable": True, "auto_delete": False, "arguments": {}}
    news = {"name": "news", "vhost": host, "type": "fanout", "durable": True, "auto_delete": False, "internal": False, "arguments": {}}

    def binding(**more):
        ends = {"source": "news", "vhost": host, "destination": "work", "destination_type": "queue"}
        return {**ends, "routing_key": "k", "arguments": {}, **more}

    missing = [
        {"source": "gone"}, {"source": ""}, {"destination": "gone"}, {"destination": ""}, {"vhost": node.new_name("v")},
        {"destination": "gone", "destination_type": "exchange"},
    ]
    file = {
        "queues": [queue, dict(queue, name="amq.gen-x")],
        "exchanges": [news, dict(news, name=""), dict(news, name="amq.none"), dict(news, name="amq.fanout"), 5, None],
        "bindings": [binding(**ends) for ends in missing] + [binding(), "x"],
    }
    equal(node.api.post("definitions", body=file).status, 204)
    rows = node.api.read("bindings", host)
    equal([(row["source"], row["destination"]) for row in rows if row["source"]], [("news", "work")])
    equal(node.api.get("exchanges", host, "amq.none").status, 404)
    equal([row["name"] for row in node.api.read("queues", host)], ["work"])
    for exchange in (dict(news, name="odd", type="none"), dict(news, name="far", vhost=node.new_name("v"))):
        file = {"exchanges": [exchange, dict(news, name="beside")]}
        equal(node.api.post("definitions", body=file).error[:2], (400, "bad_request"), exchange)
        # RabbitMQ answers with the first error while it still imports other items.
        eventually(lambda: node.api.get("exchanges", host, "beside"), lambda answer: answer.status == 200)
        node.api.remove("exchanges", host, "beside")
    text = "\ufeff// ours\n" + '{"queues": [%s,], /* no more */ }' % json.dumps(dict(queue, name="edited"))
    as_json = {"Content-Type": "application/json"}
    equal(node.api.request("POST", "/api/definitions", text.encode(), as_json).status, 204)
    equal(node.api.get("queues", host, "edited").status, 200)


@check(needs="sorted definitions")
def forms_of_definitions_are_sorted(node):
    """Two exports differ where the definitions do, whatever came first."""
    host = node.host()

    def define(names):
        for name in names:
            node.api.set("queues", host, name, body={"durable": True, "arguments": {"x-max-length": 1, "x-expires": 60000}})
            node.api.set("exchanges", host, name, body={"type": "topic", "durable": True})
            node.api.set("policies", host, name, body={"pattern": "", "definition": {"max-length": 1}})
            node.api.set("operator-policies", host, name, body={"pattern": "", "definition": {"max-length": 1}})
            for key in sorted(names, reverse=names[0] > names[1]):
                node.api.post("bindings", host, "e", name, "q", name, body={"routing_key": key, "arguments": {"a": key}})
        node.api.set("vhost-limits", host, "max-queues", body={"value": 9})
        return node.api.get("definitions", host).body

    first = define(["b", "a", "aa", "c"])
    for name in ("a", "aa", "b"):
        for kind in ("queues", "exchanges", "policies", "operator-policies"):
            node.api.remove(kind, host, name)
    equal(define(["aa", "c", "b", "a"]), first)
    found = json.loads(first)
    equal([one["name"] for one in found["queues"]], ["a", "aa", "b", "c"])
    equal([one["routing_key"] for one in found["bindings"]], ["a", "aa", "b", "c"] * 4)


@check()
def forms_of_conditional_requests(node):
    """Objects have no tags, so that a condition can only ask whether there is an object."""
    host = node.host()
    node.api.set("queues", host, "there")
    any_object, a_tag, none, no_tag = ({name: value} for name in ("If-Match", "If-None-Match") for value in ("*", '"x"'))
    ask = lambda method, name, headers: node.api.request(method, f"/api/queues/{host}/{name}", None if method == "GET" else {}, headers)
    statuses = lambda method, name: [ask(method, name, headers).status for headers in (any_object, a_tag, none, no_tag)]
    equal(statuses("GET", "there"), [200, 412, 304, 412])
    equal(statuses("GET", "absent"), [412, 412, 404, 404])
    equal(statuses("PUT", "there"), [204, 412, 412, 412])
    equal([ask("PUT", "absent", headers).status for headers in (any_object, a_tag, none, none)], [412, 412, 201, 412])
    equal([ask("DELETE", "absent", headers).status for headers in (a_tag, none, no_tag, any_object, any_object)], [412, 412, 412, 204, 412])
    publish = lambda headers: node.api.request("POST", f"/api/exchanges/{host}/amq.default/publish", message("there"), headers)
    equal([publish(headers).status for headers in (any_object, a_tag, none, no_tag)], [200, 412, 412, 412])
    for target in ("/api/whoami", "/api/definitions", f"/api/definitions/{host}", f"/api/queues/{host}"):
        answer = node.api.request("GET", target, headers=none)
        equal((answer.status, answer.body, answer.headers["ETag"]), (304, b"", None), target)
        answer = node.api.request("GET", target, headers={"If-Modified-Since": "Mon, 01 Jan 2035 00:00:00 GMT"})
        equal((answer.status, answer.headers["ETag"], answer.headers["Last-Modified"]), (200, None, None), target)
    stranger = node.api.as_user("nobody", "x")
    equal(stranger.request("GET", "/api/whoami", headers=none).status, 401)


@check()
def credentials_of_other_schemes(node):
    for scheme in "Bearer x", "Digest username=\"guest\"":
        equal(node.api.request("GET", "/api/whoami", headers={"Authorization": scheme}).status, 401, scheme)


@check()
def delivery_modes_that_mean_nothing(node):
    body = {"routing_key": "none", "payload": "", "payload_encoding": "string", "properties": {"delivery_mode": 7}}
    reason = "406 PRECONDITION_FAILED - invalid message: {delivery_mode_unknown,7}"
    equal(node.api.post("exchanges", "/", "amq.default", "publish", body=body).error, (400, "bad_request", reason))
