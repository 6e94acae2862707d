//! Messages that are published and taken by hand.

use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::ConnectionId;
use serde_json::{Value, json};

use super::node::TestNode;

#[test]
fn a_message_is_published_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/exchanges/%2F/x1", r#"{"type":"topic"}"#);
    client.change("PUT", "/api/exchanges/%2F/inner", r#"{"internal":true}"#);
    client.change("PUT", "/api/queues/%2F/q1", "{}");
    client.change("POST", "/api/bindings/%2F/e/x1/q/q1", r#"{"routing_key":"a"}"#);
    let body = |key: &str, payload: Value, encoding: &str, properties: Value| {
        json!({"routing_key": key, "payload": payload, "payload_encoding": encoding, "properties": properties}).to_string()
    };
    let good = body("a", json!("hi"), "string", json!({}));
    let at = "/api/exchanges/%2F/x1/publish";
    client.bad(
        "POST",
        at,
        "{}",
        r#""[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n {key_missing,payload_encoding}]""#,
    );
    client.check("POST", at, &good, 200, r#"{"routed":true}"#);
    client.check("POST", at, &body("none", json!("hi"), "string", json!({})), 200, r#"{"routed":false}"#);
    client.check(
        "POST",
        at,
        &body("a", json!("5"), "string", json!({"nope": "x"})),
        200,
        r#"{"routed":true}"#,
    );
    for (body, reason) in [
        (body("a", json!("hi"), "string", json!({"priority": "3"})), r#"["not_int","priority"]"#),
        (body("a", json!("!!"), "base64", json!({})), r#"["not_base64","!!"]"#),
        (body("a", json!("!!"), "zip", json!({})), r#"["unsupported_encoding","zip"]"#),
        (body("a", json!(5), "string", json!({})), r#""payload_not_string""#),
        (
            body("a", json!("5"), "string", json!({"user_id": "x"})),
            r#""406 PRECONDITION_FAILED - user_id property set to 'x' but authenticated user was 'guest'""#,
        ),
        (
            body("a", json!("5"), "string", json!({"delivery_mode": 7})),
            r#""406 PRECONDITION_FAILED - invalid message: {delivery_mode_unknown,7}""#,
        ),
    ] {
        client.bad("POST", at, &body, reason);
    }
    let nope = r#""404 NOT_FOUND - no exchange 'nope' in vhost '/'""#;
    client.bad("POST", "/api/exchanges/%2F/nope/publish", &good, nope);
    let inner = r#""403 ACCESS_REFUSED - cannot publish to internal exchange 'inner' in vhost '/'""#;
    client.bad("POST", "/api/exchanges/%2F/inner/publish", &good, inner);
    client.refuse(
        "POST",
        "/api/exchanges/nope/x1/publish",
        &good,
        401,
        "not_authorised",
        "\"Access refused.\"",
    );
}

#[test]
fn messages_are_taken_and_put_back_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/q1", "{}");
    let publish = |payload: &str, encoding: &str, properties: Value| {
        let body = json!({"routing_key": "q1", "payload": payload, "payload_encoding": encoding, "properties": properties});
        client.change("POST", "/api/exchanges/%2F/amq.default/publish", &body.to_string());
    };
    publish("hi", "string", json!({}));
    publish("\u{e4}", "string", json!({"delivery_mode": 2, "headers": {"a": 1}, "type": "t"}));
    publish("/w==", "base64", json!({}));
    let at = "/api/queues/%2F/q1/get";
    let take = |body: &str| -> Vec<Value> {
        let answered = client.ask("POST", at, body);
        assert_eq!(answered.status, 200, "{body}");
        answered.json().as_array().unwrap().clone()
    };
    let first = json!({"payload_bytes": 2, "redelivered": false, "exchange": "", "routing_key": "q1",
        "message_count": 2, "properties": [], "payload": "hi", "payload_encoding": "string"});
    assert_eq!(take(r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#), [first]);
    let all = take(r#"{"count":"5","ackmode":"reject_requeue_true","encoding":"auto"}"#);
    assert_eq!(all.len(), 3);
    assert_eq!((&all[0]["redelivered"], &all[1]["redelivered"]), (&json!(true), &json!(false)));
    assert_eq!(all[1]["properties"], json!({"delivery_mode": 2, "headers": {"a": 1}, "type": "t"}));
    assert_eq!((&all[2]["payload"], &all[2]["payload_encoding"]), (&json!("/w=="), &json!("base64")));
    let cut = take(r#"{"count":-1,"ackmode":"ack_requeue_true","encoding":"base64","truncate":1}"#);
    assert_eq!(cut.iter().map(|one| &one["payload"]).collect::<Vec<_>>(), ["aA==", "ww==", "/w=="]);
    assert_eq!((&cut[0]["payload_bytes"], &cut[2]["message_count"]), (&json!(2), &json!(0)));
    for (body, reason) in [
        ("{}", r#""[{key_missing,ackmode},{key_missing,count},{key_missing,encoding}]""#),
        (r#"{"count":"x","ackmode":"ack_requeue_true","encoding":"auto"}"#, r#"["not_integer","x"]"#),
        (
            r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"nope"}"#,
            r#""Unsupported encoding. Please use auto or base64.""#,
        ),
        (
            r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto","truncate":"x"}"#,
            r#"["not_integer","x"]"#,
        ),
    ] {
        client.bad("POST", at, body, reason);
    }
    let nope = r#""NOT_FOUND - no queue 'nope' in vhost '/'""#;
    let body = r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#;
    client.refuse("POST", "/api/queues/%2F/nope/get", body, 404, "not_found", nope);
    assert_eq!(take(r#"{"count":5,"ackmode":"ack_requeue_false","encoding":"auto"}"#).len(), 3);
    assert!(take(body).is_empty());
}

/// An exclusive queue shows its messages to its connection only.
#[test]
fn messages_of_an_exclusive_queue_are_neither_taken_nor_peeked_at() {
    let node = TestNode::start();
    let client = node.client();
    let host = node.node.hosts.find("/").unwrap();
    let declaration =
        QueueDeclaration { name: (*b"own").into(), is_exclusive: true, ..QueueDeclaration::default() };
    host.lock().host.declare_queue(ConnectionId(77), &declaration, 0).unwrap();
    let message = r#"{"routing_key":"own","payload":"secret","payload_encoding":"string","properties":{}}"#;
    client.check("POST", "/api/exchanges/%2F/amq.default/publish", message, 200, r#"{"routed":true}"#);
    let get = r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#;
    for (method, path, body) in [("POST", "get", get), ("GET", "peek", "")] {
        let answered = client.ask(method, &format!("/api/queues/%2F/own/{path}"), body);
        let text = String::from_utf8_lossy(&answered.body).into_owned();
        assert_eq!(
            (answered.status, text.contains("cannot obtain exclusive access to locked queue 'own'")),
            (400, true),
            "{path}: {text}"
        );
        assert!(!text.contains("secret"), "{path}");
    }
    assert_eq!(client.get("/api/queues/%2F/own")["messages_ready"], 1);
}

/// The counters of RabbitMQ 3.10.8 after the same requests.
#[test]
fn messages_are_counted_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/exchanges/%2F/x1", r#"{"type":"topic"}"#);
    client.change("PUT", "/api/queues/%2F/q1", "{}");
    client.change("PUT", "/api/queues/%2F/q2", "{}");
    for queue in ["q1", "q2"] {
        client.change("POST", &format!("/api/bindings/%2F/e/x1/q/{queue}"), r#"{"routing_key":"a"}"#);
    }
    assert_eq!(client.get("/api/queues/%2F/q1").get("message_stats"), None);
    for _ in 0..3 {
        let message = r#"{"routing_key":"a","payload":"x","payload_encoding":"string","properties":{}}"#;
        client.check("POST", "/api/exchanges/%2F/x1/publish", message, 200, r#"{"routed":true}"#);
    }
    let stats = client.get("/api/queues/%2F/q1")["message_stats"].clone();
    assert_eq!(stats.as_object().unwrap().keys().collect::<Vec<_>>(), ["publish", "publish_details"]);
    assert_eq!(stats["publish"], 3);
    let take = |mode: &str| {
        let body = format!(r#"{{"count":2,"ackmode":"{mode}","encoding":"auto"}}"#);
        client.check_status("POST", "/api/queues/%2F/q1/get", &body, 200);
    };
    take("ack_requeue_true");
    take("ack_requeue_false");
    let stats = client.get("/api/queues/%2F/q1")["message_stats"].clone();
    for (key, value) in
        [("publish", 3), ("redeliver", 2), ("deliver_get", 4), ("deliver", 0), ("get_empty", 0)]
    {
        assert_eq!(stats[key], value, "{key}");
    }
    let overview = client.get("/api/overview");
    assert_eq!(overview["message_stats"]["deliver_get"], 4);
    assert_eq!(overview["queue_totals"]["messages"], 4);
    assert_eq!(overview["churn_rates"]["queue_created"], 2);
    assert_eq!(client.get("/api/vhosts")[0]["message_stats"]["redeliver"], 2);
}

#[test]
fn a_message_has_the_properties_of_one_frame() {
    let node = TestNode::start();
    let client = node.client();
    let publish = |properties: Value| {
        let body = json!({"routing_key": "q", "payload": "", "payload_encoding": "string", "properties": properties});
        client.ask("POST", "/api/exchanges/%2F/amq.default/publish", &body.to_string()).status
    };
    // The flags; the table with its size, the name with its size, the letter of the type and the string with its size.
    let headers = |size: usize| json!({"a": "x".repeat(size - (2 + 4 + 2 + 1 + 4))});
    assert_eq!(publish(json!({"headers": headers(131_052)})), 200);
    assert_eq!(publish(json!({"headers": headers(131_053)})), 400);
    assert_eq!(publish(json!({"headers": headers(131_000), "app_id": "x".repeat(51)})), 200);
    assert_eq!(publish(json!({"headers": headers(131_000), "app_id": "x".repeat(52)})), 400);
}
