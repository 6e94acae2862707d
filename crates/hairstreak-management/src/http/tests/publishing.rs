//! Messages that are published over HTTP take the way of a client's messages. The answers are RabbitMQ 3.10.8's, but
//! for the memory alarm.

use serde_json::{Value, json};

use super::client::Client;
use super::node::TestNode;

const REFUSED: &str = "\"Access refused.\"";

/// The address at which an exchange takes messages.
fn at(exchange: &str) -> String {
    format!("/api/exchanges/%2F/{exchange}/publish")
}

fn body(key: &str, properties: Value) -> String {
    json!({"routing_key": key, "payload": "m", "payload_encoding": "string", "properties": properties})
        .to_string()
}

#[track_caller]
fn check(client: &Client, exchange: &str, key: &str, properties: Value, is_routed: bool) {
    let answer = json!({"routed": is_routed}).to_string();
    client.check("POST", &at(exchange), &body(key, properties), 200, &answer);
}

/// The message of a queue.
#[track_caller]
fn taken(client: &Client, queue: &str) -> Value {
    let get = r#"{"count":2,"ackmode":"ack_requeue_false","encoding":"auto"}"#;
    let taken = client.ask("POST", &format!("/api/queues/%2F/{queue}/get"), get).json();
    assert_eq!(taken.as_array().map(Vec::len), Some(1), "{queue}: {taken}");
    taken[0].clone()
}

fn queues(client: &Client, names: &[&str]) {
    names.iter().for_each(|name| client.change("PUT", &format!("/api/queues/%2F/{name}"), "{}"));
}

