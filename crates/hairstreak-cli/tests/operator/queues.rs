//! `queues`: the list has the queues and messages of AMQP clients; queues are deleted and purged.

use crate::broker::{Broker, tests_of_each_broker};

tests_of_each_broker! {
    messages_and_totals_are_listed,
    queues_are_purged_and_deleted,
    a_queue_in_use_or_with_messages_may_stay,
    names_may_have_any_character,
}

fn messages_and_totals_are_listed(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    for (queue, words) in [("orders", &["--durable"][..]), ("bills", &["--argument", "x-max-length=9"])] {
        broker.good(&[&["declare", "queue", queue, &url], words].concat());
    }
    broker.good(&["publish", &url, "--key", "orders", "--count", "3", "hello"]);
    let columns = ["queues", "--vhost", &vhost, "--columns", "name,durable,messages,arguments"];
    broker.await_list(&columns, |queues| {
        queues
            == [
                serde_json::json!({"name": "bills", "durable": false, "messages": 0, "arguments": {"x-max-length": 9}}),
                serde_json::json!({"name": "orders", "durable": true, "messages": 3, "arguments": {}}),
            ]
    });
    let expected = format!(
        "name    durable  messages  arguments\nbills   no              0  {{\"x-max-length\":9}}\norders  yes             3\n2 queues in virtual host '{vhost}': 3 messages\n"
    );
    assert_eq!(broker.good(&columns), expected);
    // RabbitMQ updates sizes later than counts.
    let sizes = ["queues", "--vhost", &vhost, "--columns", "name,state,message_bytes"];
    broker.await_list(&sizes, |queues| queues.iter().all(|queue| queue["message_bytes"].is_u64()));
    let table = broker.good(&["queues", "--vhost", &vhost]);
    let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(words[0][..4], ["name", "type", "durable", "state"]);
    // Ready, unacknowledged, all, and the size with its unit.
    assert_eq!(words[2][..9], ["orders", "classic", "yes", "running", "3", "0", "3", "15", "B"]);
    assert!(table.ends_with(": 3 messages, 3 ready, 0 unacknowledged\n"), "{table}");
}

fn queues_are_purged_and_deleted(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    for queue in ["a", "b"] {
        broker.good(&["declare", "queue", queue, &url]);
        broker.good(&["publish", &url, "--key", queue, "--count", "2", "m"]);
    }
    let purged = broker.good(&["queues", "purge", "a", "--vhost", &vhost]);
    assert_eq!(purged, format!("queue 'a' in virtual host '{vhost}' purged\n"));
    let count = |queue| broker.good(&["declare", "queue", queue, "--passive", &url]);
    assert_eq!(count("a"), "queue 'a': 0 messages, 0 consumers\n");
    assert_eq!(count("b"), "queue 'b': 2 messages, 0 consumers\n");
    let deleted = broker.json(&["queues", "delete", "a", "b", "--vhost", &vhost]);
    assert_eq!(deleted.len(), 2);
    assert_eq!(deleted[1], serde_json::json!({"queue": "b", "vhost": vhost, "change": "deleted"}));
    let reason = broker.bad(&["declare", "queue", "b", "--passive", &url], 1);
    assert!(reason.starts_with("NOT_FOUND - no queue 'b'"), "{reason}");
    for action in ["delete", "purge"] {
        let reason = broker.bad(&["queues", action, "b", "--vhost", &vhost], 1);
        assert_eq!(reason, format!("there is no queue 'b' in virtual host '{vhost}'"));
    }
    assert_eq!(broker.good(&["queues", "--vhost", &vhost]), format!("no queues in virtual host '{vhost}'\n"));
}

fn a_queue_in_use_or_with_messages_may_stay(broker: &Broker) {
    let vhost = broker.vhost();
    let url = broker.url("guest", &vhost);
    broker.good(&["declare", "queue", "full", &url]);
    broker.good(&["publish", &url, "--key", "full", "m"]);
    let reason = broker.bad(&["queues", "delete", "full", "--if-empty", "--vhost", &vhost], 1);
    assert_eq!(reason, format!("queue 'full' in vhost '{vhost}' not empty (status 400)"));
    broker.good(&["queues", "delete", "full", "--if-unused", "--vhost", &vhost]);
}

fn names_may_have_any_character(broker: &Broker) {
    let vhost = broker.vhost() + "/a b";
    broker.good(&["vhosts", "add", &vhost]);
    let url = format!("--url=amqp://{}/{}", broker.amqp, vhost.replace('/', "%2F").replace(' ', "%20"));
    for queue in ["a/b?c=d&e", ".a", "\u{e4}\u{20ac} %2F"] {
        broker.good(&["declare", "queue", queue, &url]);
        let listed = broker.json(&["queues", "--vhost", &vhost]);
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["name"], queue);
        broker.good(&["queues", "delete", queue, "--vhost", &vhost]);
    }
    assert!(broker.json(&["queues", "--vhost", &vhost]).is_empty());
    broker.good(&["vhosts", "delete", &vhost]);
}
