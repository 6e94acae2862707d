//! Policies act on existing queues and exchanges, and on later ones. The expected answers come from RabbitMQ 3.10.8.

use std::sync::Arc;

use super::*;
use crate::exchange::ExchangeDeclaration;
use crate::policy::{ApplyTo, NAME_STEPS_MAX, Policy, PolicyChange, PolicyCursor, PolicySlice, Scope};
use crate::vhost::turn::policies::POLICY_SLICE_MAX;

fn policy(pattern: &str, fields: &[(&str, FieldValue)], scope: Scope) -> Arc<Policy> {
    let definition = fields.iter().cloned().collect();
    Arc::new(Policy::new("p", pattern, ApplyTo::All, 0, definition, scope).unwrap())
}

impl Bench {
    /// Has these policies, and no others, act.
    pub(super) fn set_both(&mut self, user: Vec<Arc<Policy>>, operator: Vec<Arc<Policy>>) {
        let scopes = [Scope::User, Scope::Operator];
        let known = ["p", "x", "mine", "theirs", "0", "1", "2"];
        let gone =
            scopes.into_iter().flat_map(|scope| known.map(|name| PolicyChange::Remove(scope, name.into())));
        let come = user.into_iter().chain(operator).map(PolicyChange::Put);
        self.host.change_policies(gone.chain(come));
        let mut cursor = Some(PolicyCursor::default());
        while let Some(from) = cursor {
            let mut slice = self.host.policy_slice(from);
            slice.match_names();
            while !self.host.apply_policies(&mut slice, self.now, &mut self.said) {}
            cursor = slice.next();
        }
    }

    /// Sets one policy of users, for the queue `q`.
    fn set_policy(&mut self, fields: &[(&str, FieldValue)]) {
        self.set_both(vec![policy("^q$", fields, Scope::User)], Vec::new());
    }

    fn clear_policies(&mut self) {
        self.set_both(Vec::new(), Vec::new());
    }
}

#[test]
fn a_time_to_live_is_for_messages_to_come() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.publish_all("q", &["old"]);
    bench.set_policy(&[("message-ttl", 200.into())]);
    bench.pass(600);
    assert_eq!(bench.count("q"), 1);
    // Behind a message that stays, an expired message waits for its turn.
    bench.publish_all("q", &["new"]);
    bench.pass(600);
    assert_eq!(bench.count("q"), 2);
    assert_eq!(bench.get(channel, "q", true).unwrap().0.body, "old");
    assert_eq!(bench.count("q"), 0);
    // A message that came under a policy keeps the time that it had then.
    bench.publish_all("q", &["short"]);
    bench.clear_policies();
    bench.pass(200);
    assert_eq!(bench.count("q"), 0);
    bench.set_policy(&[("message-ttl", 60_000.into())]);
    bench.publish_all("q", &["long"]);
    bench.set_policy(&[("message-ttl", 200.into())]);
    bench.pass(800);
    assert_eq!(bench.count("q"), 1);
}

#[test]
fn messages_beyond_a_new_length_go_at_once() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    bench.declare(&queue("dead", arguments([]))).unwrap();
    let bodies: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    bodies.iter().for_each(|body| bench.publish_all("q", &[body]));
    bench.set_policy(&[
        ("max-length", 3.into()),
        ("dead-letter-exchange", "".into()),
        ("dead-letter-routing-key", "dead".into()),
    ]);
    assert_eq!(bench.drain("dead"), bodies[..7]);
    bench.publish_all("q", &["10"]);
    assert_eq!(bench.drain("q"), ["8", "9", "10"]);
    bench.clear_policies();
    bodies.iter().for_each(|body| bench.publish_all("q", &[body]));
    bench.set_policy(&[("max-length-bytes", 4.into())]);
    assert_eq!(bench.drain("q"), bodies[6..]);
}

