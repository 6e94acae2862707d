//! `ChannelStats`: what a channel published, and what was delivered to it.

use super::queue::QueueStats;

/// The counters of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// The counters that a queue has, too. `publish` counts each message once, whatever the number of its queues.
    pub messages: QueueStats,
    /// Messages that were confirmed.
    pub confirm: u64,
    /// Messages without a queue that were returned: the client published them as mandatory.
    pub return_unroutable: u64,
    /// Messages without a queue that were dropped.
    pub drop_unroutable: u64,
}
