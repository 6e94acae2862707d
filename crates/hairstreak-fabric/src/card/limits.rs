//! `CardLimits`: the sizes of the cards of a fabric.

/// The most cards of a fabric: a cell has twelve bits for a rank.
pub const RANKS_MAX: u32 = 1 << 12;
/// The most words of a card's memory: a cell has 22 bits for an address.
pub(super) const MEMORY_WORDS_MAX: u32 = 1 << 22;
/// The most words that a card may have in another card's FIFO. A choice of ours: shared cards have this memory for each pair of them.
const FIFO_SHARE_MAX: u32 = 1 << 16;

/// The sizes of the cards of a fabric, all choices of ours. The memory's default is a 64th of the machine's 4 Mi words, so that a fabric of
/// hundreds of cards fits a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardLimits {
    /// Words of the memory.
    pub memory_words: u32,
    /// Words of the FIFO that each other card may have under way or waiting there; at most 65,536. The default is a word for each of 16 networks.
    pub fifo_share: u32,
    /// Cells that wait to enter the network. The default is as many as a chunk of a stream has words.
    pub outgoing_max: u32,
    /// Queries of a card without an answer. The default is a query for each counter.
    pub queries_max: u32,
}

/// The reason for which a fabric cannot have these sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// There are too many cards, or none.
    #[error("{0} cards: 1 to {RANKS_MAX} are needed")]
    Ranks(u32),
    /// The memory is larger than addresses reach, or has no word.
    #[error("{0} words of memory: 1 to {MEMORY_WORDS_MAX} are needed")]
    Memory(u32),
    /// The share of the FIFO is too large.
    #[error("{0} words for each card in a FIFO: at most {FIFO_SHARE_MAX} are possible")]
    Share(u32),
    /// The network has fewer ports than cards, or loses packets.
    #[error("{0} cards: the network has fewer ports, or loses packets")]
    Network(u32),
    /// The memory that cards share has another size.
    #[error("a region of {words} words: {needed} are needed")]
    Region {
        /// Words of the region.
        words: usize,
        /// Words that the cards need.
        needed: usize,
    },
    /// A limit is 0, so that no word could be sent.
    #[error("fifo_share, outgoing_max and queries_max are at least 1")]
    Zero,
}

impl Default for CardLimits {
    fn default() -> CardLimits {
        CardLimits { memory_words: 1 << 16, fifo_share: 16, outgoing_max: 1_024, queries_max: 64 }
    }
}

impl CardLimits {
    /// Checks that `size` cards of these sizes are possible.
    ///
    /// # Errors
    ///
    /// See [`LimitsError`].
    pub fn check(self, size: u32) -> Result<(), LimitsError> {
        if !(1..=RANKS_MAX).contains(&size) {
            return Err(LimitsError::Ranks(size));
        }
        if !(1..=MEMORY_WORDS_MAX).contains(&self.memory_words) {
            return Err(LimitsError::Memory(self.memory_words));
        }
        if self.fifo_share == 0 || self.outgoing_max == 0 || self.queries_max == 0 {
            return Err(LimitsError::Zero);
        }
        if self.fifo_share > FIFO_SHARE_MAX {
            return Err(LimitsError::Share(self.fifo_share));
        }
        Ok(())
    }
}