#[test]
fn a_queue_that_refuses_keeps_what_it_has() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    bench.publish_all("q", &["1", "2", "3"]);
    bench.set_policy(&[("max-length", 1.into()), ("overflow", "reject-publish".into())]);
    assert_eq!(bench.publish("q", "4"), Published::Refused);
    assert_eq!(bench.count("q"), 3);
    bench.clear_policies();
    bench.publish_all("q", &["5"]);
    assert_eq!(bench.drain("q"), ["1", "2", "3", "5"]);
}

#[test]
fn the_time_to_expiry_begins_with_the_policy() {
    let (mut bench, channel) = Bench::with_queue(arguments([]));
    bench.pass(1_000);
    bench.set_policy(&[("expires", 800.into())]);
    bench.pass(400);
    // The expiry continues under another policy with the same expiry.
    bench.set_policy(&[("expires", 800.into()), ("max-length", 5.into())]);
    bench.pass(399);
    assert_eq!(bench.host.queue_count(), 1);
    bench.pass(1);
    assert_eq!(bench.host.queue_count(), 0);
    // A removed policy takes its expiry along, and a queue with a consumer does not expire.
    bench.declare(&queue("q", arguments([]))).unwrap();
    bench.pass(500);
    bench.clear_policies();
    bench.pass(500);
    bench.consume(channel, "c");
    bench.set_policy(&[("expires", 100.into())]);
    bench.pass(200);
    assert_eq!(bench.host.queue_count(), 1);
    bench.cancel(channel, "c");
    bench.pass(100);
    assert_eq!(bench.host.queue_count(), 0);
}

#[test]
fn of_an_argument_and_a_policy_the_smaller_number_counts() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-length", 2.into())]));
    bench.set_policy(&[("max-length", 4.into())]);
    bench.publish_all("q", &["1", "2", "3", "4", "5", "6"]);
    assert_eq!(bench.count("q"), 2);
    bench.set_policy(&[("max-length", 1.into())]);
    assert_eq!(bench.count("q"), 1);
    let user = vec![policy("", &[("max-length", 4.into())], Scope::User)];
    bench.set_both(user, vec![policy("", &[("max-length", 0.into())], Scope::Operator)]);
    assert_eq!(bench.count("q"), 0);
}

#[test]
fn other_arguments_win_over_a_policy() {
    let (mut bench, channel) = Bench::with_queue(arguments([
        ("x-overflow", "reject-publish".into()),
        ("x-dead-letter-exchange", "".into()),
    ]));
    bench.declare(&queue("dead", arguments([]))).unwrap();
    bench.set_policy(&[
        ("max-length", 2.into()),
        ("overflow", "drop-head".into()),
        ("dead-letter-exchange", "nowhere".into()),
        ("dead-letter-routing-key", "dead".into()),
    ]);
    bench.publish_all("q", &["1", "2"]);
    assert_eq!(bench.publish("q", "3"), Published::Refused);
    let tag = bench.get(channel, "q", false).unwrap().0.tag;
    bench.reject(channel, tag, false, false).unwrap();
    assert_eq!(bench.drain("dead"), ["1"]);
}

#[test]
fn the_overflow_and_the_expiry_of_a_quorum_queue_are_the_policy_s() {
    let mut bench = Bench::new();
    let given = arguments([("x-overflow", "reject-publish".into()), ("x-expires", 1_000.into())]);
    bench.declare(&quorum("q", given)).unwrap();
    bench.set_policy(&[
        ("max-length", 2.into()),
        ("overflow", "drop-head".into()),
        ("expires", 100_000.into()),
    ]);
    bench.publish_all("q", &["1", "2", "3", "4"]);
    bench.pass(5_000);
    assert_eq!(bench.drain("q"), ["3", "4"]);
}

#[test]
fn a_delivery_limit_is_for_messages_that_came_back_before_too() {
    let mut bench = Bench::new();
    bench.declare(&quorum("q", arguments([("x-delivery-limit", 9.into())]))).unwrap();
    let channel = bench.open(ALICE);
    bench.publish_all("q", &["1"]);
    let give_back = |bench: &mut Bench| {
        let tag = bench.get(channel, "q", false).unwrap().0.tag;
        bench.reject(channel, tag, false, true).unwrap();
    };
    (0..4).for_each(|_| give_back(&mut bench));
    bench.set_policy(&[("delivery-limit", 1.into())]);
    assert_eq!(bench.count("q"), 1);
    give_back(&mut bench);
    assert_eq!(bench.count("q"), 0);
}

