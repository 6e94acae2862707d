//! `Delivery`: a received message that can be settled. `Refusal`: one that comes back to its sender.

use hairstreak_base::Message;
use hairstreak_wire::settlement::{TaskId, TaskRun};

/// A message of a settled link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The message itself.
    pub message: Message,
    /// What names it, on whatever links it comes; `None` from a peer that does not settle.
    pub task: Option<TaskId>,
    /// How often it was sent before: it may have been seen, here or elsewhere.
    pub deliveries: u16,
    pub(crate) mark: DeliveryMark,
}

/// Messages of one settled link, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub(crate) mark: DeliveryMark,
    pub(crate) count: u64,
    /// How many of them follow in sequence, from which task on, and so forth; empty from a peer that does not settle. Those that
    /// are groups ([`TaskRun::content`]) have been checked: [`split_group`](super::split_group) has their messages.
    pub runs: Vec<(TaskRun, u64)>,
}

impl Batch {
    /// Only the first messages, `count` of them.
    pub(crate) fn truncate(&mut self, count: u64) {
        let mut left = count;
        self.runs.retain_mut(|(_, number)| {
            *number = left.min(*number);
            left -= *number;
            *number > 0
        });
        self.count = count;
    }
}

/// Which message of which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeliveryMark {
    pub link: usize,
    pub serial: u32,
    pub number: u64,
}

/// A message that its sender has got back and sends no more.
pub type Refusal = hairstreak_wire::settlement::Refusal<Message>;
