//! Tests of the permissions of users: register a name (configure), look it up and see it in lists (any permission).

use hairstreak_wire::directory::ErrorCode;

use super::*;
use crate::gate::Operation::{Configure, Read, Write};

fn list(prefix: &str) -> Request {
    Request::List { prefix: prefix.into(), after: String::new() }
}

fn names(reply: Reply) -> Vec<String> {
    let Reply::List { more: false, entries } = reply else { panic!("{reply:?}") };
    entries.into_iter().map(|(name, _)| name.as_str().to_owned()).collect()
}

fn is_refused(reply: &Reply) -> bool {
    matches!(reply, Reply::Error { code: ErrorCode::AccessRefused, .. })
}

#[test]
fn registering_needs_configure_and_looking_up_needs_anything() {
    for operation in [Some(Configure), Some(Write), Some(Read), None] {
        let gate = TableGate::default();
        if let Some(operation) = operation {
            gate.grant("ann", operation, "A");
        }
        let mut bench = Bench::with_gate(&gate);
        let ann = peer_of("ann");
        let may_configure = operation == Some(Configure);
        for request in [register("A", 1, 0, 1), unregister("A", 1)] {
            let reply = bench.ask_from(&ann, request);
            match may_configure {
                true => assert!(matches!(reply, Reply::Ok { .. }), "{reply:?}"),
                false => assert!(is_refused(&reply), "{operation:?}: {reply:?}"),
            }
        }
        assert_eq!(bench.directory.entry_count(), 0);
        bench.ask(1, register("A", 2, 0, 2));
        bench.ask(1, register("B", 2, 0, 2));
        // Without configure permission the name is neither taken over nor released, whoever the owner is.
        assert_eq!(is_refused(&bench.ask_from(&ann, unregister("A", 2))), !may_configure);
        bench.ask(1, register("A", 2, 0, 2));
        let looked_up = bench.ask_from(&ann, lookup("A", 0));
        match operation {
            Some(_) => assert_eq!(looked_up, found("A", 2)),
            None => assert!(is_refused(&looked_up), "{looked_up:?}"),
        }
        // The existence of a hidden name is not revealed, and a LOOKUP of it does not wait.
        for text in ["B", "C"] {
            assert!(is_refused(&bench.ask_from(&ann, lookup(text, 1_000))));
        }
        assert_eq!(bench.directory.waiter_count(), 0);
        let seen: &[&str] = if operation.is_some() { &["A"] } else { &[] };
        assert_eq!(names(bench.ask_from(&ann, list(""))), seen);
        assert_eq!(names(bench.ask(1, list(""))), ["A", "B"]);
        assert_eq!(bench.ask_from(&ann, Request::Ping), Reply::Ok { lease_ms: 0 });
    }
}

#[test]
fn a_change_of_permissions_holds_at_once_for_those_who_wait_too() {
    let gate = TableGate::default();
    gate.grant("ann", Configure, "A");
    gate.grant("bob", Read, "A");
    let mut bench = Bench::with_gate(&gate);
    let (ann, bob) = (peer_of("ann"), peer_of("bob"));
    let waiting = bench.send_from(&bob, lookup("A", 10_000));
    gate.revoke("bob", Read, "A");
    assert!(matches!(bench.ask(1, register("B", 2, 0, 2)), Reply::Ok { .. }));
    bench.send_from(&ann, register("A", 1, 0, 1));
    let replies = std::mem::take(&mut bench.said.replies);
    let to_bob = replies.iter().find(|(to, id, _)| *to == bob && *id == waiting).unwrap();
    assert!(is_refused(&to_bob.2), "{replies:?}");
    gate.revoke("ann", Configure, "A");
    assert!(is_refused(&bench.ask_from(&ann, register("A", 1, 0, 1))));
    // A name that is not renewed ends with its lease.
    assert_eq!(bench.directory.entry_count(), 2);
    bench.pass(6_000);
    assert_eq!(bench.directory.entry_count(), 0);
}

#[test]
fn pages_have_no_holes_where_names_are_hidden() {
    let gate = TableGate::default();
    let mut bench = Bench::with_gate(&gate);
    for number in 0..1_000_u32 {
        let text = format!("N{number:04}");
        bench.ask((number % 50) as u8, register(&text, (number % 50) as u8, 3_600_000, 1));
        if number % 3 == 0 {
            gate.grant("ann", Read, &text);
        }
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let request = Request::List { prefix: "N".into(), after: after.clone() };
        let Reply::List { more, entries } = bench.ask_from(&peer_of("ann"), request) else { panic!() };
        assert!(!more || entries.len() == 256);
        seen.extend(entries.into_iter().map(|(name, _)| name.as_str().to_owned()));
        if !more {
            break;
        }
        after = seen.last().unwrap().clone();
    }
    let expected: Vec<String> = (0..1_000).step_by(3).map(|number| format!("N{number:04}")).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_user_has_so_many_names_looked_at_in_a_second_and_others_have_their_own() {
    let gate = TableGate::default();
    let mut bench = Bench::with_gate(&gate);
    for number in 0..1_024_u32 {
        bench.ask((number % 50) as u8, register(&format!("N{number}"), (number % 50) as u8, 3_600_000, 1));
    }
    let (ann, bob) = (peer_of("ann"), peer_of("bob"));
    for _ in 0..64 {
        assert_eq!(names(bench.ask_from(&ann, list(""))), [""; 0]);
    }
    let is_limit = |reply: Reply| matches!(reply, Reply::Error { code: ErrorCode::Limit, .. });
    assert!(is_limit(bench.ask_from(&ann, list(""))));
    assert!(!is_limit(bench.ask_from(&bob, list(""))));
    assert!((0..100).all(|_| !is_limit(bench.ask(1, list("")))));
    bench.pass(1_000);
    assert!(!is_limit(bench.ask_from(&ann, list(""))));
}
