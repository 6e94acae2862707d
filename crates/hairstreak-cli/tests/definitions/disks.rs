//! A full disk and a read-only disk.

use std::fs::{self, File};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use hairstreak_wire::amqp::{Method, basic, queue};
use serde_json::json;

use crate::api::{Api, Request};
use crate::client::{Answer, Client};
use crate::daemon::End;
use crate::model::{exchange_declaration, queue_declaration};
use crate::node::{Node, Place};
use crate::small_disk::{disk, run_on_disk};

const DISK_SIZE: &str = "2m";
/// A time limit that only a hanging test reaches.
const LONG: Duration = Duration::from_secs(60);
/// The store tries again a second after a refusal, and may have room for a small change then. Checks that came earlier had time.
const IN_TIME: Duration = Duration::from_millis(800);
/// The message of checks that failed later.
const TOO_LATE: &str = "the store may have tried again before these checks";
/// The largest number of runs of a test whose checks came too late.
const RUNS_MAX: usize = 10;

/// Runs a test of this binary alone on a small disk. A test whose checks came too late runs again.
fn check_on_disk(test: &str) {
    for run in 1..=RUNS_MAX {
        let (is_success, said) = run_on_disk(test, DISK_SIZE);
        if is_success {
            return;
        }
        assert!(said.contains(TOO_LATE) && run < RUNS_MAX, "run {run}: {said}");
        println!("{test}, run {run}: {TOO_LATE}");
    }
}

/// Runs checks of a store that has just refused a change. A failure counts if the checks came in time.
fn while_failing(checks: impl FnOnce()) {
    let start = Instant::now();
    if let Err(failure) = catch_unwind(AssertUnwindSafe(checks)) {
        assert!(start.elapsed() < IN_TIME, "{TOO_LATE}");
        resume_unwind(failure);
    }
}

/// A place on the disk, in the process that has one. The disk is smaller than the usual limit of free bytes.
fn place_on_disk() -> Option<Place> {
    let place = Place::at(disk()?.join("place"));
    let config = fs::read_to_string(place.config()).unwrap();
    fs::write(place.config(), format!("disk_free_limit = 0\n{config}")).unwrap();
    Some(place)
}

/// Leaves no page free.
fn fill(place: &Place) -> PathBuf {
    let path = place.folder.join("filler");
    let mut filler = File::create(&path).unwrap();
    while filler.write_all(&[1; 4096]).is_ok() {}
    path
}

/// The text of a write error.
fn is_full(text: &str, code: &str, data: &Path) -> bool {
    let file = data.join("definitions.redb");
    text == format!(
        "{code} - the definitions cannot be written: no space is left for {}: free some",
        file.display()
    )
}

/// Declares queues until the disk is full. Returns the names of the answered queues, and of the first refused queue.
fn declare_until_refused(amqp: &str, data: &Path, prefix: &str) -> (Vec<String>, String) {
    let mut client = Client::connect(amqp).unwrap();
    let mut answered = Vec::new();
    loop {
        let name = format!("{prefix}.{}.{}", answered.len(), "x".repeat(200));
        let Answer { name: method, text } =
            client.ask(&Method::QueueDeclare(queue_declaration(&name, false))).unwrap();
        if method == "connection.close" {
            assert!(is_full(&text, "541 INTERNAL_ERROR", data), "{text}");
            return (answered, name);
        }
        assert_eq!(method, "queue.declare-ok", "{text}");
        answered.push(name);
    }
}

