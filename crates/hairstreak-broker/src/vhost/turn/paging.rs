//! Paging: messages of long queues go to disk, and come back ahead of the consumers.

use crate::message::{Attributes, Message};
use crate::queue::{Entry, NEVER, QueueId, QueueKind};
use crate::vhost::credit::touch;
use crate::vhost::pages::{PagePlace, PageRequest, ReadMessage};
use crate::vhost::parts::{Parts, Turn};
use crate::vhost::{HostOutbox, LogTarget};

/// Bytes of messages that are written at once; the message that reaches them is the last one.
const WRITTEN_BYTES_MAX: u64 = 1 << 20;
/// Queues that are visited in a row.
const QUEUE_COUNT: usize = 64;

/// Begins to write messages of a queue to disk, if the queue has many in memory.
#[cold]
pub(super) fn page_out<O: HostOutbox>(turn: &mut Turn<'_, O>, id: QueueId) {
    let Parts { queues, appends, store, pages, limits, steps, .. } = &mut *turn.parts;
    let page_bytes = limits.page_bytes;
    let queue = queues.get_mut(id);
    if !appends.is_on() || queue.is_going || !queue.ready.has_pages(page_bytes) {
        return;
    }
    let before = queue.ready.memory_bytes();
    queue.ready.split(page_bytes, || appends.next_id());
    let after = queue.ready.memory_bytes();
    let size_of = |entry: &Entry| store.body_size(entry.message);
    let written = queue.ready.begin_writing((page_bytes, WRITTEN_BYTES_MAX), size_of);
    queues.note_memory(before, after);
    let queue = queues.get(id);
    let (Some(written), Some(paged)) = (written, queue.ready.paged()) else { return };
    let Some(last) = written.last() else { return };
    steps.charge(written.len());
    let is_logged = |entry: &&Entry| queue.logs(store.is_persistent(entry.message));
    for entry in written.iter().filter(|entry| !is_logged(entry)) {
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
        turn.outbox
            .write_page(&message, LogTarget { queue: paged.page_id, sequence: entry.sequence, ttl_ms });
    }
    pages.requests.push(PageRequest::Write {
        place: PagePlace { queue: id, page_id: paged.page_id },
        through: last.sequence,
        has_logged: written.iter().any(|entry| is_logged(&entry)),
    });
}

/// Has queues write messages to disk, from a position of their table on. Returns true if all queues had their turn.
pub(super) fn write_pages<O: HostOutbox>(turn: &mut Turn<'_, O>, position: &mut usize) -> bool {
    while turn.parts.pages.are_written {
        if turn.parts.steps.are_spent() {
            return false;
        }
        let mut ids = Vec::new();
        let next = turn.parts.queues.visit(*position, QUEUE_COUNT, |id, _| ids.push(id));
        turn.parts.steps.charge(QUEUE_COUNT);
        ids.into_iter().for_each(|id| page_out(turn, id));
        let Some(next) = next else { return true };
        *position = next;
    }
    true
}

/// Returns true if the queue still has these pages.
fn has_pages(parts: &Parts, place: PagePlace) -> bool {
    let paged = parts.queues.try_get(place.queue).and_then(|queue| queue.ready.paged());
    paged.is_some_and(|paged| paged.page_id == place.page_id)
}

/// Messages up to a place are on disk: they leave the memory.
pub(in crate::vhost) fn pages_written<O: HostOutbox>(turn: &mut Turn<'_, O>, place: PagePlace, through: u64) {
    if !has_pages(turn.parts, place) {
        return;
    }
    let Parts { queues, store, steps, .. } = &mut *turn.parts;
    let queue = queues.get_mut(place.queue);
    if !queue.ready.end_writing(place.page_id, through) {
        return;
    }
    let before = queue.ready.memory_bytes();
    let (has_log, is_quorum) = (queue.log_id() != 0, queue.kind == QueueKind::Quorum);
    let figures = |entry: &Entry| {
        let is_logged = has_log && (is_quorum || store.is_persistent(entry.message));
        (store.body_size(entry.message), is_logged)
    };
    let mut left = Vec::new();
    while let Some(entry) = queue.ready.leave_to_disk(through, figures) {
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
    for ReadMessage { message, sequence, expires_at, return_count } in messages {
        let is_logged = queue.logs(message.attributes.is_persistent);
        let stored = store.add(&message);
        let entry = Entry {
            sequence,
            expires_at: expires_at.unwrap_or(NEVER),
            message: stored,
            return_count,
            priority: queue.ready.list_of(message.attributes.priority),
        };
        queue.ready.push_read(entry, store.body_size(stored), is_logged);
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
