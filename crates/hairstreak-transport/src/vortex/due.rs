//! `DueRanks`: the ranks that have something to do, each once, whatever the number of ranks.

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
