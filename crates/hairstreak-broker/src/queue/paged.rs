//! `Paged`: the messages of a queue that are on disk and not in memory.
//!
//! ```text
//!   front <-- | list: in memory | on disk: first ..= last | tail: in memory | <-- arriving messages
//!                            <-- read                  <-- written
//! ```
//!
//! No unsettled delivery has a place between the first and the last message on disk. Messages that were delivered before go to disk
//! only while their queue has no unsettled delivery.

use super::entries::{Entries, Entry};

/// Weight of a message beside its body, where memory is estimated.
pub(super) const MESSAGE_OVERHEAD: u64 = 64;

/// The messages of a queue that are on disk, and the messages behind them.
#[derive(Debug)]
pub(crate) struct Paged {
    /// Id of the pages. No other pages of the node have had this id.
    pub(crate) page_id: u64,
    /// Place from which messages are on disk.
    pub(crate) first: u64,
    /// Place of the last message on disk.
    pub(crate) last: u64,
    /// Number of messages on disk.
    pub(crate) count: usize,
    /// Number of messages on disk that are in the message log.
    pub(crate) logged_count: usize,
    /// Bytes of the bodies on disk.
    pub(crate) body_bytes: u64,
    /// Messages that arrived behind those on disk.
    pub(super) tail: Entries,
    /// Estimated memory of messages that arrived in the tail and are not being written.
    arrived_bytes: u64,
    /// Messages of the tail up to this place are being written.
    writing: Option<u64>,
    /// Messages are being read.
    is_reading: bool,
    /// Messages in memory in front of those on disk, at which more are read.
    low_count: usize,
}

/// Messages of a queue on disk when the node starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredMessages {
    /// Place of the first message.
    pub first: u64,
    /// Place of the last message.
    pub last: u64,
    /// Number of messages.
    pub count: usize,
    /// Bytes of their bodies.
    pub body_bytes: u64,
}

/// Abandoned pages of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredPages {
    pub(crate) page_id: u64,
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// Number of messages that the message log has.
    pub(crate) logged_count: usize,
}

impl Paged {
    /// Pages of a tail whose messages have that estimated memory.
    pub(super) fn of_tail(page_id: u64, tail: Entries, tail_bytes: u64) -> Paged {
        let stored = StoredMessages { first: 0, last: 0, count: 0, body_bytes: 0 };
        Paged { tail, arrived_bytes: tail_bytes, ..Paged::of_stored(page_id, stored) }
    }

    /// Pages of messages that the message log has.
    pub(super) fn of_stored(page_id: u64, stored: StoredMessages) -> Paged {
        let StoredMessages { first, last, count, body_bytes } = stored;
        Paged {
            page_id,
            first,
            last,
            count,
            logged_count: count,
            body_bytes,
            tail: Entries::new(),
            arrived_bytes: 0,
            writing: None,
            is_reading: false,
            low_count: 0,
        }
    }

    /// Appends an arriving message to the tail. Returns by how many bytes the memory grew.
    pub(super) fn push(&mut self, entry: Entry, body_size: u32) -> usize {
        self.arrived_bytes += MESSAGE_OVERHEAD + u64::from(body_size);
        self.tail.push_back(entry)
    }

    /// Begins to write messages of the tail if they have `bytes_min` bytes. `size_of` returns the body size of a message. Returns
    /// the messages, and their estimated memory: the last one reaches `bytes_max`.
    pub(super) fn begin_writing(
        &mut self,
        (bytes_min, bytes_max): (u64, u64),
        size_of: impl Fn(&Entry) -> u32,
    ) -> Option<(Vec<Entry>, u64)> {
        if self.writing.is_some() || self.arrived_bytes < bytes_min {
            return None;
        }
        let (mut bytes, mut entries) = (0, Vec::new());
        for entry in self.tail.iter() {
            if bytes >= bytes_max {
                break;
            }
            bytes += MESSAGE_OVERHEAD + u64::from(size_of(entry));
            entries.push(*entry);
        }
        self.arrived_bytes = self.arrived_bytes.saturating_sub(bytes);
        if entries.len() < self.tail.count() {
            // The estimate may be too low. Writing goes on until the tail is written once.
            self.arrived_bytes = self.arrived_bytes.max(bytes_min);
        }
        self.writing = Some(entries.last()?.sequence);
        Some((entries, bytes))
    }

    /// Takes the first message of the tail if it was written. `through` is the place of the last message that was written. `freed`
    /// is increased by the bytes of memory that were freed.
    pub(super) fn take_written(&mut self, through: u64, freed: &mut usize) -> Option<Entry> {
        self.tail.front().filter(|front| front.sequence <= through)?;
        self.tail.pop_front(freed)
    }

    /// Returns true if messages are being written.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Ends writing. Returns false if messages up to this place were not being written.
    pub(super) fn end_writing(&mut self, through: u64) -> bool {
        self.writing.take_if(|writing| *writing == through).is_some()
    }

    /// Returns true if messages of these pages were read before.
    pub(crate) fn was_read(&self) -> bool {
        self.low_count > 0
    }

    /// Begins to read if `waiting_count` messages or fewer are in front of those on disk. Returns whether reading begins.
    pub(super) fn begin_reading(&mut self, waiting_count: usize) -> bool {
        let begins = !self.is_reading && self.count > 0 && waiting_count <= self.low_count;
        self.is_reading |= begins;
        begins
    }

    /// Ends reading: `count` messages have come into memory.
    pub(super) fn end_reading(&mut self, count: usize) {
        (self.is_reading, self.low_count) = (false, count.div_ceil(2));
    }
}
