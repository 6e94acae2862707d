//! Counts the connections and channels of each user, within the user's limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use thiserror::Error;

use super::user::UserLimits;

/// A limit of a user that is reached. RabbitMQ closes the connection with 530 (NOT_ALLOWED) and this text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LimitError {
    /// `max-connections`, at connection.open.
    #[error("connection refused for user '{user}': user connection limit ({limit}) is reached")]
    Connections {
        /// The name of the user.
        user: String,
        /// The limit.
        limit: i64,
    },
    /// `max-channels`, at channel.open.
    #[error(
        "number of channels opened for user '{user}' has reached the maximum allowed user limit of ({limit})"
    )]
    Channels {
        /// The name of the user.
        user: String,
        /// The limit.
        limit: i64,
    },
}

/// The connections and channels that a user has open. Lives as long as the user and its connections. A later user of the same
/// name has another one.
#[derive(Debug)]
pub(super) struct Usage {
    user: Arc<str>,
    connections: Gauge,
    channels: Gauge,
}

/// A count and its limit; negative is none.
#[derive(Debug)]
struct Gauge {
    count: AtomicU32,
    limit: AtomicI64,
}

/// A connection of a user. Dropped, it gives its place back.
#[derive(Debug)]
pub struct ConnectionSlot(Arc<Usage>);

/// A channel of a user. Dropped, it gives its place back.
#[derive(Debug)]
pub struct ChannelSlot(Arc<Usage>);

impl Usage {
    pub fn new(user: Arc<str>, limits: UserLimits) -> Usage {
        let usage = Usage { user, connections: Gauge::new(), channels: Gauge::new() };
        usage.set_limits(limits);
        usage
    }

    /// The name of the user.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Connections and channels above a lower limit stay open.
    pub fn set_limits(&self, limits: UserLimits) {
        self.connections.limit.store(limits.connections.unwrap_or(-1), Ordering::Relaxed);
        self.channels.limit.store(limits.channels.unwrap_or(-1), Ordering::Relaxed);
    }

    pub fn counts(&self) -> (u32, u32) {
        let count = |gauge: &Gauge| gauge.count.load(Ordering::Relaxed);
        (count(&self.connections), count(&self.channels))
    }

    pub fn take_connection(self: &Arc<Usage>) -> Result<ConnectionSlot, LimitError> {
        match self.connections.take() {
            Ok(()) => Ok(ConnectionSlot(Arc::clone(self))),
            Err(limit) => Err(LimitError::Connections { user: self.user.to_string(), limit }),
        }
    }
}

impl Gauge {
    fn new() -> Gauge {
        Gauge { count: AtomicU32::new(0), limit: AtomicI64::new(-1) }
    }

    /// Takes a place. The error is the limit.
    fn take(&self) -> Result<(), i64> {
        let limit = self.limit.load(Ordering::Relaxed);
        let more = |count: u32| count.checked_add(1).filter(|_| limit < 0 || i64::from(count) < limit);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map(|_| ()).map_err(|_| limit)
    }

    fn give_back(&self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionSlot {
    /// Takes a place for a channel of the connection.
    ///
    /// Errors: the user has reached its limit of channels.
    pub fn take_channel(&self) -> Result<ChannelSlot, LimitError> {
        match self.0.channels.take() {
            Ok(()) => Ok(ChannelSlot(Arc::clone(&self.0))),
            Err(limit) => Err(LimitError::Channels { user: self.0.user.to_string(), limit }),
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.give_back();
    }
}

impl Drop for ChannelSlot {
    fn drop(&mut self) {
        self.0.channels.give_back();
    }
}
