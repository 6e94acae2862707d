//! Declaring, purging, binding and restoring queues: the operations without effects on consumers.

use hairstreak_wire::amqp::{FieldTable, ReplyCode};

use super::chores::{Chore, Dropped};
use super::outbox::{ConnectionId, REPLY_TO, is_address};
use super::parts::Parts;
use crate::change::Change;
use crate::exchange::Exchanges;
use crate::policy::{Applied, ObjectKind};
use crate::queue::{
    Lease, Queue, QueueDeclaration, QueueId, QueueKind, QueueStatus, StoredMessages, check_durability_of,
    check_equivalence, check_queue_arguments, known_arguments,
};
use crate::refusal::Refusal;
use crate::view::BindingInfo;

/// Names that only the broker gives.
const RESERVED_PREFIX: &[u8] = b"amq.";

pub(super) fn declare_queue(
    parts: &mut Parts,
    owner: ConnectionId,
    declaration: &QueueDeclaration,
    now: u64,
) -> Result<QueueStatus, Refusal> {
    let mut declaration = declaration.clone();
    if let Some(status) = reply_status(parts, &declaration.name) {
        return status;
    }
    check_queue_name(&declaration.name)?;
    // A queue that is deleted with its connection does not survive a restart of the node.
    declaration.is_durable &= !declaration.is_exclusive;
    parts.settings.complete(&mut declaration);
    let declared = match parts.queues.find(&declaration.name) {
        Some(id) if !declaration.name.is_empty() => declare_again(parts, id, owner, &declaration, now),
        _ => declare_first(parts, owner, declaration, now),
    };
    parts.counted.queues_declared += u64::from(declared.is_ok());
    declared
}

fn declare_again(
    parts: &mut Parts,
    id: QueueId,
    owner: ConnectionId,
    declaration: &QueueDeclaration,
    now: u64,
) -> Result<QueueStatus, Refusal> {
    let queue = parts.queues.get(id);
    if queue.owner != declaration.is_exclusive.then_some(owner) {
        return Err(parts.locked(&declaration.name));
    }
    check_equivalence(queue, declaration, &parts.show(&declaration.name).to_string())?;
    let status = queue.status();
    parts.note_use(id, now);
    Ok(status)
}

fn declare_first(
    parts: &mut Parts,
    owner: ConnectionId,
    mut declaration: QueueDeclaration,
    now: u64,
) -> Result<QueueStatus, Refusal> {
    declaration.log_id = 0;
    let is_named_here = declaration.name.is_empty();
    if is_named_here {
        declaration.name = parts.names.next("amq.gen-");
    }
    check_room(parts, &declaration.name)?;
    check_first(parts, &declaration, is_named_here)?;
    let owner = declaration.is_exclusive.then_some(owner);
    Ok(add_queue(parts, owner, declaration, now))
}

/// Adds a queue, which was checked.
fn add_queue(
    parts: &mut Parts,
    owner: Option<ConnectionId>,
    mut declaration: QueueDeclaration,
    now: u64,
) -> QueueStatus {
    declaration.log_id = parts.appends.id_for(declaration.log_id, declaration.is_durable);
    let arguments = known_arguments(&declaration.arguments);
    let kind = QueueKind::of(&arguments).unwrap_or(QueueKind::Classic);
    let Exchanges { policies, pattern_steps, .. } = &mut parts.exchanges;
    let object = ObjectKind::Queue(kind);
    let policies = policies.find(&declaration.name, object, &Applied::default(), pattern_steps);
    let queue = Queue::new(declaration, arguments, owner, policies, now);
    let status = queue.status();
    let id = parts.queues.add(queue);
    if let Some(owner) = owner {
        parts.channels.connection_mut(owner).exclusive_queues.push(id);
    }
    parts.exchanges.topology.add_queue(&parts.queues.get(id).declaration, id);
    parts.counted.queues_created += 1;
    parts.note_use(id, now);
    status
}

/// Checks that the virtual host may have one queue more.
fn check_room(parts: &Parts, name: &[u8]) -> Result<(), Refusal> {
    let limit = parts.limits.queues_max.min(parts.settings.queues_max.unwrap_or(usize::MAX));
    let bytes_max = parts.limits.declared_bytes_max;
    let reached = if parts.queues.count() >= limit {
        format!("queue limit in vhost '{}' ({limit})", parts.virtual_host)
    } else if parts.queues.declared_bytes() >= bytes_max {
        format!(
            "limit of names and arguments of queues in vhost '{}' ({bytes_max} bytes)",
            parts.virtual_host
        )
    } else {
        return Ok(());
    };
    let text = format!("cannot declare queue '{}': {reached} is reached", String::from_utf8_lossy(name));
    Err(Refusal::new(ReplyCode::PreconditionFailed, text))
}

fn check_first(parts: &Parts, declaration: &QueueDeclaration, is_named_here: bool) -> Result<(), Refusal> {
    let refuse = |text| Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    let queue = parts.show(&declaration.name);
    let kind = check_queue_arguments(&declaration.arguments, &queue)?;
    let (is_durable, has_log) = (declaration.is_durable, parts.appends.is_on());
    check_durability_of(&declaration.arguments, (is_durable, has_log), &queue)?;
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
    parts: &mut Parts,
    user: ConnectionId,
    name: &[u8],
    now: u64,
) -> Result<QueueStatus, Refusal> {
    if let Some(status) = reply_status(parts, name) {
        return status;
    }
    let id = parts.find_queue(user, name)?;
    parts.note_use(id, now);
    Ok(parts.queues.get(id).status())
}

