//! Checks of new consumers, and the consumers of direct replies.

use hairstreak_wire::amqp::ReplyCode;

use super::channels::ReplyConsumer;
use super::outbox::{ADDRESS_PREFIX, ChannelId, ConsumerId, Recipient};
use super::parts::Parts;
use crate::queue::{Consumer, ConsumerDeclaration, QueueId, Standing, check_consumer_arguments};
use crate::refusal::Refusal;

pub(super) fn check_tag(parts: &Parts, channel: ChannelId, tag: &[u8]) -> Result<(), Refusal> {
    let refuse = |text| Err(Refusal::new(ReplyCode::NotAllowed, text));
    if find_consumer(parts, channel, tag).is_some() {
        return refuse(format!("attempt to reuse consumer tag '{}'", String::from_utf8_lossy(tag)));
    }
    let limit = parts.limits.consumers_per_channel_max;
    if parts.channels.get(channel).consumers.len() >= limit {
        return refuse(format!("reached maximum ({limit}) of consumers per channel"));
    }
    let bytes_max = parts.limits.declared_bytes_max;
    if parts.consumers.memory_bytes() >= bytes_max {
        let text = format!(
            "limit of tags and arguments of consumers in vhost '{}' ({bytes_max} bytes) is reached",
            parts.virtual_host
        );
        return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    }
    Ok(())
}

/// Checks that the queue takes the consumer. Returns the queue.
pub(super) fn check_consumer(
    parts: &Parts,
    channel: ChannelId,
    declaration: &ConsumerDeclaration<'_>,
) -> Result<QueueId, Refusal> {
    let connection = parts.channels.get(channel).connection;
    let id = parts.find_queue(connection, declaration.queue)?;
    let name = parts.show(declaration.queue);
    check_consumer_arguments(declaration.arguments, &name)?;
    let queue = parts.queues.get(id);
    let wants_all = queue.is_exclusive_for(declaration);
    let is_taken = queue.is_in_exclusive_use(&parts.consumers)
        || wants_all && (!queue.consumers.is_empty() || queue.is_single_active());
    if is_taken {
        return Err(Refusal::new(ReplyCode::AccessRefused, format!("{name} in exclusive use")));
    }
    Ok(id)
}

pub(super) fn recipient(parts: &Parts, channel: ChannelId, consumer_tag: Box<[u8]>) -> Recipient {
    let channel = parts.channels.get(channel);
    Recipient {
        connection: channel.connection,
        channel_number: channel.number,
        consumer: ConsumerId(0),
        consumer_tag,
    }
}

pub(super) fn add_reply_consumer(
    parts: &mut Parts,
    channel: ChannelId,
    declaration: &ConsumerDeclaration<'_>,
    tag: &[u8],
) -> Result<(), Refusal> {
    let refuse = |text| Err(Refusal::new(ReplyCode::PreconditionFailed, text));
    if !declaration.no_ack {
        return refuse("reply consumer cannot acknowledge");
    }
    if parts.channels.get(channel).reply_consumer.is_some() {
        return refuse("reply consumer already set");
    }
    let address = parts.names.next(ADDRESS_PREFIX);
    let consumer = parts.consumers.add(Consumer {
        recipient: recipient(parts, channel, tag.into()),
        channel,
        queue: QueueId(u32::MAX),
        no_ack: true,
        is_exclusive: false,
        standing: Standing::Waiting,
        waits_since: 0,
        prefetch: u32::MAX,
        unacknowledged: 0,
        priority: 0,
        arguments: declaration.arguments.into(),
    });
    parts.replies.insert(address.clone(), consumer);
    parts.channels.get_mut(channel).reply_consumer = Some(ReplyConsumer { consumer, address });
    Ok(())
}

/// The channel's consumer with that tag. No consumer has an empty tag.
pub(super) fn find_consumer(parts: &Parts, channel: ChannelId, tag: &[u8]) -> Option<ConsumerId> {
    let channel = parts.channels.get(channel);
    let replies = channel.reply_consumer.as_ref().map(|reply| reply.consumer);
    let mut all = channel.consumers.iter().copied().chain(replies);
    all.find(|id| *parts.consumers.get(*id).recipient.consumer_tag == *tag)
}
