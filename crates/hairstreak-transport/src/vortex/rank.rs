//! `Rank`: the fabric's view of a rank: its streams, its listeners and its processes.
//!
//! - `DueRanks`: the ranks that have work to do, each once. The number of ranks does not matter.

use std::collections::{BTreeMap, HashMap};

use hairstreak_fabric::card::Vic;
use hairstreak_fabric::stream::{StreamId, Streams};

/// The first of the ports that are given to listeners which name none (RFC 6335, section 6).
const FREE_PORT_FIRST: u16 = 49_152;

/// A rank, its card apart.
#[derive(Debug)]
pub(super) struct Rank {
    pub streams: Streams,
    /// The attachment that listens at a port.
    pub listeners: BTreeMap<u16, usize>,
    /// The attachment that a stream belongs to.
    pub links: HashMap<StreamId, usize>,
    /// Attachments of each process.
    processes: BTreeMap<u32, u32>,
    /// The next port to give. Ports come in turn, so a process that looks for a listener that is gone finds no other
    /// listener in its place.
    next_port: u16,
}

impl Rank {
    pub fn new(card: &impl Vic) -> Rank {
        Rank {
            streams: Streams::new(card),
            listeners: BTreeMap::new(),
            links: HashMap::new(),
            processes: BTreeMap::new(),
            next_port: FREE_PORT_FIRST,
        }
    }

    pub fn attach(&mut self, process: u32) {
        *self.processes.entry(process).or_default() += 1;
    }

    pub fn detach(&mut self, process: u32) {
        if let Some(count) = self.processes.get_mut(&process) {
            *count -= 1;
            if *count == 0 {
                self.processes.remove(&process);
            }
        }
    }

    pub fn has_process(&self, process: u32) -> bool {
        self.processes.contains_key(&process)
    }

    pub fn process_count(&self) -> usize {
        self.processes.len()
    }

    /// The port to listen at; `None` if it is taken, or none is free.
    pub fn free_port(&mut self, wanted: u16) -> Option<u16> {
        let is_free = |port: &u16| !self.listeners.contains_key(port);
        if wanted != 0 {
            return Some(wanted).filter(is_free);
        }
        let in_turn = (self.next_port..=u16::MAX).chain(FREE_PORT_FIRST..self.next_port);
        let port = in_turn.into_iter().find(is_free)?;
        self.next_port = port.checked_add(1).unwrap_or(FREE_PORT_FIRST);
        Some(port)
    }
}

/// Ranks that are due, and ranks that are due at the next round.
#[derive(Debug)]
pub(super) struct DueRanks {
    ranks: Vec<u32>,
    later: Vec<u32>,
    is_listed: Vec<bool>,
}

impl DueRanks {
    /// None of `count` ranks.
    pub fn new(count: u32) -> DueRanks {
        DueRanks { ranks: Vec::new(), later: Vec::new(), is_listed: vec![false; count as usize] }
    }

    pub fn add(&mut self, rank: u32) {
        if !std::mem::replace(&mut self.is_listed[rank as usize], true) {
            self.ranks.push(rank);
        }
    }

    pub fn take(&mut self) -> Option<u32> {
        let rank = self.ranks.pop()?;
        self.is_listed[rank as usize] = false;
        Some(rank)
    }

    /// The rank is due when the others were.
    pub fn put_off(&mut self, rank: u32) {
        self.later.push(rank);
    }

    /// The ranks that were put off are due.
    pub fn bring_back(&mut self) {
        while let Some(rank) = self.later.pop() {
            self.add(rank);
        }
    }
}
