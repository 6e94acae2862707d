"""The commands for rabbitmqadmin: each verb, once with success, and once refused."""

import base64
import json
import os
import re

import pika

# Everything is named so, and goes at the end.
HOST = "rabbitmqadmin"
USERS = ["rabbitmqadmin-one", "rabbitmqadmin-two", "rabbitmqadmin-three"]
# The hash of "test12" with the salt 908DC60A, as RabbitMQ's page about passwords has it.
HASH = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
ODD = "a b/ü%+?#&~"

IN_HOST = ("-V", HOST)


def row_order(row):
    names = ("vhost", "source", "destination_type", "destination", "name", "user", "routing_key", "properties_key")
    return [str(row.get(name)) for name in names]


def steps(admin):
    forget(admin)
    try:
        overview(admin)
        hosts_and_users(admin)
        permissions(admin)
        queues(admin)
        exchanges_and_bindings(admin)
        odd_names(admin)
        policies_and_parameters(admin)
        messages(admin)
        connections(admin)
        definitions(admin)
        refusals(admin)
        deletions(admin)
    finally:
        forget(admin)


def forget(admin):
    admin.run("delete", "vhost", f"name={HOST}")
    for user in USERS:
        admin.run("delete", "user", f"name={user}")


def ours(row):
    """Rows of the virtual host, and without an exchange for tracing, which not every node has."""
    if row.get("name") == "amq.rabbitmq.trace":
        return False
    return row.get("vhost", row.get("name")) == HOST


def our_user(row):
    return row.get("user", row.get("name")) in USERS


def overview(admin):
    admin.do("-f", "raw_json", "show", "overview")
    admin.do("-f", "raw_json", "show", "overview", "object_totals.queues")
    admin.do("-f", "raw_json", "show", "overview", "node", "cluster_name")
    admin.do("-f", "raw_json", "list", "nodes", "type", "mem_used")
    admin.list("nodes", only=lambda row: row.update(name="NODE") or True)
    admin.do("show", "nothing")
    admin.do("list", "nothing")


def hosts_and_users(admin):
    admin.do("declare", "vhost", f"name={HOST}")
    admin.do("declare", "vhost", f"name={HOST}", "tracing=true")
    admin.do("declare", "vhost", f"name={HOST}", "tracing=false")
    admin.do("-f", "raw_json", "list", "vhosts", "name", "tracing", only=ours)
    one, two, three = USERS
    admin.do("declare", "user", f"name={one}", "password=secret", "tags=")
    admin.do("declare", "user", f"name={two}", f"password_hash={HASH}", "tags=management,policymaker")
    algorithm = "hashing_algorithm=rabbit_password_hashing_sha512"
    admin.do("declare", "user", f"name={three}", "password=secret", algorithm, "tags=administrator")
    admin.list("users", only=our_user)
    admin.do("declare", "user", f"name={one}", "password=other", "tags=monitoring")
    admin.do("-f", "raw_json", "list", "users", "name", "tags", "hashing_algorithm", only=our_user)
    admin.do("-u", two, "-p", "test12", *IN_HOST, "list", "queues")
    admin.do("-u", two, "-p", "wrong", *IN_HOST, "list", "queues")
    admin.do("-u", one, "-p", "other", *IN_HOST, "list", "queues")
    admin.do("declare", "user", f"name={one}", "tags=")
    admin.do("declare", "user", f"name={one}", "password_hash=", "tags=")
    admin.do("-u", one, "-p", "", "list", "queues")


def permissions(admin):
    admin.do("list", "permissions", "--vhost", HOST, "--quiet", "-f", "bash")
    everything = ("configure=.*", "write=.*", "read=.*")
    admin.do("declare", "permission", f"vhost={HOST}", "user=guest", *everything)
    admin.do("declare", "permission", f"vhost={HOST}", f"user={USERS[1]}", "configure=^mine", "write=", "read=.*")
    admin.do("declare", "permission", f"vhost={HOST}", f"user={USERS[1]}", "configure=^mine", "write=^mine", "read=.*")
    admin.list("permissions", only=lambda row: row["vhost"] == HOST)
    admin.do("declare", "permission", f"vhost={HOST}", f"user={USERS[2]}", "configure=(", "write=", "read=", own_words=True)
    admin.do("declare", "permission", f"vhost={HOST}", "user=rabbitmqadmin-nobody", *everything)
    admin.do("declare", "permission", "vhost=rabbitmqadmin-nowhere", "user=guest", *everything)
    two = ("-u", USERS[1], "-p", "test12", *IN_HOST)
    admin.do(*two, "declare", "queue", "name=mine")
    admin.do(*two, "declare", "queue", "name=yours")
    admin.do(*two, "publish", "routing_key=mine", "payload=x")
    admin.do(*two, "get", "queue=mine")
    admin.do(*two, "list", "queues", "name")
    admin.do(*two, "list", "users")
    admin.do(*two, "delete", "queue", "name=mine")


