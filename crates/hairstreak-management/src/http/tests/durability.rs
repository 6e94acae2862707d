//! The dial `x-durability`, as operators see and turn it.

use std::path::PathBuf;

use serde_json::json;

use super::client::Client;
use super::node::TestNode;

/// A data directory, removed with the value.
struct Data(PathBuf);

impl Data {
    fn new(name: &str) -> Data {
        let name = format!("hairstreak-http-durability-{name}-{}", std::process::id());
        Data(std::env::temp_dir().join(name))
    }
}

impl Drop for Data {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Declares a durable queue.
fn declare(client: &Client, name: &str, durability: &str) {
    let body = json!({"durable": true, "arguments": {"x-durability": durability}});
    client.check("PUT", &format!("/api/queues/%2F/{name}"), &body.to_string(), 201, "");
}

fn shown(client: &Client, name: &str) -> String {
    let queue = client.get(&format!("/api/queues/%2F/{name}"));
    queue["durability"].as_str().unwrap().to_owned()
}

/// Sets a policy or an operator policy for the queues whose names begin with `q`.
fn set_policy(client: &Client, kind: &str, durability: &str) {
    let body = json!({"pattern": "^q", "definition": {"durability": durability}});
    client.change("PUT", &format!("/api/{kind}/%2F/p"), &body.to_string());
}

#[test]
fn policies_turn_the_dial_and_the_api_shows_it() {
    let data = Data::new("policies");
    let node = TestNode::with_messages(&data.0);
    let client = node.client();
    client.check("PUT", "/api/queues/%2F/q", r#"{"durable":true}"#, 201, "");
    declare(&client, "q-written", "written");
    let quorum = r#"{"durable":true,"arguments":{"x-queue-type":"quorum"}}"#;
    client.check("PUT", "/api/queues/%2F/quorum", quorum, 201, "");
    let all = || ["q", "q-written", "quorum"].map(|name| shown(&client, name));
    assert_eq!(all(), ["synced", "written", "synced"]);
    set_policy(&client, "policies", "memory");
    assert_eq!(all(), ["memory", "written", "synced"]);
    set_policy(&client, "operator-policies", "memory");
    assert_eq!(all(), ["memory", "memory", "synced"]);
    assert_eq!(
        client.get("/api/queues/%2F/q-written")["effective_policy_definition"],
        json!({"durability": "memory"})
    );
    assert_eq!(client.get("/api/queues/%2F/quorum")["effective_policy_definition"], json!({}));
    client.bad(
        "PUT",
        "/api/policies/%2F/p",
        r#"{"pattern":"","definition":{"durability":"disk"}}"#,
        r#""Validation failed\n\n&lt;&lt;\"disk\"&gt;&gt; is not a valid durability: memory, written or synced\n""#,
    );
}

#[test]
fn definitions_carry_the_durability() {
    let (data, other_data) = (Data::new("export"), Data::new("import"));
    let node = TestNode::with_messages(&data.0);
    declare(&node.client(), "q", "written");
    declare(&node.client(), "r", "memory");
    set_policy(&node.client(), "operator-policies", "synced");
    let exported = node.client().get("/api/definitions").to_string();
    let other = TestNode::with_messages(&other_data.0);
    let client = other.client();
    client.check("POST", "/api/definitions", &exported, 204, "");
    assert_eq!(["q", "r"].map(|name| shown(&client, name)), ["synced", "memory"]);
    client.change("DELETE", "/api/operator-policies/%2F/p", "");
    assert_eq!(["q", "r"].map(|name| shown(&client, name)), ["written", "memory"]);
}

#[test]
fn a_published_message_is_as_safe_as_its_queue_says_before_the_answer() {
    let data = Data::new("publish");
    let node = TestNode::with_messages(&data.0);
    let client = node.client();
    for durability in ["memory", "written", "synced"] {
        declare(&client, durability, durability);
        let publish = json!({"routing_key": durability, "properties": {"delivery_mode": 2}, "payload": "x",
            "payload_encoding": "string"});
        let target = "/api/exchanges/%2F/amq.default/publish";
        client.check("POST", target, &publish.to_string(), 200, r#"{"routed":true}"#);
        let position = node.node.hosts.find("/").unwrap().lock().log_position;
        let reached = node.node.messages.as_ref().unwrap().reached();
        match durability {
            "memory" => assert_eq!(position, 0),
            "written" => assert!(position > 0 && reached.written >= position),
            _ => assert!(reached.synced >= position),
        }
    }
}

#[test]
fn a_node_without_a_data_directory_keeps_its_promises() {
    let node = TestNode::start();
    let client = node.client();
    client.check("PUT", "/api/queues/%2F/q", r#"{"durable":true}"#, 201, "");
    set_policy(&client, "policies", "synced");
    assert_eq!(shown(&client, "q"), "memory");
    declare(&client, "r", "memory");
    client.bad(
        "PUT",
        "/api/queues/%2F/s",
        r#"{"durable":true,"arguments":{"x-durability":"synced"}}"#,
        r#""invalid arg 'x-durability' for queue 's' in vhost '/': \"'synced' needs a data directory, and the node has none\"""#,
    );
}
