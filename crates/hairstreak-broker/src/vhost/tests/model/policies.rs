//! The policies of the plain model: which queues they are for, and how these behave under them.

use std::sync::Arc;

use hairstreak_testkit::Rng;

use super::super::*;
use super::rules::Rules;
use crate::policy::{ApplyTo, Policy, Scope};

/// Predicate of a pattern: true if a name matches.
type Meaning = fn(&str) -> bool;

/// Patterns, each with its predicate.
const PATTERNS: [(&str, Meaning); 4] = [
    ("", |_| true),
    ("^(?!dead)", |name| !name.starts_with("dead")),
    ("e", |name| name.contains('e')),
    ("^s|ed$", |name| name.starts_with('s') || name.ends_with("ed")),
];

/// One policy. A policy with a delivery limit is for quorum queues.
#[derive(Clone, Debug, Default)]
pub(super) struct PlainPolicy {
    pattern: usize,
    priority: i64,
    ttl: Option<u64>,
    length_max: Option<usize>,
    bytes_max: Option<usize>,
    expires: Option<u64>,
    delivery_limit: Option<u64>,
    rejects: Option<bool>,
}

impl PlainPolicy {
    pub(super) fn any(rng: &mut Rng) -> PlainPolicy {
        let mut policy = PlainPolicy {
            pattern: rng.usize(0..PATTERNS.len()),
            priority: rng.i64(0..1_000_000),
            ..PlainPolicy::default()
        };
        match rng.u8(0..6) {
            0 => policy.ttl = Some(rng.u64(1..30)),
            1 => policy.length_max = Some(rng.usize(0..6)),
            2 => policy.bytes_max = Some(rng.usize(0..40)),
            3 => policy.expires = Some(rng.u64(5..40)),
            4 => policy.delivery_limit = Some(rng.u64(0..4)),
            _ => policy.rejects = Some(rng.bool()),
        }
        if rng.bool() && policy.rejects.is_none() {
            policy.length_max = Some(rng.usize(0..6));
        }
        policy
    }

    pub(super) fn policy(&self, number: usize, scope: Scope) -> Arc<Policy> {
        let mut definition = FieldTable::new();
        let numbers = [
            ("message-ttl", self.ttl),
            ("max-length", self.length_max.map(|max| max as u64)),
            ("max-length-bytes", self.bytes_max.map(|max| max as u64)),
            ("expires", self.expires),
            ("delivery-limit", self.delivery_limit),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                definition.insert(name, number as i64);
            }
        }
        if let Some(rejects) = self.rejects {
            definition.insert("overflow", if rejects { "reject-publish-dlx" } else { "drop-head" });
        }
        let pattern = PATTERNS[self.pattern].0;
        let name = number.to_string();
        Arc::new(Policy::new(&name, pattern, ApplyTo::All, self.priority, definition, scope).unwrap())
    }

    fn is_for(&self, name: &str) -> bool {
        (PATTERNS[self.pattern].1)(name) && (self.delivery_limit.is_none() || Rules::of(name).is_quorum())
    }
}

/// The policies of users and the policies of operators.
#[derive(Debug, Default)]
pub(super) struct PlainPolicies {
    pub(super) user: Vec<PlainPolicy>,
    pub(super) operator: Vec<PlainPolicy>,
}

impl PlainPolicies {
    /// Returns the rules of a queue.
    pub(super) fn rules_of(&self, name: &str) -> Rules {
        let highest = |all: &[PlainPolicy]| {
            let matching = all.iter().filter(|policy| policy.is_for(name));
            matching.max_by_key(|policy| policy.priority).cloned().unwrap_or_default()
        };
        let (user, operator, rules) = (highest(&self.user), highest(&self.operator), Rules::of(name));
        let (expires, rejects) = (least(user.expires, operator.expires), operator.rejects.or(user.rejects));
        // If argument and policy differ, the policy counts for a quorum queue, and the argument for a classic one.
        let is_quorum = rules.is_quorum();
        Rules {
            ttl: least(rules.ttl, least(user.ttl, operator.ttl)),
            length_max: least(rules.length_max, least(user.length_max, operator.length_max)),
            bytes_max: least(rules.bytes_max, least(user.bytes_max, operator.bytes_max)),
            delivery_limit: least(
                rules.delivery_limit,
                least(user.delivery_limit, operator.delivery_limit).filter(|_| is_quorum),
            ),
            expires: match expires {
                Some(expires) if is_quorum => Some(expires),
                expires => least(rules.expires, expires),
            },
            rejects: if is_quorum {
                rejects.unwrap_or(rules.rejects)
            } else {
                rules.rejects || rejects == Some(true)
            },
            ..rules
        }
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}
