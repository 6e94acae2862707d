//! The settings of policies: their names and values, the policies that may have them, and the queues that know them.

use hairstreak_wire::amqp::{FieldTable, FieldValue, SHORT_STRING_SIZE_MAX};

use super::apply_to::PolicyError;
use crate::erlang;
use crate::queue::{Durability, QueueKind};

/// One setting.
pub(super) struct Key {
    name: &'static str,
    is_valid: fn(&FieldValue) -> bool,
    /// The reason behind an invalid value.
    reason: &'static str,
    /// True if an operator policy may have the setting.
    is_for_operators: bool,
    /// The kinds of queues that know the setting. A policy applies only to queues that know all its settings.
    kinds: &'static [QueueKind],
}

const BOTH: &[QueueKind] = &[QueueKind::Classic, QueueKind::Quorum];
const CLASSIC: &[QueueKind] = &[QueueKind::Classic];
const QUORUM: &[QueueKind] = &[QueueKind::Quorum];
const STREAM: &[QueueKind] = &[];

/// The smallest and the largest filter of a stream.
const FILTER_SIZES: std::ops::RangeInclusive<i64> = 16..=255;

macro_rules! keys {
    ($($name:tt $scope:ident $kinds:ident $is_valid:expr, $reason:tt;)*) => {
        &[$(Key {
            name: $name,
            is_valid: $is_valid,
            reason: $reason,
            is_for_operators: keys!($scope),
            kinds: $kinds,
        },)*]
    };
    (users) => { false };
    (all) => { true };
}

const KEYS: &[Key] = keys! {
    "alternate-exchange" users BOTH is_name, "is not a valid alternate exchange name";
    "consumer-timeout" users BOTH is_count, "is not a valid consumer timeout";
    "consumer-disconnected-timeout" users BOTH is_count, "is not a valid consumer disconnected timeout";
    "dead-letter-exchange" users BOTH is_name, "is not a valid dead letter exchange name";
    "dead-letter-routing-key" users BOTH is_name, "is not a valid dead letter routing key";
    "dead-letter-strategy" users QUORUM |value| is_word(value, &["at-most-once", "at-least-once"]), "is not a valid dead letter strategy";
    "message-ttl" all BOTH is_count, "is not a valid message TTL";
    "expires" all BOTH |value| value.as_i64() >= Some(1), "is not a valid queue expiry";
    "max-length" all BOTH is_count, "is not a valid maximum length";
    "max-length-bytes" all BOTH is_count, "is not a valid maximum length in bytes";
    "max-in-memory-length" all BOTH is_count, "is not a valid maximum memory in bytes";
    "max-in-memory-bytes" all BOTH is_count, "is not a valid maximum memory in bytes";
    "queue-mode" users CLASSIC |value| is_word(value, &["default", "lazy"]), "is not a valid queue-mode value";
    "queue-version" all BOTH |value| matches!(value.as_i64(), Some(1 | 2)), "is not a valid queue-version value";
    "overflow" all BOTH |value| is_word(value, &["drop-head", "reject-publish", "reject-publish-dlx"]), "is not a valid overflow value";
    "delivery-limit" all QUORUM |value| value.as_i64().is_some(), "is not a valid delivery limit";
    "max-age" users STREAM is_age, "is not a valid max age";
    "stream-max-segment-size-bytes" users STREAM is_count, "is not a valid segment size";
    "stream-filter-size-bytes" users STREAM |value| value.as_i64().is_some_and(|size| FILTER_SIZES.contains(&size)), "is not a valid filter size. Valid range is 16-255";
    "queue-leader-locator" users QUORUM |value| is_word(value, &["client-local", "balanced", "random", "least-leaders"]), "is not a valid queue leader locator value";
    "queue-master-locator" users CLASSIC |value| is_word(value, &["client-local", "min-masters", "random"]), "invalid queue-master-locator value";
    "initial-cluster-size" users STREAM is_count, "is not a valid cluster size";
    "durability" all CLASSIC |value| Durability::of(value).is_some(), "is not a valid durability: memory, written or synced";
    "federation-upstream" users BOTH is_text, "is not a valid federation upstream name";
    "federation-upstream-set" users BOTH is_text, "is not a valid federation upstream set name";
    "federation-upstream-pattern" users BOTH is_text, "is not a valid federation upstream pattern name";
    "ha-mode" users CLASSIC |_| true, "";
    "ha-params" users CLASSIC |_| true, "";
    "ha-sync-mode" users CLASSIC |_| true, "";
    "ha-sync-batch-size" users CLASSIC |_| true, "";
    "ha-promote-on-shutdown" users CLASSIC |_| true, "";
    "ha-promote-on-failure" users CLASSIC |_| true, "";
};

/// At most one of these may be in a policy.
const UPSTREAMS: [&str; 3] =
    ["federation-upstream", "federation-upstream-set", "federation-upstream-pattern"];

/// Checks the settings of a policy, in the order of their names as RabbitMQ does: values first, then names.
pub(super) fn check(definition: &FieldTable, scope: Scope) -> Result<(), PolicyError> {
    if definition.is_empty() {
        return Err(PolicyError::new("no policy provided"));
    }
    let mut fields: Vec<(&[u8], &FieldValue)> = definition.iter().collect();
    fields.sort_by_key(|(name, _)| *name);
    let mut unknown = Vec::new();
    for (name, value) in fields {
        match find(name).filter(|key| scope == Scope::User || key.is_for_operators) {
            Some(key) if (key.is_valid)(value) => {}
            Some(key) => {
                return Err(PolicyError::new(format!("{} {}", erlang::print_plain(value), key.reason)));
            }
            None => {
                unknown.push(format!("{{{},{}}}", erlang::print_binary(name), erlang::print_plain(value)))
            }
        }
    }
    if UPSTREAMS.into_iter().filter(|name| definition.get(name).is_some()).count() > 1 {
        let [one, two, three] = UPSTREAMS;
        return Err(PolicyError::new(format!("cannot specify {one}, {two} or {three} together")));
    }
    if unknown.is_empty() {
        return Ok(());
    }
    Err(PolicyError::new(format!("[{}] are not recognised policy settings", unknown.join(","))))
}

/// Returns true if queues of that kind know all settings.
pub(super) fn are_known_to(definition: &FieldTable, kind: QueueKind) -> bool {
    definition.iter().all(|(name, _)| find(name).is_some_and(|key| key.kinds.contains(&kind)))
}

fn find(name: &[u8]) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name.as_bytes() == name)
}

fn is_text(value: &FieldValue) -> bool {
    value.as_bytes().is_some()
}

/// A text that messages may carry as the name of an exchange or as a routing key.
fn is_name(value: &FieldValue) -> bool {
    value.as_bytes().is_some_and(|name| name.len() <= SHORT_STRING_SIZE_MAX)
}

fn is_count(value: &FieldValue) -> bool {
    value.as_i64() >= Some(0)
}

fn is_word(value: &FieldValue, words: &[&str]) -> bool {
    value.as_bytes().is_some_and(|word| words.iter().any(|other| other.as_bytes() == word))
}

/// A number and a unit, such as `7D`.
fn is_age(value: &FieldValue) -> bool {
    match value.as_bytes() {
        Some([digits @ .., b'Y' | b'M' | b'D' | b'h' | b'm' | b's']) => {
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// The givers of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Policies of users.
    User,
    /// Policies of operators, which limit the policies of users.
    Operator,
}
