//! `Disk`: a message log and pages in memory, which serve the requests of a virtual host one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::*;

/// Messages by the id of their queue or pages, and by place.
#[derive(Default)]
pub(super) struct Disk {
    now: u64,
    messages: BTreeMap<(u64, u64), Kept>,
    requests: Vec<PageRequest>,
    /// The last places with a lease, by the id of their queue.
    leases: BTreeMap<u64, u64>,
    /// Ids of queues whose deliveries went on without a lease.
    late: BTreeSet<u64>,
}

struct Kept {
    message: OwnedMessage,
    expires_at: Option<u64>,
    return_count: u16,
}

impl Disk {
    pub(super) fn write(&mut self, message: &Message<'_>, targets: &[LogTarget], moved: Option<LogRun>) {
        for target in targets {
            let expires_at = target.ttl_ms.map(|ttl_ms| self.now + ttl_ms);
            let kept = Kept { message: OwnedMessage::of(message), expires_at, return_count: 0 };
            self.messages.insert((target.queue, target.sequence), kept);
        }
        moved.into_iter().for_each(|run| self.remove(run.queue, run.first, run.first + run.count - 1));
    }

    fn remove(&mut self, id: u64, first: u64, last: u64) {
        self.messages.retain(|(queue, place), _| *queue != id || !(first..=last).contains(place));
    }

    fn apply(&mut self, change: LogChange) {
        match change {
            LogChange::Settled(run) => self.remove(run.queue, run.first, run.first + run.count - 1),
            LogChange::Dropped { queue, first, last } => self.remove(queue, first, last),
            LogChange::Forgotten { queue } => self.remove(queue, 0, u64::MAX),
            LogChange::Returned { queue, sequence, count } => self.count_returns(queue, sequence, count),
            LogChange::Leased { .. } => {}
        }
    }

    pub(super) fn count_returns(&mut self, queue: u64, sequence: u64, count: u16) {
        self.messages.get_mut(&(queue, sequence)).unwrap().return_count = count;
    }

    /// The number of messages.
    pub(super) fn count(&self) -> usize {
        self.messages.len()
    }

    /// The messages of a queue, as a start finds them, without the pages.
    pub(super) fn stored(&self, queue: u64) -> StoredMessages {
        let places: Vec<u64> =
            self.messages.keys().filter(|(id, _)| *id == queue).map(|(_, place)| *place).collect();
        let bodies = self.messages.iter().filter(|((id, _), _)| *id == queue);
        let body_bytes = bodies.map(|(_, kept)| kept.message.message().body.as_bytes().len() as u64).sum();
        StoredMessages {
            first: places.first().copied().unwrap_or(0),
            last: places.last().copied().unwrap_or(0),
            count: places.len(),
            body_bytes,
        }
    }

    /// Loses a message.
    pub(super) fn lose(&mut self, queue: u64, place: u64) {
        assert!(self.messages.remove(&(queue, place)).is_some());
    }
}

impl Bench {
    /// A bench whose host has a message log, and writes all messages to disk that are not wanted.
    pub(super) fn with_disk(limits: Limits) -> Bench {
        let mut bench = Bench::with(Limits { page_bytes: 1, ..limits });
        bench.host.log_messages(Arc::new(AtomicU64::new(0)));
        bench.host.write_pages(true);
        bench.said.disk.now = bench.now;
        bench
    }

