//! `Parts`: the parts of a virtual host, each of which owns its fields. `Turn`: one call of the virtual host, which lets the
//! parts work together.

use std::sync::Arc;

use hairstreak_wire::amqp::ReplyCode;

use super::appends::{Appends, LogChange};
use super::channels::Channels;
use super::chores::{Chore, Chores};
use super::letters::Letters;
use super::names::{NameSource, QueueName};
use super::options::{HostSettings, Limits};
use super::outbox::{ConnectionId, Replies};
use super::pages::{PagePlace, PageRequest, Pages};
use super::timers::Timers;
use crate::exchange::Exchanges;
use crate::message::{SegmentPool, Store};
use crate::queue::{Consumers, Entry, Paged, Queue, QueueId, QueueKind, Queues, Ready, StoredPages};
use crate::refusal::Refusal;
use crate::stats::HostStats;
use crate::steps::Steps;

/// Bytes that are read at once, in pages.
const READ_PAGES: u64 = 4;
/// The least number of bytes of a read, and the size of the first read of a queue without consumers.
const READ_BYTES_MIN: u64 = 4 << 10;

/// The parts of a virtual host.
pub(super) struct Parts {
    pub(super) queues: Queues,
    pub(super) consumers: Consumers,
    pub(super) channels: Channels,
    pub(super) store: Store,
    pub(super) appends: Appends,
    pub(super) pages: Pages,
    pub(super) exchanges: Exchanges,
    pub(super) timers: Timers,
    pub(super) letters: Letters,
    pub(super) replies: Replies,
    /// Queues whose consumers or messages changed in this turn.
    pub(super) touched: Vec<QueueId>,
    pub(super) chores: Chores,
    /// Chores have the next call of `handle_timeout` first.
    pub(super) are_chores_first: bool,
    pub(super) steps: Steps,
    pub(super) limits: Limits,
    pub(super) settings: HostSettings,
    /// The counters of the host that no queue has.
    pub(super) counted: HostStats,
    pub(super) names: NameSource,
    pub(super) virtual_host: Box<str>,
}

impl Parts {
    pub(super) fn new(virtual_host: &str, limits: Limits, pool: Arc<SegmentPool>) -> Parts {
        let mut exchanges = Exchanges::new(virtual_host);
        exchanges.memory_bytes_max = limits.declared_bytes_max;
        Parts {
            queues: Queues::new(),
            consumers: Consumers::new(),
            channels: Channels::new(),
            store: Store::new(pool),
            appends: Appends::default(),
            pages: Pages::new(limits.page_bytes),
            exchanges,
            timers: Timers::new(),
            letters: Letters::default(),
            replies: Replies::default(),
            touched: Vec::new(),
            chores: Chores::default(),
            are_chores_first: false,
            steps: Steps::default(),
            limits,
            settings: HostSettings::default(),
            counted: HostStats::default(),
            names: NameSource::default(),
            virtual_host: virtual_host.into(),
        }
    }

    /// Continues an operation in later calls. `owner` has to wait.
    pub(super) fn put_off(&mut self, owner: Option<ConnectionId>, chore: Chore) {
        if let Some(owner) = owner {
            self.channels.connection_mut(owner).chore_count += 1;
        }
        self.chores.push(owner, chore);
    }

    /// A queue as texts show it.
    pub(super) fn show<'a>(&'a self, queue: &'a [u8]) -> QueueName<'a> {
        QueueName { queue, virtual_host: &self.virtual_host }
    }

    /// The queue of that name, which this connection may use.
    pub(super) fn find_queue(&self, user: ConnectionId, name: &[u8]) -> Result<QueueId, Refusal> {
        let found = self.queues.find(name).filter(|id| !self.queues.get(*id).is_going);
        let Some(id) = found else {
            return Err(Refusal::new(ReplyCode::NotFound, format!("no {}", self.show(name))));
        };
        self.check_access(self.queues.get(id), user)?;
        Ok(id)
    }

