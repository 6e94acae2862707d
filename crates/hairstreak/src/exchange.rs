//! `Exchange`: the sending end of links.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_socket::{Distribution, Endpoint, Outgoing, Push, SendAllError, SendError};

use crate::component::Object;

/// Sends messages to the bound queues. Clones share the exchange. The exchange closes when the last clone is dropped.
///
/// A send never consumes its message. After an error the caller still has it.
#[derive(Clone)]
pub struct Exchange {
    pub(crate) name: Arc<str>,
    pub(crate) object: Arc<Object>,
    pub(crate) push: Push,
}

/// Counters of an exchange since it was opened, and its depth now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExchangeStats {
    /// Messages accepted. Each counts once, for any number of queues.
    pub sent: u64,
    /// Messages dropped because no queue was bound (data distribution).
    pub dropped_unroutable: u64,
    /// Messages accepted, and not completely sent when their queue was lost.
    pub dropped_queue_lost: u64,
    /// Queues that are connected.
    pub queue_count: usize,
    /// Messages accepted and not yet sent, in all queues.
    pub depth_count: usize,
    /// Bytes accepted and not yet sent, in all queues.
    pub depth_bytes: usize,
}

impl Exchange {
    /// Returns the name of the exchange.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the endpoint of the listener of a global exchange.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        self.object.endpoint()
    }

    /// Returns whether the exchange is global and the directory confirmed its name when last asked.
    pub fn is_registered(&self) -> bool {
        self.object.is_registered()
    }

    /// Sends a message. With load balancing, waits while no queue has room, or there is no queue. With data
    /// distribution, waits while any of the queues has no room.
    #[inline]
    pub fn send<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        self.push.send(message)
    }

    /// Sends a message, or returns [`SendError::WouldBlock`] if the send would have to wait.
    #[inline]
    pub fn try_send<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        self.push.try_send(message)
    }

    /// Sends a message, and waits at most `timeout`.
    pub fn send_timeout<'a>(
        &self,
        message: impl Into<Outgoing<'a>>,
        timeout: Duration,
    ) -> Result<(), SendError> {
        self.push.send_timeout(message, timeout)
    }

    /// Sends a message when there is room. Cancel safe.
    pub async fn send_async<'a>(&self, message: impl Into<Outgoing<'a>>) -> Result<(), SendError> {
        self.push.send_async(message).await
    }

    /// Sends all messages, and waits where necessary. Returns their number. The error has the number of messages sent
    /// before it.
    pub fn send_all<'a, I>(&self, messages: I) -> Result<usize, SendAllError>
    where
        I: IntoIterator,
        I::Item: Into<Outgoing<'a>>,
    {
        self.push.send_all(messages)
    }

    /// Passes gathered messages to the system now, instead of within 50 microseconds.
    pub fn flush(&self) {
        self.push.flush();
    }

    /// Waits until `count` queues are connected, at most `timeout`. Returns whether they are.
    pub fn wait_for_queues(&self, count: usize, timeout: Duration) -> bool {
        self.push.wait_for_peers(count, timeout)
    }

    /// Returns the counters and the depth.
    pub fn stats(&self) -> ExchangeStats {
        let stats = self.push.stats();
        ExchangeStats {
            sent: stats.sent,
            dropped_unroutable: stats.drops.no_peer,
            dropped_queue_lost: stats.drops.peer_lost,
            queue_count: stats.peer_count,
            depth_count: stats.queued_count,
            depth_bytes: stats.queued_bytes,
        }
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("name", &self.name)
            .field("endpoint", &self.endpoint())
            .finish_non_exhaustive()
    }
}

/// The rule that chooses the bound queues of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Style {
    /// One queue in turn; queues without room are skipped. Without a queue, sending waits.
    #[default]
    LoadBalancing,
    /// Every queue; sending waits until all have room. Without a queue, the message is dropped and counted.
    DataDistribution,
}

impl Style {
    pub(crate) fn distribution(self) -> Distribution {
        match self {
            Style::LoadBalancing => Distribution::RoundRobin,
            Style::DataDistribution => Distribution::All,
        }
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Style::LoadBalancing => "load_balancing",
            Style::DataDistribution => "data_distribution",
        })
    }
}
