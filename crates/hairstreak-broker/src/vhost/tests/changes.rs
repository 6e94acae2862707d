//! Changes of durable objects: the recorded changes, and random operations whose changes create the same host again.

mod world;

use hairstreak_testkit::Seeds;
use world::World;

use super::*;
use crate::change::Change;
use crate::exchange::ExchangeDeclaration;
use crate::view::BindingInfo;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-broker --lib", soak_factor: 1_000 };

#[test]
fn random_changes_make_the_model_of_what_outlives_the_node() {
    SEEDS.check("random_changes", 100, |seed, _| World::new(seed).run(300));
}

fn durable(name: &str) -> QueueDeclaration {
    QueueDeclaration { is_durable: true, ..queue(name, FieldTable::new()) }
}

fn exchange(name: &str, kind: &str) -> ExchangeDeclaration {
    ExchangeDeclaration {
        name: name.as_bytes().into(),
        kind: kind.as_bytes().into(),
        is_durable: true,
        ..ExchangeDeclaration::default()
    }
}

fn binding(source: &str, destination: &str, is_to_exchange: bool) -> BindingInfo {
    BindingInfo {
        source: source.as_bytes().into(),
        destination: destination.as_bytes().into(),
        is_to_exchange,
        routing_key: (*b"k").into(),
        arguments: EncodedTable::default(),
    }
}

/// A host that records.
fn recording() -> Bench {
    let mut bench = Bench::new();
    bench.host.changes_mut().record(true);
    bench
}

fn bind(bench: &mut Bench, source: &str, queue: &str) {
    let none = FieldTable::new();
    bench.host.bind_queue(ALICE, queue.as_bytes(), source.as_bytes(), b"k", &none).unwrap();
}

#[test]
fn nothing_is_recorded_unless_asked_for() {
    let mut bench = Bench::new();
    bench.declare(&durable("q")).unwrap();
    assert!(bench.host.changes_mut().is_empty());
    bench.host.changes_mut().record(true);
    bench.declare(&durable("r")).unwrap();
    assert!(!bench.host.changes_mut().is_empty());
    assert_eq!(bench.host.changes_mut().take(), [Change::QueueDeclared(durable("r"))]);
    assert_eq!(bench.host.changes_mut().take(), []);
}

#[test]
fn a_second_declaration_and_a_second_binding_are_no_changes() {
    let mut bench = recording();
    bench.declare(&durable("q")).unwrap();
    bind(&mut bench, "amq.direct", "q");
    bench.host.changes_mut().take();
    bench.declare(&durable("q")).unwrap();
    bind(&mut bench, "amq.direct", "q");
    assert_eq!(bench.host.changes_mut().take(), []);
}

#[test]
fn transient_exclusive_and_half_durable_things_are_not_recorded() {
    let mut bench = recording();
    bench.declare(&queue("transient", FieldTable::new())).unwrap();
    bench.declare(&QueueDeclaration { is_exclusive: true, ..durable("exclusive") }).unwrap();
    bind(&mut bench, "amq.direct", "transient");
    bind(&mut bench, "amq.direct", "exclusive");
    let transient = ExchangeDeclaration { is_durable: false, ..exchange("x", "fanout") };
    bench.host.exchanges_mut().declare(&transient).unwrap();
    bench.host.exchanges_mut().bind_exchange(b"x", b"amq.direct", b"k", &FieldTable::new()).unwrap();
    bench.disconnect(ALICE);
    bench.delete("transient");
    bench.host.exchanges_mut().delete(b"x", false).unwrap();
    assert_eq!(bench.host.changes_mut().take(), []);
}

#[test]
fn a_name_that_the_host_gives_is_recorded() {
    let mut bench = recording();
    let name = bench.declare(&durable("")).unwrap().name;
    let [Change::QueueDeclared(declared)] = &bench.host.changes_mut().take()[..] else { panic!() };
    assert_eq!(declared.name, name);
    // Such a name cannot be declared, and can be put back.
    let mut restored = Bench::new();
    let change = Change::QueueDeclared(QueueDeclaration { name, ..durable("") });
    restored.host.restore(&change, restored.now).unwrap();
    assert_eq!(restored.host.queue_count(), 1);
}

