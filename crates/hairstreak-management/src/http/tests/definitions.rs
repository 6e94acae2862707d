//! Export and import of definitions.

use serde_json::{Value, json};

use super::node::TestNode;

const BOUNDARY: &str = "Content-Type: multipart/form-data; boundary=X\r\n";

#[test]
fn definitions_are_exported_and_imported() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q1", r#"{"durable":true,"arguments":{"x-max-length":5}}"#);
    client.change("PUT", "/api/exchanges/%2F/x1", r#"{"type":"topic","durable":true}"#);
    client.change("POST", "/api/bindings/%2F/e/x1/q/q1", r#"{"routing_key":"a"}"#);
    client.change("PUT", "/api/policies/%2F/p1", r#"{"pattern":"^a","definition":{"max-length":9}}"#);
    client.change(
        "PUT",
        "/api/operator-policies/%2F/o1",
        r#"{"pattern":"^a","definition":{"max-length":5}}"#,
    );
    let answered = client.ask("GET", "/api/definitions?download=a.json", "");
    assert_eq!(answered.header("content-disposition"), Some("attachment; filename=a.json"));
    let exported = answered.json();
    for key in [
        "rabbit_version",
        "rabbitmq_version",
        "product_name",
        "product_version",
        "users",
        "vhosts",
        "permissions",
        "topic_permissions",
        "parameters",
        "global_parameters",
        "policies",
        "queues",
        "exchanges",
        "bindings",
    ] {
        assert!(exported.get(key).is_some(), "{key}");
    }
    assert_eq!(exported["policies"][0]["name"], "p1");
    assert_eq!(exported["parameters"][0]["component"], "operator_policy");
    let other = TestNode::start();
    let target = other.client();
    target.check("POST", "/api/definitions", &exported.to_string(), 204, "");
    let without_names = |mut value: Value| {
        value.as_object_mut().unwrap().remove("explanation");
        value
    };
    assert_eq!(without_names(target.get("/api/definitions")), without_names(exported));
    let of_host = client.get("/api/definitions/%2F");
    assert!(of_host.get("users").is_none());
    assert_eq!(of_host["queues"][0].get("vhost"), None);
    assert_eq!(of_host["metadata"], json!({"description": "", "tags": [], "default_queue_type": null}));
    target.change("PUT", "/api/vhosts/v", "{}");
    target.check("POST", "/api/definitions/v", &of_host.to_string(), 204, "");
    assert_eq!(target.get("/api/queues/v/q1")["arguments"], json!({"x-max-length": 5}));
    assert_eq!(target.get("/api/bindings/v/e/x1/q/q1").as_array().unwrap().len(), 1);
}

#[test]
fn a_form_is_imported_and_what_is_none_is_refused() {
    let node = TestNode::start();
    let client = node.client();
    let form = |name: &str, text: &str| {
        format!(
            "--X\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.json\"\r\n\r\n{text}\r\n--X--\r\n"
        )
    };
    let send = |body: &str| client.send("POST", "/api/definitions", BOUNDARY, body.as_bytes()).status;
    let file = r#"{"queues":[{"name":"q","vhost":"/","durable":true,"auto_delete":false,"arguments":{}}]}"#;
    assert_eq!(send(&form("file", file)), 204);
    assert_eq!(client.get("/api/queues/%2F/q")["durable"], true);
    assert_eq!(send(&form("file", "{\"queues\":[")), 400);
    assert_eq!(send(&form("other", file)), 400);
    assert_eq!(send("garbage"), 400);
    for (body, reason) in [
        ("{", "EOF while parsing an object at line 1 column 1"),
        ("[]", "not a JSON object"),
        ("{\n\"queues\": [,]}", "expected value at line 2 column 12"),
    ] {
        let reason = format!("\"failed_to_parse_json: {reason}\"");
        client.bad("POST", "/api/definitions", body, &reason);
    }
    for body in [
        "",
        "{}",
        r#"{"nope":[1]}"#,
        r#"{"queues":[{"name":"amq.a","vhost":"/","durable":true,"auto_delete":false}]}"#,
    ] {
        client.check("POST", "/api/definitions", body, 204, "");
    }
    for body in [
        r#"{"queues":[{"name":"a"}]}"#,
        r#"{"queues":[{"name":"a","vhost":"nope","durable":true,"auto_delete":false}]}"#,
        r#"{"queues":5}"#,
        r#"{"permissions":[{"user":"guest","vhost":"/","configure":"(?(1))","write":"","read":""}]}"#,
        r#"{"policies":[{"name":"p","vhost":"/","pattern":"(?(1))","definition":{"expires":1}}]}"#,
        r#"{"permissions":[{"user":"nope","vhost":"/","configure":"","write":"","read":""}]}"#,
    ] {
        assert_eq!(client.ask("POST", "/api/definitions", body).status, 400, "{body}");
    }
    let body = r#"{"queues":[]}"#;
    client.refuse("POST", "/api/definitions/nope", body, 404, "not_found", "\"vhost_not_found\"");
}

/// The items that RabbitMQ 3.10.8 passes over (204). RabbitMQ binds the default exchange as a destination, which has no effect.
#[test]
fn what_rabbitmq_passes_over_is_passed_over_and_the_rest_is_imported() {
    let node = TestNode::start();
    let client = node.client();
    let binding = |source: &str, destination: &str, kind: &str, vhost: &str| {
        json!({"source": source, "vhost": vhost, "destination": destination, "destination_type": kind, "routing_key": "k",
            "arguments": {}})
    };
    let exchange = |name: &str| json!({"name": name, "vhost": "/", "type": "fanout", "durable": true, "auto_delete": false, "internal": false});
    let file = json!({
        "queues": [{"name": "work", "vhost": "/", "durable": true, "auto_delete": false}, 5, null],
        "exchanges": [exchange("amq.foo"), exchange(""), exchange("amq.direct"), exchange("news"), []],
        "users": [
            {"name": "short", "password_hash": "AAAA", "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": "x"},
            {"name": "odd", "password_hash": "AAAA", "hashing_algorithm": "rabbit_password_hashing_bcrypt", "tags": ""},
        ],
        "bindings": [
            binding("news", "gone", "queue", "/"),
            binding("gone", "work", "queue", "/"),
            binding("news", "gone", "exchange", "/"),
            binding("news", "", "queue", "/"),
            binding("news", "", "exchange", "/"),
            binding("", "work", "queue", "/"),
            binding("news", "work", "queue", "nope"),
            binding("news", "work", "queue", "/"),
        ],
    });
    client.check("POST", "/api/definitions", &file.to_string(), 204, "");
    let bindings = client.get("/api/bindings/%2F");
    let has_source = |row: &&Value| row["source"] != "";
    assert_eq!(bindings.as_array().unwrap().iter().filter(has_source).count(), 1);
    client.absent("GET", "/api/exchanges/%2F/amq.foo");
    for user in ["short", "odd"] {
        assert_eq!(client.get(&format!("/api/users/{user}"))["password_hash"], "");
    }
}

#[test]
fn what_cannot_be_had_is_named_and_the_rest_is_imported() {
    let node = TestNode::start();
    let client = node.client();
    let queue = |name: &str, arguments: Value| json!({"name": name, "vhost": "/", "durable": true, "auto_delete": false, "arguments": arguments});
    let exchange = |name: &str, kind: &str, vhost: &str| json!({"name": name, "vhost": vhost, "type": kind, "durable": true, "auto_delete": false, "internal": "false"});
    let permission = |user: &str, vhost: &str, pattern: &str| json!({"user": user, "vhost": vhost, "configure": pattern, "write": "", "read": ".*"});
    let policy = |name: &str, pattern: &str| json!({"name": name, "vhost": "/", "pattern": pattern, "definition": {"max-length": 5}});
    let file = json!({
        "vhosts": [{"name": ""}, {"name": "v"}],
        "queues": [queue("s", json!({"x-queue-type": "stream"})), queue("", json!({})), queue("q", json!({}))],
        "exchanges": [exchange("odd", "x-none", "/"), exchange("far", "fanout", "nope"), exchange("x", "fanout", "/")],
        "permissions": [permission("guest", "v", "(((") , permission("nobody", "/", ""), permission("guest", "nope", ""),
            permission("guest", "v", "^c")],
        "policies": [policy("bad", "((("), policy("good", "^a")],
        "bindings": [{"source": "x", "vhost": "/", "destination": "q", "destination_type": "topic"},
            {"source": "x", "vhost": "/", "destination": "q", "destination_type": "queue"}],
    });
    let answered = client.ask("POST", "/api/definitions", &file.to_string());
    let reason = answered.json()["reason"].as_str().unwrap().to_owned();
    assert_eq!(answered.status, 400, "{reason}");
    assert!(
        reason.starts_with("10 items were not imported, and the rest was: bindings[0]: destination_type: "),
        "{reason}"
    );
    for part in [
        "; vhost '': the name of a virtual host has 1 to 255 bytes",
        "; permission of 'guest in v': ",
        "; permission of 'nobody in /': there is no user 'nobody'",
        "; permission of 'guest in nope': there is no vhost 'nope'",
        "; exchange 'odd': COMMAND_INVALID - unknown exchange type 'x-none'",
        "; exchange 'far': there is no vhost 'nope'",
        "; policy 'bad': Validation failed",
        "; queue 's': ",
        "; queue '': the name is empty",
    ] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    for path in ["vhosts/v", "queues/%2F/q", "exchanges/%2F/x", "policies/%2F/good"] {
        assert_eq!(client.ask("GET", &format!("/api/{path}"), "").status, 200, "{path}");
    }
    assert_eq!(client.get("/api/permissions/v/guest")["configure"], "^c");
    assert_eq!(client.get("/api/bindings/%2F/e/x/q/q").as_array().unwrap().len(), 1);
    // One alone is the reason.
    let file = json!({"queues": [queue("", json!({}))]}).to_string();
    client.bad("POST", "/api/definitions", &file, "\"queue '': the name is empty\"");
}

#[test]
fn a_file_is_read_as_an_editor_leaves_it() {
    let node = TestNode::start();
    let client = node.client();
    let text = "\u{feff}// ours\n{\"queues\": [{\"name\": \"comma\", \"vhost\": \"/\", \"durable\": true,},], /* end */ }";
    client.check("POST", "/api/definitions", text, 204, "");
    client.check("PUT", "/api/queues/%2F/body", "{\"durable\": true, /* yes */ }", 201, "");
    assert_eq!(client.get("/api/queues/%2F/comma")["durable"], true);
}

#[test]
fn a_protected_user_is_not_changed_by_any_request() {
    let node = TestNode::start();
    let client = node.client();
    let put = |path: &str, body: &str, status| client.check_status("PUT", path, body, status);
    put("/api/users/safe", r#"{"password":"p","tags":"protected"}"#, 201);
    let user = json!({"name": "safe", "password_hash": "", "tags": "administrator"});
    let row = json!({"user": "safe", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"});
    let topic = json!({"user": "safe", "vhost": "/", "exchange": "amq.topic", "write": ".*", "read": ".*"});
    let before = client.get("/api/users/safe");
    put("/api/users/safe", r#"{"password":"q","tags":""}"#, 401);
    client.check_status("DELETE", "/api/users/safe", "", 401);
    client.check_status("POST", "/api/users/bulk-delete", r#"{"users":["guest","safe"]}"#, 401);
    put("/api/permissions/%2F/safe", &row.to_string(), 401);
    put("/api/topic-permissions/%2F/safe", &topic.to_string(), 401);
    put("/api/user-limits/safe/max-channels", r#"{"value":0}"#, 401);
    let file = json!({"users": [user], "permissions": [row], "topic_permissions": [topic], "global_parameters": [{"name": "g", "value": 1}]});
    let answered = client.ask("POST", "/api/definitions", &file.to_string());
    assert_eq!((answered.status, client.get("/api/global-parameters/g")["value"].clone()), (400, json!(1)));
    let reason = answered.json()["reason"].to_string();
    assert_eq!(reason.matches("User is protected").count(), 3, "{reason}");
    assert_eq!(client.get("/api/users/safe"), before);
    assert_eq!(client.get("/api/users/guest")["name"], "guest");
    assert_eq!(client.get("/api/permissions").as_array().unwrap().len(), 1);
    // The node's own configuration is no request.
    let document = hairstreak_node::definitions::read_document(file.to_string().as_bytes(), None).unwrap();
    let imported = hairstreak_node::operator::importing::import(
        &node.node,
        document,
        hairstreak_node::operator::users::By::Node,
    )
    .unwrap();
    assert_eq!(imported.refusal(), None);
    assert_eq!(client.get("/api/permissions").as_array().unwrap().len(), 2);
}

/// Without its row a user could use every key: a row with a pattern that is refused allows nothing.
#[test]
fn an_imported_topic_permission_with_a_refused_pattern_allows_nothing() {
    let node = TestNode::start();
    let client = node.client();
    let user = node.client_of("shop", "management");
    client.change("PUT", "/api/exchanges/%2F/mine", r#"{"type":"topic"}"#);
    client.change("PUT", "/api/queues/%2F/mine.q", "{}");
    let row = |write: &str| json!({"user": "shop", "vhost": "/", "exchange": "mine", "write": write, "read": "(?R)"});
    let publish = |status| {
        let message =
            r#"{"routing_key":"shop.new","payload":"x","payload_encoding":"string","properties":{}}"#;
        user.check_status("POST", "/api/exchanges/%2F/mine/publish", message, status);
    };
    publish(200);
    for (write, status) in [("(?R)", 400), ("^shop", 200)] {
        let answered =
            client.ask("POST", "/api/definitions", &json!({"topic_permissions": [row(write)]}).to_string());
        let reason = answered.json()["reason"].to_string();
        assert_eq!((answered.status, reason.contains("a pattern allows nothing")), (400, true), "{reason}");
        publish(status);
        user.check_status("POST", "/api/bindings/%2F/e/mine/q/mine.q", r#"{"routing_key":"shop.new"}"#, 401);
    }
}

/// `{"a":…}`, whose values lie that deep in each other, the object included.
fn deep(depth: usize) -> String {
    format!("{{\"a\":{}1{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1))
}

#[test]
fn arguments_that_no_start_could_read_are_refused() {
    let folder = std::env::temp_dir().join(format!("hairstreak-deep-{}", std::process::id()));
    let node = TestNode::with_data(&folder);
    let client = node.client();
    let file = |depth: usize| {
        let arguments = deep(depth);
        let durable =
            format!("\"vhost\":\"/\",\"durable\":true,\"auto_delete\":false,\"arguments\":{arguments}");
        let (queue, exchange) = (
            format!("{{\"name\":\"f{depth}\",{durable}}}"),
            format!("{{\"name\":\"f{depth}\",\"type\":\"fanout\",{durable}}}"),
        );
        let binding = format!(
            "{{\"source\":\"amq.fanout\",\"vhost\":\"/\",\"destination\":\"to\",\"destination_type\":\"queue\",\
             \"arguments\":{arguments}}}"
        );
        [("queues", queue), ("exchanges", exchange), ("bindings", binding)]
            .map(|(key, item)| format!("{{\"{key}\":[{item}]}}"))
    };
    client.change("PUT", "/api/queues/%2F/to", r#"{"durable":true}"#);
    for (depth, is_refused) in [(63, false), (64, false), (65, true), (124, true)] {
        let body = format!("{{\"durable\":true,\"type\":\"fanout\",\"arguments\":{}}}", deep(depth));
        for (method, target) in [
            ("PUT", format!("/api/queues/%2F/q{depth}")),
            ("PUT", format!("/api/exchanges/%2F/x{depth}")),
            ("POST", "/api/bindings/%2F/e/amq.fanout/q/to".into()),
        ] {
            if is_refused {
                let reason = "\"tables and arrays lie deeper in each other than 64\"";
                client.bad(method, &target, &body, reason);
            } else {
                client.check_status(method, &target, &body, 201);
            }
        }
        for file in file(depth) {
            client.check_status("POST", "/api/definitions", &file, if is_refused { 400 } else { 204 });
        }
    }
    let exported = client.get("/api/definitions");
    node.node.journal.close().unwrap();
    drop(node);
    let again = TestNode::with_data(&folder);
    assert_eq!(again.client().get("/api/definitions")["queues"], exported["queues"]);
    drop(again);
    std::fs::remove_dir_all(folder).unwrap();
    let other = TestNode::start();
    other.client().check("POST", "/api/definitions", &exported.to_string(), 204, "");
}

#[test]
fn arguments_are_no_larger_than_a_frame() {
    let node = TestNode::start();
    let client = node.client();
    let many: String = (0..200_000).map(|n| format!("\"{n}\":1,")).collect();
    let (many, long) = (format!("{{{many}\"a\":1}}"), format!("{{\"a\":\"{}\"}}", "x".repeat(131_054)));
    for (target, arguments) in [("q", &many), ("r", &long)] {
        let body = format!("{{\"durable\":true,\"arguments\":{arguments}}}");
        assert_eq!(client.ask("PUT", &format!("/api/queues/%2F/{target}"), &body).status, 400);
    }
    let body = format!("{{\"arguments\":{}}}", long.replacen('x', "", 1));
    client.check("PUT", "/api/queues/%2F/r", &body, 201, "");
    // The largest arguments come back from an export, in which they have more bytes.
    let texts = [format!("\"{}\"", "\\u0001".repeat(131_000)), format!("[{}0]", "true,".repeat(65_500))];
    for (name, value) in ["control", "flags"].iter().zip(texts) {
        let body = format!("{{\"durable\":true,\"arguments\":{{\"a\":{value}}}}}");
        client.check("PUT", &format!("/api/queues/%2F/{name}"), &body, 201, "");
    }
    let exported = client.get("/api/definitions").to_string();
    TestNode::start().client().check("POST", "/api/definitions", &exported, 204, "");
}

#[test]
fn names_in_files_are_as_long_as_those_of_clients() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q", r#"{"durable":true}"#);
    for (size, status) in [(255, 204), (256, 400)] {
        let name = "x".repeat(size);
        let of_host = json!({"vhost": "/", "durable": true, "auto_delete": false, "type": "topic"});
        let with = |key: &str, text: &str| {
            let mut item = of_host.clone();
            item[key] = text.into();
            item
        };
        let queue = json!({"name": name, "vhost": "/", "durable": true, "auto_delete": false});
        let binding = json!({"source": "amq.topic", "vhost": "/", "destination": "q", "destination_type": "queue",
            "routing_key": name});
        let policy =
            |key: &str| json!({"name": "p", "vhost": "/", "pattern": "^none$", "definition": {key: name}});
        for file in [
            json!({"exchanges": [with("name", &name)]}),
            json!({"queues": [queue]}),
            json!({"bindings": [binding]}),
            json!({"policies": [policy("dead-letter-routing-key")]}),
            json!({"policies": [policy("alternate-exchange")]}),
        ] {
            client.check_status("POST", "/api/definitions", &file.to_string(), status);
        }
        let policy = json!({"pattern": "^none$", "definition": {"dead-letter-exchange": name}}).to_string();
        let expected = if status == 204 { 204 } else { 400 };
        client.check_status("PUT", "/api/policies/%2F/p", &policy, expected);
    }
}
