//! Refusals of exchanges, in RabbitMQ's words.

use std::fmt;

use hairstreak_wire::amqp::{FieldValue, ReplyCode};

use crate::refusal::Refusal;

/// An exchange as the texts name it: `exchange 'x' in vhost '/'`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) virtual_host: &'a str,
    pub(super) exchange: &'a [u8],
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = String::from_utf8_lossy(self.exchange);
        write!(f, "exchange '{name}' in vhost '{}'", self.virtual_host)
    }
}

pub(super) fn not_found(place: Place<'_>) -> Refusal {
    Refusal::new(ReplyCode::NotFound, format!("no {place}"))
}

pub(super) fn unknown_type(name: &[u8]) -> Refusal {
    let name = String::from_utf8_lossy(name);
    Refusal::new(ReplyCode::CommandInvalid, format!("unknown exchange type '{name}'"))
}

pub(super) fn default_exchange() -> Refusal {
    Refusal::new(ReplyCode::AccessRefused, "operation not permitted on the default exchange")
}

pub(super) fn reserved_name(name: &[u8]) -> Refusal {
    let name = String::from_utf8_lossy(name);
    let text = format!("exchange name '{name}' contains reserved prefix 'amq.*'");
    Refusal::new(ReplyCode::AccessRefused, text)
}

pub(super) fn system_exchange(place: Place<'_>) -> Refusal {
    Refusal::new(ReplyCode::AccessRefused, format!("deletion of system {place} not allowed"))
}

pub(super) fn in_use(place: Place<'_>) -> Refusal {
    Refusal::new(ReplyCode::PreconditionFailed, format!("{place} in use"))
}

pub(super) fn internal(place: Place<'_>) -> Refusal {
    Refusal::new(ReplyCode::AccessRefused, format!("cannot publish to internal {place}"))
}

pub(super) fn invalid_argument_type(value: &FieldValue, name: &str, place: Place<'_>) -> Refusal {
    let text = format!("invalid type '{}' for arg '{name}' in {place}", value.type_name());
    Refusal::new(ReplyCode::PreconditionFailed, text)
}

pub(super) fn no_room(bytes_max: usize, place: Place<'_>) -> Refusal {
    let text = format!(
        "limit of names, routing keys and arguments of exchanges and bindings ({bytes_max} bytes) is reached: {place}"
    );
    Refusal::new(ReplyCode::PreconditionFailed, text)
}
