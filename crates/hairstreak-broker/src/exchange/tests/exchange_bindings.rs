//! Bindings between exchanges.

use hairstreak_wire::amqp::FieldTable;

use super::bench::{Bench, NOWHERE};

#[test]
fn messages_go_on_with_their_key() {
    let mut bench = Bench::new(3);
    bench.declare("x", "topic");
    bench.declare("y", "direct");
    bench.bind("x", 0, "a.#");
    bench.bind_exchange("y", "x", "*.b");
    bench.bind("y", 1, "a.b");
    bench.bind("y", 2, "c.b");
    assert_eq!(bench.route("x", "a.b"), [0, 1]);
    assert_eq!(bench.route("x", "c.b"), [2]);
    assert_eq!(bench.route("x", "a.c"), [0]);
    bench.exchanges.unbind_exchange(b"y", b"x", b"*.b", &FieldTable::new()).unwrap();
    assert_eq!(bench.route("x", "a.b"), [0]);
}

#[test]
fn circles_end_and_each_queue_gets_a_message_once() {
    let mut bench = Bench::new(1);
    for name in ["x", "y", "z"] {
        bench.declare(name, "fanout");
        bench.bind(name, 0, "");
    }
    for (destination, source) in [("y", "x"), ("z", "y"), ("x", "z"), ("x", "x")] {
        bench.bind_exchange(destination, source, "");
    }
    assert_eq!(bench.route("x", ""), [0]);
    assert_eq!(bench.route("z", ""), [0]);
}

#[test]
fn an_exchange_that_is_deleted_takes_its_bindings_along() {
    let mut bench = Bench::new(1);
    for name in ["x", "y", "z"] {
        bench.declare(name, "topic");
    }
    for (destination, source) in [("y", "x"), ("z", "y"), ("y", "y"), ("x", "z")] {
        bench.bind_exchange(destination, source, "#");
    }
    bench.bind("z", 0, "#");
    assert_eq!(bench.route("x", "a"), [0]);
    bench.exchanges.delete(b"y", false).unwrap();
    assert_eq!(bench.route("x", "a"), NOWHERE);
    assert_eq!(bench.exchanges.topology.binding_count(), 2);
    // A new exchange of the name has nothing of the old one.
    bench.declare("y", "topic");
    assert_eq!((bench.route("x", "a"), bench.route("y", "a")), (vec![], vec![]));
}
