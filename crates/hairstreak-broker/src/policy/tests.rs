//! Policies against RabbitMQ's answers: refusals with their reasons, the queues that a policy applies to, and merged policies.

use std::sync::Arc;

use hairstreak_testkit::Rng;
use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::policies::{Applied, NAME_STEPS_MAX, Policies, PolicyChange};
use super::{ApplyTo, ObjectKind, Policy, Scope};
use crate::pattern::STEPS_MAX;
use crate::queue::QueueKind;

fn policies_of(policies: impl IntoIterator<Item = Policy>) -> Policies {
    let mut all = Policies::default();
    policies.into_iter().for_each(|policy| all.change(PolicyChange::Put(Arc::new(policy))));
    all
}

fn for_queue(policies: &Policies, name: &[u8], kind: QueueKind) -> Applied {
    policies.find(name, ObjectKind::Queue(kind), &Applied::default(), &mut 0)
}

fn policy_of(definition: FieldTable, scope: Scope) -> Result<Policy, String> {
    Policy::new("p", "", ApplyTo::All, 0, definition, scope).map_err(|error| error.to_string())
}

fn one(name: &str, value: impl Into<FieldValue>) -> FieldTable {
    FieldTable::from_iter([(name, value.into())])
}

/// A policy of users or operators with one setting: the reason why it is refused.
#[track_caller]
fn check(scope: Scope, name: &str, value: impl Into<FieldValue>, reason: Option<&str>) {
    let expected = reason.map(|reason| format!("Validation failed\n\n{reason}\n"));
    assert_eq!(policy_of(one(name, value), scope).err(), expected, "{name}");
}

#[test]
fn values_of_settings_are_those_of_rabbitmq() {
    let valid: &[(&str, FieldValue)] = &[
        ("alternate-exchange", "x".into()),
        ("alternate-exchange", "".into()),
        ("consumer-timeout", 1.into()),
        ("dead-letter-exchange", "".into()),
        ("dead-letter-routing-key", "x".into()),
        ("dead-letter-strategy", "at-most-once".into()),
        ("dead-letter-strategy", "at-least-once".into()),
        ("message-ttl", 0.into()),
        ("message-ttl", 315_360_000_001_i64.into()),
        ("expires", 1.into()),
        ("max-length", 0.into()),
        ("max-length-bytes", 0.into()),
        ("max-in-memory-length", 0.into()),
        ("max-in-memory-bytes", 0.into()),
        ("queue-mode", "lazy".into()),
        ("queue-version", 2.into()),
        ("overflow", "reject-publish-dlx".into()),
        ("delivery-limit", 0.into()),
        ("max-age", "5Y".into()),
        ("stream-max-segment-size-bytes", 0.into()),
        ("stream-filter-size-bytes", 255.into()),
        ("queue-leader-locator", "balanced".into()),
        ("queue-master-locator", "min-masters".into()),
        ("initial-cluster-size", 0.into()),
        ("federation-upstream", "x".into()),
        ("federation-upstream-set", "all".into()),
        ("ha-mode", "all".into()),
    ];
    for (name, value) in valid {
        check(Scope::User, name, value.clone(), None);
    }
}

#[test]
fn names_are_as_long_as_messages_carry_them() {
    for (name, kind) in [
        ("alternate-exchange", "alternate exchange name"),
        ("dead-letter-exchange", "dead letter exchange name"),
        ("dead-letter-routing-key", "dead letter routing key"),
    ] {
        check(Scope::User, name, &*"x".repeat(255), None);
        let long = "x".repeat(256);
        check(Scope::User, name, &*long, Some(&format!("<<\"{long}\">> is not a valid {kind}")));
    }
}

