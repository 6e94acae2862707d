//! Rates of queues, virtual hosts and the node, from samples at chosen times.

use std::sync::Arc;

use hairstreak_broker::queue::{Durability, QueueDeclaration};
use hairstreak_node::access::Peer;
use hairstreak_node::node::Node;
use hairstreak_node::operator::{self, queues};
use hairstreak_node::{NodeConfig, OneMessage, publish_once};

use crate::http::HttpOptions;
use crate::http::rates::{Counter, Detail, sample};
use crate::http::state::{State, now_ms};
use crate::http::tests::node::about;

fn publish(node: &Node, queue: &str, count: usize) {
    let host = node.hosts.find("/").unwrap();
    let guest = node.access.log_in_without_password(b"guest", Peer::local()).unwrap();
    let message =
        OneMessage { exchange: b"", routing_key: queue.as_bytes(), properties: &[0, 0], body: b"x" };
    for _ in 0..count {
        assert_eq!(publish_once(node, &host, &guest, &message), Ok(Some(Durability::Memory)));
    }
}

#[test]
fn a_sampler_sees_how_fast_queues_grow() {
    let node = Arc::new(operator::open(&NodeConfig::default()).unwrap());
    for name in ["a", "b", "idle"] {
        let declaration = QueueDeclaration { name: name.as_bytes().into(), ..QueueDeclaration::default() };
        queues::declare(&node, "/", &declaration).unwrap();
    }
    let state = State::new(Arc::clone(&node), HttpOptions::default(), about(Vec::new()));
    let begin = now_ms() + 1_000_000;
    let sample = |at_ms| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(sample(&state, at_ms));
    };
    sample(begin);
    publish(&node, "a", 50);
    publish(&node, "b", 10);
    sample(begin + 5000);
    let rates = state.rates.lock();
    let publish = Counter::Publish as usize;
    assert_eq!(rates.queue("/", b"a").detail(publish, None), Detail::of_rate(10.0));
    let messages = Counter::Messages as usize;
    for (queue, rate) in [("a", 10.0), ("b", 2.0), ("idle", 0.0), ("none", 0.0)] {
        assert_eq!(
            rates.queue("/", queue.as_bytes()).detail(messages, None),
            Detail::of_rate(rate),
            "{queue}"
        );
    }
    assert_eq!(rates.host("/").detail(messages, None), Detail::of_rate(12.0));
    assert_eq!(rates.totals().detail(messages, None, begin + 6000), Detail::of_rate(12.0));
    drop(rates);
    queues::purge(&node, "/", b"a").unwrap();
    node.hosts.remove("nothing");
    sample(begin + 10_000);
    assert_eq!(state.rates.lock().queue("/", b"a").detail(messages, None), Detail::of_rate(-10.0));
    queues::delete(&node, "/", b"a", false, false).unwrap();
    sample(begin + 15_000);
    assert_eq!(state.rates.lock().queue("/", b"a").detail(messages, None), Detail::of_rate(0.0));
}
