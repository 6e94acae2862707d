//! `Settings`: how a queue behaves now. Computed from what was declared; a policy's part comes in here later, and acts on
//! live queues because nothing else reads the declared arguments.

use hairstreak_wire::amqp::FieldTable;

use super::kind::QueueKind;

/// The fate of a message for which a queue has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overflow {
    /// The oldest message goes.
    #[default]
    DropHead,
    /// The new message is refused.
    RejectPublish,
    /// The new message is refused, and dead-lettered.
    RejectPublishDeadLetter,
}

/// Where dead letters of a queue go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeadLetterTarget {
    pub(crate) exchange: Box<[u8]>,
    /// `None`: the keys of the message.
    pub(crate) routing_key: Option<Box<[u8]>>,
}

/// How a queue behaves now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// After how long without use the queue goes, in milliseconds.
    pub(crate) expires_ms: Option<u64>,
    pub(crate) message_ttl_ms: Option<u64>,
    pub(crate) length_max: u64,
    pub(crate) body_bytes_max: u64,
    pub(crate) overflow: Overflow,
    pub(crate) dead_letter: Option<DeadLetterTarget>,
    /// How often a message may come back; only quorum queues have a limit.
    pub(crate) delivery_limit: Option<u64>,
}

impl Settings {
    /// The settings of a queue with these valid arguments, and no policy.
    pub(crate) fn of(arguments: &FieldTable) -> Settings {
        let number = |name: &str| arguments.get(name).and_then(|value| value.as_i64());
        let count = |name: &str| number(name).and_then(|value| u64::try_from(value).ok());
        let bytes = |name: &str| arguments.get(name).and_then(|value| value.as_bytes());
        let is_quorum = QueueKind::of(arguments) == Some(QueueKind::Quorum);
        Settings {
            expires_ms: count("x-expires"),
            message_ttl_ms: count("x-message-ttl"),
            length_max: count("x-max-length").unwrap_or(u64::MAX),
            body_bytes_max: count("x-max-length-bytes").unwrap_or(u64::MAX),
            overflow: match bytes("x-overflow") {
                Some(b"reject-publish") => Overflow::RejectPublish,
                Some(b"reject-publish-dlx") => Overflow::RejectPublishDeadLetter,
                _ => Overflow::DropHead,
            },
            dead_letter: bytes("x-dead-letter-exchange").map(|exchange| DeadLetterTarget {
                exchange: exchange.into(),
                routing_key: bytes("x-dead-letter-routing-key").map(Into::into),
            }),
            delivery_limit: count("x-delivery-limit").filter(|_| is_quorum),
        }
    }

    /// Whether messages may be refused or dropped by these settings.
    pub(crate) fn is_limiting(&self) -> bool {
        self.message_ttl_ms.is_some() || self.length_max != u64::MAX || self.body_bytes_max != u64::MAX
    }

    /// Whether a queue of this length is too long.
    #[inline]
    pub(crate) fn is_over(&self, count: u64, body_bytes: u64) -> bool {
        count > self.length_max || body_bytes > self.body_bytes_max
    }
}
