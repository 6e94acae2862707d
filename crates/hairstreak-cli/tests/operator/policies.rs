//! `policies`: a policy acts on queues at once.

use serde_json::{Value, json};

use crate::broker::{Broker, tests_of_each_broker};

tests_of_each_broker! {
    a_policy_acts_on_queues_that_exist,
    the_operator_has_the_last_word,
    what_makes_no_sense_is_refused,
}

/// Publishes some messages. Returns the number of messages that stay.
fn kept(broker: &Broker, url: &str, queue: &str) -> u64 {
    broker.good(&["purge", queue, url]);
    broker.good(&["publish", url, "--key", queue, "--count", "9", "m"]);
    let said = broker.json(&["declare", "queue", queue, "--passive", url]);
    said[0]["messages"].as_u64().unwrap()
}

/// Repeats the command until `count` messages stay. RabbitMQ's queues get a policy after the answer.
fn await_kept(broker: &Broker, url: &str, queue: &str, count: u64) {
    for _ in 0..600 {
        if kept(broker, url, queue) == count {
            return;
        }
    }
    panic!("{queue} does not keep {count} messages");
}

fn a_policy_acts_on_queues_that_exist(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    for queue in ["tmp.a", "other"] {
        broker.good(&["declare", "queue", queue, &url]);
    }
    let set = [
        "policies",
        "set",
        "short",
        "^tmp\\.",
        "max-length=3",
        "--apply-to",
        "queues",
        "--priority",
        "5",
        "--vhost",
        &vhost,
    ];
    let expected = format!("policy 'short' in virtual host '{vhost}': {{\"max-length\":3}}\n");
    assert_eq!(broker.good(&set), expected);
    if let Some(listed) = broker.control(&["list_policies", "-p", &vhost]) {
        assert!(
            listed.contains(&format!("{vhost}\tshort\t^tmp\\.\tqueues\t{{\"max-length\":3}}\t5\n")),
            "{listed}"
        );
    }
    let listed = broker.json(&["policies", "--vhost", &vhost]);
    let expected = json!({"vhost": vhost, "name": "short", "pattern": "^tmp\\.", "apply-to": "queues", "definition": {"max-length": 3}, "priority": 5});
    assert_eq!(listed, [expected]);
    await_kept(broker, &url, "tmp.a", 3);
    assert_eq!(kept(broker, &url, "other"), 9);
    broker.await_list(&["queues", "--vhost", &vhost, "--columns", "policy", "--filter", "tmp"], |queues| {
        queues == [json!({"policy": "short"})]
    });
    let cleared = broker.good(&["policies", "clear", "short", "--vhost", &vhost]);
    assert_eq!(cleared, format!("policy 'short' in virtual host '{vhost}' cleared\n"));
    await_kept(broker, &url, "tmp.a", 9);
    assert_eq!(
        broker.good(&["policies", "--vhost", &vhost]),
        format!("no policies in virtual host '{vhost}'\n")
    );
}

fn the_operator_has_the_last_word(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "q", &url]);
    broker.good(&[
        "policies",
        "set",
        "wide",
        ".*",
        "{\"max-length\": 6, \"overflow\": \"drop-head\"}",
        "--vhost",
        &vhost,
    ]);
    await_kept(broker, &url, "q", 6);
    broker.good(&["policies", "set", "bound", ".*", "max-length=2", "--operator", "--vhost", &vhost]);
    await_kept(broker, &url, "q", 2);
    let operator = broker.json(&["policies", "--operator", "--vhost", &vhost]);
    assert_eq!((operator.len(), &operator[0]["name"]), (1, &Value::from("bound")));
    assert_eq!(broker.json(&["policies", "--vhost", &vhost]).len(), 1);
    let cleared = broker.good(&["policies", "clear", "bound", "--operator", "--vhost", &vhost]);
    assert_eq!(cleared, format!("operator policy 'bound' in virtual host '{vhost}' cleared\n"));
    await_kept(broker, &url, "q", 6);
}

fn what_makes_no_sense_is_refused(broker: &Broker) {
    let vhost = broker.vhost();
    let reason = broker.bad(&["policies", "set", "p", ".*", "max-leng=3", "--vhost", &vhost], 1);
    assert!(
        reason.contains("max-leng") && reason.ends_with("are not recognised policy settings (status 400)"),
        "{reason}"
    );
    let reason = broker.bad(&["policies", "set", "p", "(", "max-length=3", "--vhost", &vhost], 1);
    assert!(reason.contains("pattern should be regular expression but is invalid"), "{reason}");
    let reason = broker.bad(&["policies", "set", "p", ".*", "max-length=few", "--vhost", &vhost], 1);
    assert!(reason.contains("few") && reason.ends_with("(status 400)"), "{reason}");
    for wrong in ["max-length", "{1}", "a={"] {
        broker.bad(&["policies", "set", "p", ".*", wrong], 2);
    }
    let reason = broker.bad(&["policies", "clear", "p", "--vhost", &vhost], 1);
    assert_eq!(reason, format!("there is no policy 'p' in virtual host '{vhost}'"));
    let reason = broker.bad(&["policies", "set", "p", ".*", "max-length=1", "--vhost", "nowhere"], 1);
    assert_eq!(reason, "there is no virtual host 'nowhere'");
}
