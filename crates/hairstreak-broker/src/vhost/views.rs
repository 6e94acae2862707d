//! Queues, consumers and waiting messages as operators see them.

use hairstreak_wire::amqp::Properties;

use super::channels::shown_prefetch;
use super::outbox::ConsumerId;
use super::parts::Parts;
use crate::message::MessageView;
use crate::queue::{Consumer, Entry, NEVER, Queue, QueueId, Standing};
use crate::view::{ConsumerInfo, PeekInfo, QueueInfo, QueuePolicies, QueueStorage};

/// The deliveries of a channel that are searched for the first one of a queue.
const HEAD_DELIVERIES_MAX: usize = 64;

pub(super) fn queue_info(parts: &Parts, id: QueueId, queue: &Queue) -> QueueInfo {
    let declaration = &queue.declaration;
    let tag = |id: ConsumerId| parts.consumers.get(id).recipient.consumer_tag.clone();
    let exclusive = queue.consumers.first().filter(|first| parts.consumers.get(**first).is_exclusive);
    QueueInfo {
        name: declaration.name.clone(),
        is_durable: declaration.is_durable,
        is_exclusive: declaration.is_exclusive,
        is_auto_delete: declaration.is_auto_delete,
        arguments: declaration.arguments.clone(),
        kind: queue.kind,
        owner: queue.owner,
        ready: queue.ready.count() as u64,
        unacknowledged: queue.unacknowledged,
        ready_bytes: queue.ready.body_bytes(),
        unacknowledged_bytes: queue.unacknowledged_bytes,
        consumer_count: queue.consumers.len(),
        capacity: queue.capacity,
        single_active_consumer: queue.active().map(tag),
        exclusive_consumer: exclusive.copied().map(tag),
        policies: QueuePolicies {
            user: queue.policies.user_name(),
            operator: queue.policies.operator_name(),
            effective: queue.policies.effective(),
        },
        head_timestamp: head_timestamp(parts, id, queue),
        stats: queue.stats(),
        used_at: queue.used_at,
        storage: QueueStorage {
            memory_bytes: queue.memory_bytes(),
            paged: queue.ready.paged().map_or(0, |paged| paged.count as u64),
            paged_bytes: queue.ready.paged().map_or(0, |paged| paged.body_bytes),
            durability: queue.durability(),
        },
    }
}

/// Returns the earlier one of two timestamps: of the first waiting message, and of the first delivered one. Only the first
/// [`HEAD_DELIVERIES_MAX`] deliveries of a channel are searched.
fn head_timestamp(parts: &Parts, id: QueueId, queue: &Queue) -> Option<u64> {
    let Parts { consumers, channels, store, .. } = parts;
    let first_of = |consumer: &ConsumerId| {
        let unacked = channels.get(consumers.get(*consumer).channel).unacked();
        unacked
            .iter()
            .take(HEAD_DELIVERIES_MAX)
            .find(|unacked| unacked.queue == id)
            .map(|unacked| &unacked.entry)
    };
    let delivered = queue.consumers.iter().filter_map(first_of).min_by_key(|entry| entry.sequence);
    let timestamp_of = |entry: &Entry| {
        // Stored properties were decoded when the message was published.
        Properties::decode_flat(store.view(entry.message).properties).ok()?.0.timestamp
    };
    queue.ready.front().into_iter().chain(delivered).filter_map(timestamp_of).min()
}

/// The consumer of a queue. Consumers of direct replies have none.
pub(super) fn consumer_info(parts: &Parts, consumer: &Consumer) -> Option<ConsumerInfo> {
    if consumer.standing == Standing::Cancelled || consumer.queue == QueueId(u32::MAX) {
        return None;
    }
    let queue = parts.queues.get(consumer.queue);
    let recipient = &consumer.recipient;
    Some(ConsumerInfo {
        tag: recipient.consumer_tag.clone(),
        queue: queue.declaration.name.clone(),
        channel: consumer.channel,
        connection: recipient.connection,
        channel_number: recipient.channel_number,
        no_ack: consumer.no_ack,
        is_exclusive: consumer.is_exclusive,
        prefetch_count: shown_prefetch(consumer.prefetch),
        arguments: consumer.arguments.clone(),
        is_active: consumer.standing != Standing::Waiting,
        is_of_single_active: queue.is_single_active(),
        unacknowledged: consumer.unacknowledged,
    })
}

/// Gives `take` up to `count_max` waiting messages behind the first `offset`.
pub(super) fn peek(
    parts: &Parts,
    queue: &[u8],
    offset: usize,
    count_max: usize,
    mut take: impl FnMut(&MessageView<'_>, PeekInfo),
) -> Option<usize> {
    let Parts { queues, store, .. } = parts;
    let waiting = queues.get(queues.find(queue)?).ready.iter_behind(offset).take(count_max);
    let mut count = 0;
    for entry in waiting {
        let info = PeekInfo {
            position: offset + count,
            return_count: entry.return_count,
            is_redelivered: entry.is_redelivered(),
            priority: entry.priority,
            is_persistent: store.is_persistent(entry.message),
            expires_at: (entry.expires_at != NEVER).then_some(entry.expires_at),
        };
        take(&store.view(entry.message), info);
        count += 1;
    }
    Some(count)
}
