//! Alternate exchanges.

use hairstreak_wire::amqp::FieldTable;

use super::topology::{NOWHERE, Topology, table};

fn to(name: &str) -> FieldTable {
    table([("alternate-exchange", name.into())])
}

#[test]
fn what_no_binding_matches_goes_to_the_alternate_exchange() {
    let mut topology = Topology::new(2);
    topology.declare_with("x", "direct", to("y"));
    topology.declare("y", "fanout");
    topology.bind("x", 0, "a");
    topology.bind("y", 1, "");
    assert_eq!(topology.route("x", "a"), [0]);
    assert_eq!(topology.route("x", "b"), [1]);
}

#[test]
fn alternate_exchanges_make_chains_and_circles_that_end() {
    let mut topology = Topology::new(1);
    topology.declare_with("x", "direct", to("y"));
    topology.declare_with("y", "topic", to("z"));
    topology.declare_with("z", "direct", to("x"));
    topology.declare_with("self", "direct", to("self"));
    topology.bind("z", 0, "a");
    assert_eq!(topology.route("x", "a"), [0]);
    assert_eq!(topology.route("x", "b"), NOWHERE);
    assert_eq!(topology.route("self", "b"), NOWHERE);
}

#[test]
fn an_alternate_exchange_that_does_not_exist_takes_nothing_until_it_does() {
    let mut topology = Topology::new(1);
    topology.declare_with("x", "topic", to("y"));
    (0..100).for_each(|_| assert_eq!(topology.route("x", "a"), NOWHERE));
    topology.declare("y", "fanout");
    topology.bind("y", 0, "");
    (0..100).for_each(|_| assert_eq!(topology.route("x", "a"), [0]));
    topology.exchanges.delete(b"y", false).unwrap();
    (0..100).for_each(|_| assert_eq!(topology.route("x", "a"), NOWHERE));
}

#[test]
fn a_binding_to_an_exchange_matches_even_if_that_leads_nowhere() {
    let mut topology = Topology::new(1);
    topology.declare_with("x", "direct", to("y"));
    topology.declare("y", "fanout");
    topology.declare("nowhere", "fanout");
    topology.bind("y", 0, "");
    topology.bind_exchange("nowhere", "x", "a");
    assert_eq!(topology.route("x", "a"), NOWHERE);
}
