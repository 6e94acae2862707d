//! Leases: a message of a logged queue is delivered once the disk has a lease for its place.

use crate::queue::{Durability, Entry, QueueId};
use crate::vhost::credit::{first_consumer, touch};
use crate::vhost::pages::{LeaseRequest, PageRequest};
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::{HostOutbox, LogChange};

/// Milliseconds that deliveries wait for a lease. A disk that takes longer is reported as hanging.
const LEASE_WAIT_MS: u64 = 2_000;

/// Returns false if the lease of a waiting message is on its way. Without a consumer that can take the message, no lease is asked for.
#[inline]
pub(super) fn may_deliver(parts: &mut Parts, id: QueueId, entry: &Entry, now: u64) -> bool {
    parts.queues.get(id).ready.lease.is_free(entry.sequence) || may_deliver_slowly(parts, id, entry, now)
}

#[inline(never)]
fn may_deliver_slowly(parts: &mut Parts, id: QueueId, entry: &Entry, now: u64) -> bool {
    let is_logged = parts.queues.get(id).has_logged(entry);
    first_consumer(parts, id).is_none() || lease(parts, id, (entry.sequence, is_logged), now)
}

/// Returns false if the message that arrived last has to wait for its lease before a consumer gets it.
#[inline]
pub(super) fn may_go_direct(parts: &mut Parts, id: QueueId, is_persistent: bool, now: u64) -> bool {
    let queue = parts.queues.get(id);
    let sequence = queue.ready.last_sequence();
    queue.ready.lease.is_free(sequence) || may_go_direct_slowly(parts, id, (sequence, is_persistent), now)
}

/// The log does not get a message that goes to a consumer without acknowledgements.
#[inline(never)]
fn may_go_direct_slowly(
    parts: &mut Parts,
    id: QueueId,
    (sequence, is_persistent): (u64, bool),
    now: u64,
) -> bool {
    let Some(consumer) = first_consumer(parts, id) else { return false };
    let is_logged = parts.queues.get(id).durability_of(is_persistent) != Durability::Memory;
    parts.consumers.get(consumer).no_ack || lease(parts, id, (sequence, is_logged), now)
}

/// Asks for a lease if one is due. Returns true if the message at the place `sequence` may be delivered.
pub(super) fn lease(parts: &mut Parts, id: QueueId, (sequence, is_logged): (u64, bool), now: u64) -> bool {
    if !is_logged {
        return true;
    }
    let queue = parts.queues.get_mut(id);
    if let Some(through) = queue.ready.lease.renew(sequence) {
        let request = LeaseRequest { queue: id, log_id: queue.log_id(), through };
        parts.appends.push(LogChange::Leased { queue: request.log_id, through });
        parts.pages.requests.push(PageRequest::Lease(request));
        parts.pages.leases.push_back((request, now.saturating_add(LEASE_WAIT_MS)));
    }
    parts.queues.get(id).ready.lease.has(sequence)
}

/// The disk has a lease.
pub(in crate::vhost) fn granted<O: HostOutbox>(turn: &mut Turn<'_, O>, request: LeaseRequest) {
    let Parts { queues, pages, .. } = &mut *turn.parts;
    // The log syncs leases in their order.
    if let Some(place) = pages.leases.iter().position(|(other, _)| *other == request) {
        pages.leases.drain(..=place);
    }
    let LeaseRequest { queue: id, log_id, through } = request;
    let Some(queue) = queues.try_get_mut(id).filter(|queue| queue.log_id() == log_id) else { return };
    if queue.ready.lease.grant(through) {
        let last = queue.ready.last_sequence();
        lease(turn.parts, id, (last, true), turn.now);
    }
    touch(turn.parts, id);
}

/// Has deliveries go on that have waited too long for a lease: the disk does not answer, or fails.
pub(super) fn overrun(parts: &mut Parts, now: u64) {
    while let Some((request, due)) = parts.pages.leases.front().copied()
        && due <= now
    {
        parts.pages.leases.pop_front();
        let LeaseRequest { queue: id, log_id, through } = request;
        let queue = parts.queues.try_get_mut(id).filter(|queue| queue.log_id() == log_id);
        if queue.is_some_and(|queue| queue.ready.lease.overrun(through)) {
            touch(parts, id);
        }
    }
}