#[test]
fn policies_are_for_queues_and_exchanges_to_come() {
    let mut bench = Bench::new();
    let definition = arguments([("alternate-exchange", "amq.fanout".into())]);
    let alternate = Policy::new("x", "^x", ApplyTo::All, 0, definition, Scope::User);
    let all = vec![policy("^q", &[("max-length", 1.into())], Scope::User), Arc::new(alternate.unwrap())];
    bench.set_both(all, Vec::new());
    bench.declare(&queue("q", arguments([]))).unwrap();
    bench.declare(&queue("dead", arguments([]))).unwrap();
    bench.publish_all("q", &["1", "2"]);
    assert_eq!(bench.drain("q"), ["2"]);
    let exchange = ExchangeDeclaration {
        name: (*b"x").into(),
        kind: (*b"direct").into(),
        ..ExchangeDeclaration::default()
    };
    bench.host.exchanges_mut().declare(&exchange).unwrap();
    bench.host.bind_queue(ALICE, b"dead", b"amq.fanout", b"", &arguments([])).unwrap();
    assert_eq!(bench.publish_with("x", "k", "3", &Properties::default()), Published::Routed);
    assert_eq!(bench.drain("dead"), ["3"]);
    assert_eq!(bench.host.topology().exchange(b"x").unwrap().policy.as_deref(), Some("x"));
}

#[test]
fn the_alternate_exchange_of_an_argument_wins() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    bench.host.bind_queue(ALICE, b"q", b"amq.fanout", b"", &arguments([])).unwrap();
    for (name, given) in
        [("x", arguments([])), ("y", arguments([("alternate-exchange", "amq.direct".into())]))]
    {
        let exchange = ExchangeDeclaration {
            name: name.as_bytes().into(),
            kind: (*b"fanout").into(),
            arguments: given.into(),
            ..ExchangeDeclaration::default()
        };
        bench.host.exchanges_mut().declare(&exchange).unwrap();
    }
    let publish = |bench: &mut Bench, exchange, route: &mut Route| {
        bench.publish_along(route, exchange, "k", "m", &Properties::default())
    };
    let mut route = Route::new();
    assert_eq!(publish(&mut bench, "x", &mut route), Published::Unroutable);
    let all = vec![policy("^[xy]$", &[("alternate-exchange", "amq.fanout".into())], Scope::User)];
    bench.set_both(all, Vec::new());
    assert_eq!(publish(&mut bench, "x", &mut route), Published::Routed);
    assert_eq!(publish(&mut bench, "y", &mut Route::new()), Published::Unroutable);
    bench.clear_policies();
    assert_eq!(publish(&mut bench, "x", &mut route), Published::Unroutable);
}

#[test]
fn dead_letters_that_wait_go_where_they_had_to_go() {
    let mut bench = Bench::with(Limits { slice_max: 1, ..Limits::default() });
    bench.declare(&queue("q", arguments([]))).unwrap();
    bench.declare(&queue("dead", arguments([]))).unwrap();
    let dead = ("dead-letter-exchange", "".into());
    bench.set_policy(&[dead.clone(), ("dead-letter-routing-key", "dead".into())]);
    bench.publish_all("q", &["1", "2", "3"]);
    bench.set_policy(&[dead.clone(), ("dead-letter-routing-key", "dead".into()), ("max-length", 0.into())]);
    bench.clear_policies();
    assert_eq!(bench.drain("dead"), ["1", "2", "3"]);
}

