//! Paging: messages of long queues go to disk, and come back ahead of the consumers.

use crate::message::{Attributes, Message};
use crate::queue::{Entry, Kept, Marks, NEVER, QueueId};
use crate::vhost::chores::Chore;
use crate::vhost::credit::{first_consumer, touch};
use crate::vhost::pages::{PagePlace, PageRequest, Pages, PausedVisit, ReadMessage};
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::{HostOutbox, LogTarget};

/// Bytes of messages of a queue that are written at once; the message that reaches them is the last one.
const WRITTEN_BYTES_MAX: u64 = 1 << 20;
/// Bytes of messages of a host that are on their way to the disk, at which queues wait.
const WRITING_BYTES_MAX: u64 = 8 << 20;
/// The least number of bytes that queues with messages keep in memory.
const PAGE_BYTES_MIN: u64 = 512;
/// Queues that are visited in a row.
const QUEUE_COUNT: usize = 64;

/// Begins to write messages of a queue to disk, if the queue has many in memory.
#[cold]
pub(super) fn page_out<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let Parts { queues, appends, store, pages, steps, .. } = &mut *turn.parts;
    let page_bytes = pages.page_bytes;
    let queue = queues.get_mut(id);
    let has_room = pages.writing_bytes < WRITING_BYTES_MAX;
    if !has_room || !appends.is_on() || queue.is_going || !queue.ready.has_pages(page_bytes) {
        return;
    }
    let kept = Kept {
        // A queue whose consumers take no message needs none in memory.
        bytes: if queue.rotation.is_empty() { 0 } else { page_bytes },
        has_first: queue.needs_front(),
        has_returned: queue.unacknowledged > 0,
    };
    let before = queue.ready.memory_bytes();
    queue.ready.split(kept, page_bytes, || appends.next_id());
    let after = queue.ready.memory_bytes();
    let size_of = |entry: &Entry| store.body_size(entry.message);
    let written = queue.ready.begin_writing((page_bytes, WRITTEN_BYTES_MAX), size_of);
    queues.note_memory(before, after);
    let queue = queues.get(id);
    let (Some((written, bytes)), Some(paged)) = (written, queue.ready.paged()) else { return };
    let Some(last) = written.last() else { return };
    steps.charge(written.len());
    pages.writing_bytes += bytes;
    for entry in written.iter().filter(|entry| !entry.marks.is_logged()) {
        let view = store.view(entry.message);
        let attributes = Attributes {
            is_persistent: store.is_persistent(entry.message),
            priority: store.priority(entry.message),
            expiration_ms: None,
        };
        let message = Message {
            exchange: view.exchange,
            routing_key: view.routing_key,
            properties: view.properties,
            attributes,
            body: view.body,
        };
        let ttl_ms = (entry.expires_at != NEVER).then(|| entry.expires_at.saturating_sub(turn.now));
        let target = LogTarget { queue: paged.page_id, sequence: entry.sequence, ttl_ms };
        turn.outbox.write_page(&message, target, entry.return_count);
    }
    pages.requests.push(PageRequest::Write {
        place: PagePlace { queue: id, page_id: paged.page_id },
        through: last.sequence,
        has_logged: written.iter().any(|entry| entry.marks.is_logged()),
        bytes,
    });
}

/// Follows a backlog that consumers have left: messages in front are read if consumers want them, and the others may go to disk.
#[cold]
pub(super) fn follow_backlog<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    if turn.parts.queues.get(id).ready.is_front_on_disk() {
        first_consumer(turn.parts, id);
        turn.parts.follow_pages(id);
    }
    if turn.parts.pages.are_written {
        page_out(turn, id);
    }
}

/// Has queues write messages to disk, from a position of their table on, until memory is no longer short. Where that is not enough,
/// queues keep half as much, and so on. Returns true if nothing is left to do before messages are written.
pub(super) fn write_pages<O: HostOutbox>(turn: &mut Turn<'_, O>, position: &mut usize) -> bool {
    while turn.parts.pages.are_written {
        if turn.parts.steps.are_spent() {
            return false;
        }
        if turn.parts.pages.writing_bytes >= WRITING_BYTES_MAX {
            turn.parts.pages.paused =
                Some(PausedVisit { position: *position, memory_bytes: None, written_bytes: 0 });
            return true;
        }
        let mut ids = Vec::new();
        let next = turn.parts.queues.visit(*position, QUEUE_COUNT, |id, _| ids.push(id));
        turn.parts.steps.charge(QUEUE_COUNT);
        ids.into_iter().for_each(|id| page_out(turn, id));
        *position = next.unwrap_or(0);
        let memory_bytes = turn.parts.memory_bytes();
        let pages = &mut turn.parts.pages;
        if next.is_none() && pages.writing_bytes > 0 {
            pages.paused =
                Some(PausedVisit { position: 0, memory_bytes: Some(memory_bytes), written_bytes: 0 });
            return true;
        }
        if next.is_none() && !halve_pages(pages) {
            return true;
        }
    }
    true
}

