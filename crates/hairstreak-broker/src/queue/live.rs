//! `Queue`: one queue, its messages and its consumers. Where messages go from here is decided in the turn of the virtual host.

use hairstreak_wire::amqp::FieldTable;

use super::arguments::{compared_arguments, known_arguments};
use super::capacity::Capacity;
use super::consumer::Consumers;
use super::counts::QueueCounts;
use super::declaration::{ConsumerDeclaration, QueueDeclaration, QueueStatus};
use super::durability::Durability;
use super::entries::{Entry, NEVER};
use super::kind::{QUEUE_TYPE, QueueKind};
use super::lease::Lease;
use super::ready::Ready;
use super::rotation::Rotation;
use super::settings::{Overflow, Settings};
use crate::policy::Applied;
use crate::refusal::{Refusal, check_argument, check_property};
use crate::stats::QueueStats;
use crate::vhost::{ConnectionId, ConsumerId};

/// About the memory of a decoded argument without the bytes of a string.
const DECODED_BYTES: usize = 96;

/// A queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) ready: Ready,
    /// The consumers that can take messages. Without messages: the consumers that could take one if it came.
    pub(crate) rotation: Rotation,
    pub(crate) settings: Settings,
    /// The policies in the settings.
    pub(crate) policies: Applied,
    /// Messages that are delivered and not settled.
    pub(crate) unacknowledged: u64,
    /// The bytes of their bodies.
    pub(crate) unacknowledged_bytes: u64,
    pub(crate) counts: QueueCounts,
    pub(crate) kind: QueueKind,
    /// True if messages expire by the queue's settings, or the queue has a maximum length.
    pub(crate) is_limited: bool,
    /// True if the queue is deleted, and kept only for its unacknowledged messages.
    pub(crate) is_deleted: bool,
    /// True if the queue stands in the list of queues to dispatch.
    pub(crate) is_touched: bool,
    pub(crate) declaration: QueueDeclaration,
    /// The known arguments, decoded. The declaration keeps all.
    pub(crate) arguments: FieldTable,
    /// The connection that an exclusive queue belongs to.
    pub(crate) owner: Option<ConnectionId>,
    /// All consumers, in the order in which they came.
    pub(crate) consumers: Vec<ConsumerId>,
    /// The single active consumer.
    active: Option<ConsumerId>,
    /// Share of time in which the queue can deliver to its consumers at once.
    pub(crate) capacity: Capacity,
    /// Time of the last use: the declaration, a request for a message, or the loss of the last consumer.
    pub(crate) used_at: u64,
    /// The number of the queue among all that there have been: the number in the table is used again.
    pub(crate) serial: u64,
    /// The queue is being deleted.
    pub(crate) is_going: bool,
}

impl Queue {
    /// A queue without messages. The arguments are the known ones of the declaration, and valid.
    pub(crate) fn new(
        declaration: QueueDeclaration,
        arguments: FieldTable,
        owner: Option<ConnectionId>,
        policies: Applied,
        now: u64,
    ) -> Queue {
        let priority_max = arguments.get("x-max-priority").and_then(|value| value.as_i64()).unwrap_or(0);
        let settings = Settings::of(&arguments, &policies);
        let mut ready = Ready::new(priority_max.clamp(0, 255) as u8);
        ready.lease = Lease::new(declaration.log_id != 0);
        Queue {
            ready,
            rotation: Rotation::default(),
            unacknowledged: 0,
            unacknowledged_bytes: 0,
            counts: QueueCounts::default(),
            kind: QueueKind::of(&arguments).unwrap_or(QueueKind::Classic),
            is_limited: settings.is_limiting(),
            settings,
            policies,
            is_deleted: false,
            is_touched: false,
            owner,
            consumers: Vec::new(),
            active: None,
            capacity: Capacity::new(now),
            used_at: now,
            serial: 0,
            is_going: false,
            declaration,
            arguments,
        }
    }