#[test]
fn views_show_the_policies_and_what_they_make() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    let user = Policy::new(
        "mine",
        "^q",
        ApplyTo::Queues,
        0,
        arguments([("max-length", 9.into()), ("queue-mode", "lazy".into())]),
        Scope::User,
    );
    let operator =
        Policy::new("theirs", "", ApplyTo::All, 0, arguments([("max-length", 5.into())]), Scope::Operator);
    bench.set_both(vec![Arc::new(user.unwrap())], vec![Arc::new(operator.unwrap())]);
    let shown = bench.host.queue(b"q").unwrap();
    assert_eq!(
        (shown.policies.user.as_deref(), shown.policies.operator.as_deref()),
        (Some("mine"), Some("theirs"))
    );
    let expected = arguments([("max-length", 5.into()), ("queue-mode", "lazy".into())]);
    assert_eq!(shown.policies.effective, expected);
    assert_eq!(bench.host.effective_policy(b"q"), Some(expected));
    assert_eq!(bench.host.effective_policy(b"none"), None);
    bench.clear_policies();
    let shown = bench.host.queue(b"q").unwrap();
    assert_eq!((shown.policies.user, shown.policies.operator), (None, None));
    assert_eq!(shown.policies.effective, arguments([]));
}

/// The messages of a queue that has become far too long.
const LONG: u32 = 40_000;
/// More messages than one turn drops.
const DROPPED_MAX: u32 = 16_384;

impl Bench {
    /// A slice that was matched with the policies of now.
    fn matched(&mut self, from: PolicyCursor) -> PolicySlice {
        let mut slice = self.host.policy_slice(from);
        slice.match_names();
        slice
    }

    fn lengths(&self) -> Vec<Option<String>> {
        let name_of = |name: &str| self.host.queue(name.as_bytes()).unwrap().policies.user;
        ["a", "b", "c"].into_iter().map(name_of).collect()
    }
}

/// Objects that are deleted and declared again between two steps, and policies that change in between.
#[test]
fn what_changes_between_two_steps_has_the_newest_policies() {
    let mut bench = Bench::new();
    for name in ["a", "b", "c"] {
        bench.declare(&queue(name, arguments([]))).unwrap();
    }
    let put = |bench: &mut Bench, length: i64| {
        let policy = policy("", &[("max-length", length.into())], Scope::User);
        bench.host.change_policies([PolicyChange::Put(policy)]);
    };
    let length_of = |bench: &Bench, name: &str| {
        let effective = bench.host.effective_policy(name.as_bytes()).unwrap();
        effective.get("max-length").and_then(FieldValue::as_i64)
    };
    let queues = PolicyCursor { has_done_exchanges: true, position: 0 };
    put(&mut bench, 1);
    let mut first = bench.matched(queues);
    // A queue that is declared now has the new policy at once; an existing queue has none yet.
    bench.delete("a");
    bench.declare(&queue("a", arguments([]))).unwrap();
    assert_eq!(bench.lengths(), [Some("p".into()), None, None]);
    // A second change begins before the first is done, and is done first.
    put(&mut bench, 2);
    bench.delete("b");
    let mut second = bench.matched(queues);
    assert!(bench.host.apply_policies(&mut second, bench.now, &mut bench.said));
    bench.declare(&quorum("b", arguments([]))).unwrap();
    assert!(bench.host.apply_policies(&mut first, bench.now, &mut bench.said));
    assert_eq!(["a", "b", "c"].map(|name| length_of(&bench, name)), [Some(2), Some(2), Some(2)]);
    // A removed policy needs no match if no other policy is left.
    bench.host.change_policies([PolicyChange::Remove(Scope::User, "p".into())]);
    let mut last = bench.matched(queues);
    assert!(bench.host.apply_policies(&mut last, bench.now, &mut bench.said));
    assert_eq!(bench.lengths(), [None, None, None]);
    assert!(bench.matched(queues).is_done());
}

