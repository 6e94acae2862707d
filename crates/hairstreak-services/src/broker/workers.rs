//! `Worker`: one worker of one service.

use std::time::Duration;

use foldhash::{HashSet, HashSetExt};
use hairstreak_wire::hsn1::RequestId;
use hairstreak_wire::mdp::Version;
use slab::Slab;

use super::held::HeldAllowance;
use super::request_list::RequestList;
use super::suspects::COMPANY;

/// Reference to a worker by its index. A later worker at the same index has another serial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkerRef {
    pub index: u32,
    serial: u32,
}

/// Protocol of a worker or a client.
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
    /// Requests at the worker, overdue ones included.
    pub outstanding: u32,
    /// Overdue requests among them: they were taken from the slow worker, or are no longer wanted. The worker may still
    /// work on them.
    pub overdue: HashSet<RequestId>,
    /// Suspects at the worker, by step.
    pub suspects: [u32; COMPANY.len()],
    /// Limit of requests below which the worker gets new ones, because a suspect waits for it.
    pub kept_below: u32,
    /// Set if the worker accepts no new requests.
    pub drains: bool,
    /// Set if the worker had no room for a request.
    pub is_full: bool,
    /// Allowance for its reports of requests from before.
    pub held: HeldAllowance,
    /// Time of the last answer. A worker of plain MDP began its next request then.
    pub answered: Duration,
    /// Time of the last message from the worker.
    pub heard: Duration,
    /// Time of the last message to the worker.
    pub told: Duration,
    /// Requests at the worker, without the overdue ones.
    pub has: RequestList,
    /// Requests that the worker has from before. It is asked for them when it has room.
    pub kept: RequestList,
    /// Place in the order of equally busy workers.
    pub turn: u64,
    serial: u32,
}

/// Most requests of one worker: the ones within its announced capacity, and the ones that it has from before.
const OUTSTANDING_MAX: u32 = 131_072;

#[derive(Debug, Default)]
pub(super) struct Workers {
    slab: Slab<Worker>,
    next_serial: u32,
}

impl Worker {
    /// Returns whether the worker may be asked for one more request that it has from before.
    pub fn has_room_again(&self) -> bool {
        self.outstanding < OUTSTANDING_MAX
    }

    /// Notes that the worker has sent something about this request. Returns whether the request was overdue.
    pub fn remove_overdue(&mut self, id: RequestId) -> bool {
        !self.overdue.is_empty() && self.overdue.remove(&id)
    }

    /// Returns whether the worker may get one more request.
    pub fn has_room(&self) -> bool {
        self.may_be_given() && self.working() < self.company_max().min(self.kept_below)
    }

    /// Returns the most requests of the worker, because of its suspects.
    fn company_max(&self) -> u32 {
        let last = self.suspects.iter().rposition(|count| *count > 0);
        last.map_or(u32::MAX, |step| COMPANY[step])
    }

    /// Returns whether the worker may get one more request, apart from suspects. A worker of plain MDP with an overdue
    /// request gets no further one: it could get the same request again and not recognize it.
    pub fn may_be_given(&self) -> bool {
        let may = self.overdue.is_empty() || self.dialect == Dialect::Hsn1;
        may && !self.drains && !self.is_full && self.outstanding < self.capacity
    }

    /// Returns the time at which the worker began a request given at `given` and not yet finished. A worker with
    /// several requests at a time begins at once.
    pub fn began(&self, given: Duration) -> Duration {
        if self.dialect == Dialect::Hsn1 { given } else { given.max(self.answered) }
    }

    /// Returns the number of requests at the worker, without the overdue ones.
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

    /// Returns the reference of the worker at this index.
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

    /// Notes a message from the worker.
    pub fn note_heard(&mut self, now: Duration, worker: WorkerRef) {
        if let Some(worker) = self.get_mut(worker) {
            worker.heard = now;
        }
    }

    /// Returns whether the worker of that service repeats its answer when it is asked again.
    pub fn can_ask_again(&self, worker: WorkerRef, service: usize) -> bool {
        self.get(worker).is_some_and(|worker| worker.dialect == Dialect::Hsn1 && worker.service == service)
    }

    /// Returns all workers.
    pub fn all(&self) -> impl Iterator<Item = (WorkerRef, &Worker)> {
        self.slab
            .iter()
            .map(|(index, worker)| (WorkerRef { index: index as u32, serial: worker.serial }, worker))
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Worker> {
        self.slab.iter_mut().map(|(_, worker)| worker)
    }
}
