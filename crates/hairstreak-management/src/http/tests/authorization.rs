//! Rights by tags: the answers of RabbitMQ 3.10.8 for users with each tag.

use serde_json::json;

use super::client::Client;
use super::node::TestNode;

/// The words of a refusal, by the beginning of the body.
const TAGLESS: &str = "Not management user";
const NOT_MONITOR: &str = "Not monitor user";
const NOT_ADMINISTRATOR: &str = "Not administrator user";
const NO_HOST: &str = "User not authorised to access virtual host";
const NO_OBJECT: &str = "User not authorised to access object";
const REFUSED: &str = "Access refused.";

/// Users without a tag, with `management`, `policymaker` and `monitoring`.
struct Users([Client; 4]);

impl Users {
    fn new(node: &TestNode) -> Users {
        let users = [("notag", ""), ("mgmt", "management"), ("pol", "policymaker"), ("mon", "monitoring")];
        Users(users.map(|(name, tag)| node.client_of(name, tag)))
    }

    /// `answers`: for each user a status, or the words of a 401.
    #[track_caller]
    fn check(&self, method: &str, target: &str, body: &str, answers: [Result<u16, &str>; 4]) {
        for (client, answer) in self.0.iter().zip(answers) {
            let answered = client.ask(method, target, body);
            match answer {
                Ok(status) => {
                    let text = String::from_utf8_lossy(&answered.body);
                    assert_eq!(answered.status, status, "{method} {target}: {text}");
                }
                Err(words) => {
                    assert_eq!(answered.status, 401, "{method} {target}");
                    let error = answered.json();
                    assert_eq!(
                        (&error["error"], &error["reason"]),
                        (&"not_authorised".into(), &words.into()),
                        "{target}"
                    );
                }
            }
        }
    }
}

#[test]
fn reading_is_for_users_with_the_tags_of_rabbitmq() {
    let node = TestNode::start();
    node.client().change("PUT", "/api/vhosts/closed", "{}");
    let users = Users::new(&node);
    let read = |target: &str, answers: [Result<u16, &str>; 3]| {
        let [management, policymaker, monitoring] = answers;
        users.check("GET", target, "", [Err(TAGLESS), management, policymaker, monitoring]);
    };
    for name in [
        "overview",
        "whoami",
        "vhosts",
        "queues",
        "queues/%2F",
        "connections",
        "channels",
        "consumers",
        "exchanges/%2F/amq.topic",
        "policies",
        "policies/%2F",
        "operator-policies",
        "vhost-limits",
        "vhost-limits/%2F",
        "user-limits",
        "cluster-name",
        "extensions",
        "health/checks/alarms",
        "aliveness-test/%2F",
        "vhosts/%2F/connections",
    ] {
        read(&format!("/api/{name}"), [Ok(200); 3]);
    }
    for name in [
        "nodes",
        "nodes/hairstreak@localhost",
        "nodes/hairstreak@localhost/memory",
        "auth/attempts/hairstreak@localhost",
    ] {
        read(&format!("/api/{name}"), [Err(NOT_MONITOR), Err(NOT_MONITOR), Ok(200)]);
    }
    for name in [
        "vhosts/%2F",
        "vhosts/%2F/permissions",
        "users",
        "users/mgmt",
        "users/mgmt/permissions",
        "permissions",
        "permissions/%2F/mgmt",
        "topic-permissions",
        "definitions",
        "definitions/%2F",
        "feature-flags",
    ] {
        read(&format!("/api/{name}"), [Err(NOT_ADMINISTRATOR); 3]);
    }
    for name in [
        "queues/closed",
        "queues/closed/x",
        "exchanges/closed",
        "bindings/closed",
        "aliveness-test/closed",
        "vhosts/closed/connections",
    ] {
        read(&format!("/api/{name}"), [Err(NO_HOST); 3]);
    }
    for name in ["parameters", "parameters/shovel/%2F", "global-parameters"] {
        read(&format!("/api/{name}"), [Err(NO_OBJECT), Ok(200), Err(NO_OBJECT)]);
    }
    read("/api/vhost-limits/closed", [Err(NO_HOST), Err(NO_HOST), Ok(200)]);
    read("/api/queues/nope", [Ok(404); 3]);
    users.check("GET", "/api/auth", "", [Ok(200); 4]);
}

