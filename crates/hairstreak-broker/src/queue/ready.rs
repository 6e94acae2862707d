//! `Ready`: the messages that wait in a queue, a list for each priority.
//!
//! Invariants: `occupied` has a bit for each list that is not empty; the counts and bytes are the sums over all lists.

use super::entries::{Entries, Entry, NEVER};

/// The messages that wait in one queue, the highest priority first, each priority in the order of arrival.
#[derive(Debug)]
pub(crate) struct Ready {
    /// The lists by priority.
    lists: Vec<Entries>,
    occupied: [u64; 4],
    count: usize,
    /// The bytes of the bodies.
    body_bytes: u64,
    memory_bytes: usize,
    last_sequence: u64,
    /// Sequence numbers that no message of this run has.
    skipped_count: u64,
    /// True if an expiring message has come since the lists were empty.
    may_expire: bool,
}

impl Ready {
    /// Lists for the priorities up to `priority_max`.
    pub(crate) fn new(priority_max: u8) -> Ready {
        Ready {
            lists: (0..=priority_max).map(|_| Entries::new()).collect(),
            occupied: [0; 4],
            count: 0,
            body_bytes: 0,
            memory_bytes: 0,
            last_sequence: 0,
            skipped_count: 0,
            may_expire: false,
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(crate) fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// The memory of the lists, in bytes.
    #[inline]
    pub(crate) fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// Returns true if a waiting message may expire.
    #[inline]
    pub(crate) fn may_expire(&self) -> bool {
        self.may_expire
    }

    /// Counts an arriving message, which waits or is delivered at once.
    #[inline]
    pub(crate) fn note_arrival(&mut self) {
        self.last_sequence += 1;
    }

    /// The sequence number of the message that arrived last.
    #[inline]
    pub(crate) fn last_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Continues behind a place of an earlier run.
    pub(crate) fn skip_to(&mut self, sequence: u64) {
        let skipped_count = sequence.saturating_sub(self.last_sequence);
        (self.last_sequence, self.skipped_count) =
            (self.last_sequence + skipped_count, self.skipped_count + skipped_count);
    }

    /// Returns the number of messages that have arrived in all.
    pub(crate) fn arrived_count(&self) -> u64 {
        self.last_sequence - self.skipped_count
    }

    /// The list of a message with this priority.
    #[inline]
    pub(crate) fn list_of(&self, priority: u8) -> u8 {
        priority.min((self.lists.len() - 1) as u8)
    }

    /// Appends a message that arrives.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry, body_size: u32) {
        let grown = self.lists[entry.priority as usize].push_back(entry);
        self.note_added(&entry, body_size, grown);
    }

    /// Puts a message back in its place.
    pub(crate) fn insert(&mut self, entry: Entry, body_size: u32) {
        let grown = self.lists[entry.priority as usize].insert(entry);
        self.note_added(&entry, body_size, grown);
    }

    #[inline]
    fn note_added(&mut self, entry: &Entry, body_size: u32, grown: usize) {
        self.memory_bytes += grown;
        self.occupied[entry.priority as usize / 64] |= 1 << (entry.priority % 64);
        self.count += 1;
        self.body_bytes += u64::from(body_size);
        self.may_expire |= entry.expires_at != NEVER;
    }

    /// The highest priority of a message that waits.
    #[inline]
    fn highest(&self) -> Option<u8> {
        (0..4)
            .rev()
            .find(|word| self.occupied[*word] != 0)
            .map(|word| (word * 64) as u8 + (63 - self.occupied[word].leading_zeros() as u8))
    }

    /// The message that is delivered next.
    #[inline]
    pub(crate) fn front(&self) -> Option<&Entry> {
        self.lists[self.highest()? as usize].front()
    }

    /// The first message, if it has expired by `now`. As in RabbitMQ, messages behind the first one stay.
    #[inline]
    pub(crate) fn expired_front(&self, now: u64) -> Option<Entry> {
        if !self.may_expire {
            return None;
        }
        self.front().filter(|front| front.expires_at <= now).copied()
    }

    /// Returns the expiry time of the first message, or [`NEVER`].
    pub(crate) fn next_expiry(&self) -> u64 {
        if !self.may_expire {
            return NEVER;
        }
        self.front().map_or(NEVER, |front| front.expires_at)
    }

    /// Takes the first message of the list of that priority. `body_size` is the message's.
    #[inline]
    pub(crate) fn remove_front(&mut self, priority: u8, body_size: u32) -> Option<Entry> {
        let list = &mut self.lists[priority as usize];
        let mut freed = 0;
        let entry = list.pop_front(&mut freed)?;
        self.memory_bytes -= freed;
        if list.is_empty() {
            self.occupied[priority as usize / 64] &= !(1 << (priority % 64));
        }
        self.count -= 1;
        self.body_bytes -= u64::from(body_size);
        self.may_expire &= self.count > 0;
        Some(entry)
    }

    /// The messages behind the first `count`, in the order in which they are delivered.
    pub(crate) fn iter_behind(&self, mut count: usize) -> impl Iterator<Item = &Entry> {
        self.lists.iter().rev().flat_map(move |list| {
            let passed = count.min(list.count());
            count -= passed;
            list.iter_behind(passed)
        })
    }

    /// All messages that wait, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.lists.iter().flat_map(Entries::iter)
    }

    /// Takes all messages and the memory of the lists.
    pub(crate) fn take_all(&mut self) -> Ready {
        let mut empty = Ready::new((self.lists.len() - 1) as u8);
        (empty.last_sequence, empty.skipped_count) = (self.last_sequence, self.skipped_count);
        std::mem::replace(self, empty)
    }
}