    /// Refuses a queue that is exclusive to another connection.
    pub(super) fn check_access(&self, queue: &Queue, user: ConnectionId) -> Result<(), Refusal> {
        match queue.owner {
            Some(owner) if owner != user => Err(self.locked(&queue.declaration.name)),
            _ => Ok(()),
        }
    }

    /// Refuses basic.get where RabbitMQ does.
    pub(super) fn check_get(&self, id: QueueId) -> Result<(), Refusal> {
        let queue = self.queues.get(id);
        if queue.kind == QueueKind::Classic || !queue.is_single_active() {
            return Ok(());
        }
        let text = format!(
            "cannot obtain access to locked {}. basic.get operations are not supported by quorum queues with single active consumer",
            self.show(&queue.declaration.name)
        );
        Err(Refusal::new(ReplyCode::ResourceLocked, text))
    }

    pub(super) fn locked(&self, name: &[u8]) -> Refusal {
        let text = format!(
            "cannot obtain exclusive access to locked {}. It could be originally declared on another connection or \
             the exclusive property value does not match that of the original declaration.",
            self.show(name)
        );
        Refusal::new(ReplyCode::ResourceLocked, text)
    }

    /// The queue is used: its time to expiry begins again.
    pub(super) fn note_use(&mut self, id: QueueId, now: u64) {
        let queue = self.queues.get_mut(id);
        queue.used_at = now;
        if let Some(expires_ms) = queue.settings.expires_ms {
            self.timers.set_queue_expiry(id, now.saturating_add(expires_ms));
        }
    }

    /// Takes the first waiting message, which `front` has shown, out of the queue. Returns the size of the body.
    #[inline]
    pub(super) fn remove_front(&mut self, id: QueueId, front: &Entry) -> u32 {
        let body_size = self.store.body_size(front.message);
        let ready = &mut self.queues.get_mut(id).ready;
        let before = ready.memory_bytes();
        ready.remove_front(front.priority, body_size);
        let (after, has_paged) = (ready.memory_bytes(), ready.paged().is_some());
        self.queues.note_memory(before, after);
        if has_paged {
            self.follow_pages(id);
        }
        body_size
    }

    /// Reads messages of a queue if few are left in front of those on disk, and consumers may take them. Joins the messages in memory
    /// if none is on disk.
    #[cold]
    pub(super) fn follow_pages(&mut self, id: QueueId) {
        let is_joined = self.join_pages(id);
        let queue = self.queues.get(id);
        if !is_joined && (queue.needs_front() || queue.ready.paged().is_some_and(Paged::was_read)) {
            self.read_pages(id, true);
        }
    }

    /// Reads the first message of a queue if the message is on disk. Returns whether the caller has to wait for it.
    #[cold]
    pub(super) fn want_front(&mut self, id: QueueId) -> bool {
        if !self.join_pages(id) {
            self.read_pages(id, true);
        }
        let ready = &mut self.queues.get_mut(id).ready;
        let is_on_disk = ready.is_front_on_disk();
        if is_on_disk {
            ready.want_front();
        }
        is_on_disk
    }

    /// Joins the messages of a queue in memory if none is on disk. Returns whether that was so.
    fn join_pages(&mut self, id: QueueId) -> bool {
        let ready = &mut self.queues.get_mut(id).ready;
        let before = ready.memory_bytes();
        let Some(page_id) = ready.join() else { return false };
        let after = ready.memory_bytes();
        self.queues.note_memory(before, after);
        self.pages.requests.push(PageRequest::Forget { page_id });
        true
    }

    /// Reads messages of a queue if few are left in front of those on disk. Messages that are not wanted now stay on disk while
    /// memory is short.
    pub(super) fn read_pages(&mut self, id: QueueId, is_wanted: bool) {
        let queue = self.queues.get_mut(id);
        let has_consumers = !queue.rotation.is_empty();
        if queue.ready.begin_reading()
            && let Some(paged) = queue.ready.paged()
        {
            let is_read = has_consumers || paged.was_read();
            self.pages.requests.push(PageRequest::Read {
                place: PagePlace { queue: id, page_id: paged.page_id },
                log_id: queue.log_id(),
                from: paged.first,
                through: paged.last,
                has_unlogged: paged.logged_count < paged.count,
                is_wanted,
                bytes: if is_read {
                    (READ_PAGES * self.pages.page_bytes).max(READ_BYTES_MIN)
                } else {
                    READ_BYTES_MIN
                },
            });
        }
    }

