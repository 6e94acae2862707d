//! `Subject`: the object that an answer to a client is about. A change of the object may not be on disk yet.

use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::view::BindingInfo;
use hairstreak_wire::amqp::FieldTable;

use super::recording::to_definition;
use crate::definitions::{Kind, Place};

/// An object of a virtual host.
#[derive(Clone, Copy, Debug)]
pub enum Subject<'a> {
    /// An exchange.
    Exchange(&'a [u8]),
    /// A queue.
    Queue(&'a [u8]),
    /// A binding and its ends.
    Binding(Ends<'a>, &'a [u8], &'a FieldTable),
}

/// The ends of a binding.
#[derive(Clone, Copy, Debug)]
pub struct Ends<'a> {
    /// The exchange that the binding leads from.
    pub source: &'a [u8],
    /// The name of the destination.
    pub destination: &'a [u8],
    /// True if the destination is an exchange.
    pub is_to_exchange: bool,
}

impl Ends<'_> {
    /// The binding with this routing key and these arguments.
    pub fn binding(&self, routing_key: &[u8], arguments: &FieldTable) -> BindingInfo {
        BindingInfo {
            source: self.source.into(),
            destination: self.destination.into(),
            is_to_exchange: self.is_to_exchange,
            routing_key: routing_key.into(),
            arguments: arguments.into(),
        }
    }
}

impl Subject<'_> {
    /// The places of the definitions without which the object is not there.
    pub fn places(&self, virtual_host: &str) -> Vec<Place> {
        let place = |kind, name: &[u8]| Place::new(kind, &[virtual_host.as_bytes(), name]);
        match *self {
            Subject::Exchange(name) => vec![place(Kind::Exchange, name)],
            Subject::Queue(name) => vec![place(Kind::Queue, name)],
            Subject::Binding(ends, routing_key, arguments) => {
                let binding = Recorded::Bound(ends.binding(routing_key, arguments));
                let kind = if ends.is_to_exchange { Kind::Exchange } else { Kind::Queue };
                vec![
                    to_definition(virtual_host, binding).place(),
                    place(Kind::Exchange, ends.source),
                    place(kind, ends.destination),
                ]
            }
        }
    }
}
