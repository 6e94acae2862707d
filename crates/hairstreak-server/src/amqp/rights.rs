//! `Rights`: what the user of a connection may do in its virtual host.
//!
//! | method | configure | write | read |
//! |---|---|---|---|
//! | queue.declare, queue.delete | the queue | | |
//! | queue.declare with a dead letter exchange | the queue | that exchange | the queue |
//! | exchange.declare, exchange.delete | the exchange | | |
//! | exchange.declare with an alternate exchange | the exchange | that exchange | the exchange |
//! | queue.bind, queue.unbind | | the queue | the exchange |
//! | exchange.bind, exchange.unbind | | the destination | the source |
//! | basic.publish | | the exchange | |
//! | basic.get, basic.consume, queue.purge | | | the queue |
//!
//! A passive declaration needs nothing. A topic exchange is asked for the routing key, too: to write it by publishing, to read it by binding.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Exchanges;
use hairstreak_wire::amqp::ReplyCode;

use crate::access::{CheckCache, Identity, Operation};

/// The name under which patterns know the default exchange.
const DEFAULT_EXCHANGE: &[u8] = b"amq.default";
/// Stands for the name that the virtual host gives to a queue without one.
const GIVEN_NAME: &[u8] = b"amq.gen-0123456789abcdefghijkl";

/// The rights of a user in a virtual host.
pub(super) struct Rights {
    virtual_host: Box<str>,
    checks: CheckCache,
}

/// The kind of object that a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Exchange,
    Queue,
}

impl Rights {
    /// The rights of a user in a virtual host. `None`: the user has none there.
    pub fn of(identity: Arc<Identity>, virtual_host: &str) -> Option<Rights> {
        Some(Rights { virtual_host: virtual_host.into(), checks: CheckCache::open(identity, virtual_host)? })
    }

    pub fn identity(&self) -> &Arc<Identity> {
        self.checks.identity()
    }

    /// Grows when users or permissions change: whatever was allowed before has to be asked anew.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.checks.identity().generation()
    }

    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not do this.
    pub fn check(&mut self, operation: Operation, resource: Resource, name: &[u8]) -> Result<(), Refusal> {
        let name = match (resource, name) {
            (Resource::Exchange, b"") => DEFAULT_EXCHANGE,
            (Resource::Queue, b"") => GIVEN_NAME,
            (_, name) => name,
        };
        if self.checks.allows(operation, name) {
            return Ok(());
        }
        let kind = match resource {
            Resource::Exchange => "exchange",
            Resource::Queue => "queue",
        };
        let name = String::from_utf8_lossy(name);
        Err(self.refuse(operation, &format!("{kind} '{name}'")))
    }

    /// Checks the routing key where the exchange is a topic exchange.
    ///
    /// # Errors
    ///
    /// `ACCESS_REFUSED`: the user may not use this key there.
    pub fn check_topic(
        &mut self,
        operation: Operation,
        exchange: &[u8],
        routing_key: &[u8],
        exchanges: &Exchanges,
    ) -> Result<(), Refusal> {
        if self.checks.allows_topic(operation, exchange, routing_key) || !exchanges.is_topic(exchange) {
            return Ok(());
        }
        let (exchange, key) = (String::from_utf8_lossy(exchange), String::from_utf8_lossy(routing_key));
        Err(self.refuse(operation, &format!("topic '{key}' in exchange '{exchange}'")))
    }

    fn refuse(&self, operation: Operation, what: &str) -> Refusal {
        let operation = match operation {
            Operation::Configure => "configure",
            Operation::Write => "write",
            Operation::Read => "read",
        };
        let (virtual_host, user) = (&self.virtual_host, self.identity().user());
        let text =
            format!("{operation} access to {what} in vhost '{virtual_host}' refused for user '{user}'");
        Refusal::new(ReplyCode::AccessRefused, text)
    }
}
