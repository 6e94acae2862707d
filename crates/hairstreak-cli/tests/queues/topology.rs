//! `declare`, `delete`, `bind`, `unbind` and `purge`.

use crate::harness::{Broker, unique};

#[test]
fn queues_and_exchanges_come_and_go() {
    let broker = Broker::start();
    let (queue, exchange) = (unique("queue"), unique("exchange"));
    let queue_is = |text: &str| format!("queue '{queue}': {text}\n");
    let declare = ["declare", "queue", &queue, "--durable"];
    assert_eq!(broker.good(&declare), queue_is("0 messages, 0 consumers"));
    let declare = ["declare", "exchange", &exchange, "--type", "topic", "--json"];
    assert_eq!(broker.good(&declare), format!("{{\"exchange\":\"{exchange}\",\"type\":\"topic\"}}\n"));
    let bind = ["bind", "queue", &queue, "--exchange", &exchange, "--key", "a.#", "--key", "b"];
    assert_eq!(broker.good(&bind), format!("queue '{queue}' bound to exchange '{exchange}'\n"));
    for key in ["a.x", "b", "c"] {
        broker.good(&["publish", "--exchange", &exchange, "--key", key, "m"]);
    }
    let check = ["declare", "queue", &queue, "--passive"];
    assert_eq!(broker.good(&check), queue_is("2 messages, 0 consumers"));
    let unbind = ["unbind", "queue", &queue, "--exchange", &exchange, "--key", "b"];
    assert_eq!(broker.good(&unbind), format!("queue '{queue}' unbound from exchange '{exchange}'\n"));
    let lost = ["publish", "--exchange", &exchange, "--key", "b", "--mandatory", "m"];
    assert_eq!(broker.bad(&lost, 1), "1 message published; 1 came back: NO_ROUTE");
    let reason = broker.bad(&["delete", "queue", &queue, "--if-empty"], 1);
    assert_eq!(reason, format!("PRECONDITION_FAILED - queue '{queue}' in vhost '/' not empty"));
    assert_eq!(broker.good(&["purge", &queue]), format!("2 messages purged from queue '{queue}'\n"));
    let delete = ["delete", "queue", &queue, "--if-empty", "--json"];
    assert_eq!(broker.good(&delete), format!("{{\"messages\":0,\"queue\":\"{queue}\"}}\n"));
    let delete = ["delete", "exchange", &exchange, "--if-unused"];
    assert_eq!(broker.good(&delete), format!("exchange '{exchange}' deleted\n"));
}

#[test]
fn exchanges_are_bound_to_exchanges() {
    let broker = Broker::start();
    let (first, second, queue) = (unique("first"), unique("second"), broker.queue("bound", &[]));
    for exchange in [&first, &second] {
        broker.good(&["declare", "exchange", exchange, "--type", "fanout"]);
    }
    broker.good(&["bind", "exchange", &second, "--exchange", &first]);
    broker.good(&["bind", "queue", &queue, "--exchange", &second]);
    broker.good(&["publish", "--exchange", &first, "m"]);
    assert_eq!(broker.good(&["consume", &queue]), "m\n");
    broker.good(&["unbind", "exchange", &second, "--exchange", &first]);
    broker.bad(&["publish", "--exchange", &first, "--mandatory", "m"], 1);
    for exchange in [&first, &second] {
        broker.good(&["delete", "exchange", exchange]);
    }
    broker.good(&["delete", "queue", &queue]);
}

#[test]
fn arguments_have_types() {
    let broker = Broker::start();
    let queue = broker.queue("short", &["--argument", "x-max-length=1", "--type", "classic"]);
    broker.good(&["publish", "--key", &queue, "--count", "3", "m"]);
    assert_eq!(broker.message_count(&queue), 1);
    broker.good(&["delete", "queue", &queue]);
    let reason = broker.bad(&["declare", "queue", &queue, "--argument", "x-max-length=\"1\""], 1);
    assert!(reason.starts_with("PRECONDITION_FAILED - invalid arg 'x-max-length'"), "{reason}");
    let reason = broker.bad(&["declare", "queue", &queue, "--argument", "x-max-length"], 2);
    assert!(reason.contains("NAME=VALUE"), "{reason}");
}

#[test]
fn the_brokers_words_are_the_reason() {
    let broker = Broker::start();
    let queue = broker.queue("there", &["--durable"]);
    let reason = broker.bad(&["declare", "queue", &queue], 1);
    let inequivalent = "received 'false' but current is 'true'";
    let expected = format!(
        "PRECONDITION_FAILED - inequivalent arg 'durable' for queue '{queue}' in vhost '/': {inequivalent}"
    );
    assert_eq!(reason, expected);
    broker.good(&["delete", "queue", &queue]);
    for words in [&["consume", &queue][..], &["purge", &queue], &["declare", "queue", &queue, "--passive"]] {
        assert_eq!(broker.bad(words, 1), format!("NOT_FOUND - no queue '{queue}' in vhost '/'"));
    }
    let reason = broker.bad(&["declare", "exchange", "amq.mine"], 1);
    assert!(reason.starts_with("ACCESS_REFUSED - "), "{reason}");
    let reason = broker.bad(&["declare", "exchange", "x", "--type", "bogus"], 1);
    assert_eq!(reason, "COMMAND_INVALID - unknown exchange type 'bogus'; the broker closed the connection");
}

#[test]
fn the_broker_names_a_queue_without_a_name() {
    let broker = Broker::start();
    let json: serde_json::Value =
        serde_json::from_str(&broker.good(&["declare", "queue", "--json"])).unwrap();
    let name = json["queue"].as_str().unwrap();
    assert!(name.starts_with("amq.gen-"), "{name}");
    broker.good(&["delete", "queue", name]);
}