/// Returns the answer to a declaration of an address for direct replies: the existence of a consumer there.
fn reply_status(parts: &Parts, name: &[u8]) -> Option<Result<QueueStatus, Refusal>> {
    if !is_of_replies(name) {
        return None;
    }
    Some(if name == REPLY_TO || parts.replies.contains_key(name) {
        Ok(QueueStatus { name: name.into(), message_count: 0, consumer_count: 1 })
    } else {
        Err(Refusal::new(ReplyCode::NotFound, format!("no {}", parts.show(name))))
    })
}

pub(super) fn purge_queue(parts: &mut Parts, user: ConnectionId, name: &[u8]) -> Result<u32, Refusal> {
    let id = parts.find_queue(user, name)?;
    let queue = parts.queues.get_mut(id);
    let message_count = queue.message_count();
    let mut dropped = Dropped { ready: queue.take_ready(), log_id: queue.log_id() };
    if !drop_messages(parts, &mut dropped) {
        parts.put_off(Some(user), Chore::Drop(dropped));
    }
    Ok(message_count)
}

pub(super) fn bind_queue(
    parts: &mut Parts,
    user: ConnectionId,
    queue: &[u8],
    exchange: &[u8],
    routing_key: &[u8],
    arguments: &FieldTable,
) -> Result<(), Refusal> {
    // If both are missing, RabbitMQ names the exchange.
    parts.exchanges.check(exchange)?;
    let id = parts.find_queue(user, queue)?;
    parts.exchanges.bind_queue(exchange, id, routing_key, arguments)
}

pub(super) fn unbind_queue(
    parts: &mut Parts,
    user: ConnectionId,
    queue: &[u8],
    exchange: &[u8],
    routing_key: &[u8],
    arguments: &FieldTable,
) -> Result<(), Refusal> {
    let Some(id) = parts.queues.find(queue) else { return Ok(()) };
    // RabbitMQ refuses access only to a binding that exists.
    if parts.exchanges.is_bound(exchange, id, routing_key, arguments)? {
        parts.check_access(parts.queues.get(id), user)?;
    }
    parts.exchanges.unbind_queue(exchange, id, routing_key, arguments)
}

/// Restores a durable object when the node starts. Nothing is recorded.
pub(super) fn restore(parts: &mut Parts, change: &Change, now: u64) -> Result<(), Refusal> {
    let was_recording = parts.exchanges.topology.changes.record(false);
    let restored = match change {
        Change::ExchangeDeclared(declaration) => parts.exchanges.restore(declaration),
        Change::QueueDeclared(declaration) => restore_queue(parts, declaration, now),
        Change::Bound(binding) => restore_binding(parts, binding),
        Change::ExchangeDeleted { .. } | Change::QueueDeleted { .. } | Change::Unbound(_) => {
            Err(Refusal::new(ReplyCode::NotImplemented, "only what was declared can be put back"))
        }
    };
    parts.exchanges.topology.changes.record(was_recording);
    restored
}

fn restore_queue(parts: &mut Parts, declaration: &QueueDeclaration, now: u64) -> Result<(), Refusal> {
    let shown = parts.show(&declaration.name).to_string();
    if let Some(id) = parts.queues.find(&declaration.name) {
        return check_equivalence(parts.queues.get(id), declaration, &shown);
    }
    if declaration.name.is_empty() || declaration.is_exclusive {
        let text = format!("{shown} does not outlive its connection");
        return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    }
    check_first(parts, declaration, false)?;
    add_queue(parts, None, declaration.clone(), now);
    Ok(())
}

pub(super) fn restore_messages(
    parts: &mut Parts,
    queue: &[u8],
    stored: StoredMessages,
    (last_sequence, marked): (u64, u64),
) {
    let Some(id) = parts.queues.find(queue) else { return };
    let Parts { queues, appends, .. } = parts;
    let queue = queues.get_mut(id);
    queue.counts.letters += stored.count as u64;
    queue.ready.lease = Lease::restored(marked);
    queue.ready.restore(stored, last_sequence, || appends.next_id());
    // The first messages may expire.
    let is_wanted = parts.queues.get(id).needs_front();
    parts.read_pages(id, is_wanted);
}

fn restore_binding(parts: &mut Parts, binding: &BindingInfo) -> Result<(), Refusal> {
    if binding.is_to_exchange {
        return parts.exchanges.restore_binding(binding, None);
    }
    let queue = parts.queues.find(&binding.destination).ok_or_else(|| {
        let text = format!("no {}", parts.show(&binding.destination));
        Refusal::new(ReplyCode::NotFound, text)
    })?;
    parts.exchanges.restore_binding(binding, Some(queue))
}

/// Returns true if a declaration of this name asks about direct replies.
fn is_of_replies(name: &[u8]) -> bool {
    name == REPLY_TO || is_address(name)
}

/// Does the checks that RabbitMQ makes before the user's right to configure the queue. Returns true if the user needs the right.
/// No right is needed for `amq.rabbitmq.reply-to` and reply addresses, which are no queues.
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

/// Drops messages, as far as there are steps. Returns true if none is left.
pub(super) fn drop_messages(parts: &mut Parts, dropped: &mut Dropped) -> bool {
    let Dropped { ready, log_id } = dropped;
    let before = ready.memory_bytes();
    parts.forget_pages(ready, *log_id);
    while let Some(front) = ready.front().copied() {
        if parts.steps.are_spent() {
            parts.queues.note_memory(before, ready.memory_bytes());
            return false;
        }
        parts.steps.charge(1);
        ready.remove_front(front.priority, 0);
        if *log_id != 0 && front.marks.is_logged() {
            parts.appends.note_settled(*log_id, front.sequence, parts.store.body_size(front.message));
        }
        parts.store.release(front.message);
    }
    parts.queues.note_memory(before, 0);
    true
}
