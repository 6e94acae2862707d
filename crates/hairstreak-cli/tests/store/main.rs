//! `hairstreak store`: check, dump and salvage, on the data directories of real nodes.

#[path = "../messages/client.rs"]
#[expect(dead_code, reason = "tests of the node ask more of a client")]
mod client;
#[path = "../workbench/daemon.rs"]
#[expect(dead_code, reason = "the place of a daemon in the system matters to others")]
mod daemon;
#[path = "../messages/node.rs"]
#[expect(dead_code, reason = "the free space of the disk matters to others")]
mod node;
#[path = "../workbench/process.rs"]
#[expect(dead_code, reason = "commands with an input matter to others")]
mod process;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use client::Client;
use hairstreak_testkit::{BoundedCommand, Rng};
use hairstreak_wire::amqp::{FieldTable, Properties};
use node::{Node, Place};
use process::{HAIRSTREAK, Outcome};
use serde_json::Value;

/// Files of a folder and of the folders in it, with their bytes.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    found
}

/// `hairstreak store ARGUMENTS...`
fn run(arguments: &[&str]) -> Outcome {
    let output = Command::new(HAIRSTREAK).arg("store").args(arguments).run_to_end();
    let stderr = String::from_utf8(output.stderr).unwrap();
    Outcome { status: output.status.code(), stdout: output.stdout, stderr }
}

/// Runs a command that changes nothing in the directory of a place.
fn unchanged(place: &Place, arguments: &[&str]) -> Outcome {
    let before = files(&place.data());
    let outcome = run(arguments);
    assert!(files(&place.data()) == before, "{arguments:?} has changed a file");
    outcome
}

/// Runs a check that changes nothing. Returns the object, and the line on standard error of a damaged directory.
fn check(place: &Place) -> (Value, Option<String>) {
    let data = place.data();
    let outcome = unchanged(place, &["check", data.to_str().unwrap(), "--json"]);
    let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    let is_damaged = report["findings"].as_array().unwrap().iter().any(|finding| finding["damage"] == true);
    match is_damaged {
        true => (report, Some(outcome.bad(1))),
        false => {
            outcome.good();
            (report, None)
        }
    }
}

/// A directory with messages of two queues: all of `orders` are live, and those of `bills` after the first 10.
fn feed(place: &Place, count: u64) -> Node {
    let node = place.start();
    let mut client = Client::connect(&node.amqp).unwrap();
    let mut rng = Rng::with_seed(7);
    client.select_confirms().unwrap();
    for queue in ["orders", "bills"] {
        client.declare(queue, &FieldTable::new()).unwrap();
        (1..=count).for_each(|number| client.publish(queue, number, &mut rng));
    }
    client.await_confirms(2 * count);
    client.consume("bills").unwrap();
    for _ in 0..count.min(10) {
        let message = client.received(std::time::Duration::from_secs(60)).unwrap().unwrap();
        client.ack(message.delivery_tag, false);
    }
    // The answer comes behind the acknowledgements.
    client.set_prefetch(0);
    node
}

fn stop(node: Node) {
    let end = node.stop();
    assert_eq!(end.status, Some(0), "{}", end.errors);
}

