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
//!
//! - Admission of a user to a virtual host: permissions, and the limits of the host and of the user.
//! - `queue_name`, `routing_key`: an empty name means the queue that the channel declared last.

use std::sync::Arc;

use hairstreak_broker::Refusal;
use hairstreak_broker::exchange::Exchanges;
use hairstreak_wire::amqp::ReplyCode;

use crate::access::{CheckCache, ConnectionSlot, Identity, Operation, Resource, refuse_topic};
use crate::node::Node;

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

/// Admits a user to a virtual host. Returns what the user may do there, and the place among the connections of the user.
///
/// # Errors
///
/// `NOT_ALLOWED`: the user has no permission there, or the host or the user has as many connections as it may.
pub(super) fn admit(
    node: &Node,
    identity: &Arc<Identity>,
    virtual_host: &str,
) -> Result<(Rights, ConnectionSlot), Refusal> {
    let refuse = |text: String| Refusal::new(ReplyCode::NotAllowed, text);
    let refuse_access = |reason: &str| {
        let user = identity.user();
        refuse(format!("access to vhost '{virtual_host}' refused for user '{user}'{reason}"))
    };
    let rights = Rights::of(Arc::clone(identity), virtual_host).ok_or_else(|| refuse_access(""))?;
    if let Some(limit) = node.connection_limit(virtual_host) {
        return Err(refuse_access(&format!(": connection limit ({limit}) is reached")));
    }
    let slot = identity.take_connection().map_err(|error| refuse(error.to_string()))?;
    Ok((rights, slot))
}

/// Returns `name`, or the queue that the channel declared last if `name` is empty.
///
/// Errors: the name is empty and the channel has declared none.
pub(super) fn queue_name<'a>(last_queue: &'a [u8], name: &'a [u8]) -> Result<&'a [u8], Refusal> {
    match (name, last_queue) {
        ([], []) => Err(Refusal::new(ReplyCode::NotFound, "no previously declared queue")),
        ([], last) => Ok(last),
        (name, _) => Ok(name),
    }
}

/// The routing key that goes with [`queue`]: where neither a queue nor a key was given, the queue's name.
pub(super) fn routing_key<'a>(last_queue: &'a [u8], queue: &[u8], key: &'a [u8]) -> &'a [u8] {
    if queue.is_empty() && key.is_empty() { last_queue } else { key }
}
