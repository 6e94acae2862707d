//! Exchanges that are deleted with the last binding from them.

use hairstreak_wire::amqp::FieldTable;

use super::topology::{Topology, declaration, text};
use crate::exchange::ExchangeDeclaration;
use crate::queue::QueueId;

fn declare(topology: &mut Topology, name: &str) {
    let declared = ExchangeDeclaration { is_auto_delete: true, ..declaration(name, "fanout") };
    topology.exchanges.declare(&declared).unwrap();
}

#[test]
fn the_last_binding_takes_its_source_along() {
    let mut topology = Topology::new(2);
    declare(&mut topology, "x");
    topology.bind("x", 0, "");
    topology.bind("x", 1, "");
    topology.unbind("x", 0, "");
    topology.exchanges.check(b"x").unwrap();
    topology.exchanges.remove_queue(QueueId(1));
    assert_eq!(text(topology.exchanges.check(b"x")), "NOT_FOUND - no exchange 'x' in vhost '/'");
    topology.check_nothing_left();
}

#[test]
fn an_exchange_that_never_had_a_binding_stays() {
    let mut topology = Topology::new(1);
    declare(&mut topology, "x");
    topology.unbind("x", 0, "");
    topology.declare("y", "fanout");
    topology.bind_exchange("x", "y", "");
    topology.exchanges.unbind_exchange(b"x", b"y", b"", &FieldTable::new()).unwrap();
    topology.exchanges.check(b"x").unwrap();
}

#[test]
fn exchanges_go_one_after_the_other_along_their_bindings() {
    let mut topology = Topology::new(1);
    for name in ["x", "y", "z"] {
        declare(&mut topology, name);
    }
    topology.bind_exchange("y", "x", "");
    topology.bind_exchange("z", "y", "");
    topology.bind("z", 0, "");
    topology.exchanges.remove_queue(QueueId(0));
    topology.check_nothing_left();
}

#[test]
fn a_destination_that_is_deleted_takes_its_source_along() {
    let mut topology = Topology::new(0);
    declare(&mut topology, "x");
    topology.declare("y", "fanout");
    topology.bind_exchange("y", "x", "");
    topology.exchanges.delete(b"y", false).unwrap();
    topology.check_nothing_left();
}

#[test]
fn an_exchange_that_is_bound_to_itself_is_in_use_by_that() {
    let mut topology = Topology::new(1);
    declare(&mut topology, "x");
    topology.bind_exchange("x", "x", "");
    topology.bind("x", 0, "");
    topology.unbind("x", 0, "");
    topology.exchanges.check(b"x").unwrap();
    topology.exchanges.unbind_exchange(b"x", b"x", b"", &FieldTable::new()).unwrap();
    topology.check_nothing_left();
}
