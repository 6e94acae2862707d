//! `Queue`: the receiving end of links.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Endpoint, Message, Pull, RecvError};

use crate::component::{Component, Object, OpenError, Placement, Scope};
use crate::exchange::Marks;

/// Receives the messages of all bound exchanges, fairly. Clones share the queue. The queue closes when the last clone
/// is dropped.
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
    /// Returns the name of the queue.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the endpoint of the listener of a global queue.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.object.endpoint()
    }

    /// Returns whether the queue is global and the directory confirmed its name when last asked.
    pub fn is_registered(&self) -> bool {
        self.object.is_registered()
    }

    /// Waits for the next message and returns it.
    #[inline]
    pub fn recv(&self) -> Result<Message, RecvError> {
        self.pull.recv()
    }

    /// Returns the next message, or [`RecvError::WouldBlock`] if none is here.
    #[inline]
    pub fn try_recv(&self) -> Result<Message, RecvError> {
        self.pull.try_recv()
    }

    /// Waits at most `timeout` for the next message.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Message, RecvError> {
        self.pull.recv_timeout(timeout)
    }

    /// Returns the next message when there is one. Cancel safe.
    pub async fn recv_async(&self) -> Result<Message, RecvError> {
        self.pull.recv_async().await
    }

    /// Waits for a message, then takes all messages that are here, at most `max` (at least 1). They replace the content
    /// of `into`. Returns their number. After an error `into` has no messages.
    pub fn recv_many(&self, into: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        self.pull.recv_many(into, max)
    }

    /// Waits until `count` exchanges are connected, at most `timeout`. Returns whether they are.
    pub fn wait_for_exchanges(&self, count: usize, timeout: Duration) -> bool {
        self.pull.wait_for_peers(count, timeout)
    }

    /// Returns the counters.
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

    /// Sets the components that can find the queue. Local by default.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.placement.scope = scope;
        self
    }

    /// Sets the interface on which a global queue listens: `nic`, an address or `*`, with or without `:port`, or an
    /// endpoint. The default is the address by which this machine reaches the directory, and any free port.
    pub fn interface(mut self, interface: &str) -> Self {
        self.placement.interface = Some(interface.to_owned());
        self
    }

    /// Sets the address that the directory tells other components: `host`, `host:port` or an endpoint. The default
    /// follows from the endpoint of the listener.
    pub fn advertise(mut self, host: &str) -> Self {
        self.placement.advertise = Some(host.to_owned());
        self
    }

    /// Sets the high-water mark in messages that arrived and are not received yet, per exchange.
    pub fn high_water_count(mut self, count: usize) -> Self {
        self.marks.high_count = Some(count);
        self
    }

    /// Sets the high-water mark in bytes that arrived and are not received yet, per exchange.
    pub fn high_water_bytes(mut self, bytes: usize) -> Self {
        self.marks.high_bytes = Some(bytes);
        self
    }

    /// Opens the queue. A global queue waits for the directory.
    pub fn open(self) -> Result<Queue, OpenError> {
        let (object, pull) = self.component.open_queue(&self.placement, self.marks.receiving())?;
        Ok(Queue { name: self.placement.name.into(), object, pull })
    }
}
