//! `Channel`: the state of one channel: incoming content, confirms, and a transaction.
//!
//! ```text
//!   open --basic.publish--> Header --content header--> Body --the last body frame--> open
//!   open --an error of its scope--> closing (all but close-ok is dropped) --channel.close-ok--> gone
//! ```

use hairstreak_broker::Refusal;
use hairstreak_broker::vhost::ChannelId;
use hairstreak_wire::amqp::ReplyCode;

use super::body::Assembly;
use super::confirms::Confirms;
use super::memo::Memo;
use super::publish::Publish;
use super::transaction::Transaction;
use crate::access::ChannelSlot;
use crate::node::Publisher;

/// One channel.
pub(super) struct Channel {
    /// The virtual host's name for the channel.
    pub id: ChannelId,
    pub number: u16,
    /// The last message that was published.
    pub memo: Memo,
    pub content: Content,
    /// The channel's entry in the count of channels that have published.
    pub publisher: Option<Publisher>,
    /// The client has asked for confirms.
    pub confirms: Option<Confirms>,
    /// The client has asked for transactions.
    pub transaction: Option<Transaction>,
    /// The last declared queue: an empty name refers to it.
    pub last_queue: Box<[u8]>,
    /// The place among the channels of the user.
    _slot: ChannelSlot,
}

impl Channel {
    pub fn new(id: ChannelId, number: u16, slot: ChannelSlot) -> Channel {
        Channel {
            id,
            number,
            memo: Memo::default(),
            content: Content::None,
            publisher: None,
            confirms: None,
            transaction: None,
            last_queue: Box::default(),
            _slot: slot,
        }
    }

    /// Returns true if publishers wait for an answer to each message. RabbitMQ takes a transaction for a kind of confirm.
    pub fn is_confirming(&self) -> bool {
        self.confirms.is_some() || self.transaction.is_some()
    }

    /// Returns true if a message is incomplete.
    pub fn is_in_content(&self) -> bool {
        !matches!(self.content, Content::None)
    }
}

/// Received part of a message.
pub(super) enum Content {
    /// No message is incomplete.
    None,
    /// basic.publish came. The content header is next.
    Header(Publish),
    /// The content header came. Bytes of the body are missing.
    Body(Box<Assembly>),
}

/// Returns `name`, or the queue that the channel declared last if `name` is empty.
///
/// # Errors
///
/// `NOT_FOUND`: the name is empty and the channel has declared no queue.
pub(super) fn queue_name<'a>(last_queue: &'a [u8], name: &'a [u8]) -> Result<&'a [u8], Refusal> {
    match (name, last_queue) {
        ([], []) => Err(Refusal::new(ReplyCode::NotFound, "no previously declared queue")),
        ([], last) => Ok(last),
        (name, _) => Ok(name),
    }
}

/// Returns the routing key of a binding. Without a queue and a key it is the name of the queue that the channel declared last.
pub(super) fn routing_key<'a>(last_queue: &'a [u8], queue: &[u8], key: &'a [u8]) -> &'a [u8] {
    if queue.is_empty() && key.is_empty() { last_queue } else { key }
}