#[test]
fn changing_is_for_users_with_the_tags_and_permissions_of_rabbitmq() {
    let node = TestNode::start();
    let administrator = node.client();
    administrator.change("PUT", "/api/vhosts/closed", "{}");
    administrator.change("PUT", "/api/queues/%2F/q1", "{}");
    let users = Users::new(&node);
    let change = |method: &str, target: &str, body: &str, answers: [Result<u16, &str>; 3]| {
        let [management, policymaker, monitoring] = answers;
        users.check(method, target, body, [Err(TAGLESS), management, policymaker, monitoring]);
    };
    let policy = r#"{"pattern":"zz","definition":{"max-length":5}}"#;
    change("PUT", "/api/queues/%2F/mine", "{}", [Ok(201), Ok(204), Ok(204)]);
    change("PUT", "/api/queues/closed/mine", "{}", [Err(NO_HOST); 3]);
    for (method, target, body) in [
        ("PUT", "/api/queues/%2F/yours", "{}"),
        ("DELETE", "/api/queues/%2F/q1", ""),
        ("DELETE", "/api/queues/%2F/q1/contents", ""),
        ("PUT", "/api/exchanges/%2F/yours", "{}"),
        ("POST", "/api/bindings/%2F/e/amq.topic/q/mine", "{}"),
        ("PUT", "/api/queues/%2F/mine-dlx", r#"{"arguments":{"x-dead-letter-exchange":"yours"}}"#),
    ] {
        change(method, target, body, [Err(REFUSED); 3]);
    }
    change("PUT", "/api/policies/%2F/p", policy, [Err(NO_OBJECT), Ok(201), Err(NO_OBJECT)]);
    change("PUT", "/api/policies/closed/p", policy, [Err(NO_OBJECT); 3]);
    change("PUT", "/api/global-parameters/p", r#"{"value":5}"#, [Err(NO_OBJECT), Ok(201), Err(NO_OBJECT)]);
    for (method, target, body) in [
        ("PUT", "/api/operator-policies/%2F/p", policy),
        ("PUT", "/api/vhosts/new", "{}"),
        ("PUT", "/api/users/new", r#"{"tags":"","password":"x"}"#),
        ("PUT", "/api/permissions/%2F/mgmt", r#"{"configure":"","write":"","read":""}"#),
        ("PUT", "/api/vhost-limits/%2F/max-queues", r#"{"value":500}"#),
        ("PUT", "/api/user-limits/mgmt/max-channels", r#"{"value":500}"#),
        ("POST", "/api/definitions", "{}"),
        ("POST", "/api/definitions/%2F", "{}"),
        ("PUT", "/api/cluster-name", r#"{"name":"foo"}"#),
        ("PUT", "/api/feature-flags/quorum_queue/enable", "{}"),
        ("POST", "/api/rebalance/queues", "{}"),
        ("DELETE", "/api/reset", ""),
        ("POST", "/api/users/bulk-delete", r#"{"users":[]}"#),
        ("POST", "/api/vhosts/%2F/start/hairstreak@localhost", "{}"),
        ("POST", "/api/queues/%2F/q1/actions", r#"{"action":"sync"}"#),
    ] {
        change(method, target, body, [Err(NOT_ADMINISTRATOR); 3]);
    }
}

/// Line breaks in a name do not count, so that a right is asked for the name that is left. The answers of RabbitMQ 3.10.8.
#[test]
fn line_breaks_in_a_name_get_around_no_permission() {
    let node = TestNode::start();
    let administrator = node.client();
    administrator.change("PUT", "/api/exchanges/%2F/secret", r#"{"type":"topic"}"#);
    administrator.change("PUT", "/api/queues/%2F/mine", "{}");
    administrator.change("PUT", "/api/users/lim", r#"{"tags":"management","password":"lim"}"#);
    let but_secret = r#"{"configure":"^(?!secret)","write":"^(?!secret)","read":"^(?!secret)"}"#;
    administrator.change("PUT", "/api/permissions/%2F/lim", but_secret);
    let topics = r#"{"exchange":"amq.topic","write":"^lim","read":"^lim"}"#;
    administrator.change("PUT", "/api/topic-permissions/%2F/lim", topics);
    let client = Client::new(node.http.addresses()[0], Some(("lim", "lim")));
    for (method, target, body) in [
        ("PUT", "/api/queues/%2F/sec%0Aret", "{}"),
        ("PUT", "/api/queues/%2F/%0D%0Asecret", "{}"),
        ("PUT", "/api/exchanges/%2F/sec%0Dret2", "{}"),
        ("PUT", "/api/exchanges/%2F/am%0Aq.new", "{}"),
        ("POST", "/api/bindings/%2F/e/sec%0Aret/q/mine", "{}"),
        ("POST", "/api/bindings/%2F/e/amq.fanout/e/secret%0A", "{}"),
        ("POST", "/api/bindings/%2F/e/amq.topic%0A/q/mine", r#"{"routing_key":"secret"}"#),
    ] {
        client.refuse(method, target, body, 401, "not_authorised", "\"Access refused.\"");
    }
    let names = |target: &str| -> Vec<String> {
        let rows = administrator.get(target);
        let names = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
        names.filter(|name| !name.is_empty() && !name.starts_with("amq.")).collect()
    };
    client.change("PUT", "/api/queues/%2F/mi%0Ane2", "{}");
    client.change("POST", "/api/bindings/%2F/e/amq.to%0Apic/q/mine2%0D", r#"{"routing_key":"lim"}"#);
    assert_eq!(names("/api/queues"), ["mine", "mine2"]);
    assert_eq!(names("/api/exchanges"), ["secret"]);
    assert_eq!(administrator.get("/api/bindings/%2F/e/amq.topic/q/mine2").as_array().unwrap().len(), 1);
}

/// A client may take minutes to send a body. Its rights at the end of the body count.
#[test]
fn a_body_that_takes_long_outlives_no_right() {
    let node = TestNode::start();
    let administrator = node.client();
    let users = r#"{"users":[{"name":"back","password":"x","tags":["administrator"]}]}"#;
    let policy = r#"{"pattern":".*","definition":{"max-length":0}}"#;
    let deleted = node.client_of("adm", "administrator").begin_body("POST", "/api/definitions", users.len());
    let demoted = node.client_of("low", "policymaker").begin_body("PUT", "/api/policies/%2F/p", policy.len());
    let early = node.client_of("pol", "policymaker").begin_body("PUT", "/api/policies/later/p", policy.len());
    administrator.change("DELETE", "/api/users/adm", "");
    administrator.change("PUT", "/api/users/low", r#"{"tags":"management"}"#);
    administrator.change("PUT", "/api/vhosts/later", "{}");
    let statuses =
        [deleted.end(users.as_bytes()), demoted.end(policy.as_bytes()), early.end(policy.as_bytes())];
    assert_eq!(statuses.map(|answered| answered.status), [401; 3]);
    administrator.absent("GET", "/api/users/back");
    assert_eq!(administrator.get("/api/policies"), json!([]));
}

#[test]
fn only_administrators_close_the_connections_of_others() {
    let node = TestNode::start();
    let (administrator, monitor) = (node.client(), node.client_of("mon", "monitoring"));
    monitor.check_status("DELETE", "/api/connections/username/guest", "", 401);
    monitor.check_status("DELETE", "/api/connections/username/mon", "", 204);
    administrator.check_status("DELETE", "/api/connections/username/mon", "", 204);
}

#[test]
fn messages_are_for_users_with_permissions() {
    let node = TestNode::start();
    node.client().change("PUT", "/api/queues/%2F/q1", "{}");
    let client = node.client_of("mgmt", "management");
    let text = r#""ACCESS_REFUSED - access to queue 'q1' in vhost '/' refused for user 'mgmt'""#;
    let get = r#"{"count":1,"ackmode":"ack_requeue_true","encoding":"auto"}"#;
    client.refuse("POST", "/api/queues/%2F/q1/get", get, 401, "not_authorised", text);
    let text =
        r#""403 ACCESS_REFUSED - access to exchange 'amq.topic' in vhost '/' refused for user 'mgmt'""#;
    let message = r#"{"routing_key":"a","payload":"5","payload_encoding":"string","properties":{}}"#;
    client.bad("POST", "/api/exchanges/%2F/amq.topic/publish", message, text);
}

#[test]
fn a_user_sees_the_virtual_hosts_where_it_has_permissions() {
    let node = TestNode::start();
    let administrator = node.client();
    administrator.change("PUT", "/api/vhosts/closed", "{}");
    administrator.change("PUT", "/api/queues/closed/hidden", "{}");
    administrator.change("PUT", "/api/queues/%2F/seen", "{}");
    let names = |client: &Client, target: &str| -> Vec<String> {
        let rows = client.get(target);
        rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    let management = node.client_of("mgmt", "management");
    let monitoring = node.client_of("mon", "monitoring");
    assert_eq!(names(&management, "/api/vhosts"), ["/"]);
    assert_eq!(names(&monitoring, "/api/vhosts"), ["/", "closed"]);
    assert_eq!(names(&administrator, "/api/queues"), ["seen", "hidden"]);
    for client in [&management, &monitoring] {
        assert_eq!(names(client, "/api/queues"), ["seen"]);
    }
    // The header stands for a virtual host in the path.
    let send = |name: &str| administrator.send("GET", "/api/queues", &format!("x-vhost: {name}\r\n"), b"");
    assert_eq!(send("closed").json()[0]["name"], "hidden");
    assert_eq!(send("nope").body, b"[]");
    let overview = management.get("/api/overview");
    assert_eq!(overview["object_totals"]["queues"], 1);
    for key in ["node", "listeners", "contexts"] {
        assert!(overview.get(key).is_none(), "{key}");
        assert!(monitoring.get("/api/overview").get(key).is_some(), "{key}");
    }
}

#[test]
fn a_protected_user_is_not_changed() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/users/robot", r#"{"tags":"protected","password":"x"}"#);
    assert_eq!(client.ask("DELETE", "/api/users/robot", "").status, 401);
    assert_eq!(client.ask("PUT", "/api/users/robot", r#"{"tags":""}"#).status, 401);
    assert_eq!(client.ask("POST", "/api/users/bulk-delete", r#"{"users":["robot"]}"#).status, 401);
    assert_eq!(client.get("/api/users/robot")["tags"][0], "protected");
}

/// The counts of RabbitMQ 3.10.8.
#[test]
fn logins_are_counted_by_what_came_of_them() {
    let node = TestNode::start();
    let client = node.client();
    let management = node.client_of("mgmt", "management");
    let at = "/api/auth/attempts/hairstreak@localhost";
    client.check("DELETE", at, "", 204, "");
    let check = |failed: u64, succeeded: u64| {
        let row = json!({"protocol": "http", "auth_attempts": failed + succeeded,
            "auth_attempts_failed": failed, "auth_attempts_succeeded": succeeded});
        // The request itself counts.
        assert_eq!(client.get(at), json!([row]));
    };
    check(0, 1);
    for stranger in [Some(("mgmt", "wrong")), Some(("nobody", "x")), Some(("mgmt", ""))] {
        assert_eq!(Client::new(node.http.addresses()[0], stranger).ask("GET", "/api/whoami", "").status, 401);
    }
    check(3, 2);
    // A tag or a virtual host that the user lacks is a login that failed; an object that does not exist is none.
    assert_eq!(management.ask("GET", "/api/users", "").status, 401);
    management.absent("GET", "/api/queues/nope");
    check(4, 4);
    assert_eq!(Client::new(node.http.addresses()[0], None).ask("GET", "/api/whoami", "").status, 401);
    client.check_status("GET", "/api/nope", "", 404);
    client.check_status("POST", "/api/whoami", "", 405);
    check(4, 5);
    assert_eq!(client.get(&format!("{at}/source")), json!([]));
    client.check("DELETE", &format!("{at}/source"), "", 204, "");
    check(0, 1);
}

/// A hash takes a processor for a while, and 19 MiB. As in RabbitMQ 4 only an administrator may ask for one.
#[test]
fn administrators_alone_have_passwords_hashed() {
    let node = TestNode::start();
    let target = "/api/auth/hash_password/secret";
    assert!(node.client().get(target)["ok"].is_string());
    for tags in ["management", "policymaker", "monitoring"] {
        assert_eq!(node.client_of(tags, tags).ask("GET", target, "").status, 401, "{tags}");
    }
}
