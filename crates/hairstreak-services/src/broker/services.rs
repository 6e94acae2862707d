//! `Service`: the requests that wait for it, and its workers in the order in which they get some.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use slab::Slab;

use super::options::{Limits, Options};
use super::request_list::RequestList;
use super::requests::{RequestState, Requests};
use super::suspects::COMPANY;
use super::workers::{Worker, WorkerRef};

#[derive(Debug)]
pub(super) struct Service {
    pub name: Arc<[u8]>,
    pub limits: Limits,
    /// Requests that wait.
    queue: RequestList,
    /// Requests that wait for a worker that has few others, by how suspect they are.
    suspects: [RequestList; COMPANY.len()],
    /// The worker that is kept free for one of those.
    pub reserved: Option<WorkerRef>,
    /// Of all that wait.
    queued_bytes: usize,
    pub worker_count: usize,
    /// Requests that were taken and not answered, wherever they are.
    pub open_count: usize,
    /// Workers that have room, the least busy first; of those the one that waits longest.
    with_room: BTreeSet<(u32, u64, u32)>,
    next_turn: u64,
    /// It is to be looked at when the batch is taken.
    pub is_noted: bool,
    pub counts: Counts,
}

/// What a service has done since somebody first named it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub requests: u64,
    pub replies: u64,
    pub refusals: u64,
    /// Requests given to one more worker.
    pub redeliveries: u64,
}

impl Service {
    fn new(name: &[u8], limits: Limits) -> Service {
        Service {
            name: name.into(),
            limits,
            queue: RequestList::default(),
            suspects: Default::default(),
            reserved: None,
            queued_bytes: 0,
            worker_count: 0,
            open_count: 0,
            with_room: BTreeSet::new(),
            next_turn: 0,
            is_noted: false,
            counts: Counts::default(),
        }
    }

    /// Whether a request of so many bytes may wait, too.
    pub fn has_room(&self, size: usize) -> bool {
        self.queued_count() < self.limits.queue_count_max
            && self.queued_bytes.saturating_add(size) <= self.limits.queue_bytes_max
    }

    /// Requests that wait, suspects or not.
    pub fn queued_count(&self) -> usize {
        self.queue.count() + self.suspects.iter().map(RequestList::count).sum::<usize>()
    }

    /// What the least busy worker is given at a time of what waits, if there is one: as much as each other that has room, but no
    /// more than `max`.
    pub fn share(&self, max: usize) -> usize {
        self.queue.count().div_ceil(self.with_room.len().max(1)).min(max)
    }

    /// Behind all others, or before them. A suspect that has come as far as can be waits behind those that may be innocent.
    pub fn enqueue(&mut self, requests: &mut Requests, key: usize, first: bool) {
        let Some(reference) = requests.reference(key) else { return };
        let Some(request) = requests.get_mut(key) else { return };
        let suspicion = self.limits.suspicion(request.deliveries);
        let is_new = request.deliveries == 0 || suspicion != self.limits.suspicion(request.deliveries - 1);
        request.state = suspicion.map_or(RequestState::Queued, |step| RequestState::Suspect { step });
        self.queued_bytes += request.size();
        let list = suspicion.map_or(&mut self.queue, |step| &mut self.suspects[step]);
        if first && (is_new || suspicion.is_none()) {
            list.push_front(reference);
        } else {
            list.push_back(reference);
        }
    }

    /// The key of the next request that waits; it does so no more.
    pub fn dequeue(&mut self, requests: &mut Requests) -> Option<usize> {
        while let Some(reference) = self.queue.pop_front() {
            if requests.is(reference, RequestState::Queued) {
                self.leave_queue(requests, reference.key);
                return Some(reference.key);
            }
        }
        None
    }

    /// As `dequeue`, of the suspects of that step.
    pub fn dequeue_suspect(&mut self, step: usize, requests: &mut Requests) -> Option<usize> {
        while let Some(reference) = self.suspects[step].pop_front() {
            if requests.is(reference, RequestState::Suspect { step }) {
                self.leave_queue(requests, reference.key);
                return Some(reference.key);
            }
        }
        None
    }

    /// A request waits no more.
    pub fn leave_queue(&mut self, requests: &mut Requests, key: usize) {
        let Some(request) = requests.get_mut(key) else { return };
        let state = std::mem::replace(&mut request.state, RequestState::Moving);
        self.queued_bytes -= request.size();
        let list = match state {
            RequestState::Suspect { step } => &mut self.suspects[step],
            _ => &mut self.queue,
        };
        list.has_left(|reference| requests.is(reference, state));
    }

