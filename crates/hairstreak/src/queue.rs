//! `Queue`: the receiving end of links.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Endpoint, Message, Pull, RecvError};

use crate::component::Object;

/// Receives the messages of all bound exchanges, fairly. Clones share the queue. The queue closes when the last clone
/// is dropped.
#[derive(Clone)]
pub struct Queue {
    pub(crate) name: Arc<str>,
    pub(crate) object: Arc<Object>,
    pub(crate) pull: Pull,
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
