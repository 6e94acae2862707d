//! `Worker`: one worker of one service.

use std::time::Duration;

use foldhash::{HashSet, HashSetExt};
use hairstreak_wire::hsn1::RequestId;
use hairstreak_wire::mdp::Version;
use slab::Slab;

use super::held::HeldAllowance;
use super::request_list::RequestList;
use super::suspects::COMPANY;

/// A worker by its place; another one that has the place later is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerRef {
    pub index: u32,
    serial: u32,
}

/// How a worker is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Plain(Version),
    Hsn1,
}

#[derive(Debug)]
pub(super) struct Worker {
    pub routing_id: Box<[u8]>,
    pub service: usize,
    pub dialect: Dialect,
    pub capacity: u32,
    /// Requests that it has, those it has had for too long included.
    pub outstanding: u32,
    /// Of those, what was taken from it because it was too slow, or nobody waits for any more; it may still work on them.
    pub overdue: HashSet<RequestId>,
    /// Suspects that it has, by step.
    pub suspects: [u32; COMPANY.len()],
    /// It gets nothing new until it has fewer than these, because of a suspect that waits for it.
    pub kept_below: u32,
    /// It wants nothing new.
    pub drains: bool,
    /// It had no room for what it was to get.
    pub is_full: bool,
    /// What it may tell of that it has from before.
    pub held: HeldAllowance,
    /// When it answered the last time: a plain one began with the next one then.
    pub answered: Duration,
    /// When it was heard of.
    pub heard: Duration,
    /// When it was sent something.
    pub told: Duration,
    /// Requests that it has, without those that were taken from it.
    pub has: RequestList,
    /// Requests that it has from before, and is asked for when it has room for them.
    pub kept: RequestList,
    /// Its place in the order of those that are equally busy.
    pub turn: u64,
    serial: u32,
}

/// Requests that one worker has at most: those that it announced room for, and those that it has from before.
const OUTSTANDING_MAX: u32 = 131_072;

#[derive(Debug, Default)]
pub(super) struct Workers {
    slab: Slab<Worker>,
    next_serial: u32,
}

impl Worker {
    /// Whether it may be asked for one more that it has from before.
    pub fn has_room_again(&self) -> bool {
        self.outstanding < OUTSTANDING_MAX
    }

    /// It has said something of this one. Returns whether that was overdue.
    pub fn remove_overdue(&mut self, id: RequestId) -> bool {
        !self.overdue.is_empty() && self.overdue.remove(&id)
    }

    /// Whether it may have one more.
    pub fn has_room(&self) -> bool {
        self.may_be_given() && self.working() < self.company_max().min(self.kept_below)
    }

    /// How many it may have, because of its suspects.
    fn company_max(&self) -> u32 {
        let last = self.suspects.iter().rposition(|count| *count > 0);
        last.map_or(u32::MAX, |step| COMPANY[step])
    }

    /// The same, if no request were suspect. A plain worker that is late with one does not get it once more: it would not know it
    /// again.
    pub fn may_be_given(&self) -> bool {
        let may = self.overdue.is_empty() || self.dialect == Dialect::Hsn1;
        may && !self.drains && !self.is_full && self.outstanding < self.capacity
    }

    /// When it began with what it was given then, if it has not ended that. Who has several at a time begins at once.
    pub fn began(&self, given: Duration) -> Duration {
        if self.dialect == Dialect::Hsn1 { given } else { given.max(self.answered) }
    }

    /// Requests that it has, but for those that it is late with.
    pub fn working(&self) -> u32 {
        self.outstanding - self.overdue.len() as u32
    }
}

impl Workers {
    pub fn len(&self) -> usize {
        self.slab.len()
    }

    pub fn insert(
        &mut self,
        now: Duration,
        routing_id: &[u8],
        service: usize,
        dialect: Dialect,
        capacity: u32,
    ) -> WorkerRef {
        self.next_serial = self.next_serial.wrapping_add(1);
        let serial = self.next_serial;
        let index = self.slab.insert(Worker {
            routing_id: routing_id.into(),
            service,
            dialect,
            capacity,
            outstanding: 0,
            overdue: HashSet::new(),
            suspects: [0; COMPANY.len()],
            kept_below: u32::MAX,
            drains: false,
            is_full: false,
            held: HeldAllowance::default(),
            answered: now,
            heard: now,
            told: now,
            has: RequestList::default(),
            kept: RequestList::default(),
            turn: 0,
            serial,
        });
        WorkerRef { index: index as u32, serial }
    }

    /// The worker that has this place now.
    pub fn reference(&self, index: u32) -> Option<WorkerRef> {
        self.slab.get(index as usize).map(|worker| WorkerRef { index, serial: worker.serial })
    }

    pub fn remove(&mut self, worker: WorkerRef) -> Option<Worker> {
        self.get(worker)?;
        self.slab.try_remove(worker.index as usize)
    }

    pub fn get(&self, worker: WorkerRef) -> Option<&Worker> {
        self.slab.get(worker.index as usize).filter(|found| found.serial == worker.serial)
    }

    pub fn get_mut(&mut self, worker: WorkerRef) -> Option<&mut Worker> {
        self.slab.get_mut(worker.index as usize).filter(|found| found.serial == worker.serial)
    }

    /// The worker was heard of.
    pub fn note_heard(&mut self, now: Duration, worker: WorkerRef) {
        if let Some(worker) = self.get_mut(worker) {
            worker.heard = now;
        }
    }

    /// Whether the worker, which is to be of that service, says what it said, if it is asked again.
    pub fn can_ask_again(&self, worker: WorkerRef, service: usize) -> bool {
        self.get(worker).is_some_and(|worker| worker.dialect == Dialect::Hsn1 && worker.service == service)
    }

    /// All that are there.
    pub fn all(&self) -> impl Iterator<Item = (WorkerRef, &Worker)> {
        self.slab
            .iter()
            .map(|(index, worker)| (WorkerRef { index: index as u32, serial: worker.serial }, worker))
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.slab.iter_mut().map(|(_, worker)| worker)
    }
}
