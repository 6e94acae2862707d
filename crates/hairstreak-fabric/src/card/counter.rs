//! `Counter`: the number of a group counter.

/// Group counters of a card.
pub(super) const COUNTER_COUNT: usize = 64;

/// A group counter of a card: 0 to 63. A word that arrives and names the counter takes one from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Counter(u8);

impl Counter {
    /// The counter of this number; `None` from 64 on.
    pub const fn new(number: u8) -> Option<Counter> {
        if (number as usize) < COUNTER_COUNT { Some(Counter(number)) } else { None }
    }

    /// 0 to 63.
    pub const fn number(self) -> u8 {
        self.0
    }

    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}
