//! Declaring, purging and binding queues: the operations that have no effects on consumers.

use hairstreak_wire::amqp::{FieldTable, ReplyCode};

use super::chores::Chore;
use super::outbox::{ConnectionId, REPLY_TO, is_address};
use super::parts::Parts;
use crate::exchange::Exchanges;
use crate::policy::{Applied, ObjectKind};
use crate::queue::{
    Queue, QueueDeclaration, QueueId, QueueKind, QueueStatus, Ready, check_equivalence,
    check_queue_arguments, known_arguments,
};
use crate::refusal::Refusal;

/// Names that only the broker gives.
const RESERVED_PREFIX: &[u8] = b"amq.";

impl Parts {
    pub(super) fn declare_queue(
        &mut self,
        owner: ConnectionId,
        declaration: &QueueDeclaration,
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        let mut declaration = declaration.clone();
        if let Some(status) = self.reply_status(&declaration.name) {
            return status;
        }
        check_queue_name(&declaration.name)?;
        // A queue that goes with its connection does not outlive the node.
        declaration.is_durable &= !declaration.is_exclusive;
        self.settings.complete(&mut declaration);
        let declared = match self.queues.find(&declaration.name) {
            Some(id) if !declaration.name.is_empty() => self.declare_again(id, owner, &declaration, now),
            _ => self.declare_first(owner, declaration, now),
        };
        self.counted.queues_declared += u64::from(declared.is_ok());
        declared
    }

    fn declare_again(
        &mut self,
        id: QueueId,
        owner: ConnectionId,
        declaration: &QueueDeclaration,
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        let queue = self.queues.get(id);
        if queue.owner != declaration.is_exclusive.then_some(owner) {
            return Err(self.locked(&declaration.name));
        }
        check_equivalence(queue, declaration, &self.show(&declaration.name).to_string())?;
        let status = queue.status();
        self.note_use(id, now);
        Ok(status)
    }

    fn declare_first(
        &mut self,
        owner: ConnectionId,
        mut declaration: QueueDeclaration,
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        let is_named_here = declaration.name.is_empty();
        if is_named_here {
            declaration.name = self.names.next("amq.gen-");
        }
        self.check_room(&declaration.name)?;
        self.check_first(&declaration, is_named_here)?;
        let owner = declaration.is_exclusive.then_some(owner);
        Ok(self.add_queue(owner, declaration, now))
    }

    /// Adds a queue, which was checked.
    pub(super) fn add_queue(
        &mut self,
        owner: Option<ConnectionId>,
        declaration: QueueDeclaration,
        now: u64,
    ) -> QueueStatus {
        let arguments = known_arguments(&declaration.arguments);
        let kind = QueueKind::of(&arguments).unwrap_or(QueueKind::Classic);
        let Exchanges { policies, pattern_steps, .. } = &mut self.exchanges;
        let object = ObjectKind::Queue(kind);
        let policies = policies.find(&declaration.name, object, &Applied::default(), pattern_steps);
        let queue = Queue::new(declaration, arguments, owner, policies, now);
        let status = queue.status();
        let id = self.queues.add(queue);
        if let Some(owner) = owner {
            self.channels.connection_mut(owner).exclusive_queues.push(id);
        }
        self.exchanges.add_queue(&self.queues.get(id).declaration, id);
        self.counted.queues_created += 1;
        self.note_use(id, now);
        status
    }

    /// Checks that the virtual host may have one queue more.
    fn check_room(&self, name: &[u8]) -> Result<(), Refusal> {
        let limit = self.limits.queues_max.min(self.settings.queues_max.unwrap_or(usize::MAX));
        let bytes_max = self.limits.declared_bytes_max;
        let reached = if self.queues.count() >= limit {
            format!("queue limit in vhost '{}' ({limit})", self.virtual_host)
        } else if self.queues.declared_bytes() >= bytes_max {
            format!(
                "limit of names and arguments of queues in vhost '{}' ({bytes_max} bytes)",
                self.virtual_host
            )
        } else {
            return Ok(());
        };
        let text = format!("cannot declare queue '{}': {reached} is reached", String::from_utf8_lossy(name));
        Err(Refusal::new(ReplyCode::PreconditionFailed, text))
    }

