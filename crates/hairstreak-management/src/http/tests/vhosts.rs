//! Virtual hosts, their limits, and parameters.

use serde_json::json;

use super::node::TestNode;

#[test]
fn virtual_hosts_are_made_and_deleted_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let at = "/api/vhosts/v1";
    client.check("PUT", at, "", 201, "");
    client.check("PUT", at, r#"{"description":"d","tags":"a,b","tracing":false}"#, 204, "");
    let host = client.get(at);
    assert_eq!((&host["description"], &host["tags"]), (&json!("d"), &json!(["a", "b"])));
    client.check("PUT", at, r#"{"default_queue_type":"quorum"}"#, 204, "");
    let host = client.get(at);
    assert_eq!((&host["description"], &host["default_queue_type"]), (&json!("d"), &json!("quorum")));
    let unknown = r#""unknown default_queue_type 'ring'""#;
    client.bad("PUT", at, r#"{"default_queue_type":"ring"}"#, unknown);
    assert_eq!(host["cluster_state"], json!({"hairstreak@localhost": "running"}));
    // The creator of a virtual host has all permissions there.
    let row = json!({"vhost": "v1", "user": "guest", "configure": ".*", "write": ".*", "read": ".*"});
    assert_eq!(client.get("/api/vhosts/v1/permissions"), json!([row]));
    for target in ["/api/vhosts/nope", "/api/vhosts/nope/connections", "/api/vhosts/nope/channels"] {
        client.absent("GET", target);
    }
    client.absent("DELETE", "/api/vhosts/nope");
    client.check("POST", "/api/vhosts/v1/start/hairstreak@localhost", "{}", 204, "");
    let text = r#""Request to node nope@x failed with nodedown""#;
    client.bad("POST", "/api/vhosts/v1/start/nope@x", "{}", text);
    client.check("POST", "/api/vhosts/v1/deletion/protection", "", 204, "");
    assert_eq!(client.ask("DELETE", at, "").status, 412);
    // An import takes no protection away.
    for metadata in [json!({}), json!({"protected_from_deletion": false})] {
        let file = json!({"vhosts": [{"name": "v1", "metadata": metadata}]});
        client.check("POST", "/api/definitions", &file.to_string(), 204, "");
        assert_eq!(client.ask("DELETE", at, "").status, 412, "{metadata}");
    }
    client.check("DELETE", "/api/vhosts/v1/deletion/protection", "", 204, "");
    client.check("DELETE", at, "", 204, "");
    client.absent("GET", at);
}

#[test]
fn queues_have_the_default_type_of_their_virtual_host() {
    let node = TestNode::start();
    let client = node.client();
    client.check("PUT", "/api/vhosts/v1", r#"{"default_queue_type":"quorum"}"#, 201, "");
    client.check("PUT", "/api/queues/v1/q", r#"{"durable":true}"#, 201, "");
    client.check("PUT", "/api/queues/v1/transient", "", 201, "");
    let queue = client.get("/api/queues/v1/q");
    assert_eq!((&queue["type"], &queue["arguments"]), (&json!("quorum"), &json!({"x-queue-type": "quorum"})));
    assert_eq!(client.get("/api/queues/v1/transient")["type"], "classic");
    client.check("PUT", "/api/vhosts/v1", r#"{"default_queue_type":"classic"}"#, 204, "");
    client.check("PUT", "/api/queues/v1/classic", r#"{"durable":true}"#, 201, "");
    // A queue of a file has its type from the file, or from the virtual host.
    let file = json!({
        "vhosts": [{"name": "v2", "metadata": {"default_queue_type": "quorum"}}],
        "queues": [
            {"vhost": "v2", "name": "none", "durable": true, "auto_delete": false, "arguments": {}},
            {"vhost": "v2", "name": "said", "type": "classic", "durable": true, "auto_delete": false, "arguments": {}},
        ],
    });
    client.check("POST", "/api/definitions", &file.to_string(), 204, "");
    let types = ["v1/q", "v1/classic", "v2/none", "v2/said"]
        .map(|at| client.get(&format!("/api/queues/{at}"))["type"].clone());
    assert_eq!(types, ["quorum", "classic", "quorum", "classic"]);
}

#[test]
fn limits_of_virtual_hosts_are_set_and_cleared_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let at = "/api/vhost-limits/%2F/";
    client.check("PUT", &format!("{at}max-queues"), r#"{"value":1}"#, 204, "");
    client.check("PUT", &format!("{at}max-connections"), r#"{"value":-5}"#, 204, "");
    let expected = json!([{"vhost": "/", "value": {"max-connections": -5, "max-queues": 1}}]);
    assert_eq!(client.get("/api/vhost-limits"), expected);
    assert_eq!(client.get("/api/vhost-limits/%2F"), expected);
    assert_eq!(client.get("/api/parameters/vhost-limits/%2F")[0]["value"], expected[0]["value"]);
    client.absent("GET", "/api/vhost-limits/nope");
    for (name, body, text) in [
        (
            "max-connections",
            r#"{"value":"x"}"#,
            r#""Validation failed\n\nmax-connections should be a number, actually was <<\"x\">>\n""#,
        ),
        (
            "max-connections",
            r#"{"value":5.5}"#,
            r#""Validation failed\n\nmax-connections should be a number, actually was 5.5\n""#,
        ),
        (
            "nope",
            r#"{"value":5}"#,
            r#""Validation failed\n\nUnrecognised terms [{<<\"nope\">>,5}] in limits\n""#,
        ),
        ("max-queues", "{}", r#""[{key_missing,value}]""#),
    ] {
        client.bad("PUT", &format!("{at}{name}"), body, text);
    }
    let target = "/api/vhost-limits/nope/max-queues";
    client.refuse("PUT", target, r#"{"value":5}"#, 404, "not_found", "\"vhost_not_found\"");
    client.check("PUT", "/api/queues/%2F/one", "{}", 201, "");
    assert_eq!(client.ask("PUT", "/api/queues/%2F/two", "{}").status, 400);
    for _ in 0..2 {
        client.check("DELETE", &format!("{at}max-queues"), "", 204, "");
    }
    client.check("PUT", "/api/queues/%2F/two", "{}", 201, "");
}

/// RabbitMQ has the limits of a virtual host as its parameter, with a list where there are none.
#[test]
fn limits_of_virtual_hosts_are_a_parameter() {
    let node = TestNode::start();
    let client = node.client();
    let file = |key: &str, item: serde_json::Value| json!({key: [item]}).to_string();
    let parameter = |value: serde_json::Value| json!({"vhost": "/", "component": "vhost-limits", "name": "limits", "value": value});
    let of_host = |limits: serde_json::Value| file("vhosts", json!({"name": "/", "limits": limits}));
    for (file, limits) in [
        (file("parameters", parameter(json!({"max-queues": 7}))), json!({"max-queues": 7})),
        (file("parameters", parameter(json!([]))), json!(null)),
        (of_host(json!({"max-queues": 8})), json!({"max-queues": 8})),
        (of_host(json!([{"name": "max-queues", "value": 9}])), json!({"max-queues": 9})),
    ] {
        client.check("POST", "/api/definitions", &file, 204, "");
        assert_eq!(client.get("/api/vhost-limits/%2F")[0]["value"], limits, "{file}");
    }
    let at = "/api/parameters/vhost-limits/%2F/limits";
    client.check("PUT", at, r#"{"value":{"max-connections":5}}"#, 204, "");
    assert_eq!(client.get(at)["value"], json!({"max-connections": 5}));
    for (name, value) in
        [("x", json!({"a": 1})), ("x", json!({})), ("limits", json!({"a": 1})), ("limits", json!([1]))]
    {
        let body = json!({"value": value}).to_string();
        client.check_status("PUT", &format!("/api/parameters/vhost-limits/%2F/{name}"), &body, 400);
    }
    let of_node = client.get("/api/definitions");
    assert_eq!(of_node["parameters"], json!([parameter(json!({"max-connections": 5}))]));
    // The definitions of one host take its limits elsewhere.
    client.change("PUT", "/api/vhosts/v", "{}");
    client.check("POST", "/api/definitions/v", &client.get("/api/definitions/%2F").to_string(), 204, "");
    assert_eq!(client.get("/api/vhost-limits/v")[0]["value"], json!({"max-connections": 5}));
}

#[test]
fn parameters_are_set_and_cleared() {
    let node = TestNode::start();
    let client = node.client();
    let at = "/api/parameters/shovel/%2F/s1";
    client.bad("PUT", at, "{}", r#""[{key_missing,value}]""#);
    let text = r#""Validation failed\n\ncomponent nope not found\n""#;
    client.bad("PUT", "/api/parameters/nope/%2F/x", r#"{"value":1}"#, text);
    for (value, problems) in [
        (json!({}), "Key \"dest-uri\" not found in s1\nKey \"src-uri\" not found in s1"),
        (json!({"dest-uri": "amqp://"}), "Key \"src-uri\" not found in s1"),
        (json!({"dest-uri": null, "src-uri": []}), "dest-uri should be list, actually was null"),
        (json!({"dest-uri": ["amqp://", 5], "src-uri": []}), "dest-uri should be list, actually was 5"),
    ] {
        let text = json!(format!("Validation failed\n\n{problems}\n")).to_string();
        client.bad("PUT", at, &json!({"value": value}).to_string(), &text);
    }
    client.check("PUT", at, r#"{"value":{"src-uri":"amqp://","dest-uri":["amqp://"]}}"#, 201, "");
    client.check("PUT", at, r#"{"value":{"src-uri":"amqp://x","dest-uri":"amqp://"}}"#, 204, "");
    let value = json!({"src-uri": "amqp://x", "dest-uri": "amqp://"});
    let row = json!({"vhost": "/", "component": "shovel", "name": "s1", "value": value});
    assert_eq!(client.get(at), row);
    for target in ["/api/parameters", "/api/parameters/shovel", "/api/parameters/shovel/%2F"] {
        assert_eq!(client.get(target), json!([row]), "{target}");
    }
    assert_eq!(client.get("/api/parameters/nope"), json!([]));
    client.absent("GET", "/api/parameters/shovel/nope");
    client.check("DELETE", at, "", 204, "");
    client.absent("DELETE", at);
    let at = "/api/global-parameters/g1";
    client.check("PUT", at, r#"{"value":{"a":1}}"#, 201, "");
    client.check("PUT", at, r#"{"value":[1,"x"]}"#, 204, "");
    client.bad("PUT", at, "{}", r#""[{key_missing,value}]""#);
    assert_eq!(client.get(at), json!({"value": [1, "x"], "name": "g1"}));
    client.absent("GET", "/api/global-parameters/nope");
    client.check("DELETE", at, "", 204, "");
    client.absent("DELETE", at);
}

#[test]
fn the_cluster_has_a_name_and_an_id() {
    let node = TestNode::start();
    let client = node.client();
    client.check("GET", "/api/cluster-name", "", 200, r#"{"name":"hairstreak@localhost"}"#);
    client.bad("PUT", "/api/cluster-name", "{}", r#""[{key_missing,name}]""#);
    client.check("PUT", "/api/cluster-name", r#"{"name":"foo"}"#, 204, "");
    client.check("GET", "/api/cluster-name", "", 200, r#"{"name":"foo"}"#);
    assert_eq!(client.get("/api/overview")["cluster_name"], "foo");
    let at = "/api/global-parameters/internal_cluster_id";
    let id = client.get(at)["value"].as_str().unwrap().to_owned();
    assert!(id.starts_with("rabbitmq-cluster-id-"), "{id}");
    // The id is of this cluster only.
    let name = json!([{"name": "cluster_name", "value": "foo"}]);
    assert_eq!(client.get("/api/definitions")["global_parameters"], name);
    client.check("PUT", at, r#"{"value":"imported"}"#, 201, "");
    assert_eq!(client.get(at)["value"], "imported");
}
