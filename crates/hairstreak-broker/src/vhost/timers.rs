//! `Timers`: when messages and queues expire.

use hairstreak_base::TimerQueue;

use crate::queue::QueueId;

/// The timers of a virtual host. Times are milliseconds.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// The expiry of the first message of each queue, or of an earlier first message.
    messages: TimerQueue<u64>,
    /// The expiry of each queue that is not used until then.
    queues: TimerQueue<u64>,
}

impl Timers {
    pub(super) fn new() -> Timers {
        Timers::default()
    }

    pub(super) fn next(&self) -> Option<u64> {
        [self.messages.next(), self.queues.next()].into_iter().flatten().min()
    }

    /// The first message of the queue expires then, or another one before.
    #[inline]
    pub(super) fn set_message_expiry(&mut self, queue: QueueId, at: u64) {
        if at != u64::MAX {
            self.messages.set_earlier(queue.0, at);
        }
    }

    pub(super) fn set_queue_expiry(&mut self, queue: QueueId, at: u64) {
        self.queues.set(queue.0, at);
    }

    pub(super) fn cancel_queue_expiry(&mut self, queue: QueueId) {
        self.queues.cancel(queue.0);
    }

    pub(super) fn cancel(&mut self, queue: QueueId) {
        self.messages.cancel(queue.0);
        self.queues.cancel(queue.0);
    }

    /// Returns a queue whose first message may have expired.
    pub(super) fn pop_message_expiry(&mut self, now: u64) -> Option<QueueId> {
        self.messages.pop_due(now).map(QueueId)
    }

    /// A queue that may have expired.
    pub(super) fn pop_queue_expiry(&mut self, now: u64) -> Option<QueueId> {
        self.queues.pop_due(now).map(QueueId)
    }
}
