//! The types direct, fanout and topic, and the rules for bindings of all types.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::bench::{Bench, NOWHERE, remove_queue, table};
use crate::exchange::{Cacheable, Routing};
use crate::queue::QueueId;

#[test]
fn direct_compares_keys() {
    let mut bench = Bench::bound("direct", &["a", "b", "a"]);
    assert_eq!(bench.route("x", "a"), [0, 2]);
    assert_eq!(bench.route("x", "c"), NOWHERE);
}

#[test]
fn fanout_has_two_names_and_takes_every_key() {
    for kind in ["fanout", "data_distribution"] {
        let mut bench = Bench::bound(kind, &["a", "b"]);
        assert_eq!(bench.route("x", "c"), [0, 1]);
        bench.declare("x", "fanout");
    }
}

#[test]
fn topic_matches_patterns() {
    let mut bench = Bench::bound("topic", &["stock.*.usd", "stock.#", "#.error", "stock.a.usd"]);
    assert_eq!(bench.route("x", "stock.a.usd"), [0, 1, 3]);
    assert_eq!(bench.route("x", "stock"), [1]);
    assert_eq!(bench.route("x", "error"), [2]);
    assert_eq!(bench.route("x", "bond.a.usd"), NOWHERE);
}

#[test]
fn further_keys_count_in_types_that_look_at_keys() {
    let extra_keys: [&[u8]; 3] = [b"b", b"a", b"q1"];
    for (kind, expected) in [("direct", vec![0, 1]), ("topic", vec![0, 1]), ("fanout", vec![0, 1, 2])] {
        let mut bench = Bench::bound(kind, &["a", "b", "c"]);
        let message = Routing { extra_keys: &extra_keys, ..Routing::new(b"x", b"a") };
        assert_eq!(bench.try_route(&message).unwrap(), (expected, Cacheable::No));
    }
    let mut bench = Bench::new(2);
    let message = Routing { extra_keys: &extra_keys, ..Routing::new(b"", b"q1") };
    assert_eq!(bench.try_route(&message).unwrap(), (vec![1], Cacheable::No));
}

#[test]
fn a_queue_that_is_bound_twice_gets_a_message_once() {
    let mut bench = Bench::bound("topic", &["a.*", "b"]);
    bench.bind("x", 0, "#");
    bench.bind_with("x", 0, "#", &table([("k", 1.into())])).unwrap();
    assert_eq!(bench.route("x", "a.b"), [0]);
    assert_eq!(bench.exchanges.topology.binding_count(), 4);
}

#[test]
fn binding_again_and_unbinding_what_is_not_bound_change_nothing() {
    for kind in ["direct", "fanout", "topic", "headers", "x-consistent-hash", "load_balancing"] {
        let mut bench = Bench::bound(kind, &["1"]);
        let generation = bench.exchanges.generation();
        bench.bind("x", 0, "1");
        bench.unbind("x", 0, "2");
        bench.unbind("x", 7, "1");
        assert_eq!(bench.exchanges.generation(), generation, "{kind}");
        assert_eq!(bench.route("x", "1"), [0], "{kind}");
        bench.unbind("x", 0, "1");
        assert_ne!(bench.exchanges.generation(), generation, "{kind}");
        assert_eq!(bench.route("x", "1"), NOWHERE, "{kind}");
        assert_eq!(bench.exchanges.topology.binding_count(), 0);
    }
}

#[test]
fn arguments_make_another_binding_but_their_order_does_not() {
    let mut bench = Bench::bound("direct", &["a"]);
    let one = table([("k", 1.into()), ("l", FieldValue::F64(f64::NAN))]);
    let other = table([("l", FieldValue::F64(f64::NAN)), ("k", 1.into())]);
    bench.bind_with("x", 0, "a", &one).unwrap();
    bench.bind_with("x", 0, "a", &other).unwrap();
    assert_eq!(bench.exchanges.topology.binding_count(), 2);
    bench.exchanges.unbind_queue(b"x", QueueId(0), b"a", &other).unwrap();
    assert_eq!(bench.route("x", "a"), [0]);
    bench.exchanges.unbind_queue(b"x", QueueId(0), b"a", &FieldTable::new()).unwrap();
    assert_eq!(bench.route("x", "a"), NOWHERE);
}

#[test]
fn a_queue_that_goes_takes_its_bindings_along() {
    for kind in ["direct", "fanout", "topic", "headers", "x-consistent-hash", "load_balancing"] {
        let mut bench = Bench::bound(kind, &["1", "1"]);
        bench.bind("x", 0, "2");
        remove_queue(&mut bench.exchanges, QueueId(0));
        assert_eq!(bench.route("x", "1"), [1], "{kind}");
        assert_eq!(bench.route("", "q0"), NOWHERE);
        assert_eq!(bench.exchanges.topology.binding_count(), 1);
    }
}

#[test]
fn many_destinations_of_one_key_come_and_go() {
    let mut bench = Bench::bound("direct", &["a"; 100]);
    for queue in (0..100).filter(|queue| queue % 3 != 0) {
        bench.unbind("x", queue, "a");
    }
    assert_eq!(bench.route("x", "a"), (0..100).step_by(3).collect::<Vec<_>>());
    (0..99).for_each(|queue| bench.unbind("x", queue, "a"));
    assert_eq!(bench.route("x", "a"), [99]);
}