    /// Forgets the messages on disk of a list that is dropped. `log_id`: the queue in the message log, or 0.
    pub(super) fn forget_pages(&mut self, ready: &mut Ready, log_id: u64) {
        let Some(pages) = ready.forget_paged() else { return };
        self.pages.requests.push(PageRequest::Forget { page_id: pages.page_id });
        if log_id != 0 && pages.logged_count > 0 {
            let StoredPages { first, last, .. } = pages;
            self.appends.push(LogChange::Dropped { queue: log_id, first, last });
        }
    }

    /// Notes that a message of a queue has left for good, if the message log has it. The message still has a reference.
    #[inline]
    pub(super) fn note_gone(&mut self, id: QueueId, entry: &Entry) {
        if entry.marks.is_logged() {
            self.note_gone_logged(id, entry);
        }
    }

    /// The part of [`Parts::note_gone`] for hosts with a log.
    #[inline(never)]
    fn note_gone_logged(&mut self, id: QueueId, entry: &Entry) {
        let queue = self.queues.get(id);
        if queue.has_logged(entry) {
            self.appends.note_settled(queue.log_id(), entry.sequence, self.store.body_size(entry.message));
        }
    }

    /// The number of messages of the host that the message log has.
    pub(super) fn logged_message_count(&self) -> u64 {
        let on_disk = |queue: &Queue| queue.ready.paged().map_or(0, |paged| paged.logged_count);
        let on_disk: usize = self.queues.iter().map(on_disk).sum();
        self.message_count(|queue, entry| queue.has_logged(entry)) + on_disk as u64
    }

    /// The number of persistent messages in durable queues that the message log does not have. Messages on disk are not counted:
    /// their delivery modes are unknown.
    pub(super) fn unlogged_message_count(&self) -> u64 {
        self.message_count(|queue, entry| {
            let is_lost = queue.declaration.is_durable && !queue.is_deleted && !entry.marks.is_logged();
            is_lost && self.store.is_persistent(entry.message)
        })
    }

    /// The number of messages in memory, waiting or delivered, for which `is_counted` is true.
    fn message_count(&self, is_counted: impl Fn(&Queue, &Entry) -> bool) -> u64 {
        let ready = |queue: &Queue| queue.ready.iter().filter(|entry| is_counted(queue, entry)).count();
        let ready: usize = self.queues.iter().map(ready).sum();
        let delivered =
            self.channels.iter().flat_map(|channel| channel.unacked().iter().chain(channel.held()));
        let delivered =
            delivered.filter(|unacked| is_counted(self.queues.get(unacked.queue), &unacked.entry));
        (ready + delivered.count()) as u64
    }

    /// The memory of messages, entries and deliveries, and of declared objects.
    pub(super) fn memory_bytes(&self) -> usize {
        let declared = self.exchanges.topology.memory_bytes() + self.consumers.memory_bytes();
        self.store.memory_bytes() + self.queues.memory_bytes() + self.channels.memory_bytes() + declared
    }
}

/// One call of a virtual host: its parts, the time, and the outbox that is lent. The operations are in `turn/`.
pub(super) struct Turn<'a, O> {
    pub(super) parts: &'a mut Parts,
    pub(super) now: u64,
    pub(super) outbox: &'a mut O,
    /// Messages that may still expire, and dead letters that may still be written, in this call.
    pub(super) budget: usize,
}

impl<'a, O> Turn<'a, O> {
    #[inline]
    pub(super) fn new(parts: &'a mut Parts, now: u64, outbox: &'a mut O) -> Turn<'a, O> {
        let budget = parts.limits.slice_max;
        parts.steps.begin(parts.limits.steps_max);
        Turn { parts, now, outbox, budget }
    }
}
