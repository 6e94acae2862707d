//! Properties of a message: the routing keys, the checks of properties, and the properties that are removed before the message is
//! stored.

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Routing;
use hairstreak_broker::message::Attributes;
use hairstreak_broker::vhost::{ChannelId, Route};
use hairstreak_wire::amqp::{FieldTable, FieldValue, Properties, ReplyCode};

use super::publish::{Outgoing, PublishFields};
use super::turn::Turn;
use crate::access::{Identity, Operation, Resource};

/// Clients answer to this name; the virtual host makes an address of it.
const REPLY_TO: &[u8] = b"amq.rabbitmq.reply-to";
/// Flags of properties that need a check beyond the attributes: headers, correlation-id, reply-to, message-id, timestamp,
/// user-id.
const LOOK_FLAGS: u16 = 1 << 13 | 1 << 10 | 1 << 9 | 1 << 7 | 1 << 6 | 1 << 4;

/// The meaning of a message's properties and names.
pub(super) struct Examined {
    pub attributes: Attributes,
    /// The properties as they are stored, if not as they came.
    changed: Option<Vec<u8>>,
    /// A message with the same frames means the same, as long as its route holds.
    pub is_repeatable: bool,
}

impl Examined {
    pub fn properties<'a>(&'a self, original: &'a [u8]) -> &'a [u8] {
        self.changed.as_deref().unwrap_or(original)
    }
}

/// Examines a message, and finds its route. `known`: the attributes of these very properties.
///
/// Errors: the user-id is another user's, a property is malformed, or the exchange cannot be published to.
pub(super) fn examine(
    channel: ChannelId,
    outgoing: &Outgoing<'_>,
    known: Option<Attributes>,
    route: &mut Route,
    turn: &mut Turn<'_>,
) -> Result<Examined, Refusal> {
    let PublishFields { exchange, routing_key, .. } = outgoing.fields;
    turn.rights.check(Operation::Write, Resource::Exchange(exchange))?;
    turn.rights.check_topic(Operation::Write, exchange, routing_key, turn.state.host.exchanges_mut())?;
    let flags = outgoing.properties.first_chunk().map_or(0, |flags| u16::from_be_bytes(*flags));
    if let Some(attributes) = known
        && flags & LOOK_FLAGS == 0
    {
        resolve(outgoing, &Properties::default(), &[], route, turn)?;
        return Ok(Examined { attributes, changed: None, is_repeatable: true });
    }
    let mut properties = Properties::decode(outgoing.properties)
        .map_err(|error| Refusal::new(error.reply_code(), error.to_string()))?;
    let attributes = Attributes::of(&properties)?;
    check_user(properties.user_id, turn.rights.identity())?;
    let reply_to = reply_address(channel, &properties, turn)?;
    let extra = properties.headers.as_ref().map(extra_keys).transpose()?.unwrap_or_default();
    for key in &extra {
        turn.rights.check_topic(Operation::Write, exchange, key, turn.state.host.exchanges_mut())?;
    }
    resolve(outgoing, &properties, &extra, route, turn)?;
    let has_bcc = properties.headers.as_mut().is_some_and(|headers| headers.remove("BCC").is_some());
    let changed = (reply_to.is_some() || has_bcc).then(|| {
        if let Some(reply_to) = &reply_to {
            properties.reply_to = Some(reply_to);
        }
        let mut encoded = Vec::new();
        properties.encode(&mut encoded);
        encoded
    });
    Ok(Examined { attributes, is_repeatable: changed.is_none(), changed })
}

/// # Errors
///
/// `PRECONDITION_FAILED`: a body of `size` bytes is larger than the node accepts.
pub(super) fn check_size(size: u64, size_max: u64) -> Result<(), Refusal> {
    if size <= size_max {
        return Ok(());
    }
    let text = format!("message size {size} is larger than configured max size {size_max}");
    Err(Refusal::new(ReplyCode::PreconditionFailed, text))
}

fn resolve(
    outgoing: &Outgoing<'_>,
    properties: &Properties<'_>,
    extra_keys: &[&[u8]],
    route: &mut Route,
    turn: &mut Turn<'_>,
) -> Result<(), Refusal> {
    let routing = Routing {
        exchange: outgoing.fields.exchange,
        key: outgoing.fields.routing_key,
        extra_keys,
        headers: properties.headers.as_ref(),
        correlation_id: properties.correlation_id,
        message_id: properties.message_id,
        timestamp: properties.timestamp,
    };
    turn.state.host.resolve(&routing, route)
}

/// Checks that a user-id is the user's own, unless the user may impersonate others.
fn check_user(user_id: Option<&[u8]>, identity: &Identity) -> Result<(), Refusal> {
    let user = &**identity.user();
    match user_id {
        Some(user_id) if user_id != user.as_bytes() && !identity.tags().may_impersonate() => {
            let claimed = String::from_utf8_lossy(user_id);
            let text = format!("user_id property set to '{claimed}' but authenticated user was '{user}'");
            Err(Refusal::new(ReplyCode::PreconditionFailed, text))
        }
        _ => Ok(()),
    }
}

/// The address that stands in for `amq.rabbitmq.reply-to`.
fn reply_address(
    channel: ChannelId,
    properties: &Properties<'_>,
    turn: &mut Turn<'_>,
) -> Result<Option<Box<[u8]>>, Refusal> {
    match properties.reply_to {
        Some(REPLY_TO) => {
            turn.state.host.channels().reply_address(channel).map(|address| Some(address.into()))
        }
        _ => Ok(None),
    }
}

/// Returns the keys of the headers CC and BCC. Values that are not strings are ignored.
///
/// Errors: a header is no array.
fn extra_keys(headers: &FieldTable) -> Result<Vec<&[u8]>, Refusal> {
    let mut keys = Vec::new();
    for name in ["CC", "BCC"] {
        match headers.get(name) {
            None => {}
            Some(FieldValue::Array(values)) => keys.extend(values.iter().filter_map(FieldValue::as_bytes)),
            Some(other) => {
                let kind = other.type_name();
                let text = format!("invalid message: {{unacceptable_type_in_header,\"{name}\",{kind}}}");
                return Err(Refusal::new(ReplyCode::PreconditionFailed, text));
            }
        }
    }
    Ok(keys)
}
