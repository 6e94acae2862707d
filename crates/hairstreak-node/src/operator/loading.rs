//! Loading: the messages of the log return to their queues when a node starts.

use std::collections::HashMap;

use hairstreak_broker::vhost::StoredMessages;
use hairstreak_store::Entry;
use hairstreak_store::log::RecoveredQueue;

use crate::definitions::{Change, Definition, DefinitionError, Kind};
use crate::node::{Messages, Node};

/// The virtual host and the name of a logged queue.
pub type QueueName = (String, Box<[u8]>);

/// Reads a stored entry.
pub(super) fn decode(entry: &Entry) -> Result<Definition, DefinitionError> {
    let number = entry.kind.number();
    Definition::decode(Kind::of_number(number).ok_or(DefinitionError::unknown(number))?, &entry.value)
}

/// Returns the queues among the stored entries of a data directory, by their ids in the message log.
///
/// # Errors
///
/// An entry cannot be read.
pub fn stored_queues(entries: &[Entry]) -> Result<HashMap<u64, QueueName>, DefinitionError> {
    let definitions: Result<Vec<Definition>, DefinitionError> = entries.iter().map(decode).collect();
    Ok(logged_queues(&definitions?))
}

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

/// Tells the queues of the messages in the log, which stay on disk until they are needed.
pub(super) fn load(node: &Node, recovered: &[RecoveredQueue], names: &HashMap<u64, QueueName>) {
    for queue in recovered {
        let Some((virtual_host, name)) = names.get(&queue.id) else { continue };
        let Some(host) = node.hosts.find(virtual_host) else { continue };
        let stored = StoredMessages {
            first: queue.first_sequence,
            last: queue.last_sequence,
            count: queue.count as usize,
            body_bytes: queue.body_bytes,
        };
        let mut state = host.lock();
        state.host.restore_messages(name, stored, (queue.last_sequence, queue.leased));
        node.note(&host, &mut state);
        drop(state);
        node.wake_log();
    }
}
