//! `Ledger`: who did what and when, and what must hold of it.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_wire::hsn1::RequestId;

use super::net::Node;

/// A worker, from its start to its death.
pub type Life = hairstreak_testkit::Life<Node>;

#[derive(Default)]
pub struct Ledger {
    /// Who did each request, and when.
    runs: BTreeMap<RequestId, Vec<(Life, u64)>>,
    /// Requests that somebody did who was told that he is the first.
    unmarked: BTreeSet<RequestId>,
    /// When the last broker had noticed that a worker ended.
    deaths: BTreeMap<Life, u64>,
    /// When they lost a connection to a broker that lived on, or were told that they were too slow.
    losses: BTreeMap<Life, u64>,
    answered: BTreeSet<RequestId>,
    pub refused: BTreeSet<RequestId>,
}

impl Ledger {
    /// A worker with a memory does a request. `is_strict`: doing it again must be explained.
    pub fn run(&mut self, id: RequestId, life: Life, now: u64, is_marked: bool, is_strict: bool) {
        let before = self.runs.entry(id).or_default();
        assert!(before.iter().all(|(other, _)| *other != life), "{life:?} does {id:?} twice");
        // Who had it first may read it last.
        assert!(
            is_marked || self.unmarked.insert(id),
            "{id:?} is done again unmarked by {life:?} at {now}, after {before:?}"
        );
        // Of several that had it the broker knows one: that one is gone since the last of them began.
        if let Some((_, since)) = before.last().filter(|_| is_strict) {
            let had_trouble = |times: &BTreeMap<Life, u64>| {
                before.iter().any(|(other, _)| times.get(other).is_some_and(|time| time >= since))
            };
            assert!(
                had_trouble(&self.deaths) || had_trouble(&self.losses),
                "{id:?} is done again by {life:?} at {now}, though they have it: {before:?}"
            );
        }
        before.push((life, now));
    }

    pub fn dies(&mut self, life: Life, now: u64) {
        self.deaths.insert(life, now);
    }

    pub fn loses(&mut self, life: Life, now: u64) {
        self.losses.insert(life, now);
    }

    /// What has been answered.
    pub fn answered(&self) -> impl Iterator<Item = &RequestId> {
        self.answered.iter()
    }

    /// A client that has no reply yet gets one.
    pub fn answer(&mut self, id: RequestId, is_refusal: bool) {
        assert!(self.answered.insert(id), "{id:?} is answered twice");
        if is_refusal {
            self.refused.insert(id);
        }
    }
}
