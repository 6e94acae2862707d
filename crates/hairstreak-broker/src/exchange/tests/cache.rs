//! Routes that were taken before.

use super::topology::{Topology, named};
use crate::queue::QueueId;

#[test]
fn a_cached_route_is_forgotten_when_the_topology_changes() {
    let mut topology = Topology::bound("topic", &["a.*"]);
    topology.exchanges.add_queue(&named("q1"), QueueId(1));
    for _ in 0..10 {
        (0..100).for_each(|_| assert_eq!(topology.route("x", "a.b"), [0]));
        topology.bind("x", 1, "#");
        (0..100).for_each(|_| assert_eq!(topology.route("x", "a.b"), [0, 1]));
        topology.unbind("x", 1, "#");
    }
}

#[test]
fn more_keys_than_the_cache_holds_are_routed_like_few() {
    let mut topology = Topology::bound("topic", &["a.#", "b.*", "#"]);
    for number in 0..1_000_000 {
        let queues = topology.route("x", &format!("{}.{number}", if number % 2 == 0 { "a" } else { "b" }));
        assert_eq!(queues, if number % 2 == 0 { [0, 2] } else { [1, 2] });
    }
}

#[test]
fn keys_of_different_exchanges_are_different() {
    let mut topology = Topology::bound("topic", &["#", "#"]);
    topology.unbind("x", 1, "#");
    topology.declare("y", "topic");
    topology.bind("y", 1, "#");
    for _ in 0..100 {
        assert_eq!((topology.route("x", "a"), topology.route("y", "a")), (vec![0], vec![1]));
    }
}