#[test]
fn wrong_values_are_refused_in_the_words_of_rabbitmq() {
    let reasons: &[(&str, FieldValue, &str)] = &[
        ("alternate-exchange", 1.into(), "1 is not a valid alternate exchange name"),
        ("alternate-exchange", true.into(), "true is not a valid alternate exchange name"),
        ("alternate-exchange", FieldValue::Void, "null is not a valid alternate exchange name"),
        ("alternate-exchange", FieldTable::new().into(), "#{} is not a valid alternate exchange name"),
        ("alternate-exchange", Vec::new().into(), "[] is not a valid alternate exchange name"),
        ("dead-letter-exchange", 1.into(), "1 is not a valid dead letter exchange name"),
        ("dead-letter-routing-key", 1.into(), "1 is not a valid dead letter routing key"),
        ("dead-letter-strategy", "x".into(), "<<\"x\">> is not a valid dead letter strategy"),
        ("message-ttl", (-1).into(), "-1 is not a valid message TTL"),
        ("message-ttl", "x".into(), "<<\"x\">> is not a valid message TTL"),
        ("message-ttl", 1.5.into(), "1.5 is not a valid message TTL"),
        ("expires", 0.into(), "0 is not a valid queue expiry"),
        ("max-length", (-1).into(), "-1 is not a valid maximum length"),
        ("max-length", "5".into(), "<<\"5\">> is not a valid maximum length"),
        ("max-length-bytes", (-1).into(), "-1 is not a valid maximum length in bytes"),
        ("max-in-memory-length", (-1).into(), "-1 is not a valid maximum memory in bytes"),
        ("max-in-memory-bytes", "x".into(), "<<\"x\">> is not a valid maximum memory in bytes"),
        ("queue-mode", "x".into(), "<<\"x\">> is not a valid queue-mode value"),
        ("queue-version", 3.into(), "3 is not a valid queue-version value"),
        ("overflow", "x".into(), "<<\"x\">> is not a valid overflow value"),
        ("delivery-limit", "x".into(), "<<\"x\">> is not a valid delivery limit"),
        ("stream-max-segment-size-bytes", (-1).into(), "-1 is not a valid segment size"),
        ("queue-leader-locator", "x".into(), "<<\"x\">> is not a valid queue leader locator value"),
        ("queue-master-locator", "x".into(), "<<\"x\">> invalid queue-master-locator value"),
        ("initial-cluster-size", (-1).into(), "-1 is not a valid cluster size"),
        ("federation-upstream", 1.into(), "1 is not a valid federation upstream name"),
        ("federation-upstream-set", 1.into(), "1 is not a valid federation upstream set name"),
        ("nonsense", 1.into(), "[{<<\"nonsense\">>,1}] are not recognised policy settings"),
        ("max-priority", 1.into(), "[{<<\"max-priority\">>,1}] are not recognised policy settings"),
        // Settings of later versions.
        ("stream-filter-size-bytes", 15.into(), "15 is not a valid filter size. Valid range is 16-255"),
        ("consumer-timeout", "x".into(), "<<\"x\">> is not a valid consumer timeout"),
        // RabbitMQ 3.10 answers these with an internal error.
        ("max-age", "x".into(), "<<\"x\">> is not a valid max age"),
        ("max-age", 1.into(), "1 is not a valid max age"),
        ("max-age", "Y".into(), "<<\"Y\">> is not a valid max age"),
    ];
    for (name, value, reason) in reasons {
        check(Scope::User, name, value.clone(), Some(reason));
    }
}

#[test]
fn operators_have_fewer_settings() {
    let shared: [(&str, FieldValue); 9] = [
        ("expires", 1.into()),
        ("message-ttl", 0.into()),
        ("max-length", 0.into()),
        ("max-length-bytes", 0.into()),
        ("max-in-memory-length", 0.into()),
        ("max-in-memory-bytes", 0.into()),
        ("delivery-limit", 1.into()),
        ("queue-version", 1.into()),
        ("overflow", "drop-head".into()),
    ];
    for (name, value) in shared {
        check(Scope::Operator, name, value, None);
    }
    let unknown = |name: &str| format!("[{{<<\"{name}\">>,<<\"x\">>}}] are not recognised policy settings");
    for name in ["alternate-exchange", "dead-letter-exchange", "queue-mode", "max-age", "ha-mode"] {
        check(Scope::Operator, name, "x", Some(&unknown(name)));
    }
    check(Scope::Operator, "message-ttl", -1, Some("-1 is not a valid message TTL"));
}

