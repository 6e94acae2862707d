//! `LoopSet`: all loops as the others see them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::mailbox::Mailbox;
use super::options::LoopOptions;

/// All loops as the others see them: their mailboxes with letters `L`, and how many connections each has.
pub(super) struct LoopSet<L> {
    pub options: LoopOptions,
    mailboxes: Vec<Mailbox<L>>,
    /// The bound of connections, at first that of the options.
    connections_max: AtomicUsize,
    /// Connections of each loop, those on their way to it among them.
    counts: Vec<AtomicUsize>,
}

impl<L> LoopSet<L> {
    pub fn new(options: LoopOptions, mailboxes: Vec<Mailbox<L>>) -> LoopSet<L> {
        let counts = mailboxes.iter().map(|_| AtomicUsize::new(0)).collect();
        LoopSet { connections_max: AtomicUsize::new(options.connections_max), options, mailboxes, counts }
    }

    pub fn loop_count(&self) -> usize {
        self.mailboxes.len()
    }

    pub fn mailbox(&self, loop_index: usize) -> &Mailbox<L> {
        &self.mailboxes[loop_index]
    }

    /// Whether one connection more is within the bound.
    pub fn has_room(&self) -> bool {
        self.connection_counts().sum::<usize>() < self.connections_max.load(Relaxed)
    }

    /// Changes the bound of connections. Those beyond it stay.
    pub fn set_connections_max(&self, connections_max: usize) {
        self.connections_max.store(connections_max, Relaxed);
    }

    /// Connections of each loop.
    pub fn connection_counts(&self) -> impl Iterator<Item = usize> {
        self.counts.iter().map(|count| count.load(Relaxed))
    }

    /// The loop for a new connection: the one that is asked for, or the one with the fewest connections. Counts the connection.
    pub fn place(&self, loop_index: Option<usize>) -> usize {
        let fewest = || {
            let counts = self.connection_counts().enumerate();
            counts.min_by_key(|(_, count)| *count).map_or(0, |(index, _)| index)
        };
        let loop_index = loop_index.map_or_else(fewest, |index| index % self.loop_count());
        self.counts[loop_index].fetch_add(1, Relaxed);
        loop_index
    }

    pub fn connection_has_ended(&self, loop_index: usize) {
        self.counts[loop_index].fetch_sub(1, Relaxed);
    }
}
