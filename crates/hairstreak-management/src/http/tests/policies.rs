//! Policies and operator policies.

use serde_json::{Value, json};

use super::client::Begun;
use super::node::TestNode;

#[test]
fn policies_are_set_and_cleared_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let at = "/api/policies/%2F/p1";
    let bad = |body: &str, reason: &str| client.bad("PUT", at, body, reason);
    bad("{}", r#""[{key_missing,pattern},{key_missing,definition}]""#);
    bad(r#"{"pattern":"^a"}"#, r#""[{key_missing,definition}]""#);
    bad(r#"{"pattern":"^a","definition":{}}"#, r#""Validation failed\n\nno policy provided\n""#);
    bad(
        r#"{"pattern":"^a","definition":{"nope":"x"}}"#,
        r#""Validation failed\n\n[{&lt;&lt;\"nope\"&gt;&gt;,&lt;&lt;\"x\"&gt;&gt;}] are not recognised policy settings\n""#,
    );
    bad(
        r#"{"pattern":"^a","definition":{"max-length":5},"priority":"x"}"#,
        r#""Validation failed\n\npriority should be a number, actually was &lt;&lt;\"x\"&gt;&gt;\n""#,
    );
    bad(
        r#"{"pattern":"(?(1))","definition":{"max-length":5}}"#,
        r#""Validation failed\n\npattern should be regular expression but is invalid: {\"reference to non-existent subpattern\",5}\n""#,
    );
    let body = r#"{"pattern":"^a","definition":{"max-length":5},"priority":3,"apply-to":"queues"}"#;
    client.check("PUT", at, body, 201, "");
    client.check("PUT", at, body, 204, "");
    client.refuse("PUT", "/api/policies/nope/p1", body, 404, "not_found", "\"vhost_not_found\"");
    let row = json!({"vhost": "/", "name": "p1", "pattern": "^a", "apply-to": "queues", "definition": {"max-length": 5},
        "priority": 3});
    assert_eq!(client.get(at), row);
    assert_eq!(client.get("/api/policies"), json!([row]));
    assert_eq!(client.get("/api/policies/%2F"), json!([row]));
    client.absent("GET", "/api/policies/nope");
    client.absent("GET", "/api/policies/%2F/nope");
    client.absent("DELETE", "/api/policies/%2F/nope");
    client.check("DELETE", at, "", 204, "");
    assert_eq!(client.get("/api/policies"), json!([]));
}

#[test]
fn a_queue_shows_the_policies_that_apply() {
    let node = TestNode::start();
    let client = node.client();
    client.change("PUT", "/api/queues/%2F/a1", "{}");
    client.change("PUT", "/api/queues/%2F/b1", "{}");
    client.change(
        "PUT",
        "/api/policies/%2F/p1",
        r#"{"pattern":"^a","definition":{"max-length":9,"overflow":"reject-publish"}}"#,
    );
    let body = r#"{"pattern":"^a","definition":{"max-length":5},"apply-to":"queues"}"#;
    client.check("PUT", "/api/operator-policies/%2F/o1", body, 201, "");
    let queue = client.get("/api/queues/%2F/a1");
    assert_eq!((&queue["policy"], &queue["operator_policy"]), (&json!("p1"), &json!("o1")));
    assert_eq!(queue["effective_policy_definition"], json!({"max-length": 5, "overflow": "reject-publish"}));
    let other = client.get("/api/queues/%2F/b1");
    assert_eq!((&other["policy"], &other["effective_policy_definition"]), (&json!(null), &json!({})));
    let bad = r#"{"pattern":"^a","definition":{"dead-letter-exchange":"5"}}"#;
    let text = r#""Validation failed\n\n[{<<\"dead-letter-exchange\">>,<<\"5\">>}] are not recognised policy settings\n""#;
    client.bad("PUT", "/api/operator-policies/%2F/o1", bad, text);
    client.check("DELETE", "/api/operator-policies/%2F/o1", "", 204, "");
    assert_eq!(client.get("/api/operator-policies"), json!([]));
    assert_eq!(client.get("/api/queues/%2F/a1")["operator_policy"], json!(null));
}

/// The answers of RabbitMQ 3.10.8, where policymakers may do as much.
#[test]
fn operator_policies_are_parameters_too() {
    let node = TestNode::start();
    let client = node.client();
    let body = r#"{"pattern":"^a","definition":{"max-length":5},"priority":3,"apply-to":"queues"}"#;
    client.change("PUT", "/api/operator-policies/%2F/o1", body);
    client.change("PUT", "/api/policies/%2F/p1", body);
    let value =
        json!({"pattern": "^a", "definition": {"max-length": 5}, "priority": 3, "apply-to": "queues"});
    let row = |component: &str, name: &str| json!({"vhost": "/", "component": component, "name": name, "value": value});
    let at = |component: &str, rest: &str| format!("/api/parameters/{component}{rest}");
    let policy = row("operator_policy", "o1");
    assert_eq!(client.get("/api/parameters"), json!([policy]));
    for rest in ["", "/%2F"] {
        assert_eq!(client.get(&at("operator_policy", rest)), json!([policy]));
        assert_eq!(client.get(&at("policy", rest)), json!([row("policy", "p1")]));
    }
    assert_eq!(client.get(&at("operator_policy", "/%2F/o1")), policy);
    assert_eq!(client.get(&at("policy", "/%2F/p1")), row("policy", "p1"));
    client.absent("GET", &at("operator_policy", "/%2F/p1"));
    client.absent("GET", &at("operator_policy", "/nope"));
    let set = json!({"value": value}).to_string();
    client.check("PUT", &at("operator_policy", "/%2F/o2"), &set, 201, "");
    assert_eq!(client.get("/api/operator-policies/%2F/o2")["definition"], json!({"max-length": 5}));
    let other_way = r#""policies may not be set using this method""#;
    client.bad("PUT", &at("policy", "/%2F/p2"), &set, other_way);
    client.bad("DELETE", &at("policy", "/%2F/p1"), "", other_way);
    client.check("DELETE", &at("operator_policy", "/%2F/o1"), "", 204, "");
    client.absent("GET", "/api/operator-policies/%2F/o1");
    client.absent("DELETE", &at("operator_policy", "/%2F/o1"));
    for (value, reason) in [
        (
            json!({}),
            r#"Key "definition" not found in o3
Key "pattern" not found in o3
Key "priority" not found in o3"#,
        ),
        (
            json!([]),
            r#"Key "definition" not found in o3
Key "pattern" not found in o3
Key "priority" not found in o3"#,
        ),
        (json!("x"), r#"o3 not a list &lt;&lt;"x"&gt;&gt;"#),
        (
            json!({"pattern": "^z", "definition": {"max-length": 4}, "priority": 1, "zz": "no"}),
            r#"Unrecognised terms [{&lt;&lt;"zz"&gt;&gt;,&lt;&lt;"no"&gt;&gt;}] in o3"#,
        ),
        (
            json!({"pattern": "^z", "definition": {"max-length": 4}, "priority": "x"}),
            r#"priority should be a number, actually was &lt;&lt;"x"&gt;&gt;"#,
        ),
        (json!({"pattern": "^z", "definition": {}, "priority": 1}), "no policy provided"),
    ] {
        let reason = format!("Validation failed\n\n{}\n", reason.replace("\\n", "\n"));
        let set = json!({"value": value}).to_string();
        client.bad("PUT", &at("operator_policy", "/%2F/o3"), &set, &json!(reason).to_string());
    }
}

#[test]
fn only_administrators_set_operator_policies_at_either_path() {
    let node = TestNode::start();
    let policymaker = node.client_of("maker", "policymaker");
    let policy = json!({"pattern": "^a", "definition": {"max-length": 5}, "priority": 3});
    node.client().change("PUT", "/api/operator-policies/%2F/o1", &policy.to_string());
    let set = json!({"value": policy}).to_string();
    let reason = "\"Not administrator user\"";
    for (at, body) in [("operator-policies", policy.to_string()), ("parameters/operator_policy", set)] {
        for (method, body) in [("PUT", &*body), ("DELETE", "")] {
            policymaker.refuse(method, &format!("/api/{at}/%2F/o1"), body, 401, "not_authorised", reason);
        }
    }
    assert_eq!(policymaker.get("/api/parameters")[0]["name"], "o1");
}

#[test]
fn a_virtual_host_has_a_bounded_number_of_policies() {
    const POLICIES_MAX: usize = 1024;
    let node = TestNode::start();
    let client = node.client();
    let body = r#"{"pattern":"^a","definition":{"max-length":5},"priority":0,"apply-to":"queues"}"#;
    let policy = |number: usize| json!({"vhost": "/", "name": format!("p{number}"), "pattern": "^a", "definition": {"max-length": 5}});
    let operator = |number: usize| {
        let value = json!({"pattern": "^a", "definition": {"max-length": 5}, "priority": 0});
        json!({"vhost": "/", "component": "operator_policy", "name": format!("p{number}"), "value": value})
    };
    let file = |from: usize, count: usize| {
        let numbers = from..from + count;
        let parameters: Vec<Value> = numbers.clone().map(operator).collect();
        let policies: Vec<Value> = numbers.map(policy).collect();
        json!({"policies": policies, "parameters": parameters}).to_string()
    };
    client.check("POST", "/api/definitions", &file(1, POLICIES_MAX - 1), 204, "");
    for (at, kind) in [("policies", "policy"), ("operator-policies", "operator policy")] {
        client.check("PUT", &format!("/api/{at}/%2F/last"), body, 201, "");
        let reason = format!("\"cannot set {kind} 'more': {kind} limit in vhost '/' (1024) is reached\"");
        client.bad("PUT", &format!("/api/{at}/%2F/more"), body, &reason);
        client.check("PUT", &format!("/api/{at}/%2F/p7"), body, 204, "");
    }
    let set = json!({"value": operator(0)["value"]}).to_string();
    let reason =
        "\"cannot set operator policy 'more': operator policy limit in vhost '/' (1024) is reached\"";
    client.bad("PUT", "/api/parameters/operator_policy/%2F/more", &set, reason);
    let answered = client.ask("POST", "/api/definitions", &file(POLICIES_MAX, 2));
    let reason = answered.json()["reason"].to_string();
    assert_eq!((answered.status, reason.matches("is reached").count()), (400, 4), "{reason}");
    client.change("PUT", "/api/vhosts/other", "{}");
    client.check("PUT", "/api/policies/other/more", body, 201, "");
    client.check("DELETE", "/api/policies/%2F/last", "", 204, "");
    client.check("PUT", "/api/policies/%2F/more", body, 201, "");
}

#[test]
fn a_virtual_host_and_the_node_have_a_bounded_number_of_parameters() {
    const PARAMETERS_MAX: usize = 1024;
    let node = TestNode::start();
    let client = node.client();
    let numbers = 1..PARAMETERS_MAX;
    let parameter = |number: usize| json!({"vhost": "/", "component": "federation-upstream-set", "name": format!("p{number}"), "value": []});
    let global = |number: usize| json!({"name": format!("p{number}"), "value": number});
    let parameters: Vec<Value> = numbers.clone().map(parameter).collect();
    let global_parameters: Vec<Value> = numbers.map(global).collect();
    let file = json!({"parameters": parameters, "global_parameters": global_parameters}).to_string();
    client.check("POST", "/api/definitions", &file, 204, "");
    let (at, body) = ("/api/parameters/federation-upstream-set/%2F", json!({"value": []}).to_string());
    client.check("PUT", &format!("{at}/last"), &body, 201, "");
    let reason = "\"cannot set parameter 'more': parameter limit in vhost '/' (1024) is reached\"";
    client.bad("PUT", &format!("{at}/more"), &body, reason);
    client.check("PUT", &format!("{at}/p7"), &body, 204, "");
    client.check("DELETE", &format!("{at}/last"), "", 204, "");
    client.check("PUT", &format!("{at}/more"), &body, 201, "");
    let body = json!({"name": "last", "value": 1}).to_string();
    client.check("PUT", "/api/global-parameters/last", &body, 201, "");
    let reason = "\"cannot set global parameter 'more': global parameter limit (1024) is reached\"";
    client.bad("PUT", "/api/global-parameters/more", &body, reason);
    client.check("PUT", "/api/global-parameters/p7", &body, 204, "");
}

/// Changes of one user and of one virtual host have one thread: others have their passwords hashed meanwhile.
#[test]
fn changes_of_policies_wait_for_each_other_and_leave_threads_for_others() {
    let node = TestNode::start();
    let administrator = node.client();
    let makers = ["u1", "u2", "u3", "u4"].map(|name| node.client_of(name, "policymaker"));
    for number in 0..4 {
        administrator.change("PUT", &format!("/api/vhosts/v{number}"), "{}");
        let row = r#"{"configure":".*","write":".*","read":".*"}"#;
        administrator.change("PUT", &format!("/api/permissions/v{number}/u1"), row);
    }
    let body = r#"{"pattern":"^a","definition":{"max-length":5}}"#;
    let held = node.node.changing.lock();
    let of_host = makers.iter().map(|maker| (maker, "%2F".to_owned()));
    let of_user = (0..4).map(|number| (&makers[0], format!("v{number}")));
    let waiting: Vec<Begun> = of_host
        .chain(of_user)
        .zip(1..)
        .map(|((maker, host), number)| {
            maker.begin_all("PUT", &format!("/api/policies/{host}/p{number}"), body)
        })
        .collect();
    for _ in 0..3 {
        assert!(administrator.get("/api/auth/hash_password/x")["ok"].is_string());
    }
    drop(held);
    assert!(waiting.into_iter().all(|begun| begun.end(b"").status == 201));
}

/// While all threads are taken a long body waits, and the HTTP thread does not read it.
#[test]
fn a_long_body_is_read_beside_the_http_thread() {
    let node = TestNode::start();
    let administrator = node.client();
    let makers = ["u1", "u2", "u3", "u4"].map(|name| node.client_of(name, "policymaker"));
    for name in ["u1", "u2", "u3", "u4"] {
        administrator.change("PUT", &format!("/api/vhosts/{name}"), "{}");
        let row = r#"{"configure":".*","write":".*","read":".*"}"#;
        administrator.change("PUT", &format!("/api/permissions/{name}/{name}"), row);
    }
    let body = r#"{"pattern":"^a","definition":{"max-length":5}}"#;
    let held = node.node.changing.lock();
    let hosts = makers.iter().zip(["u1", "u2", "u3", "u4"]);
    let waiting: Vec<Begun> =
        hosts.map(|(maker, host)| maker.begin_all("PUT", &format!("/api/policies/{host}/p"), body)).collect();
    for _ in 0..3 {
        administrator.get("/api/whoami");
    }
    let long = format!("{{\"x\":\"{}\"}}", "\u{1}".repeat(100_000));
    let long = administrator.begin_all("PUT", "/api/queues/%2F/long", &long);
    for _ in 0..3 {
        administrator.get("/api/whoami");
    }
    assert!(!long.is_answered());
    drop(held);
    assert!(waiting.into_iter().all(|begun| begun.end(b"").status == 201));
    assert_eq!(long.end(b"").status, 201);
}

/// Policies and queues change at once. When the last answer has come, each queue has the policies that are then in
/// force.
#[test]
fn policies_that_change_at_once_are_in_effect_when_they_are_answered() {
    const QUEUES: usize = 600;
    let node = TestNode::start();
    let client = node.client();
    for number in 0..QUEUES {
        client.change("PUT", &format!("/api/queues/%2F/a{number}"), "{}");
    }
    let body = |length: usize| {
        format!(r#"{{"pattern":"^(?=(a+))","definition":{{"max-length":{length}}},"priority":{length}}}"#)
    };
    let shown = |name: &str| client.get(&format!("/api/queues/%2F/{name}"))["policy"].clone();
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let client = node.client();
            scope.spawn(move || {
                for round in 0..5 {
                    let at = format!("/api/policies/%2F/p{writer}");
                    client.change("PUT", &at, &body(writer + 10 * round));
                    let last = client.get(&format!("/api/queues/%2F/a{}", QUEUES - 1));
                    assert_ne!(last["policy"], json!(null));
                    if round < 4 {
                        client.change("DELETE", &at, "");
                    }
                }
            });
        }
        for number in QUEUES..QUEUES + 100 {
            client.change("PUT", &format!("/api/queues/%2F/a{number}"), "{}");
            client.change("DELETE", &format!("/api/queues/%2F/a{}", number - QUEUES), "");
        }
    });
    for number in 100..QUEUES + 100 {
        assert_eq!(shown(&format!("a{number}")), "p2", "a{number}");
    }
}
