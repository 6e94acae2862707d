//! Queues.

use serde_json::json;

use super::node::TestNode;

#[test]
fn queues_are_declared_and_deleted_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let at = "/api/queues/%2F/";
    let put =
        |name: &str, body: &str, status: u16| client.check("PUT", &format!("{at}{name}"), body, status, "");
    let bad = |name: &str, body: &str, reason: &str| client.bad("PUT", &format!("{at}{name}"), body, reason);
    put("q1", "{}", 201);
    put("q1", "{}", 204);
    put("q1", r#"{"durable":false}"#, 204);
    bad(
        "q1",
        r#"{"durable":"true"}"#,
        r#""inequivalent arg 'durable' for queue 'q1' in vhost '/': received 'true' but current is 'false'""#,
    );
    bad("q2", r#"{"durable":"1"}"#, r#"["not_boolean","1"]"#);
    bad("q2", r#"{"durable":1}"#, r#"["not_boolean",1]"#);
    bad("q2", r#"{"durable":null}"#, r#"["not_boolean",null]"#);
    put("q3", "", 201);
    put("q3", "null", 204);
    put("q3", "undefined", 204);
    bad("q3", "{", r#""not_json: EOF while parsing an object at line 1 column 1""#);
    bad(
        "q3",
        r#"{"arguments":{"x-max-length":"x"}}"#,
        r#""inequivalent arg 'x-max-length' for queue 'q3' in vhost '/': received the value 'x' of type 'longstr' but current is none""#,
    );
    bad(
        "q4",
        r#"{"arguments":{"x-max-length":-1}}"#,
        r#""invalid arg 'x-max-length' for queue 'q4' in vhost '/': {value_negative,-1}""#,
    );
    put("q4", r#"{"arguments":[]}"#, 201);
    put("q6", r#"{"arguments":{"x-max-length":5}}"#, 201);
    bad("q7", r#"{"arguments":{"a":{"b":[1,null]}}}"#, r#""null_not_allowed""#);
    put("q8", r#"{"arguments":{"x-queue-type":"classic"}}"#, 201);
    bad("q9", r#"{"node":"nope@x"}"#, r#""Node nope@x could not be contacted""#);
    put("q9", r#"{"node":"hairstreak@localhost","auto_delete":"true","nothing":1}"#, 201);
    client.refuse("PUT", "/api/queues/%2F/amq.foo", "{}", 401, "not_authorised", "\"Access refused.\"");
    client.refuse("PUT", "/api/queues/nope/q", "{}", 404, "not_found", "\"vhost_not_found\"");
    client.check("DELETE", "/api/queues/%2F/q3", "", 204, "");
    client.absent("DELETE", "/api/queues/%2F/q3");
    client.check("DELETE", "/api/queues/%2F/q4?if-empty=true", "", 204, "");
    client.check("DELETE", "/api/queues/%2F/q1?if-unused=true", "", 204, "");
    for target in ["/api/queues/nope", "/api/queues/nope/q", "/api/queues/%2F/nope"] {
        client.absent("GET", target);
    }
}

#[test]
fn names_are_encoded_by_segment() {
    let node = TestNode::start();
    let client = node.client();
    client.check("PUT", "/api/queues/%2F/a%2Fb%20c%25", "{}", 201, "");
    assert_eq!(client.get("/api/queues/%2f/%61%2fb%20c%25")["name"], "a/b c%");
    client.check("PUT", "/api/queues/%2F/%FF", "{}", 201, "");
    assert_eq!(client.get("/api/queues/%2F/%FF")["name"], "\u{fffd}");
    let name = "n".repeat(256);
    for (method, target, body, kind) in [
        ("PUT", format!("/api/queues/%2F/{name}"), "{}".to_owned(), "queue"),
        ("PUT", format!("/api/exchanges/%2F/{name}"), "{}".to_owned(), "exchange"),
        (
            "POST",
            "/api/bindings/%2F/e/amq.topic/q/%FF".into(),
            json!({"routing_key": name}).to_string(),
            "routing_key",
        ),
    ] {
        let text = format!(r#""{kind} should be less than 255 bytes, actually was 256\n""#);
        client.bad(method, &target, &body, &text);
    }
    let names: Vec<_> = client.get("/api/queues/%2F/?columns=name").as_array().unwrap().clone();
    assert_eq!(names, [json!({"name": "a/b c%"}), json!({"name": "\u{fffd}"})]);
}

#[test]
fn arguments_come_back_with_their_types() {
    let node = TestNode::start();
    let client = node.client();
    let arguments = json!({"x-max-length": 5, "x-message-ttl": 60000, "other": {"a": [1, "x", true, 1.5, 5.0]}, "big": -9_000_000_000_i64});
    client.check("PUT", "/api/queues/%2F/q", &json!({"arguments": arguments}).to_string(), 201, "");
    assert_eq!(client.get("/api/queues/%2F/q")["arguments"], arguments);
    assert_eq!(
        client.get("/api/queues?columns=arguments.other.a"),
        json!([{"arguments": {"other": arguments["other"]}}])
    );
}

#[test]
fn a_purge_takes_the_messages_that_wait() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q", "{}");
    let message = r#"{"routing_key":"q","payload":"x","payload_encoding":"string","properties":{}}"#;
    client.check("POST", "/api/exchanges/%2F/amq.default/publish", message, 200, r#"{"routed":true}"#);
    assert_eq!(client.get("/api/queues/%2F/q")["messages"], 1);
    client.check("DELETE", "/api/queues/%2F/q/contents", "", 204, "");
    assert_eq!(client.get("/api/queues/%2F/q")["messages"], 0);
    client.absent("DELETE", "/api/queues/%2F/nope/contents");
    client.check("POST", "/api/queues/%2F/q/actions", r#"{"action":"sync"}"#, 204, "");
    client.bad("POST", "/api/queues/%2F/q/actions", r#"{"action":"nope"}"#, r#"["unknown","nope"]"#);
    client.bad("POST", "/api/queues/%2F/q/actions", "{}", r#""[{key_missing,action}]""#);
}

#[test]
fn a_queue_shows_the_bytes_of_its_messages_and_the_time_of_the_first() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q", "{}");
    let time = || client.get("/api/queues/%2F/q")["head_message_timestamp"].clone();
    assert_eq!(time(), json!(null));
    for (payload, timestamp) in [("one", 1_000), ("three", 2_000)] {
        let body = json!({"properties": {"timestamp": timestamp}, "routing_key": "q", "payload": payload,
            "payload_encoding": "string"});
        client.change("POST", "/api/exchanges/%2F/amq.default/publish", &body.to_string());
    }
    assert_eq!(time(), 1_000);
    let bytes = || {
        let queue = client.get("/api/queues/%2F/q");
        ["", "_ready", "_unacknowledged", "_ram"].map(|of| queue[format!("message_bytes{of}")].clone())
    };
    assert_eq!(bytes(), [8, 8, 0, 8]);
    node.take("q");
    assert_eq!(bytes(), [8, 5, 3, 8]);
}

#[test]
fn a_quorum_queue_has_this_node_as_its_leader_and_only_member() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/classic", "{}");
    let quorum = r#"{"durable":true,"arguments":{"x-queue-type":"quorum"}}"#;
    client.change("PUT", "/api/queues/%2F/quorum", quorum);
    let name = client.get("/api/overview")["node"].clone();
    for query in ["", "?disable_stats=true", "?disable_stats=true&enable_queue_totals=true"] {
        let rows = client.get(&format!("/api/queues{query}"));
        let (classic, row) = (&rows[0], &rows[1]);
        assert_eq!(client.get(&format!("/api/queues/%2F/quorum{query}"))["leader"], name);
        assert_eq!(
            (&row["leader"], &row["members"], &row["online"]),
            (&name, &json!([name]), &json!([name]))
        );
        assert_eq!(
            (classic.get("leader"), classic.get("members"), classic.get("online")),
            (None, None, None)
        );
    }
}
