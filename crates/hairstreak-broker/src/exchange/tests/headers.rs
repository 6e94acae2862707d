//! The type headers.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::bench::{Bench, table, text};
use crate::erlang;
use crate::exchange::{Cacheable, Routing};

fn check(arguments: FieldTable, headers: FieldTable, is_match: bool) {
    let mut bench = Bench::new(1);
    bench.bind_with("amq.headers", 0, "", &arguments).unwrap();
    let queues = bench.route_headers("amq.headers", &headers);
    assert_eq!(queues.len() == 1, is_match, "{arguments:?} and {headers:?}");
}

fn with(x_match: &str, mut arguments: FieldTable) -> FieldTable {
    arguments.insert("x-match", x_match);
    arguments
}

#[test]
fn all_needs_each_argument_and_any_needs_one() {
    let arguments = || table([("a", 1.into()), ("b", "two".into())]);
    let both = || table([("b", "two".into()), ("c", 3.into()), ("a", 1.into())]);
    let one = || table([("b", "two".into())]);
    check(arguments(), both(), true);
    check(arguments(), one(), false);
    check(with("all", arguments()), both(), true);
    check(with("all", arguments()), one(), false);
    check(with("any", arguments()), one(), true);
    check(with("any", arguments()), table([("b", "three".into())]), false);
}

#[test]
fn no_arguments_match_always_as_all_and_never_as_any() {
    check(with("all", FieldTable::new()), table([("a", 1.into())]), true);
    check(FieldTable::new(), FieldTable::new(), true);
    check(with("any", FieldTable::new()), table([("a", 1.into())]), false);
}

#[test]
fn arguments_that_begin_with_x_count_only_if_asked_for() {
    let arguments = || table([("x-a", 1.into()), ("b", 2.into())]);
    let headers = || table([("b", 2.into())]);
    check(with("all", arguments()), headers(), true);
    check(with("all-with-x", arguments()), headers(), false);
    check(with("all-with-x", arguments()), arguments(), true);
    check(with("any", table([("x-a", 1.into())])), arguments(), false);
    check(with("any-with-x", table([("x-a", 1.into())])), arguments(), true);
}

#[test]
fn an_argument_without_a_value_asks_for_presence() {
    let arguments = || table([("a", FieldValue::Void)]);
    check(arguments(), table([("a", 1.into())]), true);
    check(arguments(), table([("a", FieldValue::Void)]), true);
    check(arguments(), table([("b", 1.into())]), false);
    check(table([("a", 1.into())]), arguments(), false);
}

#[test]
fn values_are_compared_whatever_their_integer_type() {
    check(table([("a", FieldValue::I64(1))]), table([("a", FieldValue::U8(1))]), true);
    check(table([("a", FieldValue::I64(1))]), table([("a", "1".into())]), false);
}

/// The arguments of bindings are compared in their bytes, and the headers of messages are decoded.
#[test]
fn values_are_equal_as_in_erlang() {
    let bytes = |text: &[u8]| FieldValue::Bytes(text.into());
    let scalars = [
        FieldValue::Bool(true),
        FieldValue::I8(1),
        FieldValue::U8(1),
        FieldValue::I16(1),
        FieldValue::U16(7),
        FieldValue::U32(1),
        FieldValue::I64(1),
        FieldValue::Timestamp(1),
        FieldValue::F32(1.0),
        FieldValue::F64(1.0),
        FieldValue::F64(1.5),
        FieldValue::Decimal { scale: 0, value: 1 },
        FieldValue::Void,
        "1".into(),
        "".into(),
        bytes(b"1"),
        bytes(b""),
    ];
    let mut values: Vec<FieldValue> = scalars.to_vec();
    values.push(Vec::new().into());
    values.push(FieldTable::new().into());
    for value in scalars {
        values.push(vec![value.clone()].into());
        values.push(vec![value.clone(), FieldValue::I32(2)].into());
        values.push(table([("a", value.clone())]).into());
        values.push(table([("b", value.clone())]).into());
        values.push(table([("a", value), ("b", 2.into())]).into());
    }
    values.push(vec![vec!["1".into()].into()].into());
    values.push(vec![vec![bytes(b"1")].into()].into());
    for argument in &values {
        for header in &values {
            let is_match = *argument == FieldValue::Void || erlang::is_equal(argument, header);
            check(table([("a", argument.clone())]), table([("a", header.clone())]), is_match);
        }
    }
}

#[test]
fn the_first_of_two_headers_or_arguments_of_one_name_counts() {
    let both = |first: i32, second: i32| {
        let mut table = FieldTable::new();
        table.push("a", first);
        table.push("a", second);
        table
    };
    check(table([("a", 1.into())]), both(1, 2), true);
    check(table([("a", 2.into())]), both(1, 2), false);
    let mut twice = table([("x-match", "any".into()), ("a", 1.into())]);
    twice.push("x-match", "all");
    twice.push("b", 1);
    check(twice, table([("a", 1.into())]), true);
}

#[test]
fn many_headers_are_searched_like_few() {
    let headers: FieldTable = (0..100).rev().map(|number| (format!("h{number}"), number)).collect();
    check(table([("h7", 7.into()), ("h99", 99.into())]), headers.clone(), true);
    check(table([("h7", 7.into()), ("h100", 100.into())]), headers, false);
}

#[test]
fn headers_are_never_cacheable() {
    let mut bench = Bench::bound("headers", &["a"]);
    assert_eq!(bench.try_route(&Routing::new(b"x", b"a")).unwrap(), (vec![0], Cacheable::No));
}

#[test]
fn an_invalid_x_match_is_refused() {
    let mut bench = Bench::new(1);
    let mut refused =
        |value: FieldValue| text(bench.bind_with("amq.match", 0, "", &table([("x-match", value)])));
    assert_eq!(
        refused("some".into()),
        "PRECONDITION_FAILED - Invalid x-match field value <<\"some\">>; \
         expected all, any, all-with-x, or any-with-x"
    );
    assert_eq!(
        refused(5.into()),
        "PRECONDITION_FAILED - Invalid x-match field type signedint (value 5); expected longstr"
    );
    assert_eq!(bench.exchanges.topology.binding_count(), 0);
}