/// Returns another place with the same files. No node runs.
fn copy(place: &Place) -> Place {
    let copy = Place::new("message-copy");
    for (path, bytes) in files(&place.data()) {
        let path = copy.data().join(path.strip_prefix(place.data()).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    copy
}

/// The largest segment of a place.
fn segment(place: &Place) -> PathBuf {
    let names = files(&place.data())
        .into_iter()
        .filter(|(path, bytes)| path.extension().is_some_and(|end| end == "segment") && bytes[0] != 0);
    // A file that was made ahead has only zeros.
    names.max_by_key(|(_, bytes)| bytes.len()).unwrap().0
}

/// Changes the bytes of a file.
fn rot(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Flips a bit in the body of a message of `queue`.
fn flip_body(place: &Place, queue: &str, sequence: u64) {
    let data = place.data();
    let dumped = run(&["dump", data.to_str().unwrap(), "--queue", queue, "--json"]).good();
    let records = dumped.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut messages = records.filter(|record| record["kind"] == "message");
    let record = messages.find(|record| record["queues"][0]["first"] == sequence).unwrap();
    let end = record["offset"].as_u64().unwrap() + record["size"].as_u64().unwrap();
    rot(&data.join("messages").join(record["file"].as_str().unwrap()), |bytes| bytes[end as usize - 1] ^= 1);
}

/// Salvages the directory of a place, and starts a node with the new directory.
fn salvage(place: &Place) -> (Value, Place) {
    let new = Place::new("message-salvaged");
    let (data, target) = (place.data(), new.data());
    let arguments = ["salvage", data.to_str().unwrap(), target.to_str().unwrap(), "--json"];
    let counts = serde_json::from_str(&unchanged(place, &arguments).good()).unwrap();
    assert_eq!(check(&new).1, None);
    let ids = [place, &new].map(|place| {
        let text = fs::read_to_string(place.data().join("node")).unwrap();
        text.lines().find(|line| line.starts_with("id ")).unwrap().to_owned()
    });
    assert_ne!(ids[0], ids[1], "no file of one log passes for a file of the other");
    (counts, new)
}

/// Takes all messages of a queue. Returns all numbers, and the numbers of redelivered messages.
fn drain(node: &Node, queue: &str) -> (Vec<u64>, Vec<u64>) {
    let mut client = Client::connect(&node.amqp).unwrap();
    let drained = client.drain(queue);
    let redelivered = drained.iter().filter(|message| message.is_redelivered).map(|message| message.number);
    (drained.iter().map(|message| message.number).collect(), redelivered.collect())
}

#[test]
fn a_sound_directory_is_checked_dumped_and_salvaged_whole() {
    let place = Place::new("message-tools");
    stop(feed(&place, 100));
    let (report, _) = check(&place);
    assert_eq!(report["findings"], serde_json::json!([]));
    assert_eq!((&report["live_messages"], &report["closed_in_order"]), (&190.into(), &true.into()));
    let bills = report["queues"].as_array().unwrap().iter().find(|queue| queue["name"] == "bills").unwrap();
    assert_eq!(
        (&bills["vhost"], &bills["messages"], &bills["last_sequence"]),
        (&"/".into(), &90.into(), &100.into())
    );

    let data = place.data();
    let data = data.to_str().unwrap();
    let text = unchanged(&place, &["check", data, "-v"]).good();
    assert!(text.contains("\nlive messages") && text.contains("'bills' in '/'"), "{text}");

    let text = unchanged(&place, &["dump", data, "--queue", "bills", "--bodies"]).good();
    assert!(!text.contains("'orders'"), "{text}");
    let bodies: Vec<&str> = text.lines().filter(|line| line.contains(" message ")).collect();
    assert_eq!(bodies.len(), 100);
    assert!(
        bodies[6].contains(" sequence 7, persistent, priority 0, exchange '', key 'bills'"),
        "{}",
        bodies[6]
    );
    assert!(bodies[6].contains(" bytes '7 "), "{}", bodies[6]);
    assert!(text.lines().any(|line| line.contains(" settled ") && line.ends_with(" sequence 10")), "{text}");
    let records = unchanged(&place, &["dump", data, "--json"]).good();
    assert!(records.lines().count() > 200, "{records}");
    let line = run(&["dump", data, "--queue", "none", "--vhost", "v"]).bad(1);
    assert_eq!(line, "there is no queue 'none' with messages on disk in virtual host 'v'");

    let (counts, new) = salvage(&place);
    assert_eq!(counts, serde_json::json!({"copied": 190, "damaged": 0, "missing": 0, "without_queue": 0}));
    let node = new.start();
    // Deliveries without an acknowledgement stay marked.
    assert_eq!(drain(&node, "orders"), ((1..=100).collect(), Vec::new()));
    let (numbers, redelivered) = drain(&node, "bills");
    assert_eq!(numbers, (11..=100).collect::<Vec<_>>());
    assert!(!redelivered.is_empty());
    // A new queue gets an id of its own.
    let mut client = Client::connect(&node.amqp).unwrap();
    client.declare("new", &FieldTable::new()).unwrap();
    client.select_confirms().unwrap();
    let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
    client.publish_with("", "new", &properties, b"1 ");
    client.await_confirms(1);
    drop(client);
    stop(node);
    let node = new.start();
    assert_eq!((drain(&node, "new").0, drain(&node, "bills").0), (vec![1], Vec::new()));
}

#[test]
fn a_killed_node_leaves_a_sound_directory() {
    let place = Place::new("message-tools-kill");
    feed(&place, 50).kill();
    let (report, line) = check(&place);
    assert_eq!((line, &report["closed_in_order"]), (None, &false.into()));
    let (counts, new) = salvage(&place);
    assert_eq!(counts["copied"], report["live_messages"]);
    let node = new.start();
    // No message had a lease.
    assert_eq!(drain(&node, "orders"), ((1..=50).collect(), Vec::new()));
}

#[test]
fn consumers_of_empty_queues_write_nothing() {
    let place = Place::new("message-tools-idle");
    let node = place.start();
    let names: Vec<String> = (0..200).map(|number| format!("idle-{number}")).collect();
    let mut client = Client::connect(&node.amqp).unwrap();
    names.iter().for_each(|name| client.declare(name, &FieldTable::new()).unwrap());
    for _ in 0..20 {
        // The consumers go with their connection.
        let mut client = Client::connect(&node.amqp).unwrap();
        names.iter().take(20).for_each(|name| client.consume(name).unwrap());
        client.set_prefetch(1);
    }
    drop(client);
    stop(node);
    let (report, line) = check(&place);
    assert_eq!(
        (line, report["records"].as_object().map(|records| records.len())),
        (None, Some(0)),
        "{report}"
    );
}

#[test]
fn a_damaged_message_is_named_and_a_node_serves_all_others() {
    let place = Place::new("message-tools-bit");
    stop(feed(&place, 100));
    flip_body(&place, "orders", 42);
    let (report, line) = check(&place);
    assert!(line.unwrap().ends_with("is damaged: 1 place, 1 message lost"));
    let finding = &report["findings"][0];
    assert_eq!((&finding["lost"][0]["name"], &finding["lost"][0]["messages"]), (&"orders".into(), &1.into()));
    let data = place.data();
    let outcome = unchanged(&place, &["check", data.to_str().unwrap()]);
    let text = String::from_utf8(outcome.stdout.clone()).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("damage: 0") && last.ends_with("'orders' in '/'"), "{last}");
    assert!(last.contains(" bytes: records are damaged; lost: 1 message of queue "), "{last}");
    outcome.bad(1);

    let (counts, new) = salvage(&place);
    assert_eq!(counts, serde_json::json!({"copied": 189, "damaged": 1, "missing": 0, "without_queue": 0}));
    let node = new.start();
    assert_eq!(drain(&node, "orders").0, (1..=100).filter(|number| *number != 42).collect::<Vec<_>>());
    assert_eq!(drain(&node, "bills").0, (11..=100).collect::<Vec<_>>());
}

#[test]
fn other_damage_is_named_and_costs_what_is_told() {
    let whole = Place::new("message-tools-damage");
    stop(feed(&whole, 100));
    let checkpoint = whole.data().join("messages/checkpoint");
    let segment = segment(&whole);
    // For each damage: the file, the change, the finding, and the messages that are lost.
    type Damage = (PathBuf, Box<dyn Fn(&mut Vec<u8>)>, &'static str, u64);
    let damages: [Damage; 6] = [
        (segment.clone(), Box::new(|bytes| bytes[20] ^= 4), "a header of the segment is damaged", 0),
        (segment.clone(), Box::new(|bytes| bytes[1_030] ^= 4), "the header of a group is damaged", 0),
        (
            segment.clone(),
            Box::new(|bytes| {
                let at = bytes.len() - 500;
                bytes[at] ^= 4
            }),
            "the footer is damaged",
            0,
        ),
        (segment.clone(), Box::new(|bytes| bytes.truncate(5_000)), "the end of the file is missing", 180),
        (segment.clone(), Box::new(Vec::clear), "the end of the file is missing", 190),
        (checkpoint, Box::new(|bytes| bytes[60] ^= 4), "the checkpoint is damaged or missing", 0),
    ];
    for (file, change, expected, lost_min) in damages {
        let place = copy(&whole);
        rot(&place.data().join(file.strip_prefix(whole.data()).unwrap()), change);
        let (report, line) = check(&place);
        line.unwrap_or_else(|| panic!("{expected}: {report}"));
        let finding = &report["findings"][0];
        assert_eq!(finding["finding"], expected, "{report}");
        let (counts, new) = salvage(&place);
        let lost_count = counts["damaged"].as_u64().unwrap();
        assert!(lost_count >= lost_min && (lost_min > 0 || lost_count == 0), "{expected}: {counts}");
        let node = new.start();
        let served_count = drain(&node, "orders").0.len() + drain(&node, "bills").0.len();
        assert_eq!(counts["copied"], served_count, "{expected}");
        assert!(
            expected.starts_with("the checkpoint") || served_count as u64 + lost_count == 190,
            "{expected}"
        );
    }
    let place = copy(&whole);
    fs::remove_file(place.data().join(segment.strip_prefix(whole.data()).unwrap())).unwrap();
    let (report, line) = check(&place);
    assert!(line.unwrap().ends_with("190 messages lost"), "{report}");
    assert_eq!(report["findings"][0]["finding"], "the file is missing");
    assert_eq!(salvage(&place).0["missing"], 190);

    let place = copy(&whole);
    rot(&place.data().join("definitions.redb"), Vec::clear);
    let (report, line) = check(&place);
    assert!(line.unwrap().ends_with("1 place, 0 messages lost"));
    assert_eq!(
        (&report["findings"][0]["file"], &report["live_messages"]),
        (&"definitions.redb".into(), &190.into())
    );
}

#[test]
fn a_directory_that_cannot_be_read_is_one_clear_line() {
    let place = Place::new("message-tools-refusals");
    let node = feed(&place, 5);
    let data = place.data();
    let data = data.to_str().unwrap();
    let new = place.data().with_file_name("new");
    let new = new.to_str().unwrap();
    let each = |directory: &str, status: i32| {
        let said = [&["check", directory][..], &["dump", directory], &["salvage", directory, new]]
            .map(|arguments| run(arguments).bad(status));
        assert!(said.iter().all(|line| *line == said[0]) && said[0].contains(directory), "{said:?}");
        assert!(!Path::new(new).exists());
        said[0].replace(directory, "DIR")
    };
    let line = each(data, 2);
    assert!(line.starts_with("the data directory DIR is in use by process "), "{line}");
    stop(node);
    run(&["check", data]).good();
    let line = each(&format!("{data}/none"), 2);
    assert!(line.contains("No such file"), "{line}");
    assert_eq!(each(&format!("{data}/messages"), 2).split(": ").next(), Some("DIR is not a data directory"));
    rot(&place.data().join("node"), |bytes| bytes[34] = b'9');
    let line = each(data, 2);
    assert!(line.starts_with("the data directory DIR has format version 9"), "{line}");
    rot(&place.data().join("node"), |bytes| bytes[34] = b'2');
    for (target, expected) in [
        (data.to_owned(), "lies in the data directory that is copied"),
        (format!("{data}/new"), "lies in the data directory that is copied"),
        (place.data().parent().unwrap().to_str().unwrap().to_owned(), "is not a data directory: it holds "),
    ] {
        let line = run(&["salvage", data, &target]).bad(2);
        assert!(line.contains(expected), "{line}");
    }
    fs::remove_dir_all(place.data().join("messages")).unwrap();
    assert!(each(data, 1).contains("has no message log, and the directory had one"));
}
