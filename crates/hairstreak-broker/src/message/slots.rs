//! `Slots`: where each message lies and how many queues hold it, so that a queue names a message in four bytes.
//!
//! The table grows by pages, so that growth moves no slots. A free slot holds the number of the next free one.
//!
//! Invariant: a slot with references names the segment and the offset of its message's record.

const PAGE_SHIFT: u32 = 12;
const PAGE_SIZE: usize = 1 << PAGE_SHIFT;
/// Pages that an empty table keeps.
const SPARE_PAGE_COUNT: usize = 16;
const NONE: u32 = u32::MAX;

/// The number of a message, valid while a queue or a delivery holds a reference to the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub(crate) u32);

#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) segment: u32,
    /// The offset of the record, or of a free slot the number of the next free one.
    pub(super) offset: u32,
    /// 0: free.
    pub(super) references: u32,
}

#[derive(Debug)]
pub(super) struct Slots {
    pages: Vec<Box<[Slot]>>,
    first_free: u32,
    /// Number of slots taken at least once since the table was empty. Slots above are untouched.
    used: u32,
    count: u32,
}

impl Slots {
    pub(super) fn new() -> Slots {
        Slots { pages: Vec::new(), first_free: NONE, used: 0, count: 0 }
    }

    /// Returns the number of messages.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.pages.len() * PAGE_SIZE * size_of::<Slot>()
    }

    /// Takes a slot. The caller fills it.
    #[inline]
    pub(super) fn take(&mut self, slot: Slot) -> MessageId {
        let number = if self.first_free != NONE {
            self.first_free
        } else {
            let number = self.used;
            if number as usize == self.pages.len() * PAGE_SIZE {
                self.add_page();
            }
            self.used += 1;
            number
        };
        let place = self.get_mut(MessageId(number));
        let next_free = place.offset;
        *place = slot;
        if number == self.first_free {
            self.first_free = next_free;
        }
        self.count += 1;
        MessageId(number)
    }

    #[cold]
    fn add_page(&mut self) {
        let free = Slot { segment: 0, offset: NONE, references: 0 };
        self.pages.push(vec![free; PAGE_SIZE].into_boxed_slice());
    }

    /// Frees a slot without references.
    #[inline]
    pub(super) fn free(&mut self, id: MessageId) {
        let next_free = self.first_free;
        *self.get_mut(id) = Slot { segment: 0, offset: next_free, references: 0 };
        self.first_free = id.0;
        self.count -= 1;
        if self.count == 0 && self.pages.len() > SPARE_PAGE_COUNT {
            *self = Slots::new();
        }
    }

    #[inline]
    pub(super) fn get(&self, id: MessageId) -> &Slot {
        &self.pages[(id.0 >> PAGE_SHIFT) as usize][id.0 as usize % PAGE_SIZE]
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: MessageId) -> &mut Slot {
        &mut self.pages[(id.0 >> PAGE_SHIFT) as usize][id.0 as usize % PAGE_SIZE]
    }
}