    /// The id of the queue in the message log. 0: the queue is not logged, or deleted.
    #[inline]
    pub(crate) fn log_id(&self) -> u64 {
        self.declaration.log_id
    }

    /// Returns true if the message log has a message of the queue, and the queue is not deleted.
    #[inline]
    pub(crate) fn has_logged(&self, entry: &Entry) -> bool {
        entry.marks.is_logged() && self.log_id() != 0
    }

    /// Returns the durability of persistent messages that arrive now.
    #[inline]
    pub(crate) fn durability(&self) -> Durability {
        if self.log_id() == 0 { Durability::Memory } else { self.settings.durability }
    }

    /// Returns the durability of a message that arrives now. The message log does not get a message with the durability `memory`.
    #[inline]
    pub(crate) fn durability_of(&self, is_persistent: bool) -> Durability {
        let is_kept = is_persistent || self.kind == QueueKind::Quorum;
        if is_kept { self.durability() } else { Durability::Memory }
    }

    /// Returns true if the first message belongs in memory. Consumers without credit need no message.
    pub(crate) fn needs_front(&self) -> bool {
        !self.rotation.is_empty() || self.is_limited || self.ready.needs_front()
    }

    /// Returns true if the first message waits for the disk: it has to be read, or its lease is on its way.
    pub(crate) fn is_front_awaited(&self) -> bool {
        let has_no_lease = |front: &Entry| self.ready.lease.is_awaited(front.sequence);
        self.ready.is_front_on_disk() || self.ready.front().is_some_and(has_no_lease)
    }

    /// Takes out the messages that wait.
    pub(crate) fn take_ready(&mut self) -> Ready {
        let ready = self.ready.take_all();
        self.counts.gone += ready.count() as u64;
        ready
    }

    /// The settings with other policies.
    pub(crate) fn settings_with(&self, policies: &Applied) -> Settings {
        Settings::of(&self.arguments, policies)
    }

    /// Applies other policies. `settings` are the settings with them.
    pub(crate) fn set_policies(&mut self, policies: Applied, settings: Settings) {
        self.is_limited = settings.is_limiting();
        (self.policies, self.settings) = (policies, settings);
    }

    /// The counts of declare-ok.
    pub(crate) fn status(&self) -> QueueStatus {
        QueueStatus {
            name: self.declaration.name.clone(),
            message_count: self.message_count(),
            consumer_count: self.consumers.len() as u32,
        }
    }

    /// Returns the number of messages that the queue still has to process.
    pub(crate) fn load(&self) -> u64 {
        self.ready.count() as u64 + self.unacknowledged
    }

    /// Returns the number of messages that wait.
    pub(crate) fn message_count(&self) -> u32 {
        self.ready.count().try_into().unwrap_or(u32::MAX)
    }

    /// The counters.
    pub(crate) fn stats(&self) -> QueueStats {
        self.counts.stats(&self.ready, self.unacknowledged)
    }

    /// Counts a message delivered to a consumer that settles it.
    #[inline]
    pub(crate) fn note_unacknowledged(&mut self, body_size: u32) {
        self.unacknowledged += 1;
        self.unacknowledged_bytes += u64::from(body_size);
    }

    /// Returns the expiry time of a message that arrives now.
    #[inline]
    pub(crate) fn expiry_of(&self, expiration_ms: Option<u64>, now: u64) -> u64 {
        match (expiration_ms, self.settings.message_ttl_ms) {
            (None, None) => NEVER,
            (one, other) => now.saturating_add(one.unwrap_or(NEVER).min(other.unwrap_or(NEVER))),
        }
    }

    /// Returns true if a message that arrives now is refused.
    pub(crate) fn refuses(&self, body_size: usize) -> bool {
        self.settings.overflow != Overflow::DropHead
            && self
                .settings
                .is_over(self.ready.count() as u64 + 1, self.ready.body_bytes() + body_size as u64)
    }

    /// Returns true if the queue exceeds its maximum length.
    fn is_too_long(&self) -> bool {
        self.settings.is_over(self.ready.count() as u64, self.ready.body_bytes())
    }

