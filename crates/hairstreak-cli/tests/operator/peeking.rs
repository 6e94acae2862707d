//! `peek`: the messages are shown, and are still there.

use serde_json::{Value, json};

use crate::broker::{Broker, tests_of_each_broker};

tests_of_each_broker! {
    messages_are_shown_and_stay,
    people_see_properties_and_bodies,
    what_is_peeked_can_be_published,
    rabbitmq_is_asked_only_with_consent,
    a_queue_without_messages_says_so,
}

/// Options that peeking at this broker needs.
fn consent(broker: &Broker) -> &'static [&'static str] {
    // Only RabbitMQ has rabbitmqctl.
    if broker.environment.is_some() { &["--requeue"] } else { &[] }
}

fn filled(broker: &Broker) -> (String, String) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "orders", &url]);
    let lines: String = (0..20).map(|number| format!("order {number}\n")).collect();
    broker.run(&["publish", &url, "--key", "orders", "--lines"], lines).good();
    (vhost, url)
}

fn messages_are_shown_and_stay(broker: &Broker) {
    let (vhost, url) = filled(broker);
    let peeked = |words: &[&str]| -> Vec<String> {
        let words = [&["peek", "orders", "--vhost", &vhost], consent(broker), words].concat();
        broker.json(&words).iter().map(|message| message["body"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(peeked(&[]), ["order 0"]);
    assert_eq!(peeked(&["-n", "3", "--offset", "10"]), ["order 10", "order 11", "order 12"]);
    assert_eq!(peeked(&["-n", "50", "--offset", "18"]), ["order 18", "order 19"]);
    assert_eq!(peeked(&["--offset", "20"]), [] as [String; 0]);
    let taken = broker.good(&["consume", "orders", &url]);
    assert_eq!(taken, (0..20).map(|number| format!("order {number}\n")).collect::<String>());
}

fn people_see_properties_and_bodies(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "q", &url]);
    broker.good(&[
        "publish",
        &url,
        "--key",
        "q",
        "--header",
        "tries=1",
        "--content-type",
        "text/plain",
        "one\ntwo",
    ]);
    broker.run(&["publish", &url, "--key", "q"], b"\xff\x00").good();
    let words = [&["peek", "q", "-n", "9", "--vhost", &vhost], consent(broker)].concat();
    let expected = "message 0: exchange '', key 'q', 7 bytes\n  content_type: text/plain\n  header tries: 1\n    one\n    two\n\
                    message 1: exchange '', key 'q', 2 bytes\n    ff 00\n";
    assert_eq!(broker.good(&words), expected);
    let words = [&["peek", "q", "--truncate", "2", "--vhost", &vhost], consent(broker)].concat();
    let shown = broker.good(&words);
    assert!(shown.ends_with("    on\n    ... 5 bytes more\n"), "{shown}");
    assert_eq!(broker.json(&words)[0]["truncated_from"], 7);
}

fn what_is_peeked_can_be_published(broker: &Broker) {
    let (vhost, url) = filled(broker);
    let words = [&["peek", "orders", "-n", "2", "--json", "--vhost", &vhost], consent(broker)].concat();
    let records = broker.good(&words);
    broker.good(&["declare", "queue", "copy", &url]);
    broker.run(&["publish", "--json", "--exchange", "", "--key", "copy", &url], records).good();
    assert_eq!(broker.good(&["consume", "copy", &url]), "order 0\norder 1\n");
}

fn rabbitmq_is_asked_only_with_consent(broker: &Broker) {
    let (vhost, url) = filled(broker);
    if broker.environment.is_none() {
        broker.good(&["peek", "orders", "--vhost", &vhost]);
    } else {
        let reason = broker.bad(&["peek", "orders", "--vhost", &vhost], 1);
        assert!(
            reason.starts_with("this broker cannot peek: it would take the messages and put them back"),
            "{reason}"
        );
    }
    let taken = broker.json(&["consume", "orders", &url]);
    assert!(taken.iter().all(|message| message["redelivered"] == json!(false)));
}

fn a_queue_without_messages_says_so(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "q", &url]);
    let words = [&["peek", "q", "--vhost", &vhost], consent(broker)].concat();
    assert_eq!(broker.good(&words), "queue 'q' is empty\n");
    assert_eq!(broker.json(&words), [] as [Value; 0]);
    broker.good(&["publish", &url, "--key", "q", "m"]);
    let words = [&words[..], &["--offset", "3"]].concat();
    assert_eq!(broker.good(&words), "queue 'q' has at most 3 messages\n");
    let words = [&["peek", "none", "--vhost", &vhost], consent(broker)].concat();
    assert_eq!(broker.bad(&words, 1), format!("there is no queue 'none' in virtual host '{vhost}'"));
    assert!(broker.bad(&["peek", "q", "-n", "0"], 2).contains("1..=10000"));
}