#[test]
fn the_first_wrong_value_by_name_is_reported_before_unknown_settings() {
    let refused = |fields: &[(&str, FieldValue)]| {
        let error = policy_of(fields.iter().cloned().collect(), Scope::User).unwrap_err();
        error.trim().rsplit('\n').next().unwrap_or_default().to_owned()
    };
    assert_eq!(refused(&[]), "no policy provided");
    assert_eq!(
        refused(&[("b", 1.into()), ("a", 2.into())]),
        "[{<<\"a\">>,2},{<<\"b\">>,1}] are not recognised policy settings"
    );
    let nested: FieldValue = one("x", vec![1.into(), "y".into()]).into();
    assert_eq!(
        refused(&[("b", nested.clone())]),
        "[{<<\"b\">>,#{<<\"x\">> => [1,<<\"y\">>]}}] are not recognised policy settings"
    );
    let both = [("message-ttl", (-1).into()), ("max-length", (-1).into()), ("a", nested)];
    assert_eq!(refused(&both), "-1 is not a valid maximum length");
    assert_eq!(
        refused(&[("federation-upstream", "a".into()), ("federation-upstream-set", "b".into())]),
        "cannot specify federation-upstream, federation-upstream-set or federation-upstream-pattern together"
    );
}

#[test]
fn objects_are_named_as_in_the_http_api() {
    for name in ["all", "exchanges", "queues", "classic_queues", "quorum_queues", "streams"] {
        assert_eq!(name.parse::<ApplyTo>().unwrap().name(), name);
    }
    assert_eq!(
        "x".parse::<ApplyTo>().unwrap_err().reason(),
        "apply-to 'x' unrecognised; should be one of: 'queues', 'classic_queues', 'quorum_queues', 'streams', \
         'exchanges', or 'all'"
    );
}

/// Returns, for a classic queue, a quorum queue and an exchange, if a policy with that setting applies.
fn applies(apply_to: ApplyTo, name: &str, value: FieldValue) -> [bool; 3] {
    let policy = Policy::new("p", "^q", apply_to, 0, one(name, value), Scope::User).unwrap();
    let policies = policies_of([policy]);
    let is_for_queue = |kind| for_queue(&policies, b"q", kind).user_name().is_some();
    let [classic, quorum] = QueueKind::ALL.map(is_for_queue);
    let for_exchange = policies.find(b"q", ObjectKind::Exchange, &Applied::default(), &mut 0);
    [classic, quorum, for_exchange.user_name().is_some()]
}

#[test]
fn a_policy_is_only_for_queues_that_know_all_of_its_settings() {
    let expected: [(&str, FieldValue, [bool; 2]); 20] = [
        ("alternate-exchange", "x".into(), [true, true]),
        ("dead-letter-exchange", "x".into(), [true, true]),
        ("dead-letter-routing-key", "x".into(), [true, true]),
        ("dead-letter-strategy", "at-most-once".into(), [false, true]),
        ("message-ttl", 1.into(), [true, true]),
        ("expires", 1.into(), [true, true]),
        ("max-length", 1.into(), [true, true]),
        ("max-length-bytes", 1.into(), [true, true]),
        ("max-in-memory-length", 1.into(), [true, true]),
        ("max-in-memory-bytes", 1.into(), [true, true]),
        ("queue-mode", "lazy".into(), [true, false]),
        ("queue-version", 2.into(), [true, true]),
        ("overflow", "drop-head".into(), [true, true]),
        ("delivery-limit", 3.into(), [false, true]),
        ("max-age", "1D".into(), [false, false]),
        ("stream-max-segment-size-bytes", 1.into(), [false, false]),
        ("queue-leader-locator", "balanced".into(), [false, true]),
        ("queue-master-locator", "random".into(), [true, false]),
        ("initial-cluster-size", 1.into(), [false, false]),
        ("ha-mode", "all".into(), [true, false]),
    ];
    for (name, value, [classic, quorum]) in expected {
        assert_eq!(applies(ApplyTo::All, name, value), [classic, quorum, true], "{name}");
    }
}

#[test]
fn a_policy_is_for_the_objects_that_it_names() {
    let expected = [
        (ApplyTo::All, [true, true, true]),
        (ApplyTo::Exchanges, [false, false, true]),
        (ApplyTo::Queues, [true, true, false]),
        (ApplyTo::ClassicQueues, [true, false, false]),
        (ApplyTo::QuorumQueues, [false, true, false]),
        (ApplyTo::Streams, [false, false, false]),
    ];
    for (apply_to, expected) in expected {
        assert_eq!(applies(apply_to, "max-length", 1.into()), expected, "{apply_to:?}");
    }
}

