//! `QueueCounts`: the counts of a queue. Its other counters are computed from these and its content, so that a message on its
//! usual path needs no counting.
//!
//! ```text
//!   arrived = publish - refused + letters          the sequence numbers say how many
//!   arrived = ready + unacknowledged + ack + get_no_ack + deliver_no_ack + gone
//!   deliver + get = unacknowledged + ack + returned
//! ```

use super::ready::Ready;
use crate::stats::QueueStats;

/// The counts of a queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueCounts {
    /// The counters without `publish`, `deliver` and `deliver_no_ack`.
    pub(crate) counted: QueueStats,
    /// Deliveries that were settled without an acknowledgement: rejected, or given back.
    pub(crate) returned: u64,
    /// Messages that left in another way than to a consumer: dead, purged, or dropped with the queue.
    pub(crate) gone: u64,
    /// Messages that the queue had no room for.
    pub(crate) refused: u64,
    /// Messages that no client published: dead letters, and messages of an earlier run of the node.
    pub(crate) letters: u64,
    /// Dead letters of this queue that are not written.
    pub(crate) unwritten_letters: usize,
}

impl QueueCounts {
    /// The counters of a queue with these counts and messages.
    pub(super) fn stats(&self, ready: &Ready, unacknowledged: u64) -> QueueStats {
        let QueueStats { ack, get, get_no_ack, .. } = self.counted;
        let arrived = ready.arrived_count();
        let left = unacknowledged + ack + get_no_ack + self.gone;
        QueueStats {
            publish: arrived + self.refused - self.letters,
            deliver: unacknowledged + ack + self.returned - get,
            deliver_no_ack: arrived - ready.count() as u64 - left,
            ..self.counted
        }
    }
}
