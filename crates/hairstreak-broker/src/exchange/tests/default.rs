//! The default exchange.

use super::topology::{NOWHERE, Topology, named};
use crate::exchange::{Cacheable, Routing};
use crate::queue::QueueId;

#[test]
fn queues_are_found_by_their_names() {
    let mut topology = Topology::new(2);
    assert_eq!(topology.try_route(&Routing::new(b"", b"q1")).unwrap(), (vec![1], Cacheable::Yes));
    assert_eq!(topology.route("", "q2"), NOWHERE);
}

#[test]
fn a_queue_changes_the_generation_when_it_comes_and_when_it_goes() {
    let mut topology = Topology::new(0);
    let before = topology.exchanges.generation();
    topology.exchanges.add_queue(&named("q0"), QueueId(0));
    let between = topology.exchanges.generation();
    topology.exchanges.remove_queue(QueueId(0));
    assert!(before < between && between < topology.exchanges.generation());
    assert_eq!(topology.route("", "q0"), NOWHERE);
    topology.check_nothing_left();
}
