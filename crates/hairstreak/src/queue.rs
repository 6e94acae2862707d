//! `Queue`: what a component receives from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Endpoint, Message, Pull, RecvError};

use crate::component::{Component, Object, OpenError, Placement, Scope};
use crate::exchange::Marks;

/// What a component receives from: messages of all bound exchanges, fairly. Clones share it; with
/// the last of them it closes.
#[derive(Clone)]
pub struct Queue {
    name: Arc<str>,
    object: Arc<Object>,
    pull: Pull,
}

/// Counters of a queue since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueStats {
    /// Messages handed to the application.
    pub received: u64,
    /// Exchanges that are connected.
    pub exchange_count: usize,
}

impl Queue {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it listens, if it is global.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.object.endpoint()
    }

    /// Whether it is global and the directory agreed to its name when last asked.
    pub fn is_registered(&self) -> bool {
        self.object.is_registered()
    }

    /// The next message, waiting for it.
    #[inline]
    pub fn recv(&self) -> Result<Message, RecvError> {
        self.pull.recv()
    }

    /// The next message if one is here; [`RecvError::WouldBlock`] if none is.
    #[inline]
    pub fn try_recv(&self) -> Result<Message, RecvError> {
        self.pull.try_recv()
    }

    /// The next message, waiting at most `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Message, RecvError> {
        self.pull.recv_timeout(timeout)
    }

    /// The next message when there is one. Cancel safe.
    pub async fn recv_async(&self) -> Result<Message, RecvError> {
        self.pull.recv_async().await
    }

    /// Waits for a message, then takes all that are here, at most `max` (at least 1). Puts them in the
    /// place of what `into` holds and returns how many there are; on an error there are none.
    pub fn recv_many(&self, into: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        self.pull.recv_many(into, max)
    }

    /// Waits until `count` exchanges are connected. Returns whether they are.
    pub fn wait_for_exchanges(&self, count: usize, timeout: Duration) -> bool {
        self.pull.wait_for_peers(count, timeout)
    }

    /// Counters.
    pub fn stats(&self) -> QueueStats {
        let stats = self.pull.stats();
        QueueStats { received: stats.received, exchange_count: stats.peer_count }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}

/// Describes a queue.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before open()"]
pub struct QueueBuilder<'n> {
    component: &'n Component,
    placement: Placement,
    marks: Marks,
}

impl<'n> QueueBuilder<'n> {
    pub(crate) fn new(component: &'n Component, name: &str) -> QueueBuilder<'n> {
        QueueBuilder { component, placement: Placement::new(name), marks: Marks::default() }
    }

    /// Who can find it. Local unless given.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.placement.scope = scope;
        self
    }

    /// Where a global one listens: `nic`, an address or `*`, with `:port` or without, or an
    /// endpoint. Unless given, the address by which this machine reaches the directory, and any free port.
    pub fn interface(mut self, interface: &str) -> Self {
        self.placement.interface = Some(interface.to_owned());
        self
    }

    /// What the directory tells others where it is, if not what is found out: `host`, `host:port` or
    /// an endpoint.
    pub fn advertise(mut self, host: &str) -> Self {
        self.placement.advertise = Some(host.to_owned());
        self
    }

    /// High-water mark by messages that came and were not received yet, per exchange.
    pub fn high_water_count(mut self, count: usize) -> Self {
        self.marks.high_count = Some(count);
        self
    }

    /// High-water mark by bytes that came and were not received yet, per exchange.
    pub fn high_water_bytes(mut self, bytes: usize) -> Self {
        self.marks.high_bytes = Some(bytes);
        self
    }

    /// Opens it. A global one waits for the directory.
    pub fn open(self) -> Result<Queue, OpenError> {
        let (object, pull) = self.component.open_queue(&self.placement, self.marks.receiving())?;
        Ok(Queue { name: self.placement.name.into(), object, pull })
    }
}