#[test]
fn the_highest_priority_wins_and_the_first_name_of_equals() {
    let policy = |name: &str, pattern: &str, priority| {
        let definition = one("max-length", 1);
        Policy::new(name, pattern, ApplyTo::All, priority, definition, Scope::User).unwrap()
    };
    let all = [
        policy("low", "", -1),
        policy("second", "^q", 5),
        policy("first", "^q", 5),
        policy("other", "^r", 9),
    ];
    let policies = policies_of(all);
    let name_of = |queue: &[u8]| for_queue(&policies, queue, QueueKind::Classic).user_name().unwrap();
    assert_eq!([name_of(b"q"), name_of(b"r"), name_of(b"s")], ["first", "other", "low"]);
}

#[test]
fn an_operator_policy_limits_the_policy_of_a_user() {
    let merged =
        |user: &[(&str, FieldValue)], operator: &[(&str, FieldValue)]| -> Vec<(String, FieldValue)> {
            let one = |fields: &[(&str, FieldValue)], scope| {
                let definition: FieldTable = fields.iter().cloned().collect();
                Policy::new("p", "", ApplyTo::All, 0, definition, scope).ok()
            };
            let given = [one(user, Scope::User), one(operator, Scope::Operator)];
            let policies = policies_of(given.into_iter().flatten());
            let effective = for_queue(&policies, b"q", QueueKind::Quorum).effective();
            let fields = effective.iter();
            fields.map(|(name, value)| (String::from_utf8_lossy(name).into_owned(), value.clone())).collect()
        };
    let field = |name: &str, value: FieldValue| (name.to_owned(), value);
    assert_eq!(merged(&[], &[]), []);
    assert_eq!(merged(&[("max-length", 5.into())], &[]), [field("max-length", 5.into())]);
    assert_eq!(merged(&[], &[("max-length", 5.into())]), [field("max-length", 5.into())]);
    let user = [
        ("max-length", 5.into()),
        ("message-ttl", 9.into()),
        ("dead-letter-exchange", "x".into()),
        ("overflow", "drop-head".into()),
        ("queue-version", 1.into()),
    ];
    let operator = [
        ("expires", 4.into()),
        ("max-length", 7.into()),
        ("message-ttl", 3.into()),
        ("overflow", "reject-publish".into()),
        ("queue-version", 2.into()),
    ];
    let expected = [
        field("dead-letter-exchange", "x".into()),
        field("expires", 4.into()),
        field("max-length", 5.into()),
        field("message-ttl", 3.into()),
        field("overflow", "reject-publish".into()),
        field("queue-version", 2.into()),
    ];
    assert_eq!(merged(&user, &operator), expected);
    // A negative delivery limit is no limit.
    for (user, operator, expected) in [(5, 3, 3), (3, 5, 3), (-1, 3, 3), (5, -1, 5), (-1, -2, -1)] {
        let limit = |limit: i32| [("delivery-limit", limit.into())];
        assert_eq!(merged(&limit(user), &limit(operator)), [field("delivery-limit", expected.into())]);
    }
}

