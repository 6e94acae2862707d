//! `Kind`: which types of exchanges there are, by name. A further type is a file, and a line in each function here.

use hairstreak_wire::amqp::FieldTable;

use super::consistent_hash::ConsistentHash;
use super::direct::{Direct, Fanout};
use super::exchange_type::ExchangeType;
use super::headers::Headers;
use super::load_balancing::LoadBalancing;
use super::topic::Trie;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Direct,
    Fanout,
    Topic,
    Headers,
    ConsistentHash,
    LoadBalancing,
}

impl Kind {
    pub(super) fn from_name(name: &[u8]) -> Option<Kind> {
        Some(match name {
            b"direct" => Kind::Direct,
            b"fanout" | b"data_distribution" => Kind::Fanout,
            b"topic" => Kind::Topic,
            b"headers" => Kind::Headers,
            b"x-consistent-hash" => Kind::ConsistentHash,
            b"load_balancing" => Kind::LoadBalancing,
            _ => return None,
        })
    }

    /// The name as RabbitMQ's texts show it: an Erlang atom, quoted where an atom must be.
    pub(super) fn atom(self) -> &'static str {
        match self {
            Kind::Direct => "direct",
            Kind::Fanout => "fanout",
            Kind::Topic => "topic",
            Kind::Headers => "headers",
            Kind::ConsistentHash => "'x-consistent-hash'",
            Kind::LoadBalancing => "load_balancing",
        }
    }

    /// The bindings of a new exchange, none so far.
    ///
    /// # Errors
    ///
    /// `PRECONDITION_FAILED`: the type does not take these arguments.
    pub(super) fn open(self, arguments: &FieldTable) -> Result<Box<dyn ExchangeType>, Refusal> {
        Ok(match self {
            Kind::Direct => Box::new(Direct::default()),
            Kind::Fanout => Box::new(Fanout::default()),
            Kind::Topic => Box::new(Trie::default()),
            Kind::Headers => Box::new(Headers::default()),
            Kind::ConsistentHash => Box::new(ConsistentHash::new(arguments)?),
            Kind::LoadBalancing => Box::new(LoadBalancing::default()),
        })
    }
}