def queues(admin):
    declare = (*IN_HOST, "declare", "queue")
    admin.do(*declare, "name=plain")
    admin.do(*declare, "name=plain")
    admin.do(*declare, "name=brief", "durable=false", "auto_delete=true")
    arguments = {"x-max-length": 10, "x-message-ttl": 60000, "x-dead-letter-exchange": "amq.fanout", "x-overflow": "drop-head"}
    admin.do(*declare, "name=full", f"arguments={json.dumps(arguments)}")
    admin.do(*declare, "name=typed", "queue_type=classic")
    admin.do("-f", "raw_json", *IN_HOST, "list", "queues", "name", "durable", "auto_delete", "exclusive", "arguments", "type", "vhost")
    has_counts = lambda rows: all("messages" in row and "memory" in row for row in rows)
    admin.await_list(*IN_HOST, "queues", until=has_counts)
    admin.do(*declare, "name=plain", "durable=false")
    admin.do(*declare, "name=plain", 'arguments={"x-max-length":1}')
    admin.do(*declare, "name=bad", 'arguments={"x-max-length":-1}', own_words=True)
    admin.do(*declare, "name=bad", 'arguments={"x-max-length":"many"}', own_words=True)
    admin.do(*declare, "name=bad", "durable=perhaps", own_words=True)
    admin.do(*declare, "name=bad", "queue_type=nothing", own_words=True)
    admin.do(*declare, "name=amq.mine")
    admin.do(*declare, "name=bad", "arguments={")
    admin.do(*declare, "name=bad", "colour=red")
    admin.do(*declare)
    for form in ("tsv", "table", "long", "kvp", "bash", "pretty_json"):
        admin.do("-f", form, *IN_HOST, "list", "queues", "name", "durable", "auto_delete", "arguments")
    admin.do("-f", "tsv", "-S", "name", "-R", *IN_HOST, "list", "queues", "name")
    admin.do("-f", "tsv", "-S", "auto_delete", *IN_HOST, "list", "queues", "auto_delete")
    admin.do(*IN_HOST, "list", "queues")
    admin.do("-f", "tsv", *IN_HOST, "list", "queues", "arguments.x-max-length", "name")


def exchanges_and_bindings(admin):
    declare = (*IN_HOST, "declare", "exchange")
    for kind in ("direct", "fanout", "topic", "headers"):
        admin.do(*declare, f"name={kind}", f"type={kind}")
    admin.do(*declare, "name=inner", "type=fanout", "internal=true", "auto_delete=true", "durable=false")
    admin.do(*declare, "name=with", "type=topic", 'arguments={"alternate-exchange":"fanout"}')
    admin.do(*declare, "name=topic", "type=topic")
    admin.do(*declare, "name=topic", "type=direct")
    admin.do(*declare, "name=bad", "type=no-such-type")
    admin.do(*declare, "name=amq.mine", "type=direct")
    admin.do(*declare, "name=amq.direct", "type=direct")
    admin.list(*IN_HOST, "exchanges", only=ours)
    bind = (*IN_HOST, "declare", "binding")
    admin.do(*bind, "source=topic", "destination=plain", "routing_key=a.#")
    admin.do(*bind, "source=topic", "destination=plain", "routing_key=a.#")
    admin.do(*bind, "source=topic", "destination=plain")
    admin.do(*bind, "source=topic", "destination=with", "destination_type=exchange", "routing_key=*.~x")
    arguments = f"arguments={json.dumps({'x-match': 'any', 'colour': 'red', 'count': 2, 'big': 3000000000, 'flag': True})}"
    admin.do(*bind, "source=headers", "destination=plain", arguments)
    admin.do(*bind, "source=fanout", "destination=full", "destination_type=queue", "routing_key=ignored")
    admin.do(*bind, "source=nothing", "destination=plain")
    admin.do(*bind, "source=topic", "destination=nothing")
    admin.do(*bind, "source=", "destination=plain")
    admin.do(*bind, "source=topic")
    rows = admin.list(*IN_HOST, "bindings")
    admin.do("-f", "table", "-S", "routing_key", *IN_HOST, "list", "bindings", "source", "destination", "routing_key")
    # The hash of arguments in a binding's key is Erlang's.
    [key] = [row["properties_key"] for row in rows if row["source"] == "headers"]
    unbind = (*IN_HOST, "delete", "binding")
    words = (*unbind, "source=headers", "destination_type=queue", "destination=plain")
    admin.note(["unbind by arguments"], {"code": admin.run(*words, f"properties_key={key}")[0]})
    admin.do(*unbind, "source=topic", "destination_type=queue", "destination=plain")
    admin.do(*unbind, "source=topic", "destination_type=queue", "destination=plain")
    admin.do(*unbind, "source=topic", "destination_type=exchange", "destination=with", "properties_key=%2A.%7Ex")
    admin.do(*unbind, "source=topic", "destination_type=exchange", "destination=with", "properties_key=*.%7Ex")
    admin.do("-f", "tsv", *IN_HOST, "list", "bindings", "source", "destination", "properties_key")