/// Has queues keep half as much. Returns false if they keep the least already.
fn halve_pages(pages: &mut Pages) -> bool {
    let is_least = pages.page_bytes <= PAGE_BYTES_MIN;
    if !is_least {
        pages.page_bytes = (pages.page_bytes / 2).max(PAGE_BYTES_MIN);
    }
    !is_least
}

/// Goes on with the visit of all queues that waits for writes, of which `bytes` are done.
fn go_on_visiting(parts: &mut Parts, bytes: u64) {
    let memory_bytes = parts.memory_bytes();
    let pages = &mut parts.pages;
    pages.writing_bytes = pages.writing_bytes.saturating_sub(bytes);
    let Some(paused) = pages.paused.as_mut().filter(|_| pages.are_written) else { return };
    paused.written_bytes += bytes;
    let is_on = match paused.memory_bytes {
        None => pages.writing_bytes < WRITING_BYTES_MAX / 2,
        Some(_) if pages.writing_bytes == 0 => halve_pages(pages),
        Some(_) if paused.written_bytes < WRITING_BYTES_MAX => false,
        // Other messages have taken the room of those that were written.
        Some(before) if memory_bytes >= before => halve_pages(pages),
        Some(_) => {
            (paused.memory_bytes, paused.written_bytes) = (Some(memory_bytes), 0);
            false
        }
    };
    if is_on && let Some(paused) = pages.paused.take() {
        parts.put_off(None, Chore::WritePages(paused.position));
    }
}

/// Returns true if the queue still has these pages.
fn has_pages(parts: &Parts, place: PagePlace) -> bool {
    let paged = parts.queues.try_get(place.queue).and_then(|queue| queue.ready.paged());
    paged.is_some_and(|paged| paged.page_id == place.page_id)
}

/// Messages up to a place, with `bytes` of estimated memory, are on disk: they leave the memory.
pub(in crate::vhost) fn pages_written<O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    place: PagePlace,
    through: u64,
    bytes: u64,
) {
    if has_pages(turn.parts, place) {
        leave_to_disk(turn, place, through);
    }
    go_on_visiting(turn.parts, bytes);
}

fn leave_to_disk<O: HostOutbox>(turn: &mut Turn<'_, O>, place: PagePlace, through: u64) {
    let Parts { queues, store, steps, .. } = &mut *turn.parts;
    let queue = queues.get_mut(place.queue);
    if !queue.ready.end_writing(place.page_id, through) {
        return;
    }
    let before = queue.ready.memory_bytes();
    let mut left = Vec::new();
    while let Some(entry) = queue.ready.leave_to_disk(through, |entry| store.body_size(entry.message)) {
        left.push(entry.message);
    }
    let after = queue.ready.memory_bytes();
    queues.note_memory(before, after);
    steps.charge(left.len());
    left.into_iter().for_each(|message| store.release(message));
    turn.parts.follow_pages(place.queue);
    if turn.parts.pages.are_written {
        page_out(turn, place.queue);
    }
}

/// Messages were read from the disk. `next`: the place from which messages are still on disk.
pub(in crate::vhost) fn pages_read<'a, O: HostOutbox>(
    turn: &mut Turn<'_, O>,
    place: PagePlace,
    messages: impl Iterator<Item = ReadMessage<'a>>,
    next: u64,
) {
    if !has_pages(turn.parts, place) {
        return;
    }
    let Parts { queues, store, steps, .. } = &mut *turn.parts;
    let queue = queues.get_mut(place.queue);
    let before = queue.ready.memory_bytes();
    let mut read_count = 0;
    for ReadMessage { message, sequence, expires_at, return_count, is_logged, was_delivered } in messages {
        let stored = store.add(&message);
        let entry = Entry {
            sequence,
            expires_at: expires_at.unwrap_or(NEVER),
            message: stored,
            return_count,
            priority: queue.ready.list_of(message.attributes.priority),
            marks: Marks::new(is_logged, was_delivered),
        };
        queue.ready.push_read(entry, store.body_size(stored));
        read_count += 1;
    }
    let lost_count = queue.ready.end_reading(next, read_count);
    queue.counts.gone += lost_count as u64;
    let after = queue.ready.memory_bytes();
    queues.note_memory(before, after);
    steps.charge(read_count);
    turn.parts.follow_pages(place.queue);
    touch(turn.parts, place.queue);
}
