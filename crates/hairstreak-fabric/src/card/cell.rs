//! `Cell`: a word on its way, with a header of 64 bits as on the wire; and `Counter`, the number of a group counter.
//!
//! ```text
//!   63    61 60       49 48       37 36     30 29                     8 7              4 3              0
//!   | kind  |    to     |   from    | counter |        address         | incarnation to | incarnation from |
//! ```

use super::limits::{MEMORY_WORDS_MAX, RANKS_MAX};

/// The effect of a cell where it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CellKind {
    /// The payload goes to `address`.
    Put = 0,
    /// The payload goes into the FIFO.
    Surprise = 1,
    /// The word at `address` is sent back. The payload is the header of the answer.
    Query = 2,
    /// The payload goes to `address`, as with a put. The cell is the answer to a query.
    Answer = 3,
    /// The payload is the number of words that are free again in the destination's share of the FIFO.
    Credit = 4,
    /// A card has come to the barrier of that number.
    Arrival = 5,
    /// All cards have come to the barrier of that number.
    Release = 6,
}

const KINDS: [CellKind; 7] = [
    CellKind::Put,
    CellKind::Surprise,
    CellKind::Query,
    CellKind::Answer,
    CellKind::Credit,
    CellKind::Arrival,
    CellKind::Release,
];

/// The counter of a cell that counts down no counter.
const NO_COUNTER: u64 = COUNTER_COUNT as u64;

/// A word on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The effect of the cell.
    pub kind: CellKind,
    /// The card that the cell goes to.
    pub to: u32,
    /// The card that the cell comes from.
    pub from: u32,
    /// The counter of the destination that is counted down.
    pub counter: Option<Counter>,
    /// A word of the destination's memory.
    pub address: u32,
    /// The incarnation of the destination: the last four bits of the number of replacements of the rank's card.
    pub to_incarnation: u8,
    /// The incarnation of the card that the cell comes from.
    pub from_incarnation: u8,
    /// The word.
    pub payload: u64,
}

impl Cell {
    /// The header as 64 bits.
    ///
    /// ```
    /// use hairstreak_fabric::card::{Cell, CellKind, Counter};
    ///
    /// let cell = Cell {
    ///     kind: CellKind::Put,
    ///     to: 5,
    ///     from: 3,
    ///     counter: Counter::new(7),
    ///     address: 1_000,
    ///     to_incarnation: 2,
    ///     from_incarnation: 15,
    ///     payload: 99,
    /// };
    /// assert_eq!(Cell::decode(cell.header(), 99), Some(cell));
    /// ```
    ///
    /// # Panics
    ///
    /// A rank has more than 12 bits, or the address more than 22.
    pub fn header(&self) -> u64 {
        assert!(self.to < RANKS_MAX && self.from < RANKS_MAX, "a rank of {self:?} has more than 12 bits");
        assert!(self.address < MEMORY_WORDS_MAX, "the address of {self:?} has more than 22 bits");
        let counter = self.counter.map_or(NO_COUNTER, |counter| counter.number().into());
        (self.kind as u64) << 61
            | u64::from(self.to) << 49
            | u64::from(self.from) << 37
            | counter << 30
            | u64::from(self.address) << 8
            | u64::from(self.to_incarnation & 15) << 4
            | u64::from(self.from_incarnation & 15)
    }

    /// The cell of a header and a payload; `None` if the header has a kind or a counter that does not exist.
    pub fn decode(header: u64, payload: u64) -> Option<Cell> {
        let field = |shift: u32, bits: u32| (header >> shift & ((1 << bits) - 1)) as u32;
        let counter = field(30, 7);
        let counter = match u64::from(counter) {
            NO_COUNTER => None,
            _ => Some(Counter::new(counter as u8)?),
        };
        Some(Cell {
            kind: *KINDS.get(field(61, 3) as usize)?,
            to: field(49, 12),
            from: field(37, 12),
            counter,
            address: field(8, 22),
            to_incarnation: field(4, 4) as u8,
            from_incarnation: field(0, 4) as u8,
            payload,
        })
    }
}

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

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    #[test]
    fn a_header_has_all_of_its_fields() {
        let mut rng = Rng::with_seed(1);
        for _ in 0..10_000 {
            let cell = Cell {
                kind: KINDS[rng.usize(..KINDS.len())],
                to: rng.u32(..1 << 12),
                from: rng.u32(..1 << 12),
                counter: Counter::new(rng.u8(..80)),
                address: rng.u32(..1 << 22),
                to_incarnation: rng.u8(..16),
                from_incarnation: rng.u8(..16),
                payload: rng.u64(..),
            };
            assert_eq!(Cell::decode(cell.header(), cell.payload), Some(cell));
        }
    }

    #[test]
    fn a_field_that_is_too_large_does_not_spill_into_the_next_one() {
        let cell = Cell {
            kind: CellKind::Put,
            to: 1,
            from: 2,
            counter: None,
            address: 3,
            to_incarnation: 0,
            from_incarnation: 0,
            payload: 0,
        };
        let wrong =
            [Cell { to: 1 << 12, ..cell }, Cell { from: 1 << 12, ..cell }, Cell { address: 1 << 22, ..cell }];
        assert!(wrong.into_iter().all(|cell| std::panic::catch_unwind(|| cell.header()).is_err()));
    }

    #[test]
    fn a_header_that_means_nothing_is_no_cell() {
        assert_eq!(Cell::decode(7 << 61, 0), None);
        assert_eq!(Cell::decode(65 << 30, 0), None);
    }
}