/// The steps under the lock, at the limits: names that are copied, queues that change, messages that go, letters that are written.
#[test]
fn each_step_under_the_lock_is_bounded() {
    const QUEUES: usize = 1_000;
    const SLICE: usize = 50;
    let mut bench = Bench::with(Limits { slice_max: SLICE, ..Limits::default() });
    bench.declare(&queue("dead", arguments([]))).unwrap();
    for number in 0..QUEUES {
        bench.declare(&queue(&format!("q{number}"), arguments([]))).unwrap();
    }
    (0..LONG).for_each(|_| bench.publish_all("q0", &["m"]));
    let fields = [
        ("max-length", 1.into()),
        ("expires", 100_000.into()),
        ("dead-letter-exchange", "".into()),
        ("dead-letter-routing-key", "dead".into()),
    ];
    bench.host.change_policies([PolicyChange::Put(policy("(?=(q))", &fields, Scope::User))]);
    let (mut cursor, mut slices, mut changed) = (Some(PolicyCursor::default()), 0, 0);
    while let Some(from) = cursor {
        let mut slice = bench.matched(from);
        slices += 1;
        assert!(slice.objects.len() <= POLICY_SLICE_MAX);
        loop {
            let (done, waiting, dead) = (slice.changed_count, bench.count("q0"), bench.count("dead"));
            let is_done = bench.host.apply_policies(&mut slice, bench.now, &mut bench.said);
            let dropped = waiting - bench.count("q0");
            assert!(
                slice.changed_count - done <= SLICE && dropped <= DROPPED_MAX,
                "{dropped} messages dropped"
            );
            assert!(bench.count("dead") - dead <= SLICE as u32);
            changed += slice.changed_count - done;
            if is_done {
                break;
            }
        }
        cursor = slice.next();
    }
    assert!(slices >= QUEUES / POLICY_SLICE_MAX);
    // The standard exchanges are among the objects.
    assert!(changed > QUEUES);
    assert_eq!(bench.count("q0"), 1);
    while bench.host.next_timeout().is_some_and(|due| due <= bench.now) {
        bench.pass(0);
    }
    assert_eq!(bench.count("dead"), LONG - 1);
}

/// A publisher's turn drops no more of a queue that has become far too long.
#[test]
fn a_turn_shortens_a_queue_by_a_bounded_number() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    (0..LONG).for_each(|_| bench.publish_all("q", &["m"]));
    bench.host.change_policies([PolicyChange::Put(policy("", &[("max-length", 1.into())], Scope::User))]);
    let mut slice = bench.matched(PolicyCursor { has_done_exchanges: true, position: 0 });
    assert!(!bench.host.apply_policies(&mut slice, bench.now, &mut bench.said));
    let before = bench.count("q");
    bench.publish_all("q", &["m"]);
    let after = bench.count("q");
    assert!(after > 1 && before - after <= DROPPED_MAX, "{before} to {after}");
    // The rest is dropped at the timeout, which is due at once.
    while bench.host.next_timeout().is_some_and(|due| due <= bench.now) {
        bench.pass(0);
    }
    assert_eq!(bench.count("q"), 1);
}

/// A declaration takes a bounded number of steps, which are reported. It takes none without policies whose patterns need steps.
#[test]
fn the_steps_of_a_declaration_are_told() {
    const POLICIES: usize = 30;
    let mut bench = Bench::new();
    let name = "a".repeat(200);
    let declaration = queue(&name, arguments([]));
    let steps_of_declaration = |bench: &mut Bench| {
        bench.declare(&declaration).unwrap();
        let before = bench.host.step_count();
        bench.host.charge_pattern_steps();
        bench.host.step_count() - before
    };
    assert_eq!(steps_of_declaration(&mut bench), 0);
    bench.delete(&name);
    for scope in [Scope::User, Scope::Operator] {
        let put = |number: usize| {
            let (name, pattern) = (number.to_string(), format!("(?:{}a)*z", "(?=(a*))".repeat(20 + number)));
            let policy =
                Policy::new(&name, &pattern, ApplyTo::All, 0, arguments([("expires", 1.into())]), scope);
            PolicyChange::Put(Arc::new(policy.unwrap()))
        };
        bench.host.change_policies((0..POLICIES).map(put));
    }
    assert_eq!(steps_of_declaration(&mut bench), 2 * NAME_STEPS_MAX as u64 / 16);
    // The declaration of an existing queue takes none.
    assert_eq!(steps_of_declaration(&mut bench), 0);
}