def odd_names(admin):
    admin.do(*IN_HOST, "declare", "queue", f"name={ODD}")
    admin.do(*IN_HOST, "declare", "exchange", f"name={ODD}", "type=topic")
    admin.do(*IN_HOST, "declare", "binding", f"source={ODD}", f"destination={ODD}", f"routing_key={ODD}")
    rows = admin.do("-f", "raw_json", *IN_HOST, "list", "bindings", "source", "destination", "routing_key", "properties_key")
    admin.do(*IN_HOST, "publish", f"exchange={ODD}", f"routing_key={ODD}", f"payload={ODD}")
    admin.do("-f", "raw_json", *IN_HOST, "get", f"queue={ODD}", "ackmode=ack_requeue_false")
    keys = {row["properties_key"] for row in rows if row["source"] == ODD}
    for key in keys:
        admin.do(*IN_HOST, "delete", "binding", f"source={ODD}", "destination_type=queue", f"destination={ODD}", f"properties_key={key}")
    admin.do(*IN_HOST, "delete", "exchange", f"name={ODD}")
    admin.do(*IN_HOST, "delete", "queue", f"name={ODD}")


def policies_and_parameters(admin):
    for kind in ("policy", "operator_policy"):
        declare = (*IN_HOST, "declare", kind)
        admin.do(*declare, "name=lengths", "pattern=^plain", 'definition={"max-length":100}', "priority=3", "apply-to=queues")
        admin.do(*declare, "name=lengths", "pattern=^plain", 'definition={"max-length":90}', "priority=7")
        admin.do(*declare, "name=later", "pattern=.*", 'definition={"message-ttl":60000}', "apply-to=all")
        admin.do(*declare, "name=bad", "pattern=(", 'definition={"max-length":100}', own_words=True)
        admin.do(*declare, "name=bad", "pattern=.*", "definition={}")
        admin.do(*declare, "name=bad", "pattern=.*", 'definition={"colour":"red"}', own_words=True)
        admin.do(*declare, "name=bad", "pattern=.*", 'definition={"max-length":"many"}', own_words=True)
        admin.do(*declare, "name=bad", "pattern=.*", 'definition={"max-length":1}', "apply-to=nothing", own_words=True)
        admin.do(*declare, "name=bad", "pattern=.*", 'definition={"max-length":1}', 'priority="high"', own_words=True)
        admin.do(*declare, "name=bad", "pattern=.*", 'definition={"alternate-exchange":"amq.fanout"}', "apply-to=exchanges")
        admin.do(*declare, "name=bad", "pattern=.*")
        plural = kind.replace("policy", "policies")
        admin.list(plural, only=ours)
        admin.list(plural, "vhost", "name", "definition", only=ours)
        admin.do(*IN_HOST, "delete", kind, "name=bad")
    names = ("name", "policy", "operator_policy", "effective_policy_definition")
    both = {"brief": "later", "full": "later", "plain": "lengths", "typed": "later"}
    matched = lambda rows: all({row["policy"], row["operator_policy"]} == {both[row["name"]]} for row in rows)
    admin.await_list(*IN_HOST, "queues", *names, until=matched)
    for kind, name in ((kind, name) for kind in ("policy", "operator_policy") for name in ("lengths", "later")):
        admin.do(*IN_HOST, "delete", kind, f"name={name}")
    limits(admin)
    admin.do(*IN_HOST, "declare", "parameter", "component=nothing", "name=x", 'value={"a":1}')
    admin.do(*IN_HOST, "delete", "parameter", "component=nothing", "name=x")