#[test]
fn what_goes_with_a_queue_goes_before_it() {
    let mut bench = recording();
    let auto = ExchangeDeclaration { is_auto_delete: true, ..exchange("auto", "fanout") };
    bench.host.exchanges_mut().declare(&auto).unwrap();
    bench.host.exchanges_mut().declare(&exchange("top", "fanout")).unwrap();
    bench.host.exchanges_mut().bind_exchange(b"auto", b"top", b"k", &FieldTable::new()).unwrap();
    bench.declare(&durable("q")).unwrap();
    bind(&mut bench, "auto", "q");
    let expected = [
        Change::ExchangeDeclared(auto),
        Change::ExchangeDeclared(exchange("top", "fanout")),
        Change::Bound(binding("top", "auto", true)),
        Change::QueueDeclared(durable("q")),
        Change::Bound(binding("auto", "q", false)),
    ];
    assert_eq!(bench.host.changes_mut().take(), expected);
    bench.delete("q");
    let expected = [
        Change::Unbound(binding("auto", "q", false)),
        Change::Unbound(binding("top", "auto", true)),
        Change::ExchangeDeleted { name: (*b"auto").into() },
        Change::QueueDeleted { name: (*b"q").into() },
    ];
    assert_eq!(bench.host.changes_mut().take(), expected);
}

#[test]
fn what_is_put_back_is_checked_and_is_not_recorded() {
    let mut bench = recording();
    let now = bench.now;
    let mut restore = |change: &Change| {
        let restored = bench.host.restore(change, now);
        assert!(bench.host.changes_mut().is_empty());
        restored.map_err(|refusal| refusal.to_string())
    };
    let reserved = Change::ExchangeDeclared(exchange("amq.mine", "topic"));
    assert_eq!(restore(&reserved), Ok(()));
    assert_eq!(restore(&reserved), Ok(()));
    assert_eq!(restore(&Change::ExchangeDeclared(exchange("amq.direct", "direct"))), Ok(()));
    assert_eq!(restore(&Change::QueueDeclared(durable("q"))), Ok(()));
    assert_eq!(restore(&Change::QueueDeclared(durable("q"))), Ok(()));
    assert_eq!(restore(&Change::Bound(binding("amq.mine", "q", false))), Ok(()));
    assert_eq!(restore(&Change::Bound(binding("amq.mine", "amq.direct", true))), Ok(()));
    let refused = [
        (Change::ExchangeDeclared(exchange("x", "none")), "COMMAND_INVALID - unknown exchange type 'none'"),
        (
            Change::ExchangeDeclared(exchange("amq.mine", "fanout")),
            "PRECONDITION_FAILED - inequivalent arg 'type' for exchange 'amq.mine' in vhost '/': received 'fanout' but current is 'topic'",
        ),
        (
            Change::ExchangeDeclared(exchange("", "direct")),
            "ACCESS_REFUSED - operation not permitted on the default exchange",
        ),
        (
            Change::QueueDeclared(QueueDeclaration {
                arguments: arguments([("x-expires", 0.into())]).into(),
                ..durable("r")
            }),
            "PRECONDITION_FAILED - invalid arg 'x-expires' for queue 'r' in vhost '/': {value_zero,0}",
        ),
        (
            Change::QueueDeclared(QueueDeclaration { is_exclusive: true, ..durable("r") }),
            "PRECONDITION_FAILED - queue 'r' in vhost '/' does not outlive its connection",
        ),
        (Change::Bound(binding("amq.direct", "r", false)), "NOT_FOUND - no queue 'r' in vhost '/'"),
        (Change::Bound(binding("amq.direct", "r", true)), "NOT_FOUND - no exchange 'r' in vhost '/'"),
        (Change::Bound(binding("r", "q", false)), "NOT_FOUND - no exchange 'r' in vhost '/'"),
        (
            Change::QueueDeleted { name: (*b"q").into() },
            "NOT_IMPLEMENTED - only what was declared can be put back",
        ),
    ];
    for (change, text) in refused {
        assert_eq!(restore(&change), Err(text.to_owned()), "{change:?}");
    }
    // Later operations are recorded again.
    bench.delete("q");
    assert_eq!(bench.host.changes_mut().take().len(), 2);
}

#[test]
fn queues_are_put_back_beyond_the_limit() {
    let mut bench = Bench::with(Limits { queues_max: 1, ..Limits::default() });
    let now = bench.now;
    for name in ["a", "b"] {
        bench.host.restore(&Change::QueueDeclared(durable(name)), now).unwrap();
    }
    assert!(bench.declare(&durable("c")).is_err());
    assert_eq!(bench.host.queue_count(), 2);
}

#[test]
fn a_queue_that_is_put_back_expires_from_then_on() {
    let mut bench = recording();
    let expiring =
        QueueDeclaration { arguments: arguments([("x-expires", 100.into())]).into(), ..durable("q") };
    let now = bench.now;
    bench.host.restore(&Change::QueueDeclared(expiring), now).unwrap();
    bench.pass(99);
    assert_eq!(bench.host.queue_count(), 1);
    bench.pass(1);
    assert_eq!(bench.host.changes_mut().take(), [Change::QueueDeleted { name: (*b"q").into() }]);
}
