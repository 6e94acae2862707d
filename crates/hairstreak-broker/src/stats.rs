//! Counters of queues, exchanges, channels and the virtual host. They only grow: a rate is the difference of two readings.
//!
//! Names and rules are RabbitMQ's: dead letters are no publishes, and only acknowledgements count as `ack`.

use std::ops::AddAssign;

/// Counters that are summed field by field.
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: $name) {
                $(self.$field += other.$field;)*
            }
        }
    };
}

counters! {
    /// The counters of a queue.
    QueueStats {
        /// Messages that clients published, and that were routed to the queue.
        publish: u64,
        /// Deliveries to consumers that acknowledge.
        deliver: u64,
        /// Deliveries to consumers that do not acknowledge.
        deliver_no_ack: u64,
        /// Messages that `basic.get` took with acknowledgement.
        get: u64,
        /// Messages that `basic.get` took without acknowledgement.
        get_no_ack: u64,
        /// Calls of `basic.get` that found no message.
        get_empty: u64,
        /// Deliveries whose message was delivered before. They also count in the fields above.
        redeliver: u64,
        /// Deliveries that were acknowledged.
        ack: u64,
    }
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

counters! {
    /// The messages that died in the queues of a kind.
    DeathStats {
        /// Deaths in queues that have an exchange for dead letters.
        dead_lettered: Deaths,
        /// Deaths in other queues.
        dropped: Deaths,
    }
}

counters! {
    /// Messages that died, by the reason.
    Deaths {
        /// A consumer rejected the message.
        rejected: u64,
        /// The message expired.
        expired: u64,
        /// The queue was too long.
        max_length: u64,
        /// The message came back too often.
        delivery_limit: u64,
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

counters! {
    /// The counters of a virtual host. Deleted queues and closed channels are included.
    HostStats {
        /// The classic queues, summed.
        classic: QueueStats,
        /// The quorum queues, summed.
        quorum: QueueStats,
        /// Messages that died in classic queues.
        classic_deaths: DeathStats,
        /// Messages that died in quorum queues.
        quorum_deaths: DeathStats,
        /// Messages that clients published, each counted once.
        publish: u64,
        /// Messages that clients published on channels with confirms. They also count in `publish`.
        publish_confirm: u64,
        /// Messages that were confirmed.
        confirm: u64,
        /// Messages without a queue that were returned.
        return_unroutable: u64,
        /// Messages without a queue that were dropped.
        drop_unroutable: u64,
        /// Declarations of queues that were answered. Passive ones and declarations of existing queues are included.
        queues_declared: u64,
        /// Queues that were created.
        queues_created: u64,
        /// Queues that were deleted, for any reason.
        queues_deleted: u64,
        /// Channels that were opened.
        channels_opened: u64,
        /// Channels that were closed.
        channels_closed: u64,
    }
}
