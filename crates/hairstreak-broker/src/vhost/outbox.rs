//! `HostOutbox`: takes the effects of a virtual host. The ids of connections, channels and consumers.
//!
//! - `Replies`: the addresses of direct replies, which need no queue.

use std::collections::HashMap;

use super::appends::{LogRun, LogTarget};
use crate::message::{Message, MessageView};
use crate::queue::Durability;

/// A connection to a virtual host. The server chooses the number; small numbers need less memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(pub u32);

/// A channel of a virtual host. The virtual host chooses the number, and chooses it again after the channel is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelId(pub u32);

/// A consumer of a virtual host, or the reply consumer of a channel. A number stands for one consumer at a time. It is reused
/// after the consumer is cancelled and its deliveries are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConsumerId(pub u32);

/// The recipient of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// The connection.
    pub connection: ConnectionId,
    /// The number of the channel on its connection.
    pub channel_number: u16,
    /// The consumer, for tables of the implementation of [`HostOutbox`].
    pub consumer: ConsumerId,
    /// The consumer's tag.
    pub consumer_tag: Box<[u8]>,
}

/// Room for more deliveries to a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The connection takes more.
    More,
    /// The connection has taken this delivery, and accepts no more until `VirtualHost::handle_room`.
    Full,
}

/// Takes the effects of a virtual host.
///
/// Invariant: an implementation never calls back into the virtual host, and never waits.
pub trait HostOutbox {
    /// Puts one delivery into the pending output of the consumer's connection.
    fn deliver(
        &mut self,
        to: &Recipient,
        delivery_tag: u64,
        is_redelivered: bool,
        message: &MessageView<'_>,
    ) -> Room;

    /// Notifies the consumer that the broker cancelled it, because its queue was deleted.
    fn cancel(&mut self, to: &Recipient);

    /// Puts a message into the message log, with the places that it has in logged queues. `moved`: the dead message that it comes
    /// from, which leaves its queue. `durability`: the strictest of these queues.
    fn append(
        &mut self,
        _message: &Message<'_>,
        _targets: &[LogTarget],
        _moved: Option<LogRun>,
        _durability: Durability,
    ) {
    }

    /// Writes a message that the message log does not have to the pages of its queue. The id of the pages stands in the place of the
    /// queue's id. `return_count`: returns of the message so far.
    fn write_page(&mut self, _message: &Message<'_>, _target: LogTarget, _return_count: u16) {}

    /// Ends the wait of the connection: `VirtualHost::has_to_wait`.
    fn wake(&mut self, _connection: ConnectionId) {}

    /// The connection has left: nothing of it is in the host, and its number may be used again.
    fn has_left(&mut self, _connection: ConnectionId) {}
}

/// The name that clients consume from, and put into the property reply-to.
pub(super) const REPLY_TO: &[u8] = b"amq.rabbitmq.reply-to";
/// The prefix of each address.
pub(super) const ADDRESS_PREFIX: &str = "amq.rabbitmq.reply-to.";

/// Returns true if a routing key is an address of direct replies.
#[inline]
pub(super) fn is_address(key: &[u8]) -> bool {
    key.starts_with(ADDRESS_PREFIX.as_bytes())
}

/// The reply consumers by address.
pub(super) type Replies = HashMap<Box<[u8]>, ConsumerId, foldhash::fast::RandomState>;
