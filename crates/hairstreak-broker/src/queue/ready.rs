//! `Ready`: the messages that wait in a queue, a list for each priority.
//!
//! A part of the messages may be on disk only ([`Paged`]). Messages with priorities are delivered once all are in memory.
//!
//! Invariants: `occupied` has a bit for each list whose messages can be delivered; the counts and bytes are the sums over all lists
//! and the messages on disk.

use super::entries::{Entries, Entry, NEVER};
use super::lease::Lease;
use super::paged::{MESSAGE_OVERHEAD, Paged, StoredMessages, StoredPages};

/// Messages of a queue that stay in memory when others go to disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    /// Bytes of messages.
    pub(crate) bytes: u64,
    /// The first message stays, however long.
    pub(crate) has_first: bool,
    /// Messages that were delivered before stay.
    pub(crate) has_returned: bool,
}

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
    paged: Option<Box<Paged>>,
    /// The first message was wanted while it was on disk, and not taken since. The message stays in memory.
    is_front_wanted: bool,
    /// The messages that may be delivered.
    pub(crate) lease: Lease,
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
            paged: None,
            is_front_wanted: false,
            lease: Lease::new(false),
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
        if self.paged.is_some() {
            return self.push_behind_paged(entry, body_size);
        }
        let grown = self.lists[entry.priority as usize].push_back(entry);
        self.note_listed(&entry, grown);
        self.note_added(body_size);
    }

    #[cold]
    fn push_behind_paged(&mut self, entry: Entry, body_size: u32) {
        let Some(paged) = &mut self.paged else { return };
        self.memory_bytes += paged.push(entry, body_size);
        self.may_expire |= entry.expires_at != NEVER;
        self.note_added(body_size);
    }

    /// Puts a message back in its place.
    pub(crate) fn insert(&mut self, entry: Entry, body_size: u32) {
        let grown = self.lists[entry.priority as usize].insert(entry);
        self.note_listed(&entry, grown);
        self.note_added(body_size);
    }

    #[inline]
    fn note_listed(&mut self, entry: &Entry, grown: usize) {
        self.memory_bytes += grown;
        self.occupied[entry.priority as usize / 64] |= 1 << (entry.priority % 64);
        self.may_expire |= entry.expires_at != NEVER;
    }

    #[inline]
    fn note_added(&mut self, body_size: u32) {
        self.count += 1;
        self.body_bytes += u64::from(body_size);
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
        self.is_front_wanted = false;
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

    /// All messages that wait in memory, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        let tail = self.paged.iter().flat_map(|paged| paged.tail.iter());
        self.lists.iter().flat_map(Entries::iter).chain(tail)
    }

    /// The messages on disk, and those behind them.
    #[inline]
    pub(crate) fn paged(&self) -> Option<&Paged> {
        self.paged.as_deref()
    }

    /// Returns true if messages wait and the first one is on disk.
    #[inline]
    pub(crate) fn is_front_on_disk(&self) -> bool {
        self.paged.is_some() && self.front().is_none() && self.count > 0
    }

    /// Returns true if so many bytes of messages are in memory that the messages behind the first `bytes` of them may go to disk.
    pub(crate) fn has_pages(&self, bytes: u64) -> bool {
        let estimate = self.body_bytes + MESSAGE_OVERHEAD * self.count as u64;
        self.lists.len() == 1 && (self.paged.is_some() || estimate >= 4 * bytes)
    }

    /// Prepares messages to go to disk. Those stay that `kept` says. `bytes_min`: bytes that are worth it. `page_id` returns a new id
    /// of pages.
    pub(crate) fn split(&mut self, kept: Kept, bytes_min: u64, page_id: impl FnOnce() -> u64) {
        let [list] = &mut self.lists[..] else { return };
        if self.paged.is_some() {
            return;
        }
        let estimate = self.body_bytes / (self.count as u64).max(1) + MESSAGE_OVERHEAD;
        let kept_count = (kept.bytes / estimate) as usize + usize::from(kept.has_first);
        let returned_count = if kept.has_returned { list.partition_point(Entry::is_redelivered) } else { 0 };
        let kept_count = kept_count.max(returned_count);
        let tail_bytes = estimate * list.count().saturating_sub(kept_count) as u64;
        if tail_bytes >= bytes_min {
            let (tail, grown) = list.split_off(kept_count);
            if list.is_empty() {
                self.occupied = [0; 4];
            }
            self.memory_bytes = self.memory_bytes.saturating_add_signed(grown);
            self.paged = Some(Box::new(Paged::of_tail(page_id(), tail, tail_bytes)));
        }
    }

    /// Begins to write messages behind those on disk. See [`Paged::begin_writing`].
    pub(crate) fn begin_writing(
        &mut self,
        bytes: (u64, u64),
        size_of: impl Fn(&Entry) -> u32,
    ) -> Option<(Vec<Entry>, u64)> {
        self.paged.as_mut()?.begin_writing(bytes, size_of)
    }

    /// Ends writing up to a place. Returns false if nothing of these pages was being written up to there.
    pub(crate) fn end_writing(&mut self, page_id: u64, through: u64) -> bool {
        self.paged.as_mut().is_some_and(|paged| paged.page_id == page_id && paged.end_writing(through))
    }

    /// Leaves the next written message to the disk. `size_of` returns the body size of a message.
    pub(crate) fn leave_to_disk(
        &mut self,
        through: u64,
        size_of: impl FnOnce(&Entry) -> u32,
    ) -> Option<Entry> {
        let paged = self.paged.as_mut()?;
        let mut freed = 0;
        let entry = paged.take_written(through, &mut freed)?;
        self.memory_bytes -= freed;
        let body_size = size_of(&entry);
        if paged.count == 0 {
            paged.first = entry.sequence;
        }
        (paged.last, paged.count) = (entry.sequence, paged.count + 1);
        paged.body_bytes += u64::from(body_size);
        paged.logged_count += usize::from(entry.marks.is_logged());
        Some(entry)
    }

    /// Returns true if the first message belongs in memory: a client waits for the message, messages may expire, or the queue has
    /// priorities.
    pub(crate) fn needs_front(&self) -> bool {
        self.is_front_wanted || self.may_expire || self.lists.len() > 1
    }

    /// Notes that a client waits for the first message, which is on disk.
    pub(crate) fn want_front(&mut self) {
        self.is_front_wanted = true;
    }

    /// Begins to read messages if few are in front of those on disk. Messages with priorities are all read. Returns whether reading
    /// begins.
    pub(crate) fn begin_reading(&mut self) -> bool {
        let waiting_count = if let [list] = &self.lists[..] { list.count() } else { 0 };
        self.paged.as_mut().is_some_and(|paged| paged.begin_reading(waiting_count))
    }

    /// Adds a message that was read from the disk.
    pub(crate) fn push_read(&mut self, entry: Entry, body_size: u32) {
        let Some(paged) = &mut self.paged else { return };
        paged.count = paged.count.saturating_sub(1);
        paged.body_bytes = paged.body_bytes.saturating_sub(u64::from(body_size));
        paged.logged_count = paged.logged_count.saturating_sub(usize::from(entry.marks.is_logged()));
        let grown = self.lists[entry.priority as usize].push_back(entry);
        if self.lists.len() == 1 {
            self.note_listed(&entry, grown);
        } else {
            // Messages of higher priorities may follow.
            self.memory_bytes += grown;
            self.may_expire |= entry.expires_at != NEVER;
        }
    }

    /// Ends reading of messages up to the place `next`, of which `read_count` came into memory. Returns the number of messages that
    /// are lost: all places on disk were read, and the disk did not have them.
    pub(crate) fn end_reading(&mut self, next: u64, read_count: usize) -> usize {
        let Some(paged) = &mut self.paged else { return 0 };
        paged.end_reading(read_count);
        paged.first = next;
        if next <= paged.last || paged.count == 0 {
            return 0;
        }
        self.body_bytes -= std::mem::take(&mut paged.body_bytes);
        paged.logged_count = 0;
        let lost_count = std::mem::take(&mut paged.count);
        self.count -= lost_count;
        lost_count
    }

    /// Joins the messages in memory if no message is on disk or on its way. Returns the id of the abandoned pages.
    pub(crate) fn join(&mut self) -> Option<u64> {
        let is_drained = self.front().is_none();
        let paged = self.paged.take_if(|paged| paged.count == 0 && (is_drained || !paged.is_writing()))?;
        let page_id = paged.page_id;
        self.add_tail(paged.tail);
        Some(page_id)
    }

    /// Moves messages behind the others, each to the list of its priority.
    fn add_tail(&mut self, mut tail: Entries) {
        if let [list] = &mut self.lists[..] {
            self.memory_bytes -= list.append(tail);
        } else {
            let mut freed = 0;
            while let Some(entry) = tail.pop_front(&mut freed) {
                self.memory_bytes += self.lists[entry.priority as usize].push_back(entry);
            }
            self.memory_bytes -= freed + tail.memory_bytes();
        }
        for (priority, _) in self.lists.iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            self.occupied[priority / 64] |= 1 << (priority % 64);
        }
    }

    /// Forgets the messages on disk, and joins the messages in memory. Returns the pages.
    pub(crate) fn forget_paged(&mut self) -> Option<StoredPages> {
        let Paged { page_id, first, last, count, logged_count, body_bytes, tail, .. } = *self.paged.take()?;
        self.count -= count;
        self.body_bytes -= body_bytes;
        self.add_tail(tail);
        Some(StoredPages { page_id, first, last, logged_count })
    }

    /// Leaves the messages of an earlier run on the disk. `last_sequence`: the last place that the queue gave to a message.
    pub(crate) fn restore(
        &mut self,
        stored: StoredMessages,
        last_sequence: u64,
        page_id: impl FnOnce() -> u64,
    ) {
        (self.last_sequence, self.skipped_count) =
            (last_sequence, last_sequence.saturating_sub(stored.count as u64));
        if stored.count > 0 {
            (self.count, self.body_bytes) = (stored.count, stored.body_bytes);
            self.paged = Some(Box::new(Paged::of_stored(page_id(), stored)));
        }
    }

    /// Takes all messages and the memory of the lists.
    pub(crate) fn take_all(&mut self) -> Ready {
        let mut empty = Ready::new((self.lists.len() - 1) as u8);
        (empty.last_sequence, empty.skipped_count) = (self.last_sequence, self.skipped_count);
        empty.lease = self.lease;
        std::mem::replace(self, empty)
    }
}
