//! `HostStats`: the counters of a virtual host.

use std::ops::AddAssign;

use super::deaths::DeathStats;
use super::queue::QueueStats;

/// The counters of a virtual host, those of queues and channels that are gone included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostStats {
    /// The classic queues, summed.
    pub classic: QueueStats,
    /// The quorum queues, summed.
    pub quorum: QueueStats,
    /// Messages that died in classic queues.
    pub classic_deaths: DeathStats,
    /// Messages that died in quorum queues.
    pub quorum_deaths: DeathStats,
    /// Messages that clients published, each counted once.
    pub publish: u64,
    /// Those of them that came on channels with confirms.
    pub publish_confirm: u64,
    /// Messages that were confirmed.
    pub confirm: u64,
    /// Messages without a queue that were returned.
    pub return_unroutable: u64,
    /// Messages without a queue that were dropped.
    pub drop_unroutable: u64,
    /// Declarations of queues that were answered, passive ones and those of queues that existed included.
    pub queues_declared: u64,
    /// Queues that were created.
    pub queues_created: u64,
    /// Queues that were deleted, by whatever.
    pub queues_deleted: u64,
    /// Channels that were opened.
    pub channels_opened: u64,
    /// Channels that were closed.
    pub channels_closed: u64,
}

impl AddAssign for HostStats {
    fn add_assign(&mut self, other: HostStats) {
        self.classic += other.classic;
        self.quorum += other.quorum;
        self.classic_deaths += other.classic_deaths;
        self.quorum_deaths += other.quorum_deaths;
        self.publish += other.publish;
        self.publish_confirm += other.publish_confirm;
        self.confirm += other.confirm;
        self.return_unroutable += other.return_unroutable;
        self.drop_unroutable += other.drop_unroutable;
        self.queues_declared += other.queues_declared;
        self.queues_created += other.queues_created;
        self.queues_deleted += other.queues_deleted;
        self.channels_opened += other.channels_opened;
        self.channels_closed += other.channels_closed;
    }
}
