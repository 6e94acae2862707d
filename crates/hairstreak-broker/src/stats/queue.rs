//! `QueueStats`: how often messages of a queue were published, delivered and acknowledged.

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
    /// Messages that `basic.get` took, to be acknowledged.
    pub get: u64,
    /// Messages that `basic.get` took without acknowledgement.
    pub get_no_ack: u64,
    /// Calls of `basic.get` that found no message.
    pub get_empty: u64,
    /// Those of the deliveries whose message was delivered before.
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