#[test]
fn a_message_goes_to_the_keys_of_cc_and_bcc_and_no_consumer_sees_bcc() {
    let node = TestNode::start();
    let client = node.client();
    queues(&client, &["to", "cc", "bcc"]);
    let headers = json!({"CC": ["cc", 5], "BCC": ["bcc"], "a": 1});
    check(&client, "amq.default", "to", json!({"headers": headers}), true);
    for queue in ["to", "cc", "bcc"] {
        let message = taken(&client, queue);
        assert_eq!(message["properties"], json!({"headers": {"CC": ["cc", 5], "a": 1}}), "{queue}");
        assert_eq!(message["routing_key"], "to");
    }
    check(&client, "amq.default", "nowhere", json!({"headers": {"CC": ["cc"]}}), true);
    check(&client, "amq.default", "nowhere", json!({"headers": {"CC": []}}), false);
    for (headers, reason) in [
        (
            json!({"CC": "cc"}),
            r#""406 PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,\"CC\",longstr}""#,
        ),
        (
            json!({"BCC": 5}),
            r#""406 PRECONDITION_FAILED - invalid message: {unacceptable_type_in_header,\"BCC\",long}""#,
        ),
        (json!({"CC": null}), r#""null_not_allowed""#),
        (json!({"a": [{"b": null}]}), r#""null_not_allowed""#),
    ] {
        client.bad("POST", &at("amq.default"), &body("to", json!({"headers": headers})), reason);
    }
}

#[test]
fn a_message_without_a_queue_goes_to_the_alternate_exchange() {
    let node = TestNode::start();
    let client = node.client();
    queues(&client, &["q"]);
    client.change("POST", "/api/bindings/%2F/e/amq.fanout/q/q", "{}");
    let exchange = r#"{"type":"direct","arguments":{"alternate-exchange":"amq.fanout"}}"#;
    client.change("PUT", "/api/exchanges/%2F/x", exchange);
    check(&client, "x", "none", json!({}), true);
    assert_eq!(taken(&client, "q")["exchange"], "x");
}

#[test]
fn properties_are_checked_as_those_of_clients() {
    let node = TestNode::start();
    let client = node.client();
    for (properties, text) in [
        (json!({"reply_to": "amq.rabbitmq.reply-to"}), "fast reply consumer does not exist"),
        (json!({"expiration": "abc"}), "invalid expiration 'abc': no_integer"),
        (json!({"expiration": "-1"}), "invalid expiration '-1': {value_negative,-1}"),
        (json!({"expiration": ""}), "invalid expiration '': no_integer"),
        (json!({"delivery_mode": 0}), "invalid message: {delivery_mode_unknown,0}"),
    ] {
        let reason = json!(format!("406 PRECONDITION_FAILED - {text}")).to_string();
        client.bad("POST", &at("amq.default"), &body("q", properties), &reason);
    }
}

#[test]
fn a_full_queue_refuses_a_message() {
    let node = TestNode::start();
    let client = node.client();
    let full = r#"{"arguments":{"x-max-length":1,"x-overflow":"reject-publish"}}"#;
    client.change("PUT", "/api/queues/%2F/full", full);
    check(&client, "amq.default", "full", json!({}), true);
    let reason = r#""rejected Unable to publish message. Check queue limits.""#;
    client.bad("POST", &at("amq.default"), &body("full", json!({})), reason);
}

#[test]
fn a_user_who_may_not_connect_publishes_nothing() {
    let node = TestNode::start();
    let client = node.client();
    let check_refused = || {
        client.refuse("POST", &at("amq.default"), &body("q", json!({})), 401, "not_authorised", REFUSED);
    };
    for limit in ["user-limits/guest/max-connections", "vhost-limits/%2F/max-connections"] {
        client.change("PUT", &format!("/api/{limit}"), r#"{"value":0}"#);
        check_refused();
        client.change("DELETE", &format!("/api/{limit}"), "");
        check(&client, "amq.default", "q", json!({}), false);
    }
    client.change("PUT", "/api/user-limits/guest/max-channels", r#"{"value":0}"#);
    client.check_status("POST", &at("amq.default"), &body("q", json!({})), 400);
}

#[test]
fn the_keys_of_cc_need_the_permission_of_the_topic() {
    let node = TestNode::start();
    let client = node.client();
    let user = node.client_of("mgmt", "management");
    client.change("PUT", "/api/exchanges/%2F/mine", r#"{"type":"topic"}"#);
    let permission = r#"{"exchange":"mine","write":"^a","read":""}"#;
    client.change("PUT", "/api/topic-permissions/%2F/mgmt", permission);
    check(&user, "mine", "a.b", json!({"headers": {"CC": ["a.c"]}}), false);
    let reason = r#""403 ACCESS_REFUSED - access to topic 'b' in exchange 'mine' in vhost '/' refused for user 'mgmt'""#;
    for headers in [json!({"CC": ["a", "b"]}), json!({"BCC": ["b"]})] {
        user.bad("POST", &at("mine"), &body("a", json!({"headers": headers})), reason);
    }
    user.bad("POST", &at("mine"), &body("b", json!({})), reason);
}

#[test]
fn while_memory_is_low_nothing_is_published() {
    let node = TestNode::start();
    let client = node.client();
    let account = &node.node.account;
    let watermark = account.alarm.watermark();
    account.note(0, watermark);
    let low = json!("low on memory: publish again when the alarm is over").to_string();
    client.refuse("POST", &at("amq.default"), &body("q", json!({})), 503, "service_unavailable", &low);
    account.note(watermark, 0);
    check(&client, "amq.default", "q", json!({}), false);
}

#[test]
fn a_message_whose_way_takes_several_calls_is_in_its_queues_when_the_answer_comes() {
    const KEYS: usize = 10_000;
    let node = TestNode::start();
    let client = node.client();
    queues(&client, &["to", "last"]);
    let last = format!("k{}", KEYS - 1);
    client.change("POST", "/api/bindings/%2F/e/amq.direct/q/last", &json!({"routing_key": last}).to_string());
    let keys: Vec<String> = (0..KEYS).map(|number| format!("k{number}")).collect();
    let properties = json!({"headers": {"BCC": keys}});
    check(&client, "amq.direct", "nowhere", properties.clone(), true);
    assert_eq!(taken(&client, "last")["routing_key"], "nowhere");
    client.change("DELETE", "/api/queues/%2F/last", "");
    check(&client, "amq.direct", "nowhere", properties, false);
}

#[test]
fn a_persistent_message_is_on_disk_before_the_answer() {
    let data = std::env::temp_dir().join(format!("hairstreak-http-publish-{}", std::process::id()));
    let node = TestNode::with_messages(&data);
    let client = node.client();
    client.check("PUT", "/api/queues/%2F/kept", r#"{"durable":true}"#, 201, "");
    let publish = r#"{"routing_key":"kept","properties":{"delivery_mode":2},"payload":"x","payload_encoding":"string"}"#;
    for _ in 0..20 {
        client.check("POST", "/api/exchanges/%2F/amq.default/publish", publish, 200, r#"{"routed":true}"#);
        let position = node.node.hosts.find("/").unwrap().lock().log_position;
        let synced = node.node.messages.as_ref().unwrap().reached().synced;
        assert!(position > 0 && synced >= position, "{synced} of {position}");
    }
    drop(node);
    std::fs::remove_dir_all(&data).unwrap();
}
