//! `Card`: one card on a network: commands in, cells out; cells in, memory, counters and FIFO.
//!
//! Invariants: a card has no more words in another card's FIFO, or on the way there, than its share; no more queries without an answer than
//! `queries_max`. So a cell that arrives always has a place. A cell that would break an invariant is of a card that is long gone, and is dropped.

use std::collections::VecDeque;

use super::barrier::{Barrier, COUNTING_RANK, Released};
use super::cell::{COUNTER_COUNT, Cell, CellKind, Counter};
use super::limits::CardLimits;
use super::vic::{PutWord, Query};

#[derive(Debug)]
pub(super) struct Card {
    pub rank: u32,
    pub size: u32,
    pub limits: CardLimits,
    memory: Vec<u64>,
    /// Expected words that have not arrived, by counter.
    missing: [i64; COUNTER_COUNT],
    fifo: VecDeque<(u32, u64)>,
    /// The incarnation of each card.
    incarnations: Vec<u64>,
    /// Ranks whose cards were replaced, and that the program has not noticed yet.
    replaced: Vec<u32>,
    /// The number of words that this card may still send into the FIFO of each other card.
    credits: Vec<u32>,
    /// Words of each other card that were taken from the FIFO and not yet given back as credit.
    taken: Vec<u32>,
    /// Words of each other card in the FIFO, including the words of `taken`: at most the share.
    held: Vec<u32>,
    open_queries: u32,
    /// Open queries by the card that is asked.
    queries_to: Vec<u32>,
    /// Cells of the program's commands, at most `outgoing_max`.
    outgoing: VecDeque<Cell>,
    /// Cells that the card sends by itself: answers, credits, barriers. These cells go first.
    own: VecDeque<Cell>,
    barrier: Barrier,
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
            held: vec![0; size as usize],
            open_queries: 0,
            queries_to: vec![0; size as usize],
            outgoing: VecDeque::new(),
            own: VecDeque::new(),
            barrier: Barrier::new(size),
        }
    }

    pub fn put(&mut self, to: u32, words: &[PutWord]) -> usize {
        self.check_rank(to);
        let room = self.limits.outgoing_max as usize - self.outgoing.len();
        let words = &words[..words.len().min(room)];
        words.iter().for_each(|word| self.check_address(word.address));
        for word in words {
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
        }
        for query in queries {
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
        // Credit goes back half a share at a time. Credit for each word would double the cells.
        if *taken >= self.limits.fifo_share.div_ceil(2) {
            let count = std::mem::take(taken);
            self.held[from as usize] -= count;
            let cell = self.cell(CellKind::Credit, from, None, 0, count.into());
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

    pub fn notice_replaced(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.replaced)
    }

    /// The next card of this one's rank.
    pub fn successor(&mut self) -> Card {
        let incarnations = std::mem::take(&mut self.incarnations);
        Card { barrier: self.barrier.inherit(), ..Card::new(self.rank, incarnations, self.limits) }
    }

    /// Another card has the rank from now on.
    pub fn meet(&mut self, rank: u32) {
        let place = rank as usize;
        self.incarnations[place] += 1;
        if !self.replaced.contains(&rank) {
            self.replaced.push(rank);
        }
        (self.credits[place], self.taken[place], self.held[place]) = (self.limits.fifo_share, 0, 0);
        self.open_queries -= std::mem::take(&mut self.queries_to[place]);
        self.fifo.retain(|(from, _)| *from != rank);
        self.outgoing.retain(|cell| cell.to != rank);
        self.own.retain(|cell| cell.to != rank);
        if rank == COUNTING_RANK
            && let Some(number) = self.barrier.waiting()
        {
            self.send_arrival(number);
        }
    }

    pub fn enter_barrier(&mut self) {
        if let Some(number) = self.barrier.enter() {
            self.send_arrival(number);
        }
    }

    fn send_arrival(&mut self, number: u64) {
        let cell = self.cell(CellKind::Arrival, COUNTING_RANK, None, 0, number);
        self.own.push_back(cell);
    }

    pub fn barriers_passed(&self) -> u64 {
        self.barrier.tell_passed()
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

    /// A cell has left the network at this card. Returns whether the cell is for this very card, and of a card that is still there.
    pub fn arrive(&mut self, cell: Cell) -> bool {
        let is_current = cell.to_incarnation == self.short_incarnation(self.rank)
            && cell.from_incarnation == self.short_incarnation(cell.from)
            && self.has_place_for(cell);
        if is_current {
            self.take(cell);
        }
        is_current
    }

    /// Returns `true` if a cell keeps the bounds. The incarnations in a cell have four bits each: after 16 replacements
    /// of a card, a cell of the first card looks as a cell of the last one.
    fn has_place_for(&self, cell: Cell) -> bool {
        let (place, share) = (cell.from as usize, self.limits.fifo_share);
        match cell.kind {
            CellKind::Answer => self.queries_to[place] > 0,
            CellKind::Surprise => self.held[place] < share,
            CellKind::Credit => cell.payload <= u64::from(share - self.credits[place]),
            CellKind::Put | CellKind::Query | CellKind::Arrival | CellKind::Release => true,
        }
    }

    fn take(&mut self, cell: Cell) {
        match cell.kind {
            CellKind::Put => self.take_word(cell),
            CellKind::Answer => {
                self.open_queries -= 1;
                self.queries_to[cell.from as usize] -= 1;
                self.take_word(cell);
            }
            CellKind::Surprise => {
                self.held[cell.from as usize] += 1;
                self.fifo.push_back((cell.from, cell.payload));
            }
            CellKind::Query => {
                let word = self.memory[cell.address as usize];
                // `query` has put the header of the answer there.
                self.own.extend(Cell::decode(cell.payload, word));
            }
            CellKind::Credit => self.credits[cell.from as usize] += cell.payload as u32,
            CellKind::Arrival => self.release(cell.from, cell.payload),
            CellKind::Release => self.barrier.pass(cell.payload),
        }
    }

    /// A card has come to a barrier: releases the cards that may go on.
    fn release(&mut self, from: u32, number: u64) {
        let released = match self.barrier.count(from, number) {
            Released::Nobody => 0..0,
            Released::OnlyThis => from..from + 1,
            Released::All => 0..self.size,
        };
        for to in released {
            let cell = self.cell(CellKind::Release, to, None, 0, number);
            self.own.push_back(cell);
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

    /// The four bits of an incarnation that a cell has.
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
