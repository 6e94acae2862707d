//! `Rights`: what the user of a request may do in a virtual host, as it may do by AMQP.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_node::access::{Identity, Operation, Resource, VirtualHostPermissions, refuse_topic};
use hairstreak_node::node::SharedHost;
use hairstreak_wire::amqp::EncodedTable;

use super::error::ApiError;

/// The type of the exchanges that permissions know by routing keys.
const TOPIC: &[u8] = b"topic";

/// The rights of a user in a virtual host.
pub(crate) struct Rights<'a> {
    identity: &'a Identity,
    host: &'a SharedHost,
    permissions: Arc<VirtualHostPermissions>,
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
    pub(crate) fn check(&self, operation: Operation, resource: Resource<'_>) -> Result<(), Refusal> {
        if self.permissions.allows(operation, resource.name()) {
            return Ok(());
        }
        Err(resource.refuse(self.host.name(), self.identity.user()))
    }

    /// Checks a declaration. `argument` names an exchange that messages go on to.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not configure the object, or not read it and write to the other exchange.
    pub(crate) fn check_declaration(
        &self,
        resource: Resource<'_>,
        arguments: &EncodedTable,
        argument: &str,
    ) -> Result<(), Refusal> {
        self.check(Operation::Configure, resource)?;
        let value = arguments.get(argument);
        if let Some(exchange) = value.as_ref().and_then(|value| value.as_bytes()) {
            self.check(Operation::Read, resource)?;
            self.check(Operation::Write, Resource::Exchange(exchange))?;
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
        destination: Resource<'_>,
        source: &[u8],
        routing_key: &[u8],
    ) -> Result<(), Refusal> {
        self.check(Operation::Write, destination)?;
        self.check(Operation::Read, Resource::Exchange(source))?;
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
            let info = self.host.lock().host.topology().exchange(exchange);
            info.is_some_and(|info| *info.kind == *TOPIC)
        };
        if self.permissions.allows_topic(operation, exchange, key) || !is_topic() {
            return Ok(());
        }
        Err(refuse_topic(exchange, key, self.host.name(), self.identity.user()))
    }
}
