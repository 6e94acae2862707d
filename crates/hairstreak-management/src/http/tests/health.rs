//! Health checks, and requests without credentials.

use hairstreak_node::node::Reason;
use hairstreak_node::{AmqpConfig, CertificateFiles, process};
use serde_json::json;

use super::client::Client;
use super::node::TestNode;
use crate::http::{HttpOptions, ListenerInfo};

#[test]
fn health_is_answered_as_in_rabbitmq() {
    let node = TestNode::start();
    let client = node.client();
    let ok = r#"{"status":"ok"}"#;
    for name in [
        "health/checks/alarms",
        "health/checks/local-alarms",
        "health/checks/virtual-hosts",
        "health/checks/certificate-expiration/1/days",
        "aliveness-test/%2F",
        "healthchecks/node",
        "healthchecks/node/hairstreak@localhost",
    ] {
        client.check("GET", &format!("/api/{name}"), "", 200, ok);
    }
    let critical = r#"{"reason":"single node cluster","status":"ok"}"#;
    client.check("GET", "/api/health/checks/node-is-quorum-critical", "", 200, critical);
    client.check("GET", "/api/health/checks/port-listener/5672", "", 200, r#"{"port":5672,"status":"ok"}"#);
    let http = node.http.addresses()[0].port();
    let missing =
        format!(r#"{{"missing":1,"ports":[5672,{http}],"reason":"No active listener","status":"failed"}}"#);
    client.check("GET", "/api/health/checks/port-listener/1", "", 503, &missing);
    let found = r#"{"protocol":"amqp","status":"ok"}"#;
    client.check("GET", "/api/health/checks/protocol-listener/amqp", "", 200, found);
    let missing =
        r#"{"missing":"mqtt","protocols":["amqp","http"],"reason":"No active listener","status":"failed"}"#;
    client.check("GET", "/api/health/checks/protocol-listener/mqtt", "", 503, missing);
    let units = r#""Time unit not recognised. Supported units: days, weeks, months, years.""#;
    client.bad("GET", "/api/health/checks/certificate-expiration/1/moons", "", units);
    let within = "/api/health/checks/certificate-expiration/x/days";
    client.bad("GET", within, "", r#""Invalid expiration value.""#);
    client.bad("GET", "/api/health/checks/port-listener/x", "", r#""Invalid port""#);
    for name in ["aliveness-test/nope", "healthchecks/node/x", "health/checks/nothing"] {
        client.absent("GET", &format!("/api/{name}"));
    }
}

#[test]
fn an_alarm_fails_the_checks() {
    let node = TestNode::start();
    let client = node.client();
    let watermark = usize::MAX / 4;
    node.node.account.note(0, watermark);
    let body = |place: &str| {
        format!(
            r#"{{"alarms":[{{"node":"hairstreak@localhost","resource":"memory"}}],"reason":"There are alarms in effect {place}","status":"failed"}}"#
        )
    };
    client.check("GET", "/api/health/checks/alarms", "", 503, &body("in the cluster"));
    client.check("GET", "/api/health/checks/local-alarms", "", 503, &body("on the node"));
    assert_eq!(client.get("/api/nodes")[0]["mem_alarm"], true);
    node.node.account.note(watermark, 0);
    assert_eq!(client.ask("GET", "/api/health/checks/alarms", "").status, 200);
}

#[test]
fn a_disk_that_does_not_answer_fails_the_checks() {
    let data = std::env::temp_dir().join(format!("hairstreak-slow-disk-{}", std::process::id()));
    let node = TestNode::with_messages(&data);
    let client = node.client();
    client.check("GET", "/api/health/checks/alarms", "", 200, r#"{"status":"ok"}"#);
    node.node.account.set_alarm(Reason::SlowDisk, true);
    for name in ["alarms", "local-alarms"] {
        let answered = client.ask("GET", &format!("/api/health/checks/{name}"), "");
        assert_eq!(answered.status, 503);
        let alarm = &answered.json()["alarms"][0];
        assert_eq!(alarm["resource"], "messages");
        let reason = alarm["reason"].as_str().unwrap();
        assert!(reason.starts_with("the disk has not answered a write or a sync for "), "{reason}");
    }
    let shown = &client.get("/api/nodes")[0];
    assert_eq!((&shown["mem_alarm"], &shown["disk_free_alarm"]), (&json!(false), &json!(false)));
    let publish = r#"{"routing_key":"q","properties":{},"payload":"x","payload_encoding":"string"}"#;
    let answered = client.ask("POST", "/api/exchanges/%2F/amq.default/publish", publish);
    assert_eq!(answered.status, 503);
    assert_eq!(answered.json()["reason"], "the disk does not answer: publish again when the alarm is over");
    node.node.account.set_alarm(Reason::SlowDisk, false);
    // With messages on disk this is the alarm that publishers wait for.
    node.node.account.set_alarm(Reason::DiskSpace, true);
    assert_eq!(client.get("/api/nodes")[0]["disk_free_alarm"], true);
    let answered = client.ask("GET", "/api/health/checks/alarms", "");
    assert_eq!(answered.json()["alarms"], json!([{"node": "hairstreak@localhost", "resource": "disk"}]));
    node.node.account.set_alarm(Reason::DiskSpace, false);
    assert_eq!(client.ask("GET", "/api/health/checks/alarms", "").status, 200);
    drop(node);
    std::fs::remove_dir_all(&data).unwrap();
}

#[test]
fn a_disk_is_full_where_less_is_free_than_the_limit() {
    for (limit, directory, is_full) in
        [(0, Some("/"), false), (u64::MAX, Some("/"), true), (u64::MAX, None, false)]
    {
        let node = TestNode::described(HttpOptions::default(), |about| {
            about.disk_free_limit = limit;
            about.data_directory = directory.map(Into::into);
        });
        let client = node.client();
        let shown = &client.get("/api/nodes")[0];
        assert_eq!(shown["disk_free_limit"], limit);
        assert_eq!(shown["disk_free_alarm"], is_full);
        let answered = client.ask("GET", "/api/health/checks/alarms", "");
        assert_eq!(answered.status, if is_full { 503 } else { 200 });
        if is_full {
            assert_eq!(answered.json()["alarms"][0]["resource"], "disk");
        }
    }
}

#[test]
fn a_certificate_that_ends_soon_fails_its_check() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../hairstreak-transport/tests/streams/certificates");
    let described = |certificate: &str, authority: Option<&str>| {
        TestNode::described(HttpOptions::default(), |about| {
            let address = about.listeners[0].address;
            about.listeners.push(ListenerInfo { protocol: "amqp/ssl", address });
            about.amqp_certificates = Some(CertificateFiles {
                certificate: format!("{folder}/{certificate}").into(),
                authority: authority.map(|file| format!("{folder}/{file}").into()),
            });
        })
    };
    let place = |within: &str| format!("/api/health/checks/certificate-expiration/{within}");
    let node = described("server.pem", Some("ca.pem"));
    assert_eq!(node.client().ask("GET", &place("90/years"), "").status, 200);
    let answered = node.client().ask("GET", &place("200/YEARS"), "");
    assert_eq!(answered.status, 503);
    let answer = answered.json();
    assert_eq!(answer["reason"], "Certificates expiring");
    let expired = &answer["expired"][0];
    assert_eq!((&expired["protocol"], &expired["port"]), (&json!("amqp/ssl"), &json!(5672)));
    for key in ["certfile_expires_on", "cacertfile_expires_on"] {
        assert_eq!(expired[key], json!(["2124-01-01T00:00:00.000+00:00"]), "{key}");
    }
    // A certificate that has ended, and a file that is gone, fail the shortest check.
    for file in ["expired.pem", "gone.pem"] {
        assert_eq!(described(file, None).client().ask("GET", &place("0/days"), "").status, 503, "{file}");
    }
}

#[test]
fn probes_and_versions_need_no_credentials() {
    let node = TestNode::start();
    let stranger = Client::new(node.http.addresses()[0], None);
    for name in [
        "is-in-service",
        "below-node-connection-limit",
        "ready-to-serve-clients",
        "reached-target-cluster-size",
    ] {
        stranger.check("GET", &format!("/api/health/checks/{name}"), "", 200, r#"{"status":"ok"}"#);
    }
    assert_eq!(stranger.get("/api/version")["version"], "3.13.7");
    for name in ["health/checks/alarms", "overview", "whoami"] {
        let answered = stranger.ask("GET", &format!("/api/{name}"), "");
        assert_eq!((answered.status, &*answered.body), (401, &b""[..]), "{name}");
        assert_eq!(answered.header("www-authenticate"), Some("basic realm=\"rabbitmq management\""));
    }
    let wrong = Client::new(node.http.addresses()[0], Some(("guest", "wrong")));
    wrong.refuse("GET", "/api/overview", "", 401, "not_authorized", "\"Not_Authorized\"");
}

/// A reload changes the bound, and a later request sees the new bound.
#[test]
fn the_bound_of_connections_is_that_of_the_last_reload() {
    let node = TestNode::start();
    let client = node.client();
    for connections_max in [7, 5] {
        node.node.set_limits(&AmqpConfig { connections_max, ..AmqpConfig::default() });
        assert_eq!(client.get("/api/nodes")[0]["sockets_total"], connections_max);
        client.check("GET", "/api/health/checks/below-node-connection-limit", "", 200, r#"{"status":"ok"}"#);
    }
    node.node.set_limits(&AmqpConfig { connections_max: 0, ..AmqpConfig::default() });
    client.check_status("GET", "/api/health/checks/below-node-connection-limit", "", 503);
    // However many are asked for, operators have descriptors left.
    node.node.set_limits(&AmqpConfig { connections_max: usize::MAX, ..AmqpConfig::default() });
    assert!(node.node.settings.connections_max() as u64 + 16 < process::descriptor_limit());
}