    pub(super) fn check_first(
        &self,
        declaration: &QueueDeclaration,
        is_named_here: bool,
    ) -> Result<(), Refusal> {
        let refuse = |text| Err(Refusal::new(ReplyCode::PreconditionFailed, text));
        let queue = self.show(&declaration.name);
        let kind = check_queue_arguments(&declaration.arguments, &queue)?;
        if kind == QueueKind::Quorum {
            if is_named_here {
                let kind = kind.module_name();
                return refuse(format!("Cannot declare a server-named queue for type {kind}"));
            }
            let properties = [
                (declaration.is_auto_delete, "auto-delete"),
                (declaration.is_exclusive, "exclusive-owner"),
                (!declaration.is_durable, "non-durable"),
            ];
            if let Some((_, property)) = properties.iter().find(|(is_invalid, _)| *is_invalid) {
                return refuse(format!("invalid property '{property}' for {queue}"));
            }
        }
        Ok(())
    }

    pub(super) fn check_queue(
        &mut self,
        user: ConnectionId,
        name: &[u8],
        now: u64,
    ) -> Result<QueueStatus, Refusal> {
        if let Some(status) = self.reply_status(name) {
            return status;
        }
        let id = self.find_queue(user, name)?;
        self.note_use(id, now);
        Ok(self.queues.get(id).status())
    }

    /// The answer to a declaration of an address for direct replies, which says whether somebody waits there.
    fn reply_status(&self, name: &[u8]) -> Option<Result<QueueStatus, Refusal>> {
        if !is_of_replies(name) {
            return None;
        }
        Some(if name == REPLY_TO || self.replies.contains_key(name) {
            Ok(QueueStatus { name: name.into(), message_count: 0, consumer_count: 1 })
        } else {
            Err(Refusal::new(ReplyCode::NotFound, format!("no {}", self.show(name))))
        })
    }

    pub(super) fn purge_queue(&mut self, user: ConnectionId, name: &[u8]) -> Result<u32, Refusal> {
        let id = self.find_queue(user, name)?;
        let message_count = self.queues.get(id).message_count();
        let mut ready = self.queues.get_mut(id).take_ready();
        if !drop_messages(self, &mut ready) {
            self.put_off(Some(user), Chore::Drop(ready));
        }
        Ok(message_count)
    }

    pub(super) fn bind_queue(
        &mut self,
        user: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        // If both are missing, RabbitMQ names the exchange.
        self.exchanges.check(exchange)?;
        let id = self.find_queue(user, queue)?;
        self.exchanges.bind_queue(exchange, id, routing_key, arguments)
    }

    pub(super) fn unbind_queue(
        &mut self,
        user: ConnectionId,
        queue: &[u8],
        exchange: &[u8],
        routing_key: &[u8],
        arguments: &FieldTable,
    ) -> Result<(), Refusal> {
        let Some(id) = self.queues.find(queue) else { return Ok(()) };
        // RabbitMQ refuses access only to a binding that exists.
        if self.exchanges.is_bound(exchange, id, routing_key, arguments)? {
            self.check_access(self.queues.get(id), user)?;
        }
        self.exchanges.unbind_queue(exchange, id, routing_key, arguments)
    }
}

/// Whether a declaration of this name asks about direct replies.
fn is_of_replies(name: &[u8]) -> bool {
    name == REPLY_TO || is_address(name)
}

/// The part of a declaration that RabbitMQ checks before the user's right to configure the queue. Returns whether the user needs the right: nobody
/// does for `amq.rabbitmq.reply-to` and reply addresses, which are no queues.
///
/// # Errors
///
/// `ACCESS_REFUSED`: a reserved name.
pub fn check_queue_name(name: &[u8]) -> Result<bool, Refusal> {
    if is_of_replies(name) {
        return Ok(false);
    }
    if name.starts_with(RESERVED_PREFIX) {
        let name = String::from_utf8_lossy(name);
        let text = format!("queue name '{name}' contains reserved prefix 'amq.*'");
        return Err(Refusal::new(ReplyCode::AccessRefused, text));
    }
    Ok(true)
}

/// Drops messages that no queue has any more, as far as there are steps. Returns whether none is left.
pub(super) fn drop_messages(parts: &mut Parts, ready: &mut Ready) -> bool {
    let before = ready.memory_bytes();
    while let Some(front) = ready.front().copied() {
        if parts.steps.are_spent() {
            parts.queues.note_memory(before, ready.memory_bytes());
            return false;
        }
        parts.steps.charge(1);
        ready.remove_front(front.priority, 0);
        parts.store.release(front.message);
    }
    parts.queues.note_memory(before, 0);
    true
}
