//! The type x-consistent-hash.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::bench::{Bench, declaration, table, text};
use crate::exchange::{Cacheable, ExchangeDeclaration, Routing};

const KEY_COUNT: usize = 10_000;

fn routes(bench: &mut Bench) -> Vec<u32> {
    (0..KEY_COUNT).flat_map(|number| bench.route("x", &format!("key {number}"))).collect()
}

/// Returns the number of keys that go to each queue.
fn shares(routes: &[u32], queue_count: u32) -> Vec<usize> {
    (0..queue_count).map(|queue| routes.iter().filter(|route| **route == queue).count()).collect()
}

#[test]
fn each_message_goes_to_one_queue_and_weights_are_shares() {
    let mut bench = Bench::bound("x-consistent-hash", &["1", "1", "2"]);
    let routes = routes(&mut bench);
    assert_eq!(routes.len(), KEY_COUNT);
    for (share, expected) in shares(&routes, 3).into_iter().zip([2_500, 2_500, 5_000]) {
        assert!(share.abs_diff(expected) < 250, "{share} of {expected}");
    }
}

#[test]
fn a_key_stays_with_its_queue() {
    let mut bench = Bench::bound("x-consistent-hash", &["3", "3"]);
    let message = Routing::new(b"x", b"key");
    let first = bench.try_route(&message).unwrap();
    assert_eq!(first.1, Cacheable::Yes);
    assert_eq!(bench.try_route(&message).unwrap(), first);
}

#[test]
fn a_new_queue_takes_its_share_and_moves_nothing_else() {
    let mut bench = Bench::bound("x-consistent-hash", &["10"; 5]);
    bench.unbind("x", 4, "10");
    let before = routes(&mut bench);
    bench.bind("x", 4, "10");
    let after = routes(&mut bench);
    let moved: Vec<u32> =
        before.iter().zip(&after).filter(|(old, new)| old != new).map(|(_, new)| *new).collect();
    assert!(moved.iter().all(|queue| *queue == 4));
    assert!(moved.len().abs_diff(KEY_COUNT / 5) < 250, "{} moved", moved.len());
}

#[test]
fn a_queue_that_goes_moves_at_most_twice_its_share() {
    let mut bench = Bench::bound("x-consistent-hash", &["10"; 10]);
    let before = routes(&mut bench);
    bench.unbind("x", 3, "10");
    let after = routes(&mut bench);
    let moved = before.iter().zip(&after).filter(|(old, new)| old != new).count();
    assert!(moved < KEY_COUNT / 5 + 250, "{moved} moved");
    assert_eq!(shares(&after, 10)[3], 0);
}

#[test]
fn the_first_binding_of_a_queue_says_its_weight() {
    let mut bench = Bench::bound("x-consistent-hash", &["1", "1"]);
    bench.bind("x", 1, "100");
    let share = shares(&routes(&mut bench), 2)[0];
    assert!(share.abs_diff(KEY_COUNT / 2) < 250, "{share}");
    bench.unbind("x", 1, "1");
    let share = shares(&routes(&mut bench), 2)[0];
    assert!(share < KEY_COUNT / 50, "{share}");
    bench.unbind("x", 1, "100");
    assert_eq!(shares(&routes(&mut bench), 2)[0], KEY_COUNT);
}

#[test]
fn a_header_or_a_property_may_be_hashed_instead_of_the_key() {
    let mut bench = Bench::new(8);
    let cases = [
        ("header", table([("hash-header", "to".into())])),
        ("correlation", table([("hash-property", "correlation_id".into())])),
        ("message", table([("hash-property", "message_id".into())])),
        ("timestamp", table([("hash-property", "timestamp".into())])),
    ];
    for (name, arguments) in cases {
        bench.declare_with(name, "x-consistent-hash", arguments);
        (0..8).for_each(|queue| bench.bind(name, queue, "1"));
        let mut queues = std::collections::BTreeSet::new();
        for number in 0..100_u64 {
            let text = number.to_string();
            let headers = table([("to", text.as_str().into())]);
            let message = Routing {
                headers: Some(&headers),
                correlation_id: Some(text.as_bytes()),
                message_id: Some(text.as_bytes()),
                timestamp: Some(number),
                ..Routing::new(name.as_bytes(), b"the same key")
            };
            let (routed, cacheable) = bench.try_route(&message).unwrap();
            assert_eq!((routed.len(), cacheable), (1, Cacheable::No));
            assert_eq!(bench.route_message(&Routing { key: b"other", ..message }), routed);
            queues.extend(routed);
        }
        assert_eq!(queues.len(), 8, "{name}");
        // Without a value to hash, all messages go to one queue.
        assert_eq!(bench.route(name, "a"), bench.route(name, "b"));
    }
}

#[test]
fn weights_are_positive_integers_of_a_limited_size() {
    let mut bench = Bench::new(2);
    bench.declare("x", "x-consistent-hash");
    let mut refused = |key| text(bench.bind_with("x", 0, key, &FieldTable::new()));
    let integer = "PRECONDITION_FAILED - The binding key must be an integer:";
    assert_eq!(refused("a"), format!("{integer} <<\"a\">>"));
    assert_eq!(refused(""), format!("{integer} <<>>"));
    assert_eq!(refused("1.5"), format!("{integer} <<\"1.5\">>"));
    for key in ["0", "-1", "-0", "+00"] {
        assert_eq!(refused(key), "PRECONDITION_FAILED - The binding key must be greater than 0");
    }
    for key in ["10001", "99999999999999999999999999"] {
        assert_eq!(refused(key), "PRECONDITION_FAILED - The binding key must not exceed 10000");
    }
    bench.bind("x", 0, "+5");
    bench.bind("x", 1, "10000");
}

#[test]
fn the_weights_of_an_exchange_are_limited_together() {
    let mut bench = Bench::new(106);
    bench.declare("x", "x-consistent-hash");
    (0..104).for_each(|queue| bench.bind("x", queue, "10000"));
    bench.bind("x", 104, "8576");
    assert_eq!(
        text(bench.bind_with("x", 105, "1", &FieldTable::new())),
        "PRECONDITION_FAILED - The weights of an exchange must not exceed 1048576 together"
    );
}

#[test]
fn arguments_are_checked_when_the_exchange_is_declared() {
    let mut bench = Bench::new(0);
    let mut refused = |arguments: FieldTable| {
        let (arguments, declared) = (arguments.into(), declaration("x", "x-consistent-hash"));
        text(bench.exchanges.declare(&ExchangeDeclaration { arguments, ..declared }))
    };
    assert_eq!(
        refused(table([("hash-property", "user_id".into())])),
        "PRECONDITION_FAILED - Unsupported property: user_id"
    );
    assert_eq!(
        refused(table([("hash-header", "a".into()), ("hash-property", "message_id".into())])),
        "PRECONDITION_FAILED - hash-header and hash-property are mutually exclusive"
    );
    assert_eq!(
        refused(table([("hash-header", FieldValue::Bool(true))])),
        "PRECONDITION_FAILED - invalid type 'bool' for arg 'hash-header'"
    );
    bench.check_nothing_left();
}
