//! `Publish`: a basic.publish, as its frame or as its fields.

use hairstreak_broker::message::BodyView;
use hairstreak_wire::amqp::{FRAME_HEADER_SIZE, basic};

/// The fields of a basic.publish, where they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PublishFields<'a> {
    pub exchange: &'a [u8],
    pub routing_key: &'a [u8],
    /// A message that no queue gets comes back.
    pub is_mandatory: bool,
    /// Not implemented, as in RabbitMQ.
    pub is_immediate: bool,
}

impl<'a> PublishFields<'a> {
    pub fn of(method: &basic::Publish<'a>) -> PublishFields<'a> {
        PublishFields {
            exchange: method.exchange,
            routing_key: method.routing_key,
            is_mandatory: method.mandatory,
            is_immediate: method.immediate,
        }
    }
}

/// A basic.publish that is kept until its content is here.
#[derive(Clone, Debug, Default)]
pub(super) struct Publish {
    /// Exchange and routing key, one behind the other.
    names: Box<[u8]>,
    exchange_size: usize,
    is_mandatory: bool,
    is_immediate: bool,
}

impl Publish {
    pub fn new(fields: &PublishFields<'_>) -> Publish {
        Publish {
            names: [fields.exchange, fields.routing_key].concat().into(),
            exchange_size: fields.exchange.len(),
            is_mandatory: fields.is_mandatory,
            is_immediate: fields.is_immediate,
        }
    }

    pub fn fields(&self) -> PublishFields<'_> {
        let (exchange, routing_key) = self.names.split_at(self.exchange_size);
        PublishFields {
            exchange,
            routing_key,
            is_mandatory: self.is_mandatory,
            is_immediate: self.is_immediate,
        }
    }
}

/// A message to be published into the virtual host.
pub(super) struct Outgoing<'a> {
    pub fields: PublishFields<'a>,
    pub properties: &'a [u8],
    pub body: BodyView<'a>,
}

/// Offset of exchange and routing key in the frame of a basic.publish: behind the frame's header, class, method and a reserved
/// short.
pub(super) const EXCHANGE_AT: usize = FRAME_HEADER_SIZE + 4 + 2;