def limits(admin):
    declare = ("declare", "vhost_limit", f"vhost={HOST}")
    admin.do(*declare, "name=max-queues", "value=4")
    admin.do(*declare, "name=max-connections", "value=100")
    admin.do(*declare, "name=max-nothing", "value=100", own_words=True)
    admin.do(*declare, "name=max-queues", 'value="many"', own_words=True)
    admin.list("vhost_limits", only=ours)
    admin.list("parameters", only=ours)
    admin.do(*IN_HOST, "declare", "queue", "name=one-too-many")
    admin.do("delete", "vhost_limit", f"vhost={HOST}", "name=max-queues")
    admin.do("delete", "vhost_limit", f"vhost={HOST}", "name=max-connections")
    admin.do("delete", "vhost_limit", f"vhost={HOST}", "name=max-connections")


def messages(admin):
    publish, get = (*IN_HOST, "publish"), ("-f", "raw_json", *IN_HOST, "get", "queue=plain")
    admin.do(*publish, "routing_key=plain", "payload=first")
    headers = {"n": 1, "s": "text", "t": {"a": [1, "b", True]}}
    properties = {"delivery_mode": 2, "priority": 3, "headers": headers, "content_type": "text/plain", "expiration": "60000"}
    properties |= {"correlation_id": "c", "reply_to": "r", "message_id": "m", "timestamp": 1700000000, "type": "t", "app_id": "a"}
    admin.do(*publish, "routing_key=plain", "payload=second", f"properties={json.dumps(properties)}")
    binary = base64.b64encode(b"\x00\xff\xfe third").decode()
    admin.do(*publish, "routing_key=plain", f"payload={binary}", "payload_encoding=base64")
    admin.do(*publish, "routing_key=plain", input="fourth, from standard input ü")
    admin.do(*publish, "exchange=topic", "routing_key=a.b", "payload=not routed any more? It is: by a.#")
    admin.do(*publish, "exchange=topic", "routing_key=b", "payload=lost")
    admin.do(*publish, "exchange=nothing", "routing_key=b", "payload=x")
    admin.do(*publish, "exchange=inner", "routing_key=b", "payload=x")
    admin.do(*publish, "routing_key=plain", "payload=x", "payload_encoding=nothing", own_words=True)
    admin.do(*publish, "routing_key=plain", "payload=x", 'properties={"user_id":"somebody"}')
    admin.do(*publish, "routing_key=plain", "payload=%%%", "payload_encoding=base64", own_words=True)
    admin.do(*publish, "payload=x")
    admin.do(*get)
    admin.do(*get, "count=10")
    admin.do(*get, "count=3", "encoding=base64")
    admin.do(*get, "ackmode=reject_requeue_true")
    admin.do(*get, "ackmode=ack_requeue_false")
    admin.do(*get, "ackmode=reject_requeue_false")
    admin.do(*get, "ackmode=nothing", own_words=True)
    admin.do(*get, "encoding=nothing")
    admin.do(*get, "count=many", own_words=True)
    admin.do(*IN_HOST, "get", "queue=nothing")
    file = os.path.join(admin.folder, "payload")
    words = (*IN_HOST, "get", "queue=plain", "ackmode=ack_requeue_false", f"payload_file={file}")
    # Its way of writing binary payloads is broken: it fails, whatever the node says.
    admin.note(["get into a file"], {"code": admin.run(*words)[0]})
    admin.do(*IN_HOST, "get", "queue=plain")
    admin.await_list(*IN_HOST, "queues", "name", "messages", until=lambda rows: counts(rows).get("plain") == 2)
    admin.do(*IN_HOST, "purge", "queue", "name=plain")
    admin.do(*IN_HOST, "purge", "queue", "name=nothing")
    admin.do(*IN_HOST, "get", "queue=plain")
    admin.await_list("vhosts", "name", "messages", only=ours, until=lambda rows: counts(rows) == {HOST: 0})


def counts(rows):
    return {row["name"]: row.get("messages") for row in rows}


