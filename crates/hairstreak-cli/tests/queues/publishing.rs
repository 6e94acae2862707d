//! `publish`: the sources of messages, and their outcomes.

use std::io::{BufRead, BufReader, Write};

use hairstreak_testkit::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::harness::{Broker, end, folder};

#[test]
fn a_body_is_an_argument_a_file_or_standard_input() {
    let broker = Broker::start();
    let queue = broker.queue("bodies", &[]);
    let file = folder("bodies").join("body");
    std::fs::write(&file, "of a\nfile").unwrap();
    broker.good(&["publish", "-k", &queue, "argument"]);
    broker.good(&["publish", "-k", &queue, "--file", file.to_str().unwrap()]);
    assert_eq!(
        broker.run(&["publish", "-k", &queue, "--count", "2"], "input\n").good(),
        "2 messages confirmed\n"
    );
    broker.good(&["publish", "-k", &queue]);
    assert_eq!(broker.good(&["consume", &queue, "--null"]), "argument\0of a\nfile\0input\n\0input\n\0\0");
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn many_messages_are_told_apart() {
    let broker = Broker::start();
    let queue = broker.queue("many", &[]);
    for (option, input) in [
        ("--lines", &b"a\n\nb"[..]),
        ("--null", b"a\0\0b\0"),
        ("--length", b"\0\0\0\x01a\0\0\0\0\0\0\0\x01b"),
    ] {
        let published = broker.run(&["publish", "-k", &queue, option], input);
        assert_eq!(published.good(), "3 messages confirmed\n", "{option}");
        assert_eq!(broker.good(&["consume", &queue]), "a\n\nb\n", "{option}");
    }
    let torn = broker.run(&["publish", "-k", &queue, "--length"], b"\0\0\0\x01a\0\0\0\x02b");
    let reason = "message 2 of standard input: the input ends inside it; published 1, confirmed 1";
    assert_eq!(torn.bad(1), reason);
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn messages_of_any_size_and_number_arrive() {
    let broker = Broker::start();
    let queue = broker.queue("sizes", &[]);
    let numbers: String = (0..20_000).map(|number| format!("{number}\n")).collect();
    broker.run(&["publish", "-k", &queue, "--lines", "--window", "500"], &numbers).good();
    assert_eq!(broker.good(&["consume", &queue]), numbers);
    let large = "x".repeat(5 << 20);
    broker.run(&["publish", "-k", &queue, "--count", "3"], &large).good();
    assert_eq!(broker.good(&["consume", &queue, "--raw"]), large.repeat(3));
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn what_comes_back_or_is_refused_is_counted() {
    let broker = Broker::start();
    let lost = ["publish", "-k", "no-such-queue", "--mandatory", "--json", r#"{"body": 1}"#, "--count", "3"];
    let outcome = broker.run(&lost, "");
    let counts = "{\"confirmed\":3,\"published\":3,\"refused\":0,\"returned\":3}\n";
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), counts);
    assert_eq!(outcome.bad(1), "3 messages published; 3 came back: NO_ROUTE");
    let queue =
        broker.queue("full", &["--argument", "x-max-length=1", "--argument", "x-overflow=reject-publish"]);
    broker.good(&["publish", "-k", &queue, "m"]);
    let full = broker.bad(&["publish", "-k", &queue, "--count", "4", "m"], 1);
    assert_eq!(full, "4 messages published; 4 refused by the broker");
    let reason = broker.bad(&["publish", "-x", "no-such-exchange", "m"], 1);
    assert!(
        reason.starts_with("NOT_FOUND - no exchange 'no-such-exchange' in vhost '/'; published 1"),
        "{reason}"
    );
    assert_eq!(
        broker.bad(&["publish", "m"], 2).split(':').next(),
        Some("nothing says where the message goes")
    );
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn headers_and_properties_travel() {
    let broker = Broker::start();
    let queue = broker.queue("properties", &[]);
    let words = "-H n=1 -H s=\"1\" -H b=true --persistent --priority 3 --expiration 60s --content-type text/plain \
                 --content-encoding utf-8 --correlation-id c --reply-to r --message-id m --timestamp 7 --type t \
                 --user-id guest --app-id a";
    let words: Vec<&str> = words.split_whitespace().collect();
    broker.good(&[&["publish", "-k", &queue, "body"][..], &words].concat());
    let expected = format!(
        concat!(
            r#"{{"exchange":"","key":"{}","redelivered":false,"headers":{{"b":true,"n":1,"s":"1"}},"#,
            r#""properties":{{"content_type":"text/plain","content_encoding":"utf-8","correlation_id":"c","#,
            r#""reply_to":"r","expiration":"60000","message_id":"m","type":"t","user_id":"guest","app_id":"a","#,
            r#""delivery_mode":2,"priority":3,"timestamp":7}},"body":"body"}}"#,
            "\n"
        ),
        queue
    );
    assert_eq!(broker.good(&["consume", &queue, "--json"]), expected);
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn what_is_consumed_as_json_can_be_published_again() {
    let broker = Broker::start();
    let (from, to) = (broker.queue("from", &[]), broker.queue("to", &[]));
    let records = [
        r#"{"body":"text","headers":{"list":[1,null,{"a":0.5}],"at":{"$timestamp":5},"bytes":{"$bytes":"AAE="}}}"#,
        r#"{"body_base64":"/wA=","properties":{"priority":1}}"#,
        r#"{"body":{"a":1}}"#,
    ];
    let published = broker.run(&["publish", "--json", "-k", &from], records.join("\n") + "\n\n").good();
    assert_eq!(published, "{\"confirmed\":3,\"published\":3,\"refused\":0,\"returned\":0}\n");
    let first = broker.good(&["consume", &from, "--json"]);
    broker.run(&["publish", "--json", "-k", &to], &first).good();
    let second = broker.good(&["consume", &to, "--json"]);
    assert_eq!(second, first.replace(&from, &to));
    broker.run(&["publish", "--json"], &second).good();
    assert_eq!(broker.message_count(&to), 3);
    for queue in [from, to] {
        broker.good(&["delete", "queue", &queue]);
    }
}

#[test]
fn json_that_makes_no_sense_ends_the_input_behind_what_was_sent() {
    let broker = Broker::start();
    let queue = broker.queue("senseless", &[]);
    let outcome = broker.run(&["publish", "--json", "-k", &queue], "{}\n{\"bdy\":1}\n{}\n");
    let reason = outcome.bad(1);
    assert!(
        reason.starts_with("message 2: it is no JSON object with a message: unknown field `bdy`"),
        "{reason}"
    );
    assert!(reason.ends_with("; published 1, confirmed 1"), "{reason}");
    assert_eq!(broker.message_count(&queue), 1);
    let reason = broker.bad(&["publish", "--json", "{\"body\": 1}"], 1);
    assert_eq!(reason, "message 1: it has no key, and nothing else says where it goes");
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_line_is_sent_as_soon_as_it_is_there() {
    let broker = Broker::start();
    let queue = broker.queue("slow", &[]);
    let mut publisher = broker.command(&["publish", "-k", &queue, "--lines"]).spawn().unwrap();
    for line in ["first\n", "second\n"] {
        publisher.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        assert_eq!(broker.good(&["consume", &queue, "--count", "1", "--timeout", "60s"]), line);
    }
    assert_eq!(end(publisher, b"third").good(), "3 messages confirmed\n");
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_signal_ends_it_with_what_was_confirmed() {
    let broker = Broker::start();
    let queue = broker.queue("stopped", &[]);
    let mut publisher = broker.spawn(&["publish", "-k", &queue, "--lines"]);
    let mut stdin = publisher.stdin.take().unwrap();
    stdin.write_all(b"first\n").unwrap();
    assert_eq!(broker.good(&["consume", &queue, "--count", "1", "--timeout", "60s"]), "first\n");
    kill_process(Pid::from_child(&publisher), Signal::INT).unwrap();
    let output = publisher.end_with_output();
    assert_eq!(output.status.code(), Some(130));
    let reason = String::from_utf8(output.stderr).unwrap();
    assert!(reason.starts_with("hairstreak: stopped by SIGINT; published 1, confirmed "), "{reason}");
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn a_broker_that_is_short_of_memory_is_waited_for() {
    let broker = Broker::node("memory_watermark = 16_000_000");
    let queue = broker.queue("blocked", &[]);
    let mut publisher = broker.spawn(&["publish", "-k", &queue, "--count", "8"]);
    let mut stdin = publisher.stdin.take().unwrap();
    stdin.write_all(&vec![b'x'; 4_000_000]).unwrap();
    drop(stdin);
    let mut errors = BufReader::new(publisher.stderr.take().unwrap()).lines();
    let line = errors.next().unwrap().unwrap();
    assert!(line.starts_with("hairstreak: the broker takes no messages for now: "), "{line}");
    broker.good(&["consume", &queue, "--count", "8", "--timeout", "30s"]);
    let output = publisher.end_with_output();
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"8 messages confirmed\n"[..]));
}
