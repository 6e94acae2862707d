//! Declaring and deleting: equivalence, reserved names, and the texts of refusals.

use hairstreak_wire::amqp::{FieldTable, FieldValue, Scope};

use super::bench::{Bench, declaration, table, text};
use crate::exchange::{ExchangeDeclaration, Exchanges, Publisher, Routing};
use crate::steps::Steps;

fn refused(exchanges: &mut Exchanges, declared: &ExchangeDeclaration) -> String {
    text(exchanges.declare(declared))
}

#[test]
fn each_virtual_host_has_the_standard_exchanges() {
    let mut exchanges = Exchanges::new("/");
    for name in ["amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match"] {
        exchanges.check(name.as_bytes()).unwrap();
    }
    let again = ExchangeDeclaration { is_durable: true, ..declaration("amq.topic", "topic") };
    exchanges.declare(&again).unwrap();
}

#[test]
fn an_equal_declaration_changes_nothing() {
    let mut exchanges = Exchanges::new("/");
    exchanges.declare(&declaration("x", "topic")).unwrap();
    let generation = exchanges.generation();
    exchanges.declare(&declaration("x", "topic")).unwrap();
    assert_eq!((exchanges.topology.exchange_count(), exchanges.generation()), (7, generation));
}

#[test]
fn a_declaration_of_another_exchange_with_the_name_is_refused() {
    let mut exchanges = Exchanges::new("/");
    exchanges.declare(&declaration("x", "direct")).unwrap();
    let other = |change: fn(&mut ExchangeDeclaration)| {
        let mut other = declaration("x", "direct");
        change(&mut other);
        other
    };
    let cases: [(ExchangeDeclaration, &str, &str); 5] = [
        (declaration("x", "fanout"), "type", "received 'fanout' but current is 'direct'"),
        (
            declaration("x", "x-consistent-hash"),
            "type",
            "received ''x-consistent-hash'' but current is 'direct'",
        ),
        (other(|x| x.is_durable = true), "durable", "received 'true' but current is 'false'"),
        (other(|x| x.is_auto_delete = true), "auto_delete", "received 'true' but current is 'false'"),
        (other(|x| x.is_internal = true), "internal", "received 'true' but current is 'false'"),
    ];
    for (declared, property, difference) in cases {
        let expected = format!(
            "PRECONDITION_FAILED - inequivalent arg '{property}' for exchange 'x' in vhost '/': {difference}"
        );
        assert_eq!(refused(&mut exchanges, &declared), expected);
    }
}

#[test]
fn alternate_exchanges_are_compared_and_other_arguments_are_not() {
    let mut exchanges = Exchanges::new("/");
    let with = |name: &str, arguments: FieldTable| ExchangeDeclaration {
        arguments: arguments.into(),
        ..declaration(name, "direct")
    };
    let ae = |name: &str| table([("alternate-exchange", name.into())]);
    exchanges.declare(&with("x", ae("one"))).unwrap();
    exchanges.declare(&with("plain", table([("x-a", 1.into())]))).unwrap();
    exchanges.declare(&with("plain", table([("x-a", 2.into())]))).unwrap();
    let prefix = "PRECONDITION_FAILED - inequivalent arg 'alternate-exchange' for exchange";
    assert_eq!(
        refused(&mut exchanges, &with("x", ae("two"))),
        format!("{prefix} 'x' in vhost '/': received 'two' but current is 'one'")
    );
    assert_eq!(
        refused(&mut exchanges, &declaration("x", "direct")),
        format!("{prefix} 'x' in vhost '/': received none but current is the value 'one' of type 'longstr'")
    );
    assert_eq!(
        refused(&mut exchanges, &with("plain", ae("two"))),
        format!(
            "{prefix} 'plain' in vhost '/': received the value 'two' of type 'longstr' but current is none"
        )
    );
    assert_eq!(
        refused(&mut exchanges, &with("y", table([("alternate-exchange", FieldValue::I32(1))]))),
        "PRECONDITION_FAILED - invalid type 'signedint' for arg 'alternate-exchange' in exchange 'y' in vhost '/'"
    );
    assert_eq!(exchanges.topology.exchange_count(), 8);
}

#[test]
fn an_unknown_type_closes_the_connection() {
    let refusal = Exchanges::new("/").declare(&declaration("x", "foo")).unwrap_err();
    assert_eq!(refusal.to_string(), "COMMAND_INVALID - unknown exchange type 'foo'");
    assert_eq!(refusal.code.scope(), Scope::Connection);
}

