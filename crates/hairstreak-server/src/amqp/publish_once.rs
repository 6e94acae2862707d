//! Publishing one message without a connection: an operator does so over HTTP.
//!
//! The message takes the way of a client's message, as in RabbitMQ: on a channel of its own, mandatory and with a confirm.

use std::sync::Arc;

use hairstreak_base::OutgoingBuffer;
use hairstreak_broker::Refusal;
use hairstreak_broker::message::BodyView;
use hairstreak_broker::vhost::{ChannelMode, Published};
use hairstreak_wire::amqp::ReplyCode;

use super::admission::admit;
use super::channel::Channel;
use super::content::check_size;
use super::publish::{Outgoing, PublishFields};
use super::publishing::publish;
use super::rights::Rights;
use super::turn::{ENTRIES_MAX, Promises, Turn};
use crate::access::{ConnectionSlot, Identity};
use crate::node::{HostState, Node, OPERATORS, SharedHost};

/// A message to be published.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneMessage<'a> {
    pub exchange: &'a [u8],
    pub routing_key: &'a [u8],
    /// The properties as they are encoded.
    pub properties: &'a [u8],
    pub body: &'a [u8],
}

/// The reason why a message is in no queue, except that no queue wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotPublished {
    /// The memory alarm is raised.
    LowMemory,
    /// The user may not connect to the virtual host, or not once more.
    NotAdmitted,
    /// A full queue has refused the message, as a client would hear by basic.nack.
    Rejected,
    /// The channel would have been closed.
    Refused(Refusal),
}

/// Publishes a message. Returns whether a queue took it.
pub(crate) fn publish_once(
    node: &Node,
    host: &SharedHost,
    identity: &Arc<Identity>,
    message: &OneMessage<'_>,
) -> Result<bool, NotPublished> {
    let (mut rights, slot) = admit(node, identity, host.name()).map_err(|_| NotPublished::NotAdmitted)?;
    if node.is_alarmed() {
        return Err(NotPublished::LowMemory);
    }
    check_size(message.body.len() as u64, node.settings.message_size_max()).map_err(NotPublished::Refused)?;
    let (published, _) = node
        .act(host, |state, now| publish_on_channel(node, host, (&mut rights, &slot), message, state, now));
    match published.map_err(NotPublished::Refused)? {
        Published::Refused => Err(NotPublished::Rejected),
        published => Ok(published == Published::Routed),
    }
}

fn publish_on_channel(
    node: &Node,
    host: &SharedHost,
    (rights, slot): (&mut Rights, &ConnectionSlot),
    message: &OneMessage<'_>,
    state: &mut HostState,
    now: u64,
) -> Result<Published, Refusal> {
    let channel_slot =
        slot.take_channel().map_err(|error| Refusal::new(ReplyCode::NotAllowed, error.to_string()))?;
    let id = state.host.open_channel(OPERATORS, 0)?;
    state.host.channels_mut().set_mode(id, ChannelMode { is_confirming: true, ..ChannelMode::default() });
    let mut channel = Channel::new(id, 0, channel_slot);
    channel.confirms = Some(Default::default());
    // What the client would read ends with the channel: the result says the same.
    let mut unread = OutgoingBuffer::new(&node.pool);
    let mut turn = Turn {
        state,
        virtual_host: host.name(),
        output: &mut unread,
        journal: &node.journal,
        pool: &node.pool,
        publishers: &node.publishers,
        connection: OPERATORS,
        rights,
        slot,
        now,
        frame_body_max: usize::MAX,
        entries_left: ENTRIES_MAX,
        promises: Promises { ticket: 0, are_held: false },
    };
    let fields = PublishFields {
        exchange: message.exchange,
        routing_key: message.routing_key,
        is_mandatory: true,
        is_immediate: false,
    };
    let body = BodyView::Copied(message.body);
    let outgoing = Outgoing { fields, properties: message.properties, body };
    let result = publish(&mut channel, false, &outgoing, &mut turn);
    state.host.close_channel(id, now, &mut state.outlets);
    result.map(|(_, published)| published)
}
