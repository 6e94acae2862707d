//! `QueueInfo`: a queue as operators see it, and `QueuePolicies`: the policies that apply to it.

use hairstreak_wire::amqp::{EncodedTable, FieldTable};

use crate::queue::{Capacity, QueueKind};
use crate::stats::QueueStats;
use crate::vhost::ConnectionId;

/// A queue.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueInfo {
    /// The name.
    pub name: Box<[u8]>,
    /// Whether the queue outlives the node.
    pub is_durable: bool,
    /// Whether the queue is for one connection.
    pub is_exclusive: bool,
    /// Whether the queue goes with its last consumer.
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
    /// How many consumers there are.
    pub consumer_count: usize,
    /// The share of time in which the queue can deliver at once, if it has consumers.
    pub capacity: Capacity,
    /// The tag of the consumer that takes all messages, if the queue has the argument `x-single-active-consumer`.
    pub single_active_consumer: Option<Box<[u8]>>,
    /// The tag of the consumer that has the queue for itself.
    pub exclusive_consumer: Option<Box<[u8]>>,
    /// The policies that apply.
    pub policies: QueuePolicies,
    /// The timestamp of the first message, in seconds since 1970, if the message has one. The first message is the first that waits or the first that a consumer
    /// has, whichever is earlier.
    pub head_timestamp: Option<u64>,
    /// The counters.
    pub stats: QueueStats,
    /// When the queue was declared, asked for a message, or lost its last consumer, in the host's milliseconds.
    pub used_at: u64,
    /// The memory of the queue and of its entries, in bytes. Messages are not in here: queues share them.
    pub memory_bytes: usize,
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
