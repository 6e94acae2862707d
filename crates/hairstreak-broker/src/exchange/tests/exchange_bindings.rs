//! Bindings between exchanges.

use hairstreak_wire::amqp::FieldTable;

use super::topology::{NOWHERE, Topology};

#[test]
fn messages_go_on_with_their_key() {
    let mut topology = Topology::new(3);
    topology.declare("x", "topic");
    topology.declare("y", "direct");
    topology.bind("x", 0, "a.#");
    topology.bind_exchange("y", "x", "*.b");
    topology.bind("y", 1, "a.b");
    topology.bind("y", 2, "c.b");
    assert_eq!(topology.route("x", "a.b"), [0, 1]);
    assert_eq!(topology.route("x", "c.b"), [2]);
    assert_eq!(topology.route("x", "a.c"), [0]);
    topology.exchanges.unbind_exchange(b"y", b"x", b"*.b", &FieldTable::new()).unwrap();
    assert_eq!(topology.route("x", "a.b"), [0]);
}

#[test]
fn circles_end_and_each_queue_gets_a_message_once() {
    let mut topology = Topology::new(1);
    for name in ["x", "y", "z"] {
        topology.declare(name, "fanout");
        topology.bind(name, 0, "");
    }
    for (destination, source) in [("y", "x"), ("z", "y"), ("x", "z"), ("x", "x")] {
        topology.bind_exchange(destination, source, "");
    }
    assert_eq!(topology.route("x", ""), [0]);
    assert_eq!(topology.route("z", ""), [0]);
}

#[test]
fn an_exchange_that_is_deleted_takes_its_bindings_along() {
    let mut topology = Topology::new(1);
    for name in ["x", "y", "z"] {
        topology.declare(name, "topic");
    }
    for (destination, source) in [("y", "x"), ("z", "y"), ("y", "y"), ("x", "z")] {
        topology.bind_exchange(destination, source, "#");
    }
    topology.bind("z", 0, "#");
    assert_eq!(topology.route("x", "a"), [0]);
    topology.exchanges.delete(b"y", false).unwrap();
    assert_eq!(topology.route("x", "a"), NOWHERE);
    assert_eq!(topology.exchanges.listing().binding_count(), 2);
    // A new exchange of the name has nothing of the old one.
    topology.declare("y", "topic");
    assert_eq!((topology.route("x", "a"), topology.route("y", "a")), (vec![], vec![]));
}
