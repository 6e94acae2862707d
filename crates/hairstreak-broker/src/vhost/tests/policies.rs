//! Policies act on queues and exchanges that are there, and on those to come. The answers are those of RabbitMQ 3.10.8.

use std::sync::Arc;

use super::*;
use crate::exchange::ExchangeDeclaration;
use crate::policy::{ApplyTo, Policy, Scope};

fn policy(pattern: &str, fields: &[(&str, FieldValue)], scope: Scope) -> Arc<Policy> {
    let definition = fields.iter().cloned().collect();
    Arc::new(Policy::new("p", pattern, ApplyTo::All, 0, definition, scope).unwrap())
}

impl Bench {
    fn set_both(&mut self, user: Vec<Arc<Policy>>, operator: Vec<Arc<Policy>>) {
        self.host.set_policies(user, operator, self.now, &mut self.said);
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
    // Another policy with the same expiry goes on.
    bench.set_policy(&[("expires", 800.into()), ("max-length", 5.into())]);
    bench.pass(399);
    assert_eq!(bench.host.views().queue_count(), 1);
    bench.pass(1);
    assert_eq!(bench.host.views().queue_count(), 0);
    // A policy that goes takes its expiry along, and a queue with a consumer does not expire.
    bench.declare(&queue("q", arguments([]))).unwrap();
    bench.pass(500);
    bench.clear_policies();
    bench.pass(500);
    bench.consume(channel, "c");
    bench.set_policy(&[("expires", 100.into())]);
    bench.pass(200);
    assert_eq!(bench.host.views().queue_count(), 1);
    bench.cancel(channel, "c");
    bench.pass(100);
    assert_eq!(bench.host.views().queue_count(), 0);
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
    let all = vec![
        policy("^q", &[("max-length", 1.into())], Scope::User),
        policy("^x", &[("alternate-exchange", "amq.fanout".into())], Scope::User),
    ];
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
    assert_eq!(bench.host.views().exchange(b"x").unwrap().policy.as_deref(), Some("p"));
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
            arguments: given,
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
    let shown = bench.host.views().queue(b"q").unwrap();
    assert_eq!(
        (shown.policies.user.as_deref(), shown.policies.operator.as_deref()),
        (Some("mine"), Some("theirs"))
    );
    let expected = arguments([("max-length", 5.into()), ("queue-mode", "lazy".into())]);
    assert_eq!(shown.policies.effective, expected);
    assert_eq!(bench.host.views().effective_policy(b"q"), Some(expected));
    assert_eq!(bench.host.views().effective_policy(b"none"), None);
    bench.clear_policies();
    let shown = bench.host.views().queue(b"q").unwrap();
    assert_eq!((shown.policies.user, shown.policies.operator), (None, None));
    assert_eq!(shown.policies.effective, arguments([]));
}