    /// Since when the first of those that wait has been here.
    pub fn oldest(&self, requests: &Requests) -> Option<Duration> {
        let first = |list: &RequestList, state| {
            let mut waiting = list.iter().filter(|found| requests.is(*found, state));
            waiting.next().and_then(|found| requests.find(found)).map(|request| request.arrived)
        };
        let suspects = self.suspects.iter().enumerate();
        let suspects = suspects.map(|(step, list)| first(list, RequestState::Suspect { step }));
        suspects.chain([first(&self.queue, RequestState::Queued)]).flatten().min()
    }

    /// Since when the first suspect of that step has waited.
    pub fn suspect_since(&mut self, step: usize, requests: &Requests) -> Option<Duration> {
        while let Some(first) = self.suspects[step].first() {
            if requests.is(first, RequestState::Suspect { step }) {
                return requests.find(first).map(|request| request.waits_since);
            }
            self.suspects[step].pop_front();
        }
        None
    }

    /// The least busy worker that has room.
    pub fn least_busy(&self) -> Option<u32> {
        self.with_room.first().map(|(_, _, index)| *index)
    }

    pub fn with_room_count(&self) -> usize {
        self.with_room.len()
    }

    /// The worker changes as `change` says, and its place with it.
    pub fn change(&mut self, reference: WorkerRef, worker: &mut Worker, change: impl FnOnce(&mut Worker)) {
        if worker.has_room() {
            self.with_room.remove(&(worker.outstanding, worker.turn, reference.index));
        }
        change(worker);
        self.place(reference, worker);
    }

    /// A worker that is new here.
    pub fn place(&mut self, reference: WorkerRef, worker: &mut Worker) {
        if worker.has_room() {
            self.next_turn += 1;
            worker.turn = self.next_turn;
            self.with_room.insert((worker.outstanding, worker.turn, reference.index));
        }
    }

    /// A worker that goes.
    pub fn displace(&mut self, reference: WorkerRef, worker: &Worker) {
        self.with_room.remove(&(worker.outstanding, worker.turn, reference.index));
        self.worker_count -= 1;
    }

    fn is_unused(&self) -> bool {
        self.worker_count == 0 && self.open_count == 0
    }
}

/// Who names a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Client,
    Worker,
}

/// All services, by place and by name.
#[derive(Debug, Default)]
pub(super) struct Services {
    slab: Slab<Service>,
    by_name: HashMap<Arc<[u8]>, usize>,
}

impl Services {
    /// The service of that name, which is there from now on; `None`: there are too many. Half of the places are for services
    /// that have workers, so that nobody takes them all by asking for what does not exist.
    pub fn open(&mut self, options: &Options, name: &[u8], asks: Asks) -> Option<usize> {
        if let Some(index) = self.by_name.get(name) {
            return Some(*index);
        }
        let unserved_max = options.services_max.div_ceil(2);
        let is_full = self.slab.len() >= options.services_max
            || (asks == Asks::Client
                && self.slab.len() >= unserved_max
                && self.all().filter(|(_, service)| service.worker_count == 0).count() >= unserved_max);
        if is_full {
            return None;
        }
        let limits = options.named.get(name).unwrap_or(&options.limits).clone();
        let service = Service::new(name, limits);
        let name = Arc::clone(&service.name);
        let index = self.slab.insert(service);
        self.by_name.insert(name, index);
        Some(index)
    }

    pub fn is_empty(&self) -> bool {
        self.slab.is_empty()
    }

    pub fn find(&self, name: &[u8]) -> Option<&Service> {
        self.by_name.get(name).and_then(|index| self.slab.get(*index))
    }

    pub fn get(&self, index: usize) -> Option<&Service> {
        self.slab.get(index)
    }

    pub fn get_mut(&mut self, index: usize) -> Option<&mut Service> {
        self.slab.get_mut(index)
    }

    pub fn all(&self) -> impl Iterator<Item = (usize, &Service)> {
        self.slab.iter()
    }

    /// Forgets services that have neither workers nor requests.
    pub fn close_unused(&mut self) {
        self.slab.retain(|_, service| {
            let is_used = !service.is_unused();
            if !is_used {
                self.by_name.remove(&service.name);
            }
            is_used
        });
    }
}
