//! `Settings`: the current settings of a queue. Computed from the declared arguments and from the policies that apply. Policies
//! act on live queues because nothing else reads the declared arguments.
//!
//! | setting | argument and policy together |
//! |---|---|
//! | time to live, lengths, delivery limit | the smaller number |
//! | expiry of a classic queue | the smaller number |
//! | expiry and overflow of a quorum queue | the policy's, as in RabbitMQ |
//! | durability | the operator policy's, or else the stricter one; a quorum queue is always `synced` |
//! | all others | the argument's |

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::durability::{DURABILITY, Durability};
use super::kind::QueueKind;
use crate::policy::Applied;

/// The fate of a message for which a queue has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The oldest message is dropped.
    #[default]
    DropHead,
    /// The new message is refused.
    RejectPublish,
    /// The new message is refused, and dead-lettered.
    RejectPublishDeadLetter,
}

/// Destination of the dead letters of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeadLetterTarget {
    pub(crate) exchange: Box<[u8]>,
    /// `None`: the keys of the message.
    pub(crate) routing_key: Option<Box<[u8]>>,
}

/// The current settings of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Time without use after which the queue is deleted, in milliseconds.
    pub(crate) expires_ms: Option<u64>,
    pub(crate) message_ttl_ms: Option<u64>,
    pub(crate) length_max: u64,
    pub(crate) body_bytes_max: u64,
    pub(crate) overflow: Overflow,
    pub(crate) dead_letter: Option<DeadLetterTarget>,
    /// Maximum number of returns of a message; only quorum queues have a limit.
    pub(crate) delivery_limit: Option<u64>,
    /// Durability of messages to come, if the queue is logged.
    pub(crate) durability: Durability,
}

impl Settings {
    /// The settings of a queue with these valid arguments and these policies.
    pub(crate) fn of(arguments: &FieldTable, policies: &Applied) -> Settings {
        let kind = QueueKind::of(arguments).unwrap_or(QueueKind::Classic);
        let policy = &policies.effective();
        let source = Source { arguments, policy, is_quorum: kind == QueueKind::Quorum };
        Settings {
            expires_ms: source.expires_ms(),
            message_ttl_ms: source.smaller("x-message-ttl", "message-ttl"),
            length_max: source.smaller("x-max-length", "max-length").unwrap_or(u64::MAX),
            body_bytes_max: source.smaller("x-max-length-bytes", "max-length-bytes").unwrap_or(u64::MAX),
            overflow: source.overflow(),
            dead_letter: source.text("x-dead-letter-exchange", "dead-letter-exchange").map(|exchange| {
                let routing_key = source.text("x-dead-letter-routing-key", "dead-letter-routing-key");
                DeadLetterTarget { exchange: exchange.into(), routing_key: routing_key.map(Into::into) }
            }),
            delivery_limit: source.smaller("x-delivery-limit", "delivery-limit").filter(|_| source.is_quorum),
            durability: source.durability(policies.operator_setting("durability")),
        }
    }

    /// Returns true if messages may be refused or dropped by these settings.
    pub(crate) fn is_limiting(&self) -> bool {
        self.message_ttl_ms.is_some() || self.length_max != u64::MAX || self.body_bytes_max != u64::MAX
    }

    /// Returns true if a queue of this length is too long.
    #[inline]
    pub(crate) fn is_over(&self, count: u64, body_bytes: u64) -> bool {
        count > self.length_max || body_bytes > self.body_bytes_max
    }
}

/// Sources of the settings.
struct Source<'a> {
    arguments: &'a FieldTable,
    policy: &'a FieldTable,
    is_quorum: bool,
}

impl<'a> Source<'a> {
    /// The smaller of two numbers. A negative number is no limit.
    fn smaller(&self, argument: &str, setting: &str) -> Option<u64> {
        let given = [self.arguments.get(argument), self.policy.get(setting)];
        given.into_iter().flatten().filter_map(count_of).min()
    }

    fn text(&self, argument: &str, setting: &str) -> Option<&'a [u8]> {
        let given = [self.arguments.get(argument), self.policy.get(setting)];
        given.into_iter().flatten().find_map(FieldValue::as_bytes)
    }

    fn expires_ms(&self) -> Option<u64> {
        let policy = self.policy.get("expires").and_then(count_of);
        policy.filter(|_| self.is_quorum).or_else(|| self.smaller("x-expires", "expires"))
    }

    fn durability(&self, operator: Option<&FieldValue>) -> Durability {
        let stricter = || {
            let given = [self.arguments.get(DURABILITY), self.policy.get("durability")];
            given.into_iter().flatten().filter_map(Durability::of).max()
        };
        let given = operator.and_then(Durability::of).or_else(stricter);
        given.filter(|_| !self.is_quorum).unwrap_or_default()
    }

    fn overflow(&self) -> Overflow {
        let policy = self.policy.get("overflow").and_then(FieldValue::as_bytes);
        match policy.filter(|_| self.is_quorum).or_else(|| self.text("x-overflow", "overflow")) {
            Some(b"reject-publish") => Overflow::RejectPublish,
            Some(b"reject-publish-dlx") => Overflow::RejectPublishDeadLetter,
            _ => Overflow::DropHead,
        }
    }
}

fn count_of(value: &FieldValue) -> Option<u64> {
    u64::try_from(value.as_i64()?).ok()
}
