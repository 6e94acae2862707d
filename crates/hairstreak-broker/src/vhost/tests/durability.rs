//! The argument `x-durability` and the setting `durability` of policies.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;
use crate::policy::{ApplyTo, Policy, Scope};

/// A host with a message log.
fn with_log() -> Bench {
    let mut bench = Bench::new();
    bench.host.log_messages(Arc::new(AtomicU64::new(0)));
    bench
}

/// A durable queue with the argument, if there is one.
fn durable(name: &str, durability: Option<&str>) -> QueueDeclaration {
    let given = durability.map(|durability| ("x-durability", FieldValue::from(durability)));
    QueueDeclaration { is_durable: true, ..queue(name, given.into_iter().collect()) }
}

/// Policies with the setting for all queues.
fn policies(scope: Scope, durability: Option<&str>) -> Vec<Arc<Policy>> {
    let policy = |durability: &str| {
        let definition = arguments([("durability", durability.into())]);
        Arc::new(Policy::new("p", "", ApplyTo::All, 0, definition, scope).unwrap())
    };
    durability.into_iter().map(policy).collect()
}

fn turn(bench: &mut Bench, durability: Option<&str>) {
    bench.set_both(policies(Scope::User, durability), Vec::new());
}

fn publish_to(bench: &mut Bench, exchange: &str, key: &str) -> Published {
    let properties = Properties { delivery_mode: Some(2), ..Properties::default() };
    bench.publish_with(exchange, key, "body", &properties)
}

/// The places of the messages that the log got since the last call.
fn appended(bench: &mut Bench) -> Vec<u64> {
    std::mem::take(&mut bench.said.logged).into_iter().map(|target| target.sequence).collect()
}

fn shown(bench: &Bench, name: &str) -> &'static str {
    bench.host.queue(name.as_bytes()).unwrap().storage.durability.name()
}

#[test]
fn values_that_a_queue_cannot_have_are_refused() {
    let mut bench = with_log();
    let wrong = |reason: &str| {
        format!("PRECONDITION_FAILED - invalid arg 'x-durability' for queue 'q' in vhost '/': {reason}")
    };
    let declaration = |value: FieldValue| QueueDeclaration {
        is_durable: true,
        ..queue("q", arguments([("x-durability", value)]))
    };
    let unknown = refused(bench.declare(&declaration("disk".into())));
    assert_eq!(unknown, wrong("\"unsupported queue durability 'disk'\""));
    assert_eq!(refused(bench.declare(&declaration(1.into()))), wrong("{unacceptable_type,signedint}"));
    for durability in ["written", "synced"] {
        let reason = wrong(&format!("\"'{durability}' needs a durable queue that is not exclusive\""));
        let transient = QueueDeclaration { is_durable: false, ..declaration(durability.into()) };
        assert_eq!(refused(bench.declare(&transient)), reason);
        let exclusive = QueueDeclaration { is_exclusive: true, ..declaration(durability.into()) };
        assert_eq!(refused(bench.declare(&exclusive)), reason);
        let reason = wrong(&format!("\"'{durability}' needs a data directory, and the node has none\""));
        assert_eq!(refused(Bench::new().declare(&declaration(durability.into()))), reason);
    }
    for durability in ["memory", "written"] {
        let quorum = quorum("q", arguments([("x-durability", durability.into())]));
        assert_eq!(refused(bench.declare(&quorum)), wrong("\"quorum queues are always 'synced'\""));
    }
    bench.declare(&queue("q", arguments([("x-durability", "memory".into())]))).unwrap();
    let other = refused(bench.declare(&queue("q", FieldTable::new())));
    assert_eq!(
        other,
        "PRECONDITION_FAILED - inequivalent arg 'x-durability' for queue 'q' in vhost '/': received none but current is the value 'memory' of type 'longstr'"
    );
}

#[test]
fn the_stricter_one_of_argument_and_policy_counts_and_operators_win() {
    // The argument, the policy, the operator policy, and the durability of the queue.
    let cases = [
        (None, None, None, "synced"),
        (Some("written"), None, None, "written"),
        (None, Some("memory"), None, "memory"),
        (Some("written"), Some("memory"), None, "written"),
        (Some("written"), Some("synced"), None, "synced"),
        (Some("memory"), Some("written"), None, "written"),
        (Some("synced"), Some("written"), Some("memory"), "memory"),
        (Some("memory"), None, Some("synced"), "synced"),
        (None, Some("synced"), Some("written"), "written"),
    ];
    for (argument, user, operator, expected) in cases {
        let mut bench = with_log();
        bench.declare(&durable("q", argument)).unwrap();
        bench.declare(&queue("transient", FieldTable::new())).unwrap();
        bench.declare(&quorum("quorum", FieldTable::new())).unwrap();
        bench.set_both(policies(Scope::User, user), policies(Scope::Operator, operator));
        assert_eq!(shown(&bench, "q"), expected, "{argument:?} {user:?} {operator:?}");
        assert_eq!((shown(&bench, "transient"), shown(&bench, "quorum")), ("memory", "synced"));
        // No policy with the setting is for quorum queues.
        assert!(bench.host.queue(b"quorum").unwrap().policies.effective.is_empty());
    }
    let mut bench = Bench::new();
    bench.declare(&durable("q", None)).unwrap();
    bench.declare(&quorum("quorum", FieldTable::new())).unwrap();
    turn(&mut bench, Some("synced"));
    assert_eq!((shown(&bench, "q"), shown(&bench, "quorum")), ("memory", "memory"));
    let wrong = arguments([("durability", "disk".into())]);
    let error = Policy::new("p", "", ApplyTo::All, 0, wrong, Scope::Operator).unwrap_err();
    let reason = "<<\"disk\">> is not a valid durability: memory, written or synced";
    assert_eq!(error.to_string(), format!("Validation failed\n\n{reason}\n"));
}

