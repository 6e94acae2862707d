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
//! A passive declaration needs nothing. A topic exchange needs the routing key, too: to write it by publishing, to read it by binding. The right on
//! another exchange is for declarations of new objects only.
//!
//! A question and the act behind it have one name: [`without_line_breaks`](hairstreak_broker::without_line_breaks) comes before both.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Exchanges;

use crate::access::{CheckCache, Identity, Operation, Resource, refuse_topic};

/// The rights of a user in a virtual host.
pub(super) struct Rights {
    virtual_host: Box<str>,
    checks: CheckCache,
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
    pub fn check(&mut self, operation: Operation, resource: Resource<'_>) -> Result<(), Refusal> {
        if self.checks.allows(operation, resource.name()) {
            return Ok(());
        }
        Err(resource.refuse(&self.virtual_host, self.identity().user()))
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
        Err(refuse_topic(exchange, routing_key, &self.virtual_host, self.identity().user()))
    }
}
