//! Users, permissions, topic permissions, limits of users.

use serde_json::{Value, json};

use super::client::Client;
use super::node::TestNode;

/// The example of RabbitMQ's documentation, for the password `test12`.
const HASH: &str = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR";

#[test]
fn users_are_made_and_deleted_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let put = |body: &str, status: u16| client.check("PUT", "/api/users/u1", body, status, "");
    let bad = |body: &str, reason: &str| client.bad("PUT", "/api/users/u1", body, reason);
    bad("{}", r#""tags_not_present""#);
    bad(r#"{"password":"p"}"#, r#""tags_not_present""#);
    put(r#"{"password":"p","tags":""}"#, 201);
    put(r#"{"password":"p","tags":"management, foo"}"#, 204);
    assert_eq!(client.get("/api/users/u1")["tags"], json!(["management", "foo"]));
    put(r#"{"password":"p","tags":["monitoring"]}"#, 204);
    put(r#"{"tags":"x"}"#, 204);
    assert_eq!(client.get("/api/users/u1")["password_hash"], "");
    put(r#"{"password_hash":"","tags":"x"}"#, 204);
    let both = json!({"password": "a", "password_hash": HASH, "tags": "x"}).to_string();
    bad(&both, r#""both_password_and_password_hash_are_provided""#);
    put(&json!({"password_hash": HASH, "tags": "management"}).to_string(), 204);
    let expected = json!({"name": "u1", "password_hash": HASH, "hashing_algorithm": "rabbit_password_hashing_sha256",
        "tags": ["management"], "limits": {}});
    assert_eq!(client.get("/api/users/u1"), expected);
    let user = Client::new(node.http.addresses()[0], Some(("u1", "test12")));
    let expected = json!({"name": "u1", "tags": ["management"], "is_internal_user": true});
    assert_eq!(user.get("/api/whoami"), expected);
    client.absent("GET", "/api/users/nope");
    client.absent("DELETE", "/api/users/nope");
    client.check("DELETE", "/api/users/u1", "", 204, "");
    assert_eq!(user.ask("GET", "/api/whoami", "").status, 401);
}

#[test]
fn several_users_are_deleted_at_once_or_none() {
    let node = TestNode::start();
    let client = node.client();
    for name in ["a", "b", "c"] {
        client.change("PUT", &format!("/api/users/{name}"), r#"{"tags":"","password":"x"}"#);
    }
    let at = "/api/users/bulk-delete";
    client.bad("POST", at, "{}", r#""[{key_missing,users}]""#);
    client.bad("POST", at, r#"{"users":["a","nope"]}"#, r#"["no_such_user","nope"]"#);
    client.bad("POST", at, r#"{"users":"a"}"#, r#"["not_list","a"]"#);
    let names = || -> Vec<String> {
        let users = client.get("/api/users/without-permissions");
        users.as_array().unwrap().iter().map(|user| user["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(), ["a", "b", "c"]);
    client.check("POST", at, r#"{"users":["a","c"]}"#, 204, "");
    assert_eq!(names(), ["b"]);
}

#[test]
fn permissions_are_set_and_cleared_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/users/u2", r#"{"tags":"","password":"x"}"#);
    let at = "/api/permissions/%2F/u2";
    let all = r#"{"configure":".*","write":".*","read":".*"}"#;
    let missing = r#""[{key_missing,configure},{key_missing,write},{key_missing,read}]""#;
    client.bad("PUT", at, "{}", missing);
    client.absent("GET", at);
    client.check("PUT", at, all, 201, "");
    client.check("PUT", at, all, 204, "");
    assert_eq!(client.ask("PUT", at, r#"{"configure":"(","write":"","read":""}"#).status, 400);
    for target in ["/api/permissions/nope/u2", "/api/permissions/%2F/nope"] {
        client.bad("PUT", target, all, r#""vhost_or_user_not_found""#);
        client.absent("GET", target);
        client.absent("DELETE", target);
    }
    let row = json!({"user": "u2", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"});
    assert_eq!(client.get(at), row);
    assert_eq!(client.get("/api/users/u2/permissions"), json!([row]));
    assert_eq!(client.get("/api/vhosts/%2F/permissions").as_array().unwrap().len(), 2);
    assert_eq!(client.get("/api/permissions").as_array().unwrap().len(), 2);
    for target in ["/api/users/nope/permissions", "/api/vhosts/nope/permissions"] {
        client.absent("GET", target);
    }
    client.check("DELETE", at, "", 204, "");
    client.absent("DELETE", at);
}

#[test]
fn topic_permissions_are_set_and_cleared_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/users/u2", r#"{"tags":"","password":"x"}"#);
    let at = "/api/topic-permissions/%2F/u2";
    let row = |exchange: &str| json!({"exchange": exchange, "write": ".*", "read": "^a"}).to_string();
    client.check("PUT", at, &row("amq.topic"), 201, "");
    client.check("PUT", at, &row("amq.topic"), 204, "");
    client.check("PUT", at, &row("nope"), 204, "");
    client.bad("PUT", at, r#"{"exchange":"x"}"#, r#""[{key_missing,write},{key_missing,read}]""#);
    client.bad("PUT", at, r#"{"write":"","read":""}"#, r#""[{key_missing,exchange}]""#);
    let rows: Vec<Value> = ["amq.topic", "nope"]
        .map(
            |exchange| json!({"user": "u2", "vhost": "/", "exchange": exchange, "write": ".*", "read": "^a"}),
        )
        .into();
    assert_eq!(client.get(at), json!(rows));
    assert_eq!(client.get(&format!("{at}/amq.topic")), json!(rows));
    assert_eq!(client.get("/api/users/u2/topic-permissions"), json!(rows));
    assert_eq!(client.get("/api/vhosts/%2F/topic-permissions"), json!(rows));
    client.absent("GET", "/api/topic-permissions/%2F/guest");
    for _ in 0..2 {
        client.check("DELETE", &format!("{at}/amq.topic"), "", 204, "");
    }
    assert_eq!(client.get(at), json!(rows[1..]));
    client.check("DELETE", at, "", 204, "");
    client.absent("DELETE", at);
}

#[test]
fn limits_of_users_are_set_and_cleared_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/users/u1", r#"{"tags":"","password":"x"}"#);
    let at = "/api/user-limits/u1/";
    client.check("PUT", &format!("{at}max-channels"), r#"{"value":5}"#, 204, "");
    client.check("PUT", &format!("{at}max-connections"), r#"{"value":"7"}"#, 204, "");
    let expected = json!([{"user": "u1", "value": {"max-channels": 5, "max-connections": 7}}]);
    assert_eq!(client.get("/api/user-limits"), expected);
    assert_eq!(client.get("/api/user-limits/u1"), expected);
    assert_eq!(client.get("/api/user-limits/guest"), json!([]));
    assert_eq!(client.get("/api/users/u1")["limits"], expected[0]["value"]);
    client.absent("GET", "/api/user-limits/nope");
    let text = r#""max-connections should be a number, actually was 5.5""#;
    client.bad("PUT", &format!("{at}max-connections"), r#"{"value":5.5}"#, text);
    let text = r#""Unrecognised terms [{<<\"nope\">>,5}] in user-limits""#;
    client.bad("PUT", &format!("{at}nope"), r#"{"value":5}"#, text);
    client.bad("PUT", "/api/user-limits/nope/max-channels", r#"{"value":5}"#, r#"["no_such_user","nope"]"#);
    for _ in 0..2 {
        client.check("DELETE", &format!("{at}max-channels"), "", 204, "");
    }
    assert_eq!(client.get("/api/user-limits/u1")[0]["value"], json!({"max-connections": 7}));
}
