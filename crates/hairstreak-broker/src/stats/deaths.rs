//! `DeathStats`: the messages that died in queues, by the reason.

use std::ops::AddAssign;

/// The messages that died in the queues of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeathStats {
    /// Those of queues that have an exchange for dead letters.
    pub dead_lettered: Deaths,
    /// Those of other queues.
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
