//! `Route`: the queues of messages with one exchange and routing key, kept by the publisher.

use hairstreak_wire::amqp::FieldTable;

use crate::exchange::{ExchangeId, Routing, Walk};
use crate::queue::{Durability, QueueId};

/// The targets of one exchange and routing key, and of one set of headers where the exchange looks at them.
///
/// `VirtualHost::resolve` fills a route. Keep it with the channel for further messages with the same exchange, routing
/// key and CC and BCC headers, as long as `VirtualHost::holds` says so.
#[derive(Debug, Default)]
pub struct Route {
    pub(super) exchange: ExchangeId,
    pub(super) targets: Vec<QueueId>,
    /// The keys that are addresses of reply consumers.
    pub(super) replies: Vec<Box<[u8]>>,
    /// The way names one queue. The queue may not be there.
    pub(super) names_one: bool,
    /// The generation of the topology that the route holds for.
    pub(super) generation: u64,
    /// True if further messages may take the route.
    pub(super) may_be_kept: bool,
    /// The rest of the way, if it takes more steps than one call has.
    pub(super) unrouted: Option<Box<Unrouted>>,
}

/// The generation of a route that is not whole.
pub(super) const NO_GENERATION: u64 = u64::MAX;

/// Queues of a message that is published in one call.
const QUEUE_COUNT_MAX: usize = 16_384;

impl Route {
    /// A route that holds for no generation.
    pub fn new() -> Route {
        Route::default()
    }

    /// The number of queues that the route leads to.
    #[inline]
    pub fn queue_count(&self) -> usize {
        self.targets.len()
    }

    /// Returns the number of queues that `publish_out` counts. A single queue counts although it does not exist, as in RabbitMQ.
    /// Several queues count if they exist.
    pub(super) fn counted_queue_count(&self) -> usize {
        if self.names_one { 1 } else { self.targets.len() }
    }

    /// Returns true if a message takes more than one call. Such messages go through `VirtualHost::publish_slowly`.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.unrouted.is_some() || self.targets.len() > QUEUE_COUNT_MAX
    }
}

/// A route by the names of its queues, for a message that is published later. The queues that have these names then get the message.
///
/// A transaction routes each message when it is published, and puts it into the queues with the commit, as RabbitMQ does.
#[derive(Debug, Default)]
pub struct NamedRoute {
    pub(super) exchange: ExchangeId,
    pub(super) queues: Vec<Box<[u8]>>,
    pub(super) names_one: bool,
    pub(super) replies: Vec<Box<[u8]>>,
    pub(super) unrouted: Option<Box<Unrouted>>,
}

impl NamedRoute {
    /// The memory of the names, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let names = self.queues.iter().chain(&self.replies);
        names.map(|name| name.len() + size_of::<Box<[u8]>>()).sum()
    }
}

/// The outcome of a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Published {
    /// Each queue of the route has the message: ack.
    Routed,
    /// Each queue of the route has the message: ack once the message log has it with this durability.
    Logged(Durability),
    /// The route leads to no queue: return the message if it is mandatory, then ack. Reply consumers are no queues.
    Unroutable,
    /// A queue refused the message: nack.
    Refused,
    /// The route does not hold any more, and the call had no effect: resolve the route, and publish again.
    Stale,
}

impl Published {
    /// The outcome of a message that the message log has. Its confirm waits for `durability`.
    #[inline]
    pub(super) fn logged(self, durability: Durability) -> Published {
        match self {
            Published::Routed if durability > Durability::Memory => Published::Logged(durability),
            other => other,
        }
    }

    /// Returns the durability that the confirm waits for. Messages that the message log does not have wait for nothing.
    #[inline]
    pub fn durability(self) -> Durability {
        match self {
            Published::Logged(durability) => durability,
            _ => Durability::Memory,
        }
    }
}

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
