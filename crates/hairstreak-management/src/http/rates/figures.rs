//! `Figures`: the values of the whole node that have a history: counters of messages, churn, and the process.

use super::message_counts::{MESSAGE_COUNTER_COUNT, MessageCounts};

/// A figure of the node that is no counter of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    ConnectionCreated,
    ConnectionClosed,
    ChannelCreated,
    ChannelClosed,
    QueueDeclared,
    QueueCreated,
    QueueDeleted,
    MemUsed,
    FdUsed,
    SocketsUsed,
    ProcUsed,
    DiskFree,
}

/// How many figures there are.
const FIGURE_COUNT: usize = Figure::DiskFree as usize + 1;

/// A value of each counter of messages and of each figure, as [`History`](super::History) keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures(pub(super) [u64; MESSAGE_COUNTER_COUNT + FIGURE_COUNT]);

impl Figure {
    /// The place of the figure in [`Figures`]. Counters of messages stand before the figures.
    pub(crate) fn index(self) -> usize {
        MESSAGE_COUNTER_COUNT + self as usize
    }
}

impl Figures {
    pub(crate) fn set(&mut self, figure: Figure, value: u64) {
        self.0[figure.index()] = value;
    }

    pub(crate) fn add(&mut self, figure: Figure, value: u64) {
        self.0[figure.index()] += value;
    }

    pub(crate) fn get(&self, figure: Figure) -> u64 {
        self.0[figure.index()]
    }

    pub(crate) fn add_messages(&mut self, counts: &MessageCounts) {
        self.0.iter_mut().zip(counts.0).for_each(|(sum, value)| *sum += value);
    }

    pub(crate) fn messages(&self) -> MessageCounts {
        let mut counts = MessageCounts::default();
        counts.0.copy_from_slice(&self.0[..MESSAGE_COUNTER_COUNT]);
        counts
    }
}
