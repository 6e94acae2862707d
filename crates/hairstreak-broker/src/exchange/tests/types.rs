//! The types direct, fanout and topic, and what holds for bindings of all types.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::topology::{NOWHERE, Topology, table};
use crate::exchange::{Cacheable, Routing};
use crate::queue::QueueId;

#[test]
fn direct_compares_keys() {
    let mut topology = Topology::bound("direct", &["a", "b", "a"]);
    assert_eq!(topology.route("x", "a"), [0, 2]);
    assert_eq!(topology.route("x", "c"), NOWHERE);
}

#[test]
fn fanout_has_two_names_and_takes_every_key() {
    for kind in ["fanout", "data_distribution"] {
        let mut topology = Topology::bound(kind, &["a", "b"]);
        assert_eq!(topology.route("x", "c"), [0, 1]);
        topology.declare("x", "fanout");
    }
}

#[test]
fn topic_matches_patterns() {
    let mut topology = Topology::bound("topic", &["stock.*.usd", "stock.#", "#.error", "stock.a.usd"]);
    assert_eq!(topology.route("x", "stock.a.usd"), [0, 1, 3]);
    assert_eq!(topology.route("x", "stock"), [1]);
    assert_eq!(topology.route("x", "error"), [2]);
    assert_eq!(topology.route("x", "bond.a.usd"), NOWHERE);
}

#[test]
fn further_keys_count_in_types_that_look_at_keys() {
    let extra_keys: [&[u8]; 3] = [b"b", b"a", b"q1"];
    for (kind, expected) in [("direct", vec![0, 1]), ("topic", vec![0, 1]), ("fanout", vec![0, 1, 2])] {
        let mut topology = Topology::bound(kind, &["a", "b", "c"]);
        let message = Routing { extra_keys: &extra_keys, ..Routing::new(b"x", b"a") };
        assert_eq!(topology.try_route(&message).unwrap(), (expected, Cacheable::No));
    }
    let mut topology = Topology::new(2);
    let message = Routing { extra_keys: &extra_keys, ..Routing::new(b"", b"q1") };
    assert_eq!(topology.try_route(&message).unwrap(), (vec![1], Cacheable::No));
}

#[test]
fn a_queue_that_is_bound_twice_gets_a_message_once() {
    let mut topology = Topology::bound("topic", &["a.*", "b"]);
    topology.bind("x", 0, "#");
    topology.bind_with("x", 0, "#", &table([("k", 1.into())])).unwrap();
    assert_eq!(topology.route("x", "a.b"), [0]);
    assert_eq!(topology.exchanges.listing().binding_count(), 4);
}

#[test]
fn binding_again_and_unbinding_what_is_not_bound_change_nothing() {
    for kind in ["direct", "fanout", "topic", "headers", "x-consistent-hash", "load_balancing"] {
        let mut topology = Topology::bound(kind, &["1"]);
        let generation = topology.exchanges.generation();
        topology.bind("x", 0, "1");
        topology.unbind("x", 0, "2");
        topology.unbind("x", 7, "1");
        assert_eq!(topology.exchanges.generation(), generation, "{kind}");
        assert_eq!(topology.route("x", "1"), [0], "{kind}");
        topology.unbind("x", 0, "1");
        assert_ne!(topology.exchanges.generation(), generation, "{kind}");
        assert_eq!(topology.route("x", "1"), NOWHERE, "{kind}");
        assert_eq!(topology.exchanges.listing().binding_count(), 0);
    }
}

#[test]
fn arguments_make_another_binding_but_their_order_does_not() {
    let mut topology = Topology::bound("direct", &["a"]);
    let one = table([("k", 1.into()), ("l", FieldValue::F64(f64::NAN))]);
    let other = table([("l", FieldValue::F64(f64::NAN)), ("k", 1.into())]);
    topology.bind_with("x", 0, "a", &one).unwrap();
    topology.bind_with("x", 0, "a", &other).unwrap();
    assert_eq!(topology.exchanges.listing().binding_count(), 2);
    topology.exchanges.unbind_queue(b"x", QueueId(0), b"a", &other).unwrap();
    assert_eq!(topology.route("x", "a"), [0]);
    topology.exchanges.unbind_queue(b"x", QueueId(0), b"a", &FieldTable::new()).unwrap();
    assert_eq!(topology.route("x", "a"), NOWHERE);
}

#[test]
fn a_queue_that_goes_takes_its_bindings_along() {
    for kind in ["direct", "fanout", "topic", "headers", "x-consistent-hash", "load_balancing"] {
        let mut topology = Topology::bound(kind, &["1", "1"]);
        topology.bind("x", 0, "2");
        topology.exchanges.remove_queue(QueueId(0));
        assert_eq!(topology.route("x", "1"), [1], "{kind}");
        assert_eq!(topology.route("", "q0"), NOWHERE);
        assert_eq!(topology.exchanges.listing().binding_count(), 1);
    }
}

#[test]
fn many_destinations_of_one_key_come_and_go() {
    let mut topology = Topology::bound("direct", &["a"; 100]);
    for queue in (0..100).filter(|queue| queue % 3 != 0) {
        topology.unbind("x", queue, "a");
    }
    assert_eq!(topology.route("x", "a"), (0..100).step_by(3).collect::<Vec<_>>());
    (0..99).for_each(|queue| topology.unbind("x", queue, "a"));
    assert_eq!(topology.route("x", "a"), [99]);
}
