//! `LoopSet`: all loops as the others see them.

use std::collections::VecDeque;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::mailbox::Mailbox;
use super::options::LoopOptions;

/// All loops as other loops see them: their mailboxes with letters `L`, and their numbers of connections.
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

    /// Returns `true` if the bound permits one more connection.
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

    /// The loop for a new connection: the requested loop, or the loop with the fewest connections. Counts the connection.
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

/// Letters on their way out of one loop.
pub(super) struct Post<L> {
    loop_index: usize,
    /// Letters for this loop's own connections.
    pub own: VecDeque<L>,
    /// Letters for the other loops, by loop.
    others: Vec<Vec<L>>,
    /// Something is in `others`.
    has_others: bool,
}

impl<L> Post<L> {
    pub fn new(loop_count: usize, loop_index: usize) -> Post<L> {
        let others = (0..loop_count).map(|_| Vec::new()).collect();
        Post { loop_index, own: VecDeque::new(), others, has_others: false }
    }

    #[inline]
    pub fn put(&mut self, loop_index: usize, letter: L) {
        if loop_index == self.loop_index {
            self.own.push_back(letter);
        } else {
            self.has_others = true;
            self.others[loop_index].push(letter);
        }
    }

    /// Posts the letters gathered for the other loops.
    pub fn send(&mut self, loops: &LoopSet<L>) {
        if !std::mem::take(&mut self.has_others) {
            return;
        }
        for (loop_index, letters) in self.others.iter_mut().enumerate() {
            if !letters.is_empty() {
                loops.mailbox(loop_index).put(letters);
            }
        }
    }
}
