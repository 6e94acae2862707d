//! Views: owned copies of the objects of a virtual host, for operators. Showing a view holds no lock.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

use crate::queue::{Capacity, Durability, QueueKind};
use crate::stats::{ChannelStats, ExchangeStats, QueueStats};
use crate::vhost::{ChannelId, ConnectionId};

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueInfo {
    /// The name.
    pub name: Box<[u8]>,
    /// True if the queue survives a restart of the node.
    pub is_durable: bool,
    /// True if the queue is for one connection.
    pub is_exclusive: bool,
    /// True if the queue is deleted with its last consumer.
    pub is_auto_delete: bool,
    /// The arguments of the declaration.
    pub arguments: EncodedTable,
    /// Classic or quorum.
    pub kind: QueueKind,
    /// The connection of an exclusive queue.
    pub owner: Option<ConnectionId>,
    /// Messages that wait.
    pub ready: u64,
    /// Messages that are delivered and not settled.
    pub unacknowledged: u64,
    /// The bytes of the bodies that wait.
    pub ready_bytes: u64,
    /// The bytes of the bodies that are delivered and not settled.
    pub unacknowledged_bytes: u64,
    /// Number of consumers.
    pub consumer_count: usize,
    /// The share of time in which the queue can deliver at once, if it has consumers.
    pub capacity: Capacity,
    /// The tag of the consumer that takes all messages, if the queue has the argument `x-single-active-consumer`.
    pub single_active_consumer: Option<Box<[u8]>>,
    /// The tag of the consumer that has the queue for itself.
    pub exclusive_consumer: Option<Box<[u8]>>,
    /// The policies that apply.
    pub policies: QueuePolicies,
    /// The timestamp of the first message, in seconds since 1970, if the message has one. The first message is the earlier of
    /// two: the first that waits, and the first that a consumer has.
    pub head_timestamp: Option<u64>,
    /// The counters.
    pub stats: QueueStats,
    /// Time of the last use: the declaration, a request for a message, or the loss of the last consumer, in the host's
    /// milliseconds.
    pub used_at: u64,
    /// Where the queue and its messages are.
    pub storage: QueueStorage,
}

/// The memory of a queue, and its messages on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStorage {
    /// The memory of the queue and of its entries, in bytes. Messages are not in here: queues share them.
    pub memory_bytes: usize,
    /// Waiting messages that are on disk and not in memory.
    pub paged: u64,
    /// The bytes of their bodies.
    pub paged_bytes: u64,
    /// Durability of persistent messages that arrive now, by the arguments, the policies, and the node's data directory.
    pub durability: Durability,
}

/// The policies that apply to a queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePolicies {
    /// The name of the policy.
    pub user: Option<String>,
    /// The name of the operator policy.
    pub operator: Option<String>,
    /// The settings of both, merged. The arguments of the queue are not in here.
    pub effective: FieldTable,
}

/// A binding. The default exchange has no stored bindings: each queue is bound to it by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BindingInfo {
    /// The exchange that messages come from.
    pub source: Box<[u8]>,
    /// The queue or the exchange that messages go to.
    pub destination: Box<[u8]>,
    /// True if the destination is an exchange.
    pub is_to_exchange: bool,
    /// The routing key.
    pub routing_key: Box<[u8]>,
    /// The arguments.
    pub arguments: EncodedTable,
}

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The virtual host's name for the channel.
    pub id: ChannelId,
    /// The connection.
    pub connection: ConnectionId,
    /// The number on the connection.
    pub number: u16,
    /// Number of consumers, without the consumer of direct replies.
    pub consumer_count: usize,
    /// Number of unsettled deliveries of the channel.
    pub unacknowledged: usize,
    /// Deliveries that a transaction settles when it is committed.
    pub uncommitted_acks: usize,
    /// The prefetch count of consumers to come; 0: no limit.
    pub prefetch_count: u32,
    /// The prefetch count of all consumers together; 0: no limit.
    pub global_prefetch_count: u32,
    /// True if the client lets deliveries flow.
    pub is_flowing: bool,
    /// True if the client has asked for confirms.
    pub is_confirming: bool,
    /// True if the client has asked for transactions.
    pub is_transactional: bool,
    /// The counters.
    pub stats: ChannelStats,
}

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
    /// True if deliveries count as settled at once.
    pub no_ack: bool,
    /// True if the consumer has the queue for itself.
    pub is_exclusive: bool,
    /// Most unacknowledged deliveries; 0: no limit.
    pub prefetch_count: u32,
    /// The arguments.
    pub arguments: EncodedTable,
    /// True if the consumer may take messages. Only a consumer beside a single active one may not.
    pub is_active: bool,
    /// True if one consumer at a time takes the messages of the queue.
    pub is_of_single_active: bool,
    /// Number of unsettled deliveries of the consumer.
    pub unacknowledged: u32,
}

/// An exchange. The default exchange has an empty name.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeInfo {
    /// The name.
    pub name: Box<[u8]>,
    /// The type, such as `topic`.
    pub kind: Box<[u8]>,
    /// True if the exchange survives a restart of the node.
    pub is_durable: bool,
    /// True if the exchange is deleted with the last binding from it.
    pub is_auto_delete: bool,
    /// True if clients cannot publish to the exchange.
    pub is_internal: bool,
    /// The arguments of the declaration.
    pub arguments: EncodedTable,
    /// The name of the policy that applies.
    pub policy: Option<String>,
    /// The counters.
    pub stats: ExchangeStats,
}

/// A message that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeekInfo {
    /// Number of messages in front of this message.
    pub position: usize,
    /// Returns of the message so far.
    pub return_count: u16,
    /// True if the message was delivered before, or may have been.
    pub is_redelivered: bool,
    /// The priority that counts in the queue.
    pub priority: u8,
    /// True if the message is persistent.
    pub is_persistent: bool,
    /// Expiry time of the message, in the host's milliseconds. An expired message is removed when it is the first one.
    pub expires_at: Option<u64>,
}
