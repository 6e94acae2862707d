//! `ConsumerInfo`: a consumer as operators see it.

use hairstreak_wire::amqp::EncodedTable;

use crate::vhost::{ChannelId, ConnectionId};

/// A consumer of a queue.
#[derive(Clone, Debug, PartialEq)]
pub struct ConsumerInfo {
    /// The tag.
    pub tag: Box<[u8]>,
    /// The queue.
    pub queue: Box<[u8]>,
    /// The channel.
    pub channel: ChannelId,
    /// The connection of the channel.
    pub connection: ConnectionId,
    /// The number of the channel on its connection.
    pub channel_number: u16,
    /// Whether deliveries count as settled at once.
    pub no_ack: bool,
    /// Whether the consumer has the queue for itself.
    pub is_exclusive: bool,
    /// How many deliveries may be unacknowledged; 0: no limit.
    pub prefetch_count: u32,
    /// The arguments.
    pub arguments: EncodedTable,
    /// Whether the consumer may take messages. Only a consumer beside a single active one may not.
    pub is_active: bool,
    /// Whether one consumer at a time takes the messages of the queue.
    pub is_of_single_active: bool,
    /// Deliveries that the consumer has to settle.
    pub unacknowledged: u32,
}
