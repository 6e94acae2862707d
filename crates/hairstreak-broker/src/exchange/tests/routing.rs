//! Routing for all exchange types: the default exchange, cached routes, and alternate exchanges.

use hairstreak_wire::amqp::FieldTable;

use super::bench::{Bench, NOWHERE, named, remove_queue, table};
use crate::exchange::{Cacheable, Routing};
use crate::queue::QueueId;

fn to(name: &str) -> FieldTable {
    table([("alternate-exchange", name.into())])
}

#[test]
fn queues_are_found_by_their_names() {
    let mut bench = Bench::new(2);
    assert_eq!(bench.try_route(&Routing::new(b"", b"q1")).unwrap(), (vec![1], Cacheable::Yes));
    assert_eq!(bench.route("", "q2"), NOWHERE);
}

#[test]
fn a_queue_changes_the_generation_when_it_comes_and_when_it_goes() {
    let mut bench = Bench::new(0);
    let before = bench.exchanges.generation();
    bench.exchanges.topology.add_queue(&named("q0"), QueueId(0));
    let between = bench.exchanges.generation();
    remove_queue(&mut bench.exchanges, QueueId(0));
    assert!(before < between && between < bench.exchanges.generation());
    assert_eq!(bench.route("", "q0"), NOWHERE);
    bench.check_nothing_left();
}

#[test]
fn a_cached_route_is_forgotten_when_the_topology_changes() {
    let mut bench = Bench::bound("topic", &["a.*"]);
    bench.exchanges.topology.add_queue(&named("q1"), QueueId(1));
    for _ in 0..10 {
        (0..100).for_each(|_| assert_eq!(bench.route("x", "a.b"), [0]));
        bench.bind("x", 1, "#");
        (0..100).for_each(|_| assert_eq!(bench.route("x", "a.b"), [0, 1]));
        bench.unbind("x", 1, "#");
    }
}

#[test]
fn more_keys_than_the_cache_holds_are_routed_like_few() {
    let mut bench = Bench::bound("topic", &["a.#", "b.*", "#"]);
    for number in 0..1_000_000 {
        let queues = bench.route("x", &format!("{}.{number}", if number % 2 == 0 { "a" } else { "b" }));
        assert_eq!(queues, if number % 2 == 0 { [0, 2] } else { [1, 2] });
    }
}

#[test]
fn keys_of_different_exchanges_are_different() {
    let mut bench = Bench::bound("topic", &["#", "#"]);
    bench.unbind("x", 1, "#");
    bench.declare("y", "topic");
    bench.bind("y", 1, "#");
    for _ in 0..100 {
        assert_eq!((bench.route("x", "a"), bench.route("y", "a")), (vec![0], vec![1]));
    }
}

#[test]
fn what_no_binding_matches_goes_to_the_alternate_exchange() {
    let mut bench = Bench::new(2);
    bench.declare_with("x", "direct", to("y"));
    bench.declare("y", "fanout");
    bench.bind("x", 0, "a");
    bench.bind("y", 1, "");
    assert_eq!(bench.route("x", "a"), [0]);
    assert_eq!(bench.route("x", "b"), [1]);
}

#[test]
fn alternate_exchanges_make_chains_and_circles_that_end() {
    let mut bench = Bench::new(1);
    bench.declare_with("x", "direct", to("y"));
    bench.declare_with("y", "topic", to("z"));
    bench.declare_with("z", "direct", to("x"));
    bench.declare_with("self", "direct", to("self"));
    bench.bind("z", 0, "a");
    assert_eq!(bench.route("x", "a"), [0]);
    assert_eq!(bench.route("x", "b"), NOWHERE);
    assert_eq!(bench.route("self", "b"), NOWHERE);
}

#[test]
fn an_alternate_exchange_that_does_not_exist_takes_nothing_until_it_does() {
    let mut bench = Bench::new(1);
    bench.declare_with("x", "topic", to("y"));
    (0..100).for_each(|_| assert_eq!(bench.route("x", "a"), NOWHERE));
    bench.declare("y", "fanout");
    bench.bind("y", 0, "");
    (0..100).for_each(|_| assert_eq!(bench.route("x", "a"), [0]));
    bench.exchanges.delete(b"y", false).unwrap();
    (0..100).for_each(|_| assert_eq!(bench.route("x", "a"), NOWHERE));
}

#[test]
fn a_binding_to_an_exchange_matches_even_if_that_leads_nowhere() {
    let mut bench = Bench::new(1);
    bench.declare_with("x", "direct", to("y"));
    bench.declare("y", "fanout");
    bench.declare("nowhere", "fanout");
    bench.bind("y", 0, "");
    bench.bind_exchange("nowhere", "x", "a");
    assert_eq!(bench.route("x", "a"), NOWHERE);
}
