//! `Ledger`: the record of all work and replies, with the checks that must hold.

use std::collections::{BTreeMap, BTreeSet};

use hairstreak_wire::hsn1::RequestId;

use super::net::Node;

/// A worker, from its start to its death.
pub type Life = hairstreak_testkit::Life<Node>;

#[derive(Default)]
pub struct Ledger {
    /// Workers that did each request, with the times.
    runs: BTreeMap<RequestId, Vec<(Life, u64)>>,
    /// Requests done by a worker that was told that it is the first.
    unmarked: BTreeSet<RequestId>,
    /// Time at which the last broker had noticed the end of a worker.
    deaths: BTreeMap<Life, u64>,
    /// Time at which a worker lost a connection to a living broker, or was told that it is too slow.
    losses: BTreeMap<Life, u64>,
    answered: BTreeSet<RequestId>,
    pub refused: BTreeSet<RequestId>,
}

impl Ledger {
    /// Records a run of a request by a worker with a memory. `is_strict`: a repeated run must be explained.
    pub fn run(&mut self, id: RequestId, life: Life, now: u64, is_marked: bool, is_strict: bool) {
        let before = self.runs.entry(id).or_default();
        assert!(before.iter().all(|(other, _)| *other != life), "{life:?} does {id:?} twice");
        // The first worker to be given the request may be the last to read it.
        assert!(
            is_marked || self.unmarked.insert(id),
            "{id:?} is done again unmarked by {life:?} at {now}, after {before:?}"
        );
        // The broker knows one of several workers that had the request. That worker is gone since the last of them
        // began.
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

    /// Returns the answered requests.
    pub fn answered(&self) -> impl Iterator<Item = &RequestId> {
        self.answered.iter()
    }

    /// Records the reply of a client's request, which must be the only one.
    pub fn answer(&mut self, id: RequestId, is_refusal: bool) {
        assert!(self.answered.insert(id), "{id:?} is answered twice");
        if is_refusal {
            self.refused.insert(id);
        }
    }
}
