//! `ChannelInfo`: a channel as operators see it.

use crate::stats::ChannelStats;
use crate::vhost::{ChannelId, ConnectionId};

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelInfo {
    /// The virtual host's name for the channel.
    pub id: ChannelId,
    /// The connection.
    pub connection: ConnectionId,
    /// The number on the connection.
    pub number: u16,
    /// How many consumers the channel has. The consumer of direct replies is none.
    pub consumer_count: usize,
    /// Deliveries that the channel has to settle.
    pub unacknowledged: usize,
    /// Deliveries that a transaction settles when it is committed.
    pub uncommitted_acks: usize,
    /// The prefetch count of consumers to come; 0: no limit.
    pub prefetch_count: u32,
    /// The prefetch count of all consumers together; 0: no limit.
    pub global_prefetch_count: u32,
    /// Whether the client lets deliveries flow.
    pub is_flowing: bool,
    /// Whether the client has asked for confirms.
    pub is_confirming: bool,
    /// Whether the client has asked for transactions.
    pub is_transactional: bool,
    /// The counters.
    pub stats: ChannelStats,
}
