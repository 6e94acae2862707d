//! Deaths: messages expire, are too many, or are rejected.

use crate::queue::{Entry, QueueId, QueueKind, Reason};
use crate::vhost::HostOutbox;
use crate::vhost::credit::touch;
use crate::vhost::letters::Letter;
use crate::vhost::parts::{Parts, Turn};

/// Drops expired messages at the front of a queue. Returns true if none is left; the others follow at once.
pub(super) fn expire_fronts<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) -> bool {
    while let Some(front) = turn.parts.queues.get(id).ready.expired_front(turn.now) {
        if turn.budget == 0 {
            break;
        }
        turn.budget -= 1;
        turn.parts.steps.charge(1);
        turn.parts.remove_front(id, &front);
        turn.parts.queues.get_mut(id).counts.gone += 1;
        bury(turn.parts, id, &front, Reason::Expired);
    }
    let next_expiry = turn.parts.queues.get(id).ready.next_expiry();
    turn.parts.timers.set_message_expiry(id, next_expiry);
    next_expiry > turn.now
}

/// Drops the oldest messages of a queue that is too long, as far as there are steps. The rest is dropped in the next call.
pub(super) fn shorten<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    while turn.parts.queues.get(id).has_to_shorten() {
        let Some(front) = turn.parts.queues.get(id).ready.front().copied() else { break };
        if turn.parts.steps.are_spent() {
            touch(turn.parts, id);
            break;
        }
        turn.parts.steps.charge(1);
        turn.parts.remove_front(id, &front);
        turn.parts.queues.get_mut(id).counts.gone += 1;
        bury(turn.parts, id, &front, Reason::MaxLength);
    }
}

/// Counts the death of a message that was removed from its list. The message is a dead letter if its queue has an exchange for
/// them.
pub(super) fn bury(parts: &mut Parts, id: QueueId, entry: &Entry, reason: Reason) {
    let queue = parts.queues.get(id);
    let (kind, has_letters) = (queue.kind, queue.settings.dead_letter.is_some());
    note_death(parts, kind, has_letters, reason);
    if has_letters {
        parts.queues.get_mut(id).counts.unwritten_letters += 1;
        parts.letters.push(Letter { entry: *entry, queue: id, reason });
    } else {
        parts.note_gone(id, entry);
        parts.store.release(entry.message);
    }
}

fn note_death(parts: &mut Parts, kind: QueueKind, has_letters: bool, reason: Reason) {
    let deaths = match kind {
        QueueKind::Classic => &mut parts.counted.classic_deaths,
        QueueKind::Quorum => &mut parts.counted.quorum_deaths,
    };
    let deaths = if has_letters { &mut deaths.dead_lettered } else { &mut deaths.dropped };
    let count = match reason {
        Reason::Rejected => &mut deaths.rejected,
        Reason::Expired => &mut deaths.expired,
        Reason::MaxLength => &mut deaths.max_length,
        Reason::DeliveryLimit => &mut deaths.delivery_limit,
    };
    *count += 1;
}
