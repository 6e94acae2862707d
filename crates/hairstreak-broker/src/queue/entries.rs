//! `Entries`: entries in the order of their sequence numbers, in pages.
//!
//! New messages are appended, and messages are taken at the front. A returned message finds its place by its number: at the front
//! in most cases, in the middle of a page otherwise.
//!
//! Invariants: the sequence numbers rise strictly; no page is empty but the only one.
//!
//! - `Entry`: one message in one queue.

use std::collections::VecDeque;

use crate::message::MessageId;

#[cfg(test)]
mod tests;

/// Entries of a page.
pub(super) const PAGE_LENGTH: usize = 4_096;
/// Entries that the page of an empty list may keep room for.
const SPARE_LENGTH: usize = 512;

/// A list of entries, sorted by sequence number.
#[derive(Debug, Default)]
pub(super) struct Entries {
    first: VecDeque<Entry>,
    /// The pages behind the first.
    rest: VecDeque<VecDeque<Entry>>,
    length: usize,
}

impl Entries {
    pub(super) fn new() -> Entries {
        Entries::default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&Entry> {
        self.first.front()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(self.rest.iter().flatten())
    }

    /// Returns the number of entries.
    pub(super) fn count(&self) -> usize {
        self.length
    }

    /// The entries behind the first `count`. Pages are passed over as a whole.
    pub(super) fn iter_behind(&self, mut count: usize) -> impl Iterator<Item = &Entry> {
        let mut pages = std::iter::once(&self.first).chain(&self.rest);
        let mut page = pages.next();
        while let Some(passed) = page.filter(|page| page.len() <= count) {
            count -= passed.len();
            page = pages.next();
        }
        page.into_iter().flat_map(move |page| page.range(count..)).chain(pages.flatten())
    }

    /// Appends an entry with the largest sequence number. Returns by how many bytes the memory grew.
    #[inline]
    pub(super) fn push_back(&mut self, entry: Entry) -> usize {
        self.length += 1;
        let page = match self.rest.back_mut() {
            Some(page) => page,
            None => &mut self.first,
        };
        if page.len() < page.capacity() {
            page.push_back(entry);
            return 0;
        }
        self.push_back_growing(entry)
    }

    #[cold]
    fn push_back_growing(&mut self, entry: Entry) -> usize {
        let page = self.rest.back_mut().unwrap_or(&mut self.first);
        if page.len() < PAGE_LENGTH {
            return push_growing(page, |page| page.push_back(entry));
        }
        let mut page = VecDeque::new();
        let grown = push_growing(&mut page, |page| page.push_back(entry));
        self.rest.push_back(page);
        grown
    }

    /// Takes the first entry. `freed` is increased by the bytes of memory that were freed.
    #[inline]
    pub(super) fn pop_front(&mut self, freed: &mut usize) -> Option<Entry> {
        let entry = self.first.pop_front()?;
        self.length -= 1;
        if self.first.is_empty() {
            *freed += self.drop_first_page();
        }
        Some(entry)
    }

    fn drop_first_page(&mut self) -> usize {
        match self.rest.pop_front() {
            Some(next) => std::mem::replace(&mut self.first, next).capacity() * size_of::<Entry>(),
            None if self.first.capacity() > SPARE_LENGTH => {
                std::mem::take(&mut self.first).capacity() * size_of::<Entry>()
            }
            None => 0,
        }
    }

    /// Puts an entry where its sequence number belongs. Returns by how many bytes the memory grew.
    pub(super) fn insert(&mut self, entry: Entry) -> usize {
        self.length += 1;
        if self.first.front().is_none_or(|front| entry.sequence < front.sequence) {
            return self.insert_first(entry);
        }
        // The last page that begins before the entry.
        let later = self
            .rest
            .partition_point(|page| page.front().is_some_and(|front| front.sequence < entry.sequence));
        let page = if later == 0 { &mut self.first } else { &mut self.rest[later - 1] };
        let place = page.partition_point(|other| other.sequence < entry.sequence);
        if page.len() < PAGE_LENGTH {
            return push_growing(page, |page| page.insert(place, entry));
        }
        let before = page.capacity();
        let mut behind = page.split_off(PAGE_LENGTH / 2);
        match place.checked_sub(page.len()) {
            Some(place) => behind.insert(place, entry),
            None => page.insert(place, entry),
        }
        let grown = (page.capacity() + behind.capacity() - before) * size_of::<Entry>();
        self.rest.insert(later, behind);
        grown
    }

    /// Takes the entries behind the first `count` out. Pages are moved as a whole. Returns also the change of the memory of both
    /// lists together, in bytes.
    pub(super) fn split_off(&mut self, count: usize) -> (Entries, isize) {
        let (mut passed, mut kept) = (self.first.len(), 0);
        while passed < count
            && let Some(page) = self.rest.get(kept)
        {
            passed += page.len();
            kept += 1;
        }
        let mut behind = self.rest.split_off(kept);
        let last = self.rest.back_mut().unwrap_or(&mut self.first);
        let before = last.capacity() as isize;
        let page = last.split_off(last.len() - passed.saturating_sub(count));
        last.shrink_to_fit();
        let grown = (last.capacity() + page.capacity()) as isize - before;
        if !page.is_empty() {
            behind.push_front(page);
        }
        let first = behind.pop_front().unwrap_or_default();
        let split = Entries { length: self.length.saturating_sub(count), first, rest: behind };
        self.length -= split.length;
        (split, grown * size_of::<Entry>() as isize)
    }

    /// Appends entries, all of which are behind the own ones. Returns by how many bytes the memory of both lists shrank.
    pub(super) fn append(&mut self, mut behind: Entries) -> usize {
        if behind.is_empty() {
            return behind.memory_bytes();
        }
        if self.is_empty() {
            return std::mem::replace(self, behind).memory_bytes();
        }
        self.length += behind.length;
        self.rest.push_back(behind.first);
        self.rest.append(&mut behind.rest);
        0
    }

    /// The memory of the list, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        let rest: usize = self.rest.iter().map(VecDeque::capacity).sum();
        (self.first.capacity() + rest) * size_of::<Entry>()
    }

