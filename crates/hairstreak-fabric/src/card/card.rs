//! `Card`: one card on a network: commands in, cells out; cells in, memory, counters and FIFO.
//!
//! Invariants: a card has no more words in another card's FIFO, or on the way there, than its share; no more queries without an answer than
//! `queries_max`. So a cell that arrives always has a place.

use std::collections::VecDeque;

use super::cell::{Cell, CellKind};
use super::counter::{COUNTER_COUNT, Counter};
use super::limits::CardLimits;
use super::vic::{PutWord, Query};

/// The card that counts those that have come to the barrier.
const BARRIER_RANK: u32 = 0;

#[derive(Debug)]
pub(super) struct Card {
    pub rank: u32,
    pub size: u32,
    pub limits: CardLimits,
    memory: Vec<u64>,
    /// Words that are expected and not there.
    missing: [i64; COUNTER_COUNT],
    fifo: VecDeque<(u32, u64)>,
    /// The incarnation of each card.
    incarnations: Vec<u64>,
    /// Cards that have become other ones, and of which the program has not been told.
    replaced: Vec<u32>,
    /// What this card may still send into the FIFO of each other one.
    credits: Vec<u32>,
    /// Words of each other card that were taken from the FIFO, and of which that card does not know.
    taken: Vec<u32>,
    open_queries: u32,
    /// The same, by the card that is asked.
    queries_to: Vec<u32>,
    /// Cells of commands, at most `outgoing_max`.
    outgoing: VecDeque<Cell>,
    /// Cells that the card sends by itself: answers, credits, barriers. They go first.
    own: VecDeque<Cell>,
    /// Of the card of [`BARRIER_RANK`]: cards that have come to the barrier.
    arrived: u32,
    pub barriers_passed: u64,
}

impl Card {
    pub fn new(rank: u32, incarnations: Vec<u64>, limits: CardLimits) -> Card {
        let size = incarnations.len() as u32;
        Card {
            rank,
            size,
            limits,
            memory: vec![0; limits.memory_words as usize],
            missing: [0; COUNTER_COUNT],
            fifo: VecDeque::new(),
            incarnations,
            replaced: Vec::new(),
            credits: vec![limits.fifo_share; size as usize],
            taken: vec![0; size as usize],
            open_queries: 0,
            queries_to: vec![0; size as usize],
            outgoing: VecDeque::new(),
            own: VecDeque::new(),
            arrived: 0,
            barriers_passed: 0,
        }
    }

    pub fn put(&mut self, to: u32, words: &[PutWord]) -> usize {
        self.check_rank(to);
        let room = self.limits.outgoing_max as usize - self.outgoing.len();
        let words = &words[..words.len().min(room)];
        for word in words {
            self.check_address(word.address);
            let cell = self.cell(CellKind::Put, to, word.counter, word.address, word.word);
            self.outgoing.push_back(cell);
        }
        words.len()
    }

    pub fn query(&mut self, to: u32, queries: &[Query]) -> usize {
        self.check_rank(to);
        let room = self.limits.outgoing_max as usize - self.outgoing.len();
        let open = (self.limits.queries_max - self.open_queries) as usize;
        let queries = &queries[..queries.len().min(room).min(open)];
        for query in queries {
            self.check_address(query.address);
            self.check_address(query.into);
            let answer = self.cell(CellKind::Answer, self.rank, query.counter, query.into, 0);
            let answer = Cell { from: to, from_incarnation: self.short_incarnation(to), ..answer };
            let cell = self.cell(CellKind::Query, to, None, query.address, answer.header());
            self.outgoing.push_back(cell);
        }
        self.open_queries += queries.len() as u32;
        self.queries_to[to as usize] += queries.len() as u32;
        queries.len()
    }

    pub fn surprise(&mut self, to: u32, word: u64) -> bool {
        self.check_rank(to);
        let credit = &mut self.credits[to as usize];
        if *credit == 0 || self.outgoing.len() >= self.limits.outgoing_max as usize {
            return false;
        }
        *credit -= 1;
        let cell = self.cell(CellKind::Surprise, to, None, 0, word);
        self.outgoing.push_back(cell);
        true
    }

    pub fn take_surprise(&mut self) -> Option<(u32, u64)> {
        let (from, word) = self.fifo.pop_front()?;
        let taken = &mut self.taken[from as usize];
        *taken += 1;
        // Half a share at a time: a credit for each word would be as many cells as the words.
        if *taken >= self.limits.fifo_share.div_ceil(2) {
            let count = std::mem::take(taken).into();
            let cell = self.cell(CellKind::Credit, from, None, 0, count);
            self.own.push_back(cell);
        }
        Some((from, word))
    }