#[test]
fn a_full_disk_refuses_what_is_new_and_loses_nothing() {
    check_on_disk("disks::on_a_full_disk");
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn on_a_full_disk() {
    let Some(place) = place_on_disk() else { return };
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let mut answered: Vec<String> = (0..20).map(|number| format!("before.{number}")).collect();
    for name in &answered {
        client.is_granted(&Method::QueueDeclare(queue_declaration(name, false))).unwrap();
    }
    let filler = fill(&place);
    let (first, unanswered) = declare_until_refused(&node.amqp, &place.data(), "first");
    answered.extend(first);

    while_failing(|| refuse_clients(&node, &place.data(), &answered[0], &unanswered));

    // A crash loses only unanswered changes. The next node starts, although the disk is full.
    node.kill();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    assert_eq!(client.unroutable("", &[&answered[..], &[unanswered]].concat()).len(), 1);
    let (more, unanswered) = declare_until_refused(&node.amqp, &place.data(), "more");

    fs::remove_file(filler).unwrap();
    let start = Instant::now();
    while let Err(text) = client.is_granted(&Method::QueueDeclare(queue_declaration("later", false))) {
        assert!(start.elapsed() < LONG, "{text}");
    }
    answered.extend(more);
    answered.push("later".into());
    assert!(!is_alarmed(&Api::new(&node.http)));
    node.kill();
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    assert_eq!(client.unroutable("", &answered), [""; 0]);
    // A refused change does not come back, although the disk has room again while the node runs.
    assert_eq!(client.unroutable("", std::slice::from_ref(&unanswered)), [unanswered]);
    drop(client);
    assert_eq!(node.stop().status, Some(0));
}

/// New objects are refused before they act. Objects that are there are answered.
fn refuse_clients(node: &Node, data: &Path, old: &str, unanswered: &str) {
    let mut client = Client::connect(&node.amqp).unwrap();
    let mut ask = |method: Method<'_>| client.is_granted(&method);
    let refused = |result: Result<(), String>| {
        let text = result.unwrap_err();
        assert!(is_full(&text, "406 PRECONDITION_FAILED", data), "{text}");
    };
    let bind = |queue: &'static [u8], name: &'static [u8]| {
        Method::QueueBind(queue::Bind {
            queue,
            exchange: b"amq.direct",
            routing_key: name,
            ..Default::default()
        })
    };
    let brief = queue::Declare { queue: b"brief", ..Default::default() };
    refused(ask(Method::QueueDeclare(queue_declaration("new", false))));
    // The refused queue was removed again.
    let passive = queue::Declare { passive: true, ..queue_declaration(unanswered, false) };
    let said = ask(Method::QueueDeclare(passive)).unwrap_err();
    assert!(said.starts_with("404 NOT_FOUND"), "{said}");
    refused(ask(Method::QueueDeclare(queue_declaration(unanswered, false))));
    refused(ask(Method::ExchangeDeclare(exchange_declaration("new", false))));
    ask(Method::QueueDeclare(queue_declaration(old, false))).unwrap();
    ask(Method::QueueDeclare(brief)).unwrap();
    ask(bind(b"brief", b"brief")).unwrap();
    let name: &'static str = old.to_owned().leak();
    refused(ask(bind(name.as_bytes(), b"new")));
    refused(ask(Method::ExchangeBind(hairstreak_wire::amqp::exchange::Bind {
        destination: b"amq.fanout",
        source: b"amq.direct",
        ..Default::default()
    })));
    assert_eq!(client.unroutable("amq.direct", &["brief".into(), "new".into()]), ["new"]);
    let get = basic::Get { queue: b"brief", no_ack: true };
    assert_eq!(client.ask(&Method::BasicGet(get)).unwrap().name, "basic.get-ok");

    refuse_operators(&node.http, data, old);
}

/// Returns `true` if a health check reports that definitions cannot be written. The small disk has an alarm of its own.
fn is_alarmed(api: &Api) -> bool {
    api.ask("health/checks/local-alarms").1.contains("\"definitions\"")
}

/// Operators are refused like clients.
fn refuse_operators(http: &str, data: &Path, queue: &str) {
    let api = Api::new(http);
    let put = |path: &str, body| api.send(&Request::Put(path.to_owned(), body)).unwrap();
    let file = data.join("definitions.redb");
    let reason = format!("the definitions cannot be written: no space is left for {}", file.display());
    for (path, body) in [
        ("users/new", json!({"password": "", "tags": ""})),
        ("vhosts/new", json!({})),
        ("permissions/%2F/guest", json!({"configure": "", "write": "", "read": ""})),
        ("policies/%2F/new", json!({"pattern": "", "definition": {"max-length": 1}})),
        ("queues/%2F/new", json!({"durable": true})),
        ("exchanges/%2F/new", json!({"type": "fanout", "durable": true})),
        ("global-parameters/new", json!({"value": 1})),
    ] {
        let (status, text) = put(path, body);
        assert!(status == 503 && text.contains(&reason), "{path}: {status} {text}");
    }
    for check in ["alarms", "local-alarms"] {
        let (status, text) = api.ask(&format!("health/checks/{check}"));
        assert!(status == 503 && text.contains(&reason), "{check}: {status} {text}");
    }
    assert_eq!(put(&format!("queues/%2F/{queue}"), json!({"durable": true})).0, 204);
    assert_eq!(put("queues/%2F/fleeting", json!({"durable": false})).0, 201);
    // A deletion acts, but is not promised.
    let (status, text) = api.send(&Request::Delete("users/guest".into())).unwrap();
    assert!(status == 503 && text.contains(&reason), "{status} {text}");
}

#[test]
fn operators_are_told_of_a_full_disk_with_the_first_change_and_each_later_one() {
    check_on_disk("disks::operators_on_a_full_disk");
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn operators_on_a_full_disk() {
    let Some(place) = place_on_disk() else { return };
    let node = place.start();
    let api = Api::new(&node.http);
    let filler = fill(&place);
    let user = |number: usize| {
        let tags: Vec<String> = (0..60).map(|tag| format!("{tag}{}", "x".repeat(250))).collect();
        Request::Put(format!("users/u{number}"), json!({"password_hash": "", "tags": tags}))
    };
    let file = place.data().join("definitions.redb");
    let reason = format!("the definitions cannot be written: no space is left for {}", file.display());
    let mut count = 0;
    let text = loop {
        match api.send(&user(count)).unwrap() {
            (201, _) => count += 1,
            (status, text) => {
                assert_eq!(status, 503, "{text}");
                break text;
            }
        }
    };
    assert!(text.contains(&reason), "{text}");
    while_failing(|| {
        assert_eq!(api.ask(&format!("users/u{count}")).0, 404, "a refused user is not there");
        let (status, text) = api.send(&user(count)).unwrap();
        assert!(status == 503 && text.contains(&reason), "{status} {text}");
        let (status, text) = api.ask("health/checks/alarms");
        assert!(status == 503 && text.contains(&reason), "{status} {text}");
    });
    fs::remove_file(filler).unwrap();
    let start = Instant::now();
    while is_alarmed(&api) {
        assert!(start.elapsed() < LONG, "the disk has room again");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    node.kill();
    let node = place.start();
    let names: Vec<String> = Api::new(&node.http)
        .get("users")
        .as_array()
        .unwrap()
        .iter()
        .map(|user| user["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names.iter().filter(|name| name.starts_with('u')).count(), count, "{names:?}");
    assert!(!names.contains(&format!("u{count}")), "a refused user came back");
}

#[test]
fn a_node_that_stops_on_a_full_disk_has_lost_nothing() {
    check_on_disk("disks::stopped_on_a_full_disk");
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn stopped_on_a_full_disk() {
    let Some(place) = place_on_disk() else { return };
    let node = place.start();
    fill(&place);
    let (answered, _) = declare_until_refused(&node.amqp, &place.data(), "first");
    let End { status, errors, .. } = node.stop();
    let file = place.data().join("definitions.redb");
    let reason =
        format!("the definitions cannot be written: no space is left for {}: free some", file.display());
    // The log of messages reports the disk, too.
    let is_other = |line: &&str| {
        line.contains(" connection=") || line.contains(" messages ") || line.contains("disk_free_limit")
    };
    let said: Vec<&str> = errors.lines().filter(|line| !is_other(line)).collect();
    // The refused queue was removed again, so that nothing is lost with the node.
    assert_eq!((status, said.len()), (Some(0), 1), "{errors}");
    assert!(said[0].ends_with(&format!("{reason}; until they can, what is new is refused")), "{errors}");
    let node = place.start();
    assert_eq!(Client::connect(&node.amqp).unwrap().unroutable("", &answered), [""; 0]);
}

#[test]
fn a_new_node_does_not_start_on_a_full_disk_or_a_read_only_one() {
    check_on_disk("disks::started_on_a_bad_disk");
}

/// In an ordinary run of the tests there is no disk, and the test does nothing.
#[test]
fn started_on_a_bad_disk() {
    let Some(place) = place_on_disk() else { return };
    let disk = place.folder.parent().unwrap();
    let filler = fill(&place);
    let refusal = |said: &str| {
        let End { status, output, errors } = place.begin().end();
        assert_eq!((status, &*output), (Some(1), ""), "{errors}");
        assert!(errors.starts_with("hairstreak: ") && errors.contains(said), "{errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
    };
    refusal("no space is left for ");
    fs::remove_file(filler).unwrap();
    let node = place.start();
    Client::connect(&node.amqp)
        .unwrap()
        .is_granted(&Method::QueueDeclare(queue_declaration("kept", false)))
        .unwrap();
    node.kill();
    let remount = |how: &str| {
        let mount = Command::new("mount").args(["-o", how]).arg(disk).status().unwrap();
        assert!(mount.success());
    };
    remount("remount,ro");
    refusal(" is on a read-only file system: mount it writable, or choose another directory");
    remount("remount,rw");
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    assert_eq!(client.unroutable("", &["kept".to_owned()]), [""; 0]);
}
