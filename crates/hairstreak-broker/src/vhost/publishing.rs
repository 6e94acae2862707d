//! `Publishing`: a message that takes more than one call. Its way through the exchanges is long, or it is routed to very many
//! queues.
//!
//! In between others may publish, and queues may be declared or deleted. Each queue has the messages of one channel in order,
//! because the channel waits. A queue that is declared later does not get the message. A deleted queue is skipped, even if
//! another queue has its number now.

use hairstreak_base::Bytes;

use super::outbox::ChannelId;
use super::route::{Published, Unrouted};
use crate::exchange::ExchangeId;
use crate::message::{Attributes, BodyView, Message, MessageId};
use crate::queue::{Durability, QueueId, Reason};

/// The publisher of a message, which gets the outcome.
#[derive(Clone, Copy, Debug)]
pub struct PublishedBy {
    /// The channel.
    pub channel: ChannelId,
    /// True if the message is returned when it has no queue.
    pub is_mandatory: bool,
}

/// Messages that a channel has published along one route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublishRun {
    /// The number of messages.
    pub message_count: u64,
    /// The number of messages that a queue refused.
    pub refused_count: u64,
    /// True if messages without a queue are returned.
    pub is_mandatory: bool,
}

impl PublishRun {
    /// One message that was published.
    #[inline]
    pub fn one(published: Published, is_mandatory: bool) -> PublishRun {
        let refused_count = u64::from(published == Published::Refused);
        PublishRun { message_count: 1, refused_count, is_mandatory }
    }
}

/// The outcome of a message that took more than one call.
#[derive(Debug)]
pub struct Outcome {
    /// True if the message is returned when it has no queue.
    pub is_mandatory: bool,
    /// The result of the routing.
    pub published: Published,
    /// The message.
    pub message: OwnedMessage,
}

/// A message that owns its bytes.
#[derive(Debug)]
pub struct OwnedMessage {
    exchange: Box<[u8]>,
    routing_key: Box<[u8]>,
    properties: Box<[u8]>,
    attributes: Attributes,
    body: OwnedBody,
}

#[derive(Debug)]
enum OwnedBody {
    Copied(Box<[u8]>),
    Shared(Bytes),
}

impl OwnedMessage {
    pub(super) fn of(message: &Message<'_>) -> OwnedMessage {
        OwnedMessage {
            exchange: message.exchange.into(),
            routing_key: message.routing_key.into(),
            properties: message.properties.into(),
            attributes: message.attributes,
            body: match message.body {
                BodyView::Copied(body) => OwnedBody::Copied(body.into()),
                BodyView::Shared(body) => OwnedBody::Shared(body.clone()),
            },
        }
    }

    /// The message.
    pub fn message(&self) -> Message<'_> {
        Message {
            exchange: &self.exchange,
            routing_key: &self.routing_key,
            properties: &self.properties,
            attributes: self.attributes,
            body: match &self.body {
                OwnedBody::Copied(body) => BodyView::Copied(body),
                OwnedBody::Shared(body) => BodyView::Shared(body),
            },
        }
    }
}

/// A message that has not reached all its queues.
#[derive(Debug)]
pub(super) struct Publishing {
    /// The publisher; `None`: a dead letter.
    pub(super) by: Option<PublishedBy>,
    pub(super) exchange: ExchangeId,
    pub(super) message: OwnedMessage,
    /// The rest of the way, until all queues are found.
    pub(super) unrouted: Option<Box<Unrouted>>,
    /// The queues that were found, with their serials.
    pub(super) targets: Vec<(QueueId, u64)>,
    /// The number of targets that have the message or were passed over.
    pub(super) served_count: usize,
    pub(super) stored: Option<MessageId>,
    pub(super) published: Published,
    /// The durability that the confirm waits for.
    pub(super) durability: Durability,
    /// The reason of a death. Queues that the dead letter would go round to are passed over.
    pub(super) reason: Option<Reason>,
}
