//! `Rights`: what the user of a request may do in a virtual host, as it may do by AMQP.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_wire::amqp::{FieldTable, ReplyCode};

use super::error::ApiError;
use crate::access::{Identity, Operation, VirtualHostPermissions};
use crate::node::SharedHost;

/// The type of the exchanges that permissions know by routing keys.
const TOPIC: &[u8] = b"topic";
/// The name under which patterns know the default exchange.
const DEFAULT_EXCHANGE: &str = "amq.default";

/// The rights of a user in a virtual host.
pub(crate) struct Rights<'a> {
    identity: &'a Identity,
    host: &'a SharedHost,
    permissions: Arc<VirtualHostPermissions>,
}

/// The kind of object that a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Exchange,
    Queue,
}

impl<'a> Rights<'a> {
    /// The rights of a user in a virtual host.
    ///
    /// # Errors
    ///
    /// 401: the user has none there.
    pub(crate) fn new(identity: &'a Identity, host: &'a SharedHost) -> Result<Rights<'a>, ApiError> {
        let permissions = identity.permissions(host.name());
        let permissions = permissions.ok_or_else(|| ApiError::not_authorised("Access refused."))?;
        Ok(Rights { identity, host, permissions })
    }

    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not do this.
    pub(crate) fn check(&self, operation: Operation, kind: Kind, name: &[u8]) -> Result<(), Refusal> {
        if self.permissions.allows(operation, name) {
            return Ok(());
        }
        let name = String::from_utf8_lossy(name);
        Err(self.refuse(
            operation,
            &match kind {
                Kind::Exchange if name.is_empty() => format!("exchange '{DEFAULT_EXCHANGE}'"),
                Kind::Exchange => format!("exchange '{name}'"),
                Kind::Queue => format!("queue '{name}'"),
            },
        ))
    }

    /// Checks a declaration. `argument` names an exchange that messages go on to.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not configure the object, or not read it and write to the other exchange.
    pub(crate) fn check_declaration(
        &self,
        kind: Kind,
        name: &[u8],
        arguments: &FieldTable,
        argument: &str,
    ) -> Result<(), Refusal> {
        self.check(Operation::Configure, kind, name)?;
        if let Some(exchange) = arguments.get(argument).and_then(|value| value.as_bytes()) {
            self.check(Operation::Read, kind, name)?;
            self.check(Operation::Write, Kind::Exchange, exchange)?;
        }
        Ok(())
    }

    /// Checks a binding from the exchange `source`.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not write to the destination, or not read from the source.
    pub(crate) fn check_binding(
        &self,
        (kind, destination): (Kind, &[u8]),
        source: &[u8],
        routing_key: &[u8],
    ) -> Result<(), Refusal> {
        self.check(Operation::Write, kind, destination)?;
        self.check(Operation::Read, Kind::Exchange, source)?;
        self.check_topic(Operation::Read, source, routing_key)
    }

    /// Checks the routing key where the exchange is a topic exchange.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not use this key there.
    pub(crate) fn check_topic(
        &self,
        operation: Operation,
        exchange: &[u8],
        key: &[u8],
    ) -> Result<(), Refusal> {
        let is_topic = || {
            let info = self.host.lock().host.views().exchange(exchange);
            info.is_some_and(|info| *info.kind == *TOPIC)
        };
        if self.permissions.allows_topic(operation, exchange, key) || !is_topic() {
            return Ok(());
        }
        let (exchange, key) = (String::from_utf8_lossy(exchange), String::from_utf8_lossy(key));
        Err(self.refuse(operation, &format!("topic '{key}' in exchange '{exchange}'")))
    }

    /// RabbitMQ names the permission that is missing since its version 3.12.
    fn refuse(&self, operation: Operation, what: &str) -> Refusal {
        let word = match operation {
            Operation::Configure => "configure",
            Operation::Write => "write",
            Operation::Read => "read",
        };
        let (virtual_host, user) = (self.host.name(), self.identity.user());
        let text = format!("{word} access to {what} in vhost '{virtual_host}' refused for user '{user}'");
        Refusal::new(ReplyCode::AccessRefused, text)
    }
}
