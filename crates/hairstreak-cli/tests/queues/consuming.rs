//! `consume`: its end, its output, and the messages that stay in the queue.

use std::fs::File;
use std::io::{BufRead, BufReader};

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Broker, end, folder, unique};

/// A queue with the messages 1, 2 and so on.
fn filled(broker: &Broker, count: usize) -> String {
    let queue = broker.queue("filled", &[]);
    broker.run(&["publish", "-k", &queue, "--lines"], numbers(1, count)).good();
    queue
}

fn numbers(first: usize, last: usize) -> String {
    (first..=last).map(|number| format!("{number}\n")).collect()
}

#[test]
fn it_ends_when_the_queue_is_empty() {
    let broker = Broker::start();
    let queue = filled(&broker, 1200);
    assert_eq!(broker.good(&["consume", &queue]), numbers(1, 1200));
    assert_eq!(broker.good(&["consume", &queue]), "");
    assert_eq!(broker.message_count(&queue), 0);
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_count_leaves_the_others_as_they_were() {
    let broker = Broker::start();
    let queue = filled(&broker, 30);
    assert_eq!(broker.good(&["consume", &queue, "--count", "3"]), numbers(1, 3));
    assert_eq!(broker.good(&["consume", &queue, "--count", "17", "--prefetch", "5"]), numbers(4, 20));
    let rest = broker.good(&["consume", &queue, "--json"]);
    assert_eq!((rest.lines().count(), rest.matches("\"redelivered\":false").count()), (10, 10));
    for words in [&["--count", "2"][..], &["--count", "2", "--timeout", "100ms"]] {
        let reason = broker.bad(&[&["consume", &queue], words].concat(), 1);
        assert_eq!(reason, "only 0 of 2 messages came");
    }
    let reason = broker.bad(&["consume", &queue, "--count", "2", "--no-ack"], 2);
    assert!(reason.contains("would be lost"), "{reason}");
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn what_cannot_be_written_stays_in_the_queue() {
    let broker = Broker::start();
    let queue = filled(&broker, 1000);
    let mut command = broker.command(&["consume", &queue]);
    let full = command.stdout(File::options().write(true).open("/dev/full").unwrap());
    let reason = end(full.spawn().unwrap(), b"").bad(1);
    assert!(reason.starts_with("cannot write to standard output: No space left"), "{reason}");
    assert_eq!(broker.message_count(&queue), 1000);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unread = end(broker.command(&["consume", &queue]).stdout(writer).spawn().unwrap(), b"");
    assert_eq!((unread.status, unread.stderr.as_str()), (Some(141), ""));
    assert_eq!(broker.good(&["consume", &queue]), numbers(1, 1000));
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_signal_ends_what_follows_and_nothing_written_comes_again() {
    let broker = Broker::start();
    for signal in [Signal::INT, Signal::TERM] {
        let queue = filled(&broker, 3);
        let mut follower = broker.spawn(&["consume", &queue, "--follow"]);
        let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
        for number in 1..=3 {
            assert_eq!(lines.next().unwrap().unwrap(), number.to_string());
        }
        broker.good(&["publish", "-k", &queue, "4"]);
        assert_eq!(lines.next().unwrap().unwrap(), "4");
        kill_process(Pid::from_child(&follower), signal).unwrap();
        assert_eq!(end(follower, b"").good(), "");
        assert_eq!(broker.message_count(&queue), 0);
        broker.good(&["delete", "queue", &queue]);
    }
}

#[test]
fn a_signal_before_the_count_is_reached_is_told() {
    let broker = Broker::start();
    let queue = filled(&broker, 1);
    let mut waiting = broker.spawn(&["consume", &queue, "--follow", "--count", "2"]);
    let mut lines = BufReader::new(waiting.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "1");
    kill_process(Pid::from_child(&waiting), Signal::INT).unwrap();
    assert_eq!(end(waiting, b"").bad(130), "stopped by SIGINT after 1 message");
    assert_eq!(broker.message_count(&queue), 0);
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn an_exchange_is_followed_by_a_queue_of_its_own() {
    let broker = Broker::start();
    let exchange = unique("events");
    broker.good(&["declare", "exchange", &exchange, "--type", "topic"]);
    for (key, expected) in [(&["-k", "a.*"][..], "2\n"), (&[], "1\n")] {
        let words = [&["consume", "-x", &exchange, "--count", "1"], key].concat();
        let mut follower = broker.spawn(&words);
        let mut errors = BufReader::new(follower.stderr.take().unwrap());
        let mut line = String::new();
        errors.read_line(&mut line).unwrap();
        assert!(line.ends_with(&format!("has the messages of exchange '{exchange}'\n")), "{line}");
        broker.good(&["publish", "-x", &exchange, "-k", "b.x", "1"]);
        broker.good(&["publish", "-x", &exchange, "-k", "a.x", "2"]);
        assert_eq!(end(follower, b"").good(), expected);
    }
    broker.good(&["delete", "exchange", &exchange]);
}

#[test]
fn messages_become_files() {
    let broker = Broker::start();
    let queue = filled(&broker, 3);
    let folder = folder("files").join("new");
    let path = folder.to_str().unwrap();
    broker.good(&["consume", &queue, "--output", path, "--count", "1"]);
    broker.good(&["consume", &queue, "--output", path]);
    broker.good(&["publish", "-k", &queue, "4"]);
    broker.good(&["consume", &queue, "--output", path, "--json"]);
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["000001", "000001.json", "000002", "000003"]);
    assert_eq!(std::fs::read_to_string(folder.join("000003")).unwrap(), "3");
    broker.good(&["publish", "-k", &queue, "5"]);
    let reason = broker.bad(&["consume", &queue, "--output", &format!("{path}/000001")], 1);
    assert!(reason.starts_with("cannot write to "), "{reason}");
    assert_eq!(broker.message_count(&queue), 1);
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_queue_that_is_deleted_ends_its_consumer() {
    let broker = Broker::start();
    let queue = filled(&broker, 1);
    let mut follower = broker.spawn(&["consume", &queue, "--follow"]);
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "1");
    broker.good(&["delete", "queue", &queue]);
    let reason = end(follower, b"").bad(1);
    assert!(reason.starts_with("the broker has ended the consumer"), "{reason}");
}

#[test]
fn without_acknowledgements_the_broker_forgets_at_once() {
    let broker = Broker::start();
    let queue = filled(&broker, 700);
    assert_eq!(broker.good(&["consume", &queue, "--no-ack"]), numbers(1, 700));
    assert_eq!(broker.message_count(&queue), 0);
    broker.good(&["delete", "queue", &queue]);
}
