//! `Service`: its waiting requests, and its workers in the order of dispatch.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use slab::Slab;

use super::options::{Limits, Options};
use super::request_list::RequestList;
use super::requests::{RequestState, Requests};
use super::suspects::{COMPANY, suspicion};
use super::workers::{Worker, WorkerRef};

#[derive(Debug)]
pub(super) struct Service {
    pub name: Arc<[u8]>,
    pub limits: Limits,
    /// Waiting requests.
    queue: RequestList,
    /// Requests that wait for a worker with few others, by degree of suspicion.
    suspects: [RequestList; COMPANY.len()],
    /// Worker that is kept free for a suspect.
    pub reserved: Option<WorkerRef>,
    /// Bytes of all waiting requests.
    queued_bytes: usize,
    pub worker_count: usize,
    /// Requests that were taken and not answered, in any state.
    pub open_count: usize,
    /// Workers with room, the least busy first. Among equals the longest wait comes first.
    with_room: BTreeSet<(u32, u64, u32)>,
    next_turn: u64,
    /// Set if the service is dispatched at the end of the batch.
    pub is_noted: bool,
    pub counts: Counts,
}

/// Counters of a service since it was first named.
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

    /// Returns whether there is room for a waiting request of `size` bytes.
    pub fn has_room(&self, size: usize) -> bool {
        self.queued_count() < self.limits.queue_count_max
            && self.queued_bytes.saturating_add(size) <= self.limits.queue_bytes_max
    }

    /// Returns the number of waiting requests, suspects included.
    pub fn queued_count(&self) -> usize {
        self.queue.count() + self.suspects.iter().map(RequestList::count).sum::<usize>()
    }

    /// Returns the number of waiting requests that the least busy worker gets in a row. All workers with room get equal
    /// shares of at most `max`.
    pub fn share(&self, max: usize) -> usize {
        self.queue.count().div_ceil(self.with_room.len().max(1)).min(max)
    }

    /// Queues a request behind or before all others. A suspect of the same step as before waits behind the others,
    /// which may be innocent.
    pub fn enqueue(&mut self, requests: &mut Requests, key: usize, first: bool) {
        let Some(reference) = requests.reference(key) else { return };
        let Some(request) = requests.get_mut(key) else { return };
        let of = |deliveries| suspicion(&self.limits, deliveries);
        let suspicion = of(request.deliveries);
        let is_new = request.deliveries == 0 || suspicion != of(request.deliveries - 1);
        request.state = suspicion.map_or(RequestState::Queued, |step| RequestState::Suspect { step });
        self.queued_bytes += request.size();
        let list = suspicion.map_or(&mut self.queue, |step| &mut self.suspects[step]);
        if first && (is_new || suspicion.is_none()) {
            list.push_front(reference);
        } else {
            list.push_back(reference);
        }
    }

    /// Takes the next waiting request, and returns its key.
    pub fn dequeue(&mut self, requests: &mut Requests) -> Option<usize> {
        while let Some(reference) = self.queue.pop_front() {
            if requests.is(reference, RequestState::Queued) {
                self.leave_queue(requests, reference.key);
                return Some(reference.key);
            }
        }
        None
    }

    /// Takes the next suspect of that step, and returns its key.
    pub fn dequeue_suspect(&mut self, step: usize, requests: &mut Requests) -> Option<usize> {
        while let Some(reference) = self.suspects[step].pop_front() {
            if requests.is(reference, RequestState::Suspect { step }) {
                self.leave_queue(requests, reference.key);
                return Some(reference.key);
            }
        }
        None
    }

    /// Removes a request from the queue.
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

    /// Returns the arrival of the oldest waiting request.
    pub fn oldest(&self, requests: &Requests) -> Option<Duration> {
        let first = |list: &RequestList, state| {
            let mut waiting = list.iter().filter(|found| requests.is(*found, state));
            waiting.next().and_then(|found| requests.find(found)).map(|request| request.arrived)
        };
        let suspects = self.suspects.iter().enumerate();
        let suspects = suspects.map(|(step, list)| first(list, RequestState::Suspect { step }));
        suspects.chain([first(&self.queue, RequestState::Queued)]).flatten().min()
    }

    /// Returns the start of the wait of the first suspect of that step.
    pub fn suspect_since(&mut self, step: usize, requests: &Requests) -> Option<Duration> {
        while let Some(first) = self.suspects[step].first() {
            if requests.is(first, RequestState::Suspect { step }) {
                return requests.find(first).map(|request| request.waits_since);
            }
            self.suspects[step].pop_front();
        }
        None
    }

    /// Returns the least busy worker with room.
    pub fn least_busy(&self) -> Option<u32> {
        self.with_room.first().map(|(_, _, index)| *index)
    }

    pub fn with_room_count(&self) -> usize {
        self.with_room.len()
    }

    /// Applies `change` to the worker, and updates its place in the order.
    pub fn change(&mut self, reference: WorkerRef, worker: &mut Worker, change: impl FnOnce(&mut Worker)) {
        if worker.has_room() {
            self.with_room.remove(&(worker.outstanding, worker.turn, reference.index));
        }
        change(worker);
        self.place(reference, worker);
    }

    /// Places a worker that is new here.
    pub fn place(&mut self, reference: WorkerRef, worker: &mut Worker) {
        if worker.has_room() {
            self.next_turn += 1;
            worker.turn = self.next_turn;
            self.with_room.insert((worker.outstanding, worker.turn, reference.index));
        }
    }

    /// Removes a worker that goes.
    pub fn displace(&mut self, reference: WorkerRef, worker: &Worker) {
        self.with_room.remove(&(worker.outstanding, worker.turn, reference.index));
        self.worker_count -= 1;
    }

    fn is_unused(&self) -> bool {
        self.worker_count == 0 && self.open_count == 0
    }
}

/// Kind of peer that names a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asks {
    Client,
    Worker,
}

/// All services, by index and by name.
#[derive(Debug, Default)]
pub(super) struct Services {
    slab: Slab<Service>,
    by_name: HashMap<Arc<[u8]>, usize>,
}

impl Services {
    /// Returns the service of that name, and creates it if needed. `None`: there are too many. Half of the places are
    /// reserved for services with workers, so that clients cannot fill them all with requests for unknown services.
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

    /// Forgets services without workers and without requests.
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