    /// Takes the requests of the host, and serves one of them. `pick` returns a number below its argument. Returns false if there is
    /// none.
    pub(super) fn serve_one(&mut self, mut pick: impl FnMut(usize) -> usize) -> bool {
        self.check_leases();
        let Bench { host, now, said } = self;
        said.disk.now = *now;
        host.log_changes().drain(..).for_each(|change| said.disk.apply(change));
        said.disk.requests.append(host.page_requests());
        if said.disk.requests.is_empty() {
            return false;
        }
        let request = said.disk.requests.remove(pick(said.disk.requests.len()));
        match request {
            PageRequest::Write { place, through, bytes, .. } => {
                host.pages_written(place, (through, bytes), *now, said);
            }
            PageRequest::Lease(lease) => {
                let queue = host.parts.queues.try_get(lease.queue);
                if queue
                    .is_some_and(|queue| queue.log_id() == lease.log_id && queue.ready.lease.has(u64::MAX))
                {
                    said.disk.late.insert(lease.log_id);
                }
                let leased = said.disk.leases.entry(lease.log_id).or_default();
                *leased = lease.through.max(*leased);
                host.lease_granted(lease, *now, said);
            }
            PageRequest::Forget { page_id } => said.disk.remove(page_id, 0, u64::MAX),
            PageRequest::Read { place, log_id, from, through, has_unlogged, .. } => {
                let ids = [log_id, if has_unlogged { place.page_id() } else { 0 }];
                let is_read = |(id, place): &(u64, u64)| {
                    *id != 0 && ids.contains(id) && (from..=through).contains(place)
                };
                let mut places: Vec<_> = said.disk.messages.keys().copied().filter(is_read).collect();
                places.sort_unstable_by_key(|(_, place)| *place);
                // A read may end before the requested place.
                let read_count = if places.is_empty() { 0 } else { 1 + pick(places.len()) };
                let is_all = read_count == places.len();
                places.truncate(read_count);
                let next = places.last().filter(|_| !is_all).map_or(through + 1, |(_, last)| last + 1);
                let taken: Vec<(u64, OwnedMessage, Option<u64>, u16, bool)> = places
                    .into_iter()
                    .map(|place| {
                        let Kept { message, expires_at, return_count } = &said.disk.messages[&place];
                        let is_logged = place.0 == log_id;
                        (place.1, OwnedMessage::of(&message.message()), *expires_at, *return_count, is_logged)
                    })
                    .collect();
                said.disk.remove(place.page_id(), 0, next - 1);
                let read = taken.iter().map(|(sequence, message, expires_at, return_count, is_logged)| {
                    ReadMessage {
                        message: message.message(),
                        sequence: *sequence,
                        expires_at: *expires_at,
                        return_count: *return_count,
                        is_logged: *is_logged,
                        was_delivered: false,
                    }
                });
                host.pages_read(place, read, next, *now, said);
            }
        }
        true
    }

    /// The number of messages that the message log has, once it knows the last changes.
    pub(super) fn logged_count(&mut self) -> u64 {
        let Bench { host, said, .. } = self;
        host.log_changes().drain(..).for_each(|change| said.disk.apply(change));
        let is_queue = |id| id != 0 && host.parts.queues.iter().any(|queue| queue.log_id() == id);
        said.disk.messages.keys().filter(|(id, _)| is_queue(*id)).count() as u64
    }

    /// Checks that the disk has a lease for each delivery of a logged message, unless deliveries have waited too long for one.
    fn check_leases(&self) {
        let Bench { host: VirtualHost { parts, .. }, said, .. } = self;
        let delivered =
            parts.channels.iter().flat_map(|channel| channel.unacked().iter().chain(channel.held()));
        for unacked in delivered {
            let queue = parts.queues.get(unacked.queue);
            let id = queue.log_id();
            let is_late = queue.ready.lease.has(u64::MAX) || said.disk.late.contains(&id);
            if queue.has_logged(&unacked.entry) && !is_late {
                let leased = said.disk.leases.get(&id).copied().unwrap_or(0);
                let place = unacked.entry.sequence;
                assert!(
                    place <= leased,
                    "place {place} of queue {id} is delivered, the lease ends at {leased}"
                );
            }
        }
    }

    /// Tells the host that the disk has all leases that it asked for. Returns the places of the last messages of these leases.
    pub(super) fn grant_leases(&mut self) -> Vec<u64> {
        let requests: Vec<_> = self.host.page_requests().drain(..).collect();
        let leases = requests.into_iter().filter_map(|request| match request {
            PageRequest::Lease(lease) => Some(lease),
            _ => None,
        });
        leases
            .map(|lease| {
                self.host.lease_granted(lease, self.now, &mut self.said);
                lease.through
            })
            .collect()
    }

    /// Serves requests until there is none.
    pub(super) fn serve_disk(&mut self) {
        loop {
            self.pass(0);
            if !self.serve_one(|_| 0) {
                break;
            }
        }
    }
}
