//! `SimulatedCards`: cards on a simulated network. Each word is a cell that goes from node to node.

use super::card::Card;
use super::cell::{Cell, Counter};
use super::limits::{CardLimits, LimitsError};
use super::vic::{PutWord, Query, Vic};
use crate::network::Network;

/// Cards at the ports of a network: the card of rank `r` at port `r`.
///
/// ```
/// use hairstreak_fabric::card::{CardLimits, Counter, PutWord, SimulatedCards, Vic};
/// use hairstreak_fabric::vortex::{Permutation, Shape, Switch};
///
/// let switch = Switch::new(Shape::new(8, 4)?, Permutation::Patent);
/// let mut cards = SimulatedCards::new(switch, 32, CardLimits::default())?;
/// let counter = Counter::new(0);
/// cards.card(9).expect_words(counter.unwrap(), 3);
/// let words = [10, 11, 12].map(|word| PutWord { address: word as u32, word, counter });
/// assert_eq!(cards.card(2).put(9, &words), 3);
/// while cards.card(9).missing(counter.unwrap()) > 0 {
///     cards.step();
/// }
/// let mut found = [0; 3];
/// cards.card(9).read(10, &mut found);
/// assert_eq!(found, [10, 11, 12]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SimulatedCards<N> {
    network: N,
    cards: Vec<Card>,
    lanes: u32,
    slot: u64,
    counts: CellCounts,
}

/// Cells since the cards were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CellCounts {
    /// Cells that entered the network.
    pub entered: u64,
    /// Cells that left the network.
    pub arrived: u64,
    /// Cells that left the network and were dropped: of a card that is gone, or for such a card.
    pub dropped: u64,
    /// Slots in which a cell waited at its card because the network had no room, summed over the cards.
    pub held_back: u64,
}

/// A card of [`SimulatedCards`].
#[derive(Debug)]
pub struct SimulatedCard<'a> {
    card: &'a mut Card,
}

impl<N: Network<Cell>> SimulatedCards<N> {
    /// `size` cards at the first ports of a network that loses nothing.
    ///
    /// # Errors
    ///
    /// The network has too few ports for the cards, or loses packets ([`LimitsError::Network`]); or `limits` are not
    /// possible.
    pub fn new(network: N, size: u32, limits: CardLimits) -> Result<SimulatedCards<N>, LimitsError> {
        limits.check(size)?;
        if size > network.port_count() || network.may_lose() {
            return Err(LimitsError::Network(size));
        }
        let cards = (0..size).map(|rank| Card::new(rank, vec![0; size as usize], limits)).collect();
        let lanes = network.lane_count();
        Ok(SimulatedCards { network, cards, lanes, slot: 0, counts: CellCounts::default() })
    }

    /// The card of a rank.
    ///
    /// # Panics
    ///
    /// There is no such rank.
    pub fn card(&mut self, rank: u32) -> SimulatedCard<'_> {
        SimulatedCard { card: &mut self.cards[rank as usize] }
    }

    /// Replaces the card of a rank. All words of the old card that are not in the network are gone. The other cards know of the new one.
    ///
    /// # Panics
    ///
    /// There is no such rank.
    pub fn replace(&mut self, rank: u32) {
        self.cards.iter_mut().for_each(|card| card.meet(rank));
        let card = &mut self.cards[rank as usize];
        *card = card.successor();
    }

    /// Slots that have passed.
    pub fn slot(&self) -> u64 {
        self.slot
    }

    /// The figures of all cells.
    pub fn counts(&self) -> CellCounts {
        self.counts
    }

    /// Returns `true` if no cell is under way.
    pub fn is_idle(&self) -> bool {
        self.network.packet_count() == 0 && self.cards.iter().all(|card| card.next_cell().is_none())
    }

    /// Passes a slot: cards send a cell into each lane that has room, and cells move by a node.
    pub fn step(&mut self) {
        self.step_and_tell(|_| {});
    }

    /// As [`SimulatedCards::step`]. Calls `tell` with the rank of each cell's card when the cell has arrived.
    pub fn step_and_tell(&mut self, mut tell: impl FnMut(u32)) {
        for card in &mut self.cards {
            for _ in 0..self.lanes {
                let Some(cell) = card.next_cell() else { break };
                if self.network.inject(cell.from, cell.to, cell).is_err() {
                    self.counts.held_back += 1;
                    break;
                }
                self.counts.entered += 1;
                card.has_sent();
            }
        }
        let (cards, counts) = (&mut self.cards, &mut self.counts);
        self.network.step(|port, cell| {
            counts.arrived += 1;
            counts.dropped += u64::from(!cards[port as usize].arrive(cell));
            tell(port);
        });
        self.slot += 1;
    }
}

impl Vic for SimulatedCard<'_> {
    fn rank(&self) -> u32 {
        self.card.rank
    }

    fn size(&self) -> u32 {
        self.card.size
    }

    fn memory_words(&self) -> u32 {
        self.card.limits.memory_words
    }

    fn put(&mut self, to: u32, words: &[PutWord]) -> usize {
        self.card.put(to, words)
    }

    fn query(&mut self, to: u32, queries: &[Query]) -> usize {
        self.card.query(to, queries)
    }

    fn surprise(&mut self, to: u32, word: u64) -> bool {
        self.card.surprise(to, word)
    }

    fn take_surprise(&mut self) -> Option<(u32, u64)> {
        self.card.take_surprise()
    }

    fn read(&self, address: u32, into: &mut [u64]) {
        self.card.read(address, into);
    }

    fn write(&mut self, address: u32, words: &[u64]) {
        self.card.write(address, words);
    }

    fn expect_words(&mut self, counter: Counter, words: u32) {
        self.card.expect_words(counter, words);
    }

    fn missing(&self, counter: Counter) -> i64 {
        self.card.missing(counter)
    }

    fn clear(&mut self, counter: Counter) {
        self.card.clear(counter);
    }

    fn notice_replaced(&mut self) -> Vec<u32> {
        self.card.notice_replaced()
    }

    fn enter_barrier(&mut self) {
        self.card.enter_barrier();
    }

    fn barriers_passed(&self) -> u64 {
        self.card.barriers_passed()
    }
}
