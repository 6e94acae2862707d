//! Exchanges that are deleted with the last binding from them.

use hairstreak_wire::amqp::FieldTable;

use super::bench::{Bench, declaration, remove_queue, text};
use crate::exchange::ExchangeDeclaration;
use crate::queue::QueueId;

fn declare(bench: &mut Bench, name: &str) {
    let declared = ExchangeDeclaration { is_auto_delete: true, ..declaration(name, "fanout") };
    bench.exchanges.declare(&declared).unwrap();
}

#[test]
fn the_last_binding_takes_its_source_along() {
    let mut bench = Bench::new(2);
    declare(&mut bench, "x");
    bench.bind("x", 0, "");
    bench.bind("x", 1, "");
    bench.unbind("x", 0, "");
    bench.exchanges.check(b"x").unwrap();
    remove_queue(&mut bench.exchanges, QueueId(1));
    assert_eq!(text(bench.exchanges.check(b"x")), "NOT_FOUND - no exchange 'x' in vhost '/'");
    bench.check_nothing_left();
}

#[test]
fn an_exchange_that_never_had_a_binding_stays() {
    let mut bench = Bench::new(1);
    declare(&mut bench, "x");
    bench.unbind("x", 0, "");
    bench.declare("y", "fanout");
    bench.bind_exchange("x", "y", "");
    bench.exchanges.unbind_exchange(b"x", b"y", b"", &FieldTable::new()).unwrap();
    bench.exchanges.check(b"x").unwrap();
}

#[test]
fn exchanges_go_one_after_the_other_along_their_bindings() {
    let mut bench = Bench::new(1);
    for name in ["x", "y", "z"] {
        declare(&mut bench, name);
    }
    bench.bind_exchange("y", "x", "");
    bench.bind_exchange("z", "y", "");
    bench.bind("z", 0, "");
    remove_queue(&mut bench.exchanges, QueueId(0));
    bench.check_nothing_left();
}

#[test]
fn a_destination_that_is_deleted_takes_its_source_along() {
    let mut bench = Bench::new(0);
    declare(&mut bench, "x");
    bench.declare("y", "fanout");
    bench.bind_exchange("y", "x", "");
    bench.exchanges.delete(b"y", false).unwrap();
    bench.check_nothing_left();
}

#[test]
fn an_exchange_that_is_bound_to_itself_is_in_use_by_that() {
    let mut bench = Bench::new(1);
    declare(&mut bench, "x");
    bench.bind_exchange("x", "x", "");
    bench.bind("x", 0, "");
    bench.unbind("x", 0, "");
    bench.exchanges.check(b"x").unwrap();
    bench.exchanges.unbind_exchange(b"x", b"x", b"", &FieldTable::new()).unwrap();
    bench.check_nothing_left();
}
