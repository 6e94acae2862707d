//! `Unrouted`: the rest of a message's way through the exchanges, which goes on in a later call.

use hairstreak_wire::amqp::FieldTable;

use crate::exchange::{Routing, Walk};

/// The rest of a message's way through the exchanges.
#[derive(Debug)]
pub(super) struct Unrouted {
    pub(super) walk: Walk,
    exchange: Box<[u8]>,
    /// The routing key and the keys of CC and BCC.
    keys: Vec<Box<[u8]>>,
    headers: Option<FieldTable>,
    correlation_id: Option<Box<[u8]>>,
    message_id: Option<Box<[u8]>>,
    timestamp: Option<u64>,
}

impl Unrouted {
    pub(super) fn new(walk: Walk, message: &Routing<'_>) -> Unrouted {
        Unrouted {
            walk,
            exchange: message.exchange.into(),
            keys: message.keys().map(Box::from).collect(),
            headers: message.headers.cloned(),
            correlation_id: message.correlation_id.map(Box::from),
            message_id: message.message_id.map(Box::from),
            timestamp: message.timestamp,
        }
    }

    /// Gives `act` the way, and the parts of the message that decide on it.
    pub(super) fn with<T>(&mut self, act: impl FnOnce(&mut Walk, &Routing<'_>) -> T) -> T {
        let keys: Vec<&[u8]> = self.keys.iter().map(|key| &**key).collect();
        let routing = Routing {
            exchange: &self.exchange,
            key: keys.first().copied().unwrap_or_default(),
            extra_keys: keys.get(1..).unwrap_or_default(),
            headers: self.headers.as_ref(),
            correlation_id: self.correlation_id.as_deref(),
            message_id: self.message_id.as_deref(),
            timestamp: self.timestamp,
        };
        act(&mut self.walk, &routing)
    }
}