    pub fn read(&self, address: u32, into: &mut [u64]) {
        into.copy_from_slice(&self.memory[address as usize..][..into.len()]);
    }

    pub fn write(&mut self, address: u32, words: &[u64]) {
        self.memory[address as usize..][..words.len()].copy_from_slice(words);
    }

    pub fn expect_words(&mut self, counter: Counter, words: u32) {
        self.missing[counter.index()] += i64::from(words);
    }

    pub fn missing(&self, counter: Counter) -> i64 {
        self.missing[counter.index()]
    }

    pub fn clear(&mut self, counter: Counter) {
        self.missing[counter.index()] = 0;
    }

    pub fn incarnation(&self, rank: u32) -> u64 {
        self.incarnations[rank as usize]
    }

    pub fn notice_replaced(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.replaced)
    }

    /// The next card of this one's rank. The barrier is the fabric's, and goes on.
    pub fn successor(&self, incarnations: Vec<u64>) -> Card {
        let Card { arrived, barriers_passed, .. } = *self;
        Card { arrived, barriers_passed, ..Card::new(self.rank, incarnations, self.limits) }
    }

    /// Another card has the rank from now on.
    pub fn meet(&mut self, rank: u32) {
        let place = rank as usize;
        self.incarnations[place] += 1;
        if !self.replaced.contains(&rank) {
            self.replaced.push(rank);
        }
        (self.credits[place], self.taken[place]) = (self.limits.fifo_share, 0);
        self.open_queries -= std::mem::take(&mut self.queries_to[place]);
        self.fifo.retain(|(from, _)| *from != rank);
        self.outgoing.retain(|cell| cell.to != rank);
        self.own.retain(|cell| cell.to != rank || cell.kind == CellKind::Arrival);
        for cell in &mut self.own {
            cell.to_incarnation = (self.incarnations[cell.to as usize] & 15) as u8;
        }
    }

    pub fn enter_barrier(&mut self) {
        let cell = self.cell(CellKind::Arrival, BARRIER_RANK, None, 0, 0);
        self.own.push_back(cell);
    }

    /// The cell that is next to enter the network.
    pub fn next_cell(&self) -> Option<Cell> {
        self.own.front().or(self.outgoing.front()).copied()
    }

    /// The next cell has entered the network.
    pub fn has_sent(&mut self) {
        if self.own.pop_front().is_none() {
            self.outgoing.pop_front();
        }
    }

    /// A cell has left the network at this card. Returns whether the cell is of this card and of one that is still there.
    pub fn arrive(&mut self, cell: Cell) -> bool {
        let is_current = cell.to_incarnation == self.short_incarnation(self.rank)
            && cell.from_incarnation == self.short_incarnation(cell.from);
        if is_current {
            self.take(cell);
        }
        is_current
    }

    fn take(&mut self, cell: Cell) {
        match cell.kind {
            CellKind::Put => self.take_word(cell),
            CellKind::Answer => {
                self.open_queries -= 1;
                self.queries_to[cell.from as usize] -= 1;
                self.take_word(cell);
            }
            CellKind::Surprise => self.fifo.push_back((cell.from, cell.payload)),
            CellKind::Query => {
                let word = self.memory[cell.address as usize];
                // A header of an answer was put there by `query`.
                self.own.extend(Cell::decode(cell.payload, word));
            }
            CellKind::Credit => self.credits[cell.from as usize] += cell.payload as u32,
            CellKind::Arrival => {
                self.arrived += 1;
                if self.arrived == self.size {
                    self.arrived = 0;
                    for to in 0..self.size {
                        let cell = self.cell(CellKind::Release, to, None, 0, 0);
                        self.own.push_back(cell);
                    }
                }
            }
            CellKind::Release => self.barriers_passed += 1,
        }
    }

    fn take_word(&mut self, cell: Cell) {
        self.memory[cell.address as usize] = cell.payload;
        if let Some(counter) = cell.counter {
            self.missing[counter.index()] -= 1;
        }
    }

    fn cell(&self, kind: CellKind, to: u32, counter: Option<Counter>, address: u32, payload: u64) -> Cell {
        let (to_incarnation, from_incarnation) =
            (self.short_incarnation(to), self.short_incarnation(self.rank));
        Cell { kind, to, from: self.rank, counter, address, to_incarnation, from_incarnation, payload }
    }

    /// What a cell has of an incarnation.
    fn short_incarnation(&self, rank: u32) -> u8 {
        (self.incarnations[rank as usize] & 15) as u8
    }

    fn check_rank(&self, rank: u32) {
        assert!(rank < self.size, "rank {rank} of a fabric of {} cards", self.size);
    }

    fn check_address(&self, address: u32) {
        let words = self.limits.memory_words;
        assert!(address < words, "address {address} of a memory of {words} words");
    }
}
