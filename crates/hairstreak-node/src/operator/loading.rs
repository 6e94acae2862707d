//! Loading: the messages of the log return to their queues when a node starts.

use std::collections::HashMap;
use std::time::Instant;

use hairstreak_broker::message::{Attributes, BodyView, Message};
use hairstreak_store::log::{RecoveredQueue, StoredMessage};

use crate::definitions::{Change, Definition};
use crate::node::{Messages, Node, SharedHost};

/// The virtual host and the name of a logged queue.
type QueueName = (String, Box<[u8]>);

/// The logged queues of stored definitions, by their ids.
pub(super) fn logged_queues(definitions: &[Definition]) -> HashMap<u64, QueueName> {
    let queues = definitions.iter().filter_map(|definition| match definition {
        Definition::Queue(queue) if queue.log_id != 0 => {
            Some((queue.log_id, (queue.vhost.clone(), queue.name.0.clone())))
        }
        _ => None,
    });
    queues.collect()
}

/// Gives ids to queues without one: they come from a run of the node without a message log. Returns their definitions as they
/// have to be written.
pub(super) fn give_ids(definitions: &mut [Definition], messages: &Messages) -> Vec<Change> {
    let mut changes = Vec::new();
    for definition in definitions {
        if let Definition::Queue(queue) = definition
            && queue.log_id == 0
        {
            queue.log_id = messages.next_id();
            changes.push(Change::Put(definition.clone()));
        }
    }
    changes
}

/// Puts the messages of the log into their queues.
///
/// # Errors
///
/// The reason for which the log cannot be read.
pub(super) fn load(
    node: &Node,
    messages: &Messages,
    recovered: &[RecoveredQueue],
    names: &HashMap<u64, QueueName>,
) -> Result<(), String> {
    for queue in recovered {
        let Some((virtual_host, name)) = names.get(&queue.id) else { continue };
        let Some(host) = node.hosts.find(virtual_host) else { continue };
        let damaged_count = load_queue(node, messages, queue, &host, name)
            .map_err(|error| format!("the messages of queue '{}': {error}", name.escape_ascii()))?;
        if damaged_count > 0 {
            log::error!("messages: {damaged_count} messages of queue '{}' are damaged", name.escape_ascii());
        }
    }
    Ok(())
}

/// Returns the number of damaged messages.
fn load_queue(
    node: &Node,
    messages: &Messages,
    queue: &RecoveredQueue,
    host: &SharedHost,
    name: &[u8],
) -> std::io::Result<usize> {
    let returns: HashMap<u64, u64> = queue.returns.iter().copied().collect();
    let (mut from, mut damaged_count) = (queue.first_sequence, 0);
    loop {
        let loaded = messages.load(queue.id, from)?;
        let now = node.clock.millis(Instant::now());
        let mut state = host.lock();
        for stored in &loaded.messages {
            let return_count = returns.get(&stored.sequence).copied().unwrap_or(0);
            let return_count = if messages.was_closed { return_count } else { return_count.max(1) };
            restore(&mut state.host, name, stored, return_count, now);
        }
        damaged_count += loaded.damaged.len();
        if loaded.is_end {
            state.host.restore_sequence(name, queue.last_sequence);
        }
        host.note_memory(&state);
        if loaded.is_end {
            return Ok(damaged_count);
        }
        from = loaded.next;
    }
}

fn restore(
    host: &mut hairstreak_broker::vhost::VirtualHost,
    queue: &[u8],
    stored: &StoredMessage,
    return_count: u64,
    now: u64,
) {
    let Some(record) = stored.message() else { return };
    // A clock that was set back lengthens no life beyond its first length.
    let left = |ttl_ms: u64| ttl_ms.min(record.time_ms.saturating_add(ttl_ms).saturating_sub(now));
    let expires_at = stored.ttl_ms.map(|ttl_ms| now.saturating_add(left(ttl_ms)));
    let message = Message {
        exchange: record.exchange,
        routing_key: record.routing_key,
        properties: record.properties,
        attributes: Attributes {
            is_persistent: record.is_persistent,
            priority: record.priority,
            expiration_ms: None,
        },
        body: BodyView::Copied(record.body),
    };
    let return_count = return_count.try_into().unwrap_or(u16::MAX);
    host.restore_message(queue, &message, (stored.sequence, expires_at, return_count));
}