    /// Returns the number of entries at the front for which `is_passed` is true. The entries are sorted by it.
    pub(super) fn partition_point(&self, is_passed: impl Fn(&Entry) -> bool) -> usize {
        let mut count = 0;
        for page in std::iter::once(&self.first).chain(&self.rest) {
            if !page.back().is_some_and(&is_passed) {
                return count + page.partition_point(&is_passed);
            }
            count += page.len();
        }
        count
    }

    fn insert_first(&mut self, entry: Entry) -> usize {
        if self.first.len() < PAGE_LENGTH {
            return push_growing(&mut self.first, |page| page.push_front(entry));
        }
        let full = std::mem::take(&mut self.first);
        self.rest.push_front(full);
        push_growing(&mut self.first, |page| page.push_front(entry))
    }
}

/// Runs a push, and returns by how many bytes the page grew.
fn push_growing(page: &mut VecDeque<Entry>, push: impl FnOnce(&mut VecDeque<Entry>)) -> usize {
    let before = page.capacity();
    push(page);
    (page.capacity() - before) * size_of::<Entry>()
}

/// The expiry of a message that does not expire.
pub(crate) const NEVER: u64 = u64::MAX;

/// One message in one queue, waiting or delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The message's place in its queue: later messages have larger numbers.
    pub(crate) sequence: u64,
    /// Expiry time of the message, or [`NEVER`].
    pub(crate) expires_at: u64,
    /// The message.
    pub(crate) message: MessageId,
    /// Returns of the message so far.
    pub(crate) return_count: u16,
    /// The list of the queue that holds the message.
    pub(crate) priority: u8,
    /// Marks of the message in this place.
    pub(crate) marks: Marks,
}

const _: () = assert!(size_of::<Entry>() == 24);

/// Marks of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks(u8);

impl Marks {
    const LOGGED: u8 = 1;
    const DELIVERED: u8 = 2;

    /// `is_logged`: the message log has the message in this place. `was_delivered`: the message may have been delivered before the
    /// node was killed.
    pub(crate) fn new(is_logged: bool, was_delivered: bool) -> Marks {
        Marks(u8::from(is_logged) * Marks::LOGGED + u8::from(was_delivered) * Marks::DELIVERED)
    }

    /// Returns true if the message log has the message in this place.
    #[inline]
    pub(crate) fn is_logged(self) -> bool {
        self.0 & Marks::LOGGED != 0
    }
}

impl Entry {
    /// Returns true if the message was delivered before, or may have been.
    #[inline]
    pub(crate) fn is_redelivered(&self) -> bool {
        self.return_count > 0 || self.marks.0 & Marks::DELIVERED != 0
    }
}