def connections(admin):
    properties = {"connection_name": "rabbitmqadmin-test", "product": "checks"}
    options = {"virtual_host": HOST, "client_properties": properties, "heartbeat": 0}
    connection = pika.BlockingConnection(pika.ConnectionParameters(*admin.places.amqp, **options))
    channel = connection.channel()
    channel.confirm_delivery()
    channel.basic_qos(prefetch_count=7)
    channel.basic_consume("plain", lambda *_: None, consumer_tag="taker", arguments={"x-priority": 5})
    in_host = lambda row: row.get("vhost", row.get("queue", {}).get("vhost")) == HOST
    rows = admin.await_list("connections", only=in_host, until=lambda rows: any("recv_oct" in row and row.get("channels") for row in rows))
    admin.await_list("channels", only=in_host, until=lambda rows: any(row.get("consumer_count") for row in rows))
    admin.await_list("consumers", only=in_host, until=len)
    admin.await_list(*IN_HOST, "consumers", until=len)
    admin.await_list("connections", "user", "vhost", "channels", "state", "protocol", only=in_host, until=len)
    [name] = [row["name"] for row in rows]
    code, output, complaints = admin.run("close", "connection", f"name={name}")
    admin.note(["close connection"], {"code": code, "output": output, "complaints": complaints})
    try:
        connection.process_data_events(time_limit=20)
        end = "nothing"
    except pika.exceptions.ConnectionClosedByBroker as closed:
        end = [closed.reply_code, closed.reply_text]
    admin.note(["what the client is told"], {"end": end})
    admin.await_list(*IN_HOST, "consumers", until=lambda rows: not rows)
    admin.do("close", "connection", "name=nothing")


def definitions(admin):
    whole, part = (os.path.join(admin.folder, name) for name in ("whole.json", "part.json"))
    admin.do("export", whole, "--quiet")
    admin.do(*IN_HOST, "export", part, "--quiet")
    for file in (part, whole):
        admin.note(["the definitions in", file], defined_in(file))
    admin.do(*IN_HOST, "delete", "queue", "name=plain")
    admin.do("delete", "user", f"name={USERS[1]}")
    admin.run(*IN_HOST, "import", part)
    admin.do("-f", "tsv", *IN_HOST, "list", "queues", "name", "durable")
    admin.do("-f", "tsv", *IN_HOST, "list", "bindings", "source", "destination", "properties_key")
    admin.do("delete", "vhost", f"name={HOST}")
    admin.run("import", whole)
    admin.do("-f", "tsv", *IN_HOST, "list", "queues", "name", "durable")
    admin.do("-u", USERS[1], "-p", "test12", *IN_HOST, "list", "queues", "name")
    with open(whole, "w") as file:
        file.write("{")
    code, output, complaints = admin.run("import", whole)
    # Our node adds the place of the error.
    complaints = re.sub(r"(failed_to_parse_json): [^\n]* at line \d+ column \d+", r"\1", complaints)
    admin.note(["import what is no JSON"], {"code": code, "output": output, "complaints": complaints})


def defined_in(file):
    """Our definitions in a file, in an order. Limits that were deleted stay behind in RabbitMQ, empty."""
    with open(file) as opened:
        said = json.load(opened)
    rows = {name: value for name, value in said.items() if isinstance(value, list)}
    if "users" in rows:
        rows = {name: [row for row in value if ours(row) or our_user(row)] for name, value in rows.items()}
    rows["parameters"] = [row for row in rows["parameters"] if row["value"]]
    return said | {name: sorted(value, key=row_order) for name, value in rows.items()}


def refusals(admin):
    admin.do("-p", "wrong", "list", "queues")
    admin.do("-u", "rabbitmqadmin-nobody", "-p", "x", "list", "queues")
    admin.do("-V", "rabbitmqadmin-nowhere", "list", "queues")
    admin.do("-V", "rabbitmqadmin-nowhere", "declare", "queue", "name=x")
    admin.do("--path-prefix", "/nowhere", "list", "queues")
    admin.do("-f", "bash", "-S", "nothing", *IN_HOST, "list", "queues", "name")
    host, port = admin.places.http
    code, output, complaints = admin.run("--base-uri", f"http://guest:guest@{host}:{port}", *IN_HOST, "-f", "tsv", "list", "queues", "name")
    admin.note(["by URI"], {"code": code, "output": output, "complaints": complaints})
    admin.do("nothing")


def deletions(admin):
    delete = (*IN_HOST, "delete")
    admin.do(*delete, "queue", "name=typed")
    admin.do(*delete, "queue", "name=typed")
    admin.do(*delete, "exchange", "name=with")
    admin.do(*delete, "exchange", "name=with")
    admin.do(*delete, "exchange", "name=amq.direct")
    admin.do(*delete, "binding", "source=nothing", "destination_type=queue", "destination=plain")
    admin.do("delete", "permission", f"vhost={HOST}", f"user={USERS[1]}")
    admin.do("delete", "permission", f"vhost={HOST}", f"user={USERS[1]}")
    admin.do("delete", "user", f"name={USERS[0]}")
    admin.do("delete", "user", f"name={USERS[0]}")
    admin.do("delete", "vhost", f"name={HOST}")
    admin.do("delete", "vhost", f"name={HOST}")
