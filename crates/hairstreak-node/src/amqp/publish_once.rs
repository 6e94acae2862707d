//! Publishing one message without a connection: an operator does so over HTTP.
//!
//! The message takes the way of a client's message, as in RabbitMQ: on a channel of its own, mandatory and with a confirm.

use std::sync::Arc;

use hairstreak_base::OutgoingBuffer;
use hairstreak_broker::Refusal;
use hairstreak_broker::message::BodyView;
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{ChannelId, ChannelMode, Published};
use hairstreak_wire::amqp::ReplyCode;

use super::channel::Channel;
use super::content::check_size;
use super::handshake::admit;
use super::publish::{Outgoing, PublishFields};
use super::publishing::publish;
use super::turn::{Late, Promises, STEPS_MAX, Turn};
use crate::access::{ConnectionSlot, Identity, Rights};
use crate::node::{HostState, Node, OPERATORS, Reached, SharedHost};

/// A message to be published.
#[derive(Clone, Copy, Debug)]
pub struct OneMessage<'a> {
    /// The exchange.
    pub exchange: &'a [u8],
    /// The routing key.
    pub routing_key: &'a [u8],
    /// The properties as they are encoded.
    pub properties: &'a [u8],
    /// The body.
    pub body: &'a [u8],
}

/// The reason why a message is in no queue, except that no queue wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPublished {
    /// Publishers have to wait, for these reasons.
    Blocked(String),
    /// The user may not connect to the virtual host, or not once more.
    NotAdmitted,
    /// A full queue has refused the message; a client would receive basic.nack.
    Rejected,
    /// The channel would have been closed.
    Refused(Refusal),
}

/// Publishes a message. Returns the durability that a confirm would wait for. `None`: no queue took the message.
pub fn publish_once(
    node: &Node,
    host: &SharedHost,
    identity: &Arc<Identity>,
    message: &OneMessage<'_>,
) -> Result<Option<Durability>, NotPublished> {
    let (mut rights, slot) = admit(node, identity, host.name()).map_err(|_| NotPublished::NotAdmitted)?;
    if node.is_alarmed() {
        return Err(NotPublished::Blocked(node.account.alarm.text()));
    }
    check_size(message.body.len() as u64, node.settings.message_size_max()).map_err(NotPublished::Refused)?;
    // The message may take more than one call of the host. All its queues have the message when the operator has acted.
    let (channel, _) = node
        .act(host, |state, now| publish_on_channel(node, host, (&mut rights, &slot), message, state, now));
    let published = match channel.map_err(NotPublished::Refused)? {
        (_, Some(published)) => published,
        (channel, None) => take_outcome(node, host, channel),
    };
    match published {
        Published::Refused => Err(NotPublished::Rejected),
        Published::Routed | Published::Logged(_) => Ok(Some(published.durability())),
        Published::Unroutable | Published::Stale => Ok(None),
    }
}

/// The outcome of a message that took more than one call. The channel ends.
fn take_outcome(node: &Node, host: &SharedHost, channel: ChannelId) -> Published {
    let (outcome, _) = node.act(host, |HostState { host, outlets, .. }, now| {
        let outcome = host.channels_mut().take_outcome(channel);
        host.close_channel(channel, now, outlets);
        outcome
    });
    outcome.map_or(Published::Unroutable, |outcome| outcome.published)
}

/// Publishes a message on a channel of its own. The channel ends, unless the outcome comes later.
fn publish_on_channel(
    node: &Node,
    host: &SharedHost,
    (rights, slot): (&mut Rights, &ConnectionSlot),
    message: &OneMessage<'_>,
    state: &mut HostState,
    now: u64,
) -> Result<(ChannelId, Option<Published>), Refusal> {
    let channel_slot =
        slot.take_channel().map_err(|error| Refusal::new(ReplyCode::NotAllowed, error.to_string()))?;
    let id = state.host.open_channel(OPERATORS, 0)?;
    state.host.channels_mut().set_mode(id, ChannelMode { is_confirming: true, ..ChannelMode::default() });
    let mut channel = Channel::new(id, 0, channel_slot);
    channel.confirms = Some(Default::default());
    // The frames to the client are dropped with the channel: the result has the same information.
    let mut unread = OutgoingBuffer::new(&node.pool);
    let (mut late, steps) = (Late::default(), state.host.step_count());
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
        steps_end: steps + STEPS_MAX,
        late: &mut late,
        reached: Reached::default(),
        promises: Promises::new(0),
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
    let goes_on = matches!(result, Ok((_, None)));
    if !goes_on {
        state.host.close_channel(id, now, &mut state.outlets);
    }
    result.map(|(_, published)| (id, published))
}