#[test]
fn a_confirm_waits_for_the_strictest_queue() {
    let mut bench = with_log();
    for durability in ["memory", "written", "synced"] {
        bench.declare(&durable(durability, Some(durability))).unwrap();
    }
    assert_eq!(publish_to(&mut bench, "", "memory"), Published::Routed);
    assert_eq!(appended(&mut bench), [0_u64; 0]);
    for (queues, expected) in [
        (&["written", "memory"][..], Durability::Written),
        (&["written", "synced"], Durability::Synced),
        (&["synced", "written", "memory"], Durability::Synced),
        // The last message was stricter.
        (&["written"], Durability::Written),
    ] {
        let key = queues.join(".");
        for queue in queues {
            let none = FieldTable::new();
            bench.host.bind_queue(ALICE, queue.as_bytes(), b"amq.direct", key.as_bytes(), &none).unwrap();
        }
        assert_eq!(publish_to(&mut bench, "amq.direct", &key), Published::Logged(expected), "{key}");
        assert_eq!(std::mem::take(&mut bench.said.durabilities), [expected]);
    }
    let transient = Properties { delivery_mode: Some(1), ..Properties::default() };
    assert_eq!(bench.publish_with("", "written", "body", &transient), Published::Routed);
}

#[test]
fn a_policy_acts_on_messages_to_come_and_the_log_hears_of_its_own_only() {
    let mut bench = with_log();
    bench.declare(&durable("q", None)).unwrap();
    let channel = bench.open(ALICE);
    let dials = [None, Some("memory"), Some("written"), Some("memory"), None, Some("memory")];
    for durability in dials {
        turn(&mut bench, durability);
        let _ = publish_to(&mut bench, "", "q");
    }
    assert_eq!(appended(&mut bench), [1, 3, 5]);
    // The queue is `memory` now.
    for _ in dials {
        bench.get(channel, "q", false).unwrap();
    }
    bench.reject(channel, 4, true, true).unwrap();
    let returned = |sequence| LogChange::Returned { queue: 1, sequence, count: 1 };
    assert_eq!(bench.host.log_changes().drain(..).collect::<Vec<_>>(), [returned(3), returned(1)]);
    bench.ack(channel, 6, true).unwrap();
    let settled = |first| LogChange::Settled(LogRun { queue: 1, first, count: 1, body_size: 4 });
    assert_eq!(bench.host.log_changes().drain(..).collect::<Vec<_>>(), [settled(5)]);
    assert_eq!(bench.host.logged_message_count(), 2);
    assert_eq!(bench.host.unlogged_message_count(), 2);
    turn(&mut bench, None);
    assert_eq!(bench.host.purge_queue(ALICE, b"q"), Ok(4));
    assert_eq!(bench.host.log_changes().drain(..).collect::<Vec<_>>(), [settled(1), settled(3)]);
}

#[test]
fn a_dead_letter_is_in_the_log_if_its_new_queue_is() {
    let mut bench = with_log();
    let with_letters = |name: &str, durability: &str, to: &str| {
        let fields = [
            ("x-durability", FieldValue::from(durability)),
            ("x-dead-letter-exchange", "".into()),
            ("x-dead-letter-routing-key", to.into()),
        ];
        QueueDeclaration { is_durable: true, ..queue(name, arguments(fields)) }
    };
    bench.declare(&with_letters("memory", "memory", "written")).unwrap();
    bench.declare(&with_letters("written", "written", "memory")).unwrap();
    let channel = bench.open(ALICE);
    assert_eq!(publish_to(&mut bench, "", "memory"), Published::Routed);
    bench.get(channel, "memory", false).unwrap();
    bench.reject(channel, 1, false, false).unwrap();
    bench.pass(0);
    assert_eq!((appended(&mut bench), bench.host.log_changes().len()), (vec![1], 0));
    assert_eq!(bench.said.moved, []);
    bench.get(channel, "written", false).unwrap();
    bench.reject(channel, 2, false, false).unwrap();
    bench.pass(0);
    let settled = LogChange::Settled(LogRun { queue: 2, first: 1, count: 1, body_size: 4 });
    assert_eq!((appended(&mut bench), bench.host.log_changes().drain(..).collect()), (vec![], vec![settled]));
    assert_eq!(bench.count("memory"), 1);
}

#[test]
fn a_backlog_from_before_and_after_a_turn_of_the_dial_comes_back_in_order() {
    let mut bench = Bench::with_disk(Limits::default());
    bench.declare(&durable("q", None)).unwrap();
    let channel = bench.open(ALICE);
    let persistent = Properties { delivery_mode: Some(2), ..Properties::default() };
    for number in 0..120 {
        if number % 20 == 0 {
            turn(&mut bench, ["synced", "memory"].get(number / 20 % 2).copied());
            bench.serve_disk();
        }
        let _ = bench.publish_with("", "q", &number.to_string(), &persistent);
    }
    bench.serve_disk();
    assert!(bench.host.queue(b"q").unwrap().storage.paged > 100);
    assert_eq!(bench.host.logged_message_count(), 60);
    for number in 0..120 {
        let (delivery, _) = bench.get(channel, "q", false).unwrap();
        assert_eq!((delivery.body, delivery.is_redelivered), (number.to_string(), false));
    }
    bench.ack(channel, 0, true).unwrap();
    bench.serve_disk();
    assert_eq!(bench.said.disk.count(), 0);
}
