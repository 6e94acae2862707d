//! The type load_balancing.

use super::topology::{NOWHERE, Topology};
use crate::exchange::{Cacheable, Routing};

fn routes(topology: &mut Topology, count: usize) -> Vec<u32> {
    (0..count).flat_map(|_| topology.route("x", "any")).collect()
}

#[test]
fn equals_take_turns() {
    let mut topology = Topology::bound("load_balancing", &["", "", ""]);
    assert_eq!(routes(&mut topology, 7), [0, 1, 2, 0, 1, 2, 0]);
    topology.loads = vec![5, 5, 5];
    assert_eq!(routes(&mut topology, 4), [1, 2, 0, 1]);
}

#[test]
fn the_least_load_is_chosen() {
    let mut topology = Topology::bound("load_balancing", &["", "", ""]);
    topology.loads = vec![3, 1, 2];
    assert_eq!(routes(&mut topology, 3), [1, 1, 1]);
    topology.loads = vec![1, 3, 1];
    assert_eq!(routes(&mut topology, 3), [2, 0, 2]);
}

#[test]
fn one_queue_is_chosen_whatever_comes_and_goes() {
    let mut topology = Topology::bound("load_balancing", &["", "", ""]);
    assert_eq!(routes(&mut topology, 3), [0, 1, 2]);
    topology.unbind("x", 2, "");
    topology.unbind("x", 1, "");
    assert_eq!(routes(&mut topology, 2), [0, 0]);
    topology.unbind("x", 0, "");
    assert_eq!(routes(&mut topology, 1), NOWHERE);
}

#[test]
fn a_choice_is_never_cacheable() {
    let mut topology = Topology::bound("load_balancing", &[""]);
    assert_eq!(topology.try_route(&Routing::new(b"x", b"")).unwrap().1, Cacheable::No);
    // Nor is what leads to it.
    topology.declare("y", "topic");
    topology.bind_exchange("x", "y", "#");
    assert_eq!(topology.try_route(&Routing::new(b"y", b"")).unwrap(), (vec![0], Cacheable::No));
}
