//! Exchanges and bindings.

use serde_json::{Value, json};

use super::node::TestNode;

#[test]
fn exchanges_are_declared_and_deleted_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let x1 = "/api/exchanges/%2F/x1";
    client.check("PUT", x1, "{}", 201, "");
    client.bad(
        "PUT",
        x1,
        r#"{"type":"topic"}"#,
        r#""inequivalent arg 'type' for exchange 'x1' in vhost '/': received 'topic' but current is 'direct'""#,
    );
    client.check("PUT", x1, r#"{"type":"direct"}"#, 204, "");
    let unknown = client.ask("PUT", "/api/exchanges/%2F/x2", r#"{"type":"nope"}"#);
    let reason = unknown.json()["reason"].as_str().unwrap().to_owned();
    assert!(unknown.status == 400 && reason.ends_with(" exchange type 'nope'"), "{reason}");
    let body = r#"{"type":"fanout","internal":"true","auto_delete":"false","durable":true,"arguments":{"alternate-exchange":"x1"}}"#;
    client.check("PUT", "/api/exchanges/%2F/x2", body, 201, "");
    let expected = json!({"arguments": {"alternate-exchange": "x1"}, "auto_delete": false, "durable": true,
        "incoming": [], "internal": true, "name": "x2", "outgoing": [], "type": "fanout", "vhost": "/"});
    assert_eq!(client.get("/api/exchanges/%2F/x2"), expected);
    let default = client.get("/api/exchanges/%2F/amq.default");
    assert_eq!((&default["name"], &default["type"]), (&json!(""), &json!("direct")));
    for name in ["amq.foo", "amq.default"] {
        let target = format!("/api/exchanges/%2F/{name}");
        client.refuse("PUT", &target, r#"{"type":"direct"}"#, 401, "not_authorised", "\"Access refused.\"");
    }
    for name in ["amq.topic", "amq.default"] {
        let target = format!("/api/exchanges/%2F/{name}");
        client.refuse("DELETE", &target, "", 401, "not_authorised", "\"Access refused.\"");
    }
    client.check("DELETE", "/api/exchanges/%2F/x1?if-unused=true", "", 204, "");
    client.absent("DELETE", "/api/exchanges/%2F/x1");
    let names: Vec<Value> = client.get("/api/exchanges/%2F/").as_array().unwrap().clone();
    let names: Vec<&str> = names.iter().map(|row| row["name"].as_str().unwrap()).collect();
    let standard = ["", "amq.direct", "amq.fanout", "amq.headers", "amq.match", "amq.topic", "x2"];
    assert_eq!(names, standard);
}

#[test]
fn a_binding_is_named_by_its_properties_key() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/exchanges/%2F/x1", r#"{"type":"topic"}"#);
    client.change("PUT", "/api/exchanges/%2F/x2", r#"{"type":"fanout"}"#);
    client.change("PUT", "/api/queues/%2F/q1", "{}");
    let at = "/api/bindings/%2F/e/x1/q/q1";
    for (body, location) in [
        ("{}", "q1/~"),
        (r#"{"routing_key":"a~b/c","arguments":{}}"#, "q1/a%257eb%252fc"),
        (r#"{"routing_key":"\u00e4 b","arguments":{}}"#, "q1/%25c3%25a4%2bb"),
        (r#"{"routing_key":5}"#, "q1/5"),
    ] {
        let answered = client.ask("POST", at, body);
        assert_eq!((answered.status, answered.header("location")), (201, Some(location)), "{body}");
    }
    let answered = client.ask("POST", at, r#"{"routing_key":"k","arguments":{"x":1,"y":"z"}}"#);
    let key = answered.header("location").unwrap().strip_prefix("q1/").unwrap().to_owned();
    assert!(key.starts_with("k~"), "{key}");
    let keys: Vec<String> = client
        .get(at)
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["properties_key"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(keys.len(), 5);
    assert_eq!(keys[..3], ["~", "5", "a%7Eb%2Fc"]);
    let expected = json!({"source": "x1", "vhost": "/", "destination": "q1", "destination_type": "queue",
        "routing_key": "a~b/c", "arguments": {}, "properties_key": "a%7Eb%2Fc"});
    assert_eq!(client.get(&format!("{at}/a%257Eb%252Fc")), expected);
    client.absent("GET", &format!("{at}/a%7Eb%2Fc"));
    client.absent("GET", &format!("{at}/nope"));
    let with_arguments =
        client.get(at).as_array().unwrap().iter().find(|row| row["routing_key"] == "k").unwrap().clone();
    assert_eq!(with_arguments["arguments"], json!({"x": 1, "y": "z"}));
    let name = with_arguments["properties_key"].as_str().unwrap();
    client.check("DELETE", &format!("{at}/{name}"), "", 204, "");
    client.absent("DELETE", &format!("{at}/{name}"));
    client.check("DELETE", &format!("{at}/~"), "", 204, "");
    assert_eq!(client.get(at).as_array().unwrap().len(), 3);
}

#[test]
fn bindings_are_listed_by_their_ends() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/exchanges/%2F/x1", r#"{"type":"topic"}"#);
    client.change("PUT", "/api/exchanges/%2F/x2", r#"{"type":"fanout"}"#);
    client.change("PUT", "/api/queues/%2F/q1", "{}");
    client.change("POST", "/api/bindings/%2F/e/x1/q/q1", r#"{"routing_key":"a"}"#);
    client.check("POST", "/api/bindings/%2F/e/x1/e/x2", r#"{"routing_key":"e"}"#, 201, "");
    let ends = |target: &str| -> Vec<[String; 3]> {
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let rows = client.get(target);
        let rows = rows.as_array().unwrap().iter();
        rows.map(|row| ["source", "destination", "properties_key"].map(|key| text(row, key))).collect()
    };
    let default = ["", "q1", "q1"].map(str::to_owned);
    let to_queue = ["x1", "q1", "a"].map(str::to_owned);
    let to_exchange = ["x1", "x2", "e"].map(str::to_owned);
    let all = [default.clone(), to_queue.clone(), to_exchange.clone()];
    assert_eq!(ends("/api/bindings"), all);
    assert_eq!(ends("/api/bindings/%2F"), all);
    assert_eq!(ends("/api/exchanges/%2F/x1/bindings/source"), all[1..]);
    assert_eq!(ends("/api/exchanges/%2F/amq.default/bindings/source"), all[..1]);
    assert_eq!(ends("/api/exchanges/%2F/x2/bindings/destination"), all[2..]);
    assert_eq!(ends("/api/queues/%2F/q1/bindings"), all[..2]);
    assert_eq!(ends("/api/bindings/%2F/e/x1/e/x2"), all[2..]);
    assert_eq!(ends("/api/bindings/%2F/e/amq.default/q/q1"), all[..1]);
    for target in [
        "/api/bindings/%2F/e/x1/q/nope",
        "/api/bindings/%2F/e/nope/q/nope",
        "/api/exchanges/%2F/nope/bindings/source",
    ] {
        assert_eq!(client.get(target), json!([]), "{target}");
    }
    client.absent("GET", "/api/bindings/nope");
    let nowhere = ["queue", "exchange"].map(|kind| format!("\"no {kind} 'nope' in vhost '/'\""));
    client.refuse("POST", "/api/bindings/%2F/e/x1/q/nope", "{}", 404, "not_found", &nowhere[0]);
    client.refuse("POST", "/api/bindings/%2F/e/nope/q/q1", "{}", 404, "not_found", &nowhere[1]);
    let refused = "\"Access refused.\"";
    client.refuse("POST", "/api/bindings/%2F/e/amq.default/q/q1", "{}", 401, "not_authorised", refused);
    client.refuse("DELETE", "/api/bindings/%2F/e/amq.default/q/q1/q1", "", 401, "not_authorised", refused);
}
