//! Counters of queues, exchanges, channels and the virtual host. They only grow: a rate is the difference of two readings.
//!
//! Names and rules are RabbitMQ's: dead letters are no publishes, and only acknowledgements count as `ack`.

use std::ops::AddAssign;

/// The counters of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Messages that clients published, and that were routed to the queue.
    pub publish: u64,
    /// Deliveries to consumers that acknowledge.
    pub deliver: u64,
    /// Deliveries to consumers that do not acknowledge.
    pub deliver_no_ack: u64,
    /// Messages that `basic.get` took with acknowledgement.
    pub get: u64,
    /// Messages that `basic.get` took without acknowledgement.
    pub get_no_ack: u64,
    /// Calls of `basic.get` that found no message.
    pub get_empty: u64,
    /// Deliveries whose message was delivered before. They also count in the fields above.
    pub redeliver: u64,
    /// Deliveries that were acknowledged.
    pub ack: u64,
}

impl QueueStats {
    /// Counts a message that `basic.get` takes.
    pub(crate) fn note_get(&mut self, no_ack: bool, is_redelivered: bool) {
        if no_ack {
            self.get_no_ack += 1;
        } else {
            self.get += 1;
        }
        self.redeliver += u64::from(is_redelivered);
    }

    /// Deliveries of all four ways.
    pub fn deliver_get(&self) -> u64 {
        self.deliver + self.deliver_no_ack + self.get + self.get_no_ack
    }
}

impl AddAssign for QueueStats {
    fn add_assign(&mut self, other: QueueStats) {
        self.publish += other.publish;
        self.deliver += other.deliver;
        self.deliver_no_ack += other.deliver_no_ack;
        self.get += other.get;
        self.get_no_ack += other.get_no_ack;
        self.get_empty += other.get_empty;
        self.redeliver += other.redeliver;
        self.ack += other.ack;
    }
}

/// The counters of a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelStats {
    /// The counters that a queue has, too. `publish` counts each message once, for any number of queues.
    pub messages: QueueStats,
    /// Messages that were confirmed.
    pub confirm: u64,
    /// Messages without a queue that were returned: the client published them as mandatory.
    pub return_unroutable: u64,
    /// Messages without a queue that were dropped.
    pub drop_unroutable: u64,
}

/// The messages that died in the queues of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeathStats {
    /// Deaths in queues that have an exchange for dead letters.
    pub dead_lettered: Deaths,
    /// Deaths in other queues.
    pub dropped: Deaths,
}

/// Messages that died, by the reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deaths {
    /// A consumer rejected the message.
    pub rejected: u64,
    /// The message expired.
    pub expired: u64,
    /// The queue was too long.
    pub max_length: u64,
    /// The message came back too often.
    pub delivery_limit: u64,
}

impl AddAssign for DeathStats {
    fn add_assign(&mut self, other: DeathStats) {
        self.dead_lettered += other.dead_lettered;
        self.dropped += other.dropped;
    }
}

impl AddAssign for Deaths {
    fn add_assign(&mut self, other: Deaths) {
        self.rejected += other.rejected;
        self.expired += other.expired;
        self.max_length += other.max_length;
        self.delivery_limit += other.delivery_limit;
    }
}

/// The counters of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeStats {
    /// Messages that clients published to the exchange.
    pub publish_in: u64,
    /// Routings of these messages: each message counts once for each queue. A message that names one queue counts even if the
    /// queue does not exist.
    pub publish_out: u64,
}

/// The counters of a virtual host. Deleted queues and closed channels are included.
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
    /// Messages that clients published on channels with confirms. They also count in `publish`.
    pub publish_confirm: u64,
    /// Messages that were confirmed.
    pub confirm: u64,
    /// Messages without a queue that were returned.
    pub return_unroutable: u64,
    /// Messages without a queue that were dropped.
    pub drop_unroutable: u64,
    /// Declarations of queues that were answered. Passive ones and declarations of existing queues are included.
    pub queues_declared: u64,
    /// Queues that were created.
    pub queues_created: u64,
    /// Queues that were deleted, for any reason.
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