/// Changes of a policy, and the names that are matched anew.
#[test]
fn only_what_a_change_may_concern_is_matched() {
    let policy = |name: &str, pattern: &str, priority, length: i32| {
        let definition = one("max-length", length);
        Policy::new(name, pattern, ApplyTo::Queues, priority, definition, Scope::User).unwrap()
    };
    let kind = ObjectKind::Queue(QueueKind::Classic);
    let mut policies = policies_of([policy("hard", "(?=(a+))\\1+$", 5, 1), policy("low", "", 0, 1)]);
    let name: &[u8] = &[b'a'; 40];
    let find = |policies: &Policies, before: &Applied| {
        let mut taken = 0;
        (policies.find(name, kind, before, &mut taken), taken)
    };
    let (applied, steps) = find(&policies, &Applied::default());
    assert_eq!(applied.user_name().as_deref(), Some("hard"));
    // A policy of a lower priority changes nothing, and no name is matched. A policy of a higher priority is matched alone.
    policies.change(PolicyChange::Put(Arc::new(policy("other", "^b", -1, 1))));
    let (same, taken) = find(&policies, &applied);
    assert_eq!((same.is_same(&applied), taken), (true, 0));
    policies.change(PolicyChange::Put(Arc::new(policy("first", "^b", 9, 1))));
    let (same, taken) = find(&policies, &applied);
    assert!(same.is_same(&applied) && taken > 0 && taken < steps, "{taken} of {steps}");
    // Given as before, nothing changes.
    let generation = policies.generation();
    policies.change(PolicyChange::Put(Arc::new(policy("other", "^b", -1, 1))));
    policies.change(PolicyChange::Remove(Scope::Operator, "other".into()));
    assert_eq!(policies.generation(), generation);
    // A replaced policy applies with its new definition.
    policies.change(PolicyChange::Put(Arc::new(policy("hard", "^a", 5, 2))));
    let (replaced, _) = find(&policies, &same);
    assert_eq!((replaced.user_name().as_deref(), replaced.is_same(&applied)), (Some("hard"), false));
    // After a policy is deleted, policies of lower priorities apply. Policies of higher priorities are not matched again.
    policies.change(PolicyChange::Remove(Scope::User, "hard".into()));
    let (low, taken) = find(&policies, &replaced);
    assert_eq!((low.user_name().as_deref(), taken), (Some("low"), 1 + name.len()));
    assert_eq!(find(&policies, &applied).0.user_name().as_deref(), Some("low"));
}

/// After any change, the policies found from earlier ones equal the policies that are found anew.
#[test]
fn policies_found_from_earlier_ones_are_those_found_anew() {
    for seed in 0..20 {
        check_changes(seed);
    }
}

fn check_changes(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let mut policies = Policies::default();
    let kinds =
        [ObjectKind::Exchange, ObjectKind::Queue(QueueKind::Classic), ObjectKind::Queue(QueueKind::Quorum)];
    let names = ["a", "ab", "b", "ba"];
    let mut known = vec![Applied::default(); kinds.len() * names.len()];
    for _ in 0..500 {
        let name = ["p", "q", "r", "s", "t"][rng.usize(0..5)];
        let scope = [Scope::User, Scope::Operator][rng.usize(0..2)];
        policies.change(if rng.bool() {
            let pattern = ["a", "^b", "", "(?!a)b$"][rng.usize(0..4)];
            let apply_to = [ApplyTo::All, ApplyTo::Queues, ApplyTo::QuorumQueues][rng.usize(0..3)];
            let definition = one("max-length", rng.i64(0..3));
            let policy = Policy::new(name, pattern, apply_to, rng.i64(0..3), definition, scope);
            PolicyChange::Put(Arc::new(policy.unwrap()))
        } else {
            PolicyChange::Remove(scope, name.into())
        });
        // Some objects have not been checked for many changes.
        let index = rng.usize(0..known.len());
        let (kind, name) = (kinds[index % 3], names[index / 3].as_bytes());
        known[index] = policies.find(name, kind, &known[index], &mut 0);
        let anew = policies.find(name, kind, &Applied::default(), &mut 0);
        assert!(known[index].is_same(&anew), "seed {seed}: {:?} and {anew:?}", known[index]);
    }
}

/// The steps for one name are bounded, however many policies there are.
#[test]
fn a_name_takes_a_bounded_number_of_steps() {
    let hard = |number| {
        let pattern = format!("(?:{}a)*z{number}", "(?=(a*))".repeat(20));
        Policy::new(&format!("p{number}"), &pattern, ApplyTo::All, 1, one("max-length", 1), Scope::User)
            .unwrap()
    };
    let easy = |name: &str, priority| {
        Policy::new(name, "", ApplyTo::All, priority, one("max-length", 1), Scope::User).unwrap()
    };
    let count = NAME_STEPS_MAX / STEPS_MAX;
    let find = |hard_count, name: &[u8]| {
        let all = (0..hard_count).map(hard).chain([easy("last", 0)]);
        for_queue(&policies_of(all), name, QueueKind::Classic).user_name()
    };
    assert_eq!(find(count - 1, &[b'a'; 255]).as_deref(), Some("last"));
    assert_eq!(find(count, &[b'a'; 255]), None);
    assert_eq!(find(20, b"b").as_deref(), Some("last"));
}