#[test]
fn the_default_exchange_is_not_to_be_touched() {
    let mut bench = Bench::bound("direct", &["a"]);
    let none = FieldTable::new();
    let exchanges = &mut bench.exchanges;
    let queue = crate::queue::QueueId(0);
    for refused in [
        exchanges.declare(&declaration("", "direct")),
        exchanges.check(b""),
        exchanges.delete(b"", false),
        exchanges.bind_queue(b"", queue, b"", &none),
        exchanges.unbind_queue(b"", queue, b"", &none),
        exchanges.bind_exchange(b"", b"x", b"", &none),
        exchanges.unbind_exchange(b"x", b"", b"", &none),
    ] {
        assert_eq!(text(refused), "ACCESS_REFUSED - operation not permitted on the default exchange");
    }
}

#[test]
fn reserved_names_are_refused_for_new_exchanges_only() {
    let mut exchanges = Exchanges::new("/");
    assert_eq!(
        refused(&mut exchanges, &declaration("amq.foo", "direct")),
        "ACCESS_REFUSED - exchange name 'amq.foo' contains reserved prefix 'amq.*'"
    );
    assert_eq!(
        text(exchanges.delete(b"amq.direct", false)),
        "ACCESS_REFUSED - deletion of system exchange 'amq.direct' in vhost '/' not allowed"
    );
    exchanges.declare(&declaration("amqfoo", "direct")).unwrap();
}

#[test]
fn a_missing_exchange_is_not_found_but_may_be_deleted() {
    let mut exchanges = Exchanges::new("tests");
    let not_found = "NOT_FOUND - no exchange 'x' in vhost 'tests'";
    assert_eq!(text(exchanges.check(b"x")), not_found);
    let none = FieldTable::new();
    assert_eq!(text(exchanges.bind_queue(b"x", crate::queue::QueueId(0), b"", &none)), not_found);
    assert_eq!(text(exchanges.bind_exchange(b"amq.topic", b"x", b"", &none)), not_found);
    assert_eq!(text(exchanges.bind_exchange(b"x", b"amq.topic", b"", &none)), not_found);
    assert_eq!(text(exchanges.bind_exchange(b"y", b"x", b"", &none)), not_found);
    exchanges.unbind_queue(b"x", crate::queue::QueueId(0), b"", &none).unwrap();
    exchanges.unbind_exchange(b"x", b"y", b"", &none).unwrap();
    exchanges.delete(b"x", true).unwrap();
    let routed = exchanges.route(&Routing::new(b"x", b""), &|_| 0, &mut Vec::new());
    assert_eq!(text(routed.map(drop)), not_found);
}

#[test]
fn an_exchange_that_others_are_bound_to_is_in_use() {
    let mut bench = Bench::bound("direct", &["a"]);
    bench.declare("y", "fanout");
    bench.bind_exchange("y", "x", "");
    assert_eq!(
        text(bench.exchanges.delete(b"x", true)),
        "PRECONDITION_FAILED - exchange 'x' in vhost '/' in use"
    );
    // A binding to the exchange is no use of it.
    bench.exchanges.delete(b"y", true).unwrap();
    bench.exchanges.delete(b"x", false).unwrap();
    bench.check_nothing_left();
}

#[test]
fn a_name_is_taken_as_it_is() {
    let mut bench = Bench::new(1);
    bench.declare("x\r\n", "fanout");
    assert_eq!(text(bench.exchanges.check(b"x")), "NOT_FOUND - no exchange 'x' in vhost '/'");
    bench.bind("x\r\n", 0, "");
    assert_eq!(bench.route("x\r\n", ""), [0]);
    bench.exchanges.delete(b"x", false).unwrap();
    bench.exchanges.check(b"x\r\n").unwrap();
    bench.exchanges.delete(b"x\r\n", false).unwrap();
    bench.check_nothing_left();
}

#[test]
fn only_the_broker_publishes_to_internal_exchanges() {
    let mut bench = Bench::new(1);
    let internal = ExchangeDeclaration { is_internal: true, ..declaration("x", "fanout") };
    bench.exchanges.declare(&internal).unwrap();
    bench.bind("x", 0, "");
    bench.declare("y", "fanout");
    bench.bind_exchange("x", "y", "");
    let message = Routing::new(b"x", b"");
    let refusal = bench.try_route(&message).unwrap_err();
    assert_eq!(refusal.to_string(), "ACCESS_REFUSED - cannot publish to internal exchange 'x' in vhost '/'");
    assert_eq!(bench.route("y", ""), [0]);
    let mut targets = Vec::new();
    let steps = &mut Steps::unlimited();
    bench.exchanges.route_from(&message, Publisher::Broker, &|_| 0, steps, &mut targets).unwrap();
    assert_eq!(targets.len(), 1);
}