    /// Returns true if the oldest message must go: the queue is too long, and accepts new messages.
    pub(crate) fn has_to_shorten(&self) -> bool {
        self.is_limited && self.settings.overflow == Overflow::DropHead && self.is_too_long()
    }

    /// Returns true if a message with this return count is not returned again.
    pub(crate) fn is_over_delivery_limit(&self, return_count: u16) -> bool {
        self.settings.delivery_limit.is_some_and(|limit| u64::from(return_count) > limit)
    }

    /// Returns true if the consumer has the queue for itself. As in RabbitMQ, quorum queues ignore a consumer's request for
    /// exclusive use.
    pub(crate) fn is_exclusive_for(&self, declaration: &ConsumerDeclaration<'_>) -> bool {
        declaration.is_exclusive && self.kind == QueueKind::Classic
    }

    /// Returns true if the queue has an exclusive consumer.
    pub(crate) fn is_in_exclusive_use(&self, consumers: &Consumers) -> bool {
        self.consumers.first().is_some_and(|first| consumers.get(*first).is_exclusive)
    }

    /// Returns true if one consumer at a time takes messages.
    pub(crate) fn is_single_active(&self) -> bool {
        self.arguments.get("x-single-active-consumer").and_then(|value| value.as_bool()) == Some(true)
    }

    /// The single active consumer.
    pub(crate) fn active(&self) -> Option<ConsumerId> {
        self.active
    }

    /// The memory of the queue and of its entries.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Queue>() + self.declared_bytes() + self.ready.memory_bytes()
    }

    /// The memory of the name and the arguments. The name is also a key, and known arguments are also decoded.
    pub(super) fn declared_bytes(&self) -> usize {
        let QueueDeclaration { name, arguments, .. } = &self.declaration;
        let decoded =
            self.arguments.iter().map(|(_, value)| DECODED_BYTES + value.as_bytes().map_or(0, <[u8]>::len));
        2 * name.len() + arguments.size() + decoded.sum::<usize>()
    }

    /// Adds a consumer. Returns whether it may take messages: the single active consumer is another one otherwise.
    pub(crate) fn add_consumer(&mut self, consumer: ConsumerId) -> bool {
        self.consumers.push(consumer);
        if self.is_single_active() { *self.active.get_or_insert(consumer) == consumer } else { true }
    }

    /// Takes a consumer out. Returns the consumer that is the single active one from now on, if that changes.
    pub(crate) fn remove_consumer(
        &mut self,
        consumer: ConsumerId,
        consumers: &Consumers,
    ) -> Option<ConsumerId> {
        self.consumers.retain(|other| *other != consumer);
        self.rotation.remove(consumer, consumers.get(consumer).priority);
        if self.active != Some(consumer) {
            return None;
        }
        // The first one of the highest priority.
        let highest = self.consumers.iter().map(|id| consumers.get(*id).priority).max();
        self.active = self.consumers.iter().copied().find(|id| Some(consumers.get(*id).priority) == highest);
        self.active
    }
}

/// Checks that a second declaration is equivalent to the first. `queue` is `queue 'q' in vhost '/'`.
///
/// # Errors
///
/// `PRECONDITION_FAILED`: a property or an argument is another.
pub(crate) fn check_equivalence(
    current: &Queue,
    received: &QueueDeclaration,
    queue: &str,
) -> Result<(), Refusal> {
    let (current_arguments, received_arguments) = (&current.arguments, known_arguments(&received.arguments));
    let current = &current.declaration;
    check_property(queue, "durable", current.is_durable, received.is_durable)?;
    check_property(queue, "auto_delete", current.is_auto_delete, received.is_auto_delete)?;
    let kind = QueueKind::of(current_arguments);
    let is_same_kind = kind == QueueKind::of(&received_arguments);
    compared_arguments(kind).filter(|name| *name != QUEUE_TYPE || !is_same_kind).try_for_each(|name| {
        check_argument(queue, name, current_arguments.get(name), received_arguments.get(name))
    })
}
