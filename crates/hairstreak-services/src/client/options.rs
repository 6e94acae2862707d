//! `ClientOptions`: limits and times of a client.

use std::time::Duration;

use hairstreak_socket::Options;
use hairstreak_wire::hsn1;
use hairstreak_wire::mdp::{self, Version};

use crate::credentials::Credentials;

/// Limits and times of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// The credentials for brokers. Without credentials the client has the rights of an anonymous peer on the broker's
    /// host.
    pub credentials: Credentials,
    /// Timeout of a reply. The request is withdrawn afterwards. `None`: no timeout.
    pub timeout: Option<Duration>,
    /// The most open requests. With more, sending waits. At least 1.
    pub window: usize,
    /// The most unreceived replies. With more, [`Client::send`](super::Client::send) fails.
    pub unread_max: usize,
    /// Outage of a broker after which the next broker of the list is tried.
    pub failover_after: Duration,
    /// Version of MDP for a broker that does not number requests.
    pub plain_version: Version,
    /// Most connections to a broker that does not number requests. Its replies cannot be told apart, so each connection
    /// has one request in progress at a time. At least 1.
    pub plain_connections: usize,
    /// Silence of a broker, in milliseconds, after which it is sent a PING.
    pub heartbeat_ms: u64,
    /// Time without an answer to a PING, in milliseconds, after which the connection is given up.
    pub heartbeat_timeout_ms: u64,
    /// Time that a waiting caller yields the processor before it sleeps, in microseconds. See [`Options::yield_us`].
    pub yield_us: u64,
    /// Time that the requests of a burst may gather while the caller neither sends nor waits, in microseconds. See
    /// [`Options::gather_us`].
    pub gather_us: u64,
}

impl Default for ClientOptions {
    fn default() -> ClientOptions {
        ClientOptions {
            credentials: Credentials::default(),
            timeout: Some(Duration::from_secs(30)),
            window: 4_000,
            unread_max: 1_000_000,
            failover_after: Duration::from_secs(1),
            plain_version: Version::V01,
            plain_connections: 8,
            heartbeat_ms: 1_000,
            heartbeat_timeout_ms: 5_000,
            yield_us: 50,
            gather_us: 1_000,
        }
    }
}

impl ClientOptions {
    pub(super) fn socket(&self) -> Options {
        Options {
            security: self.credentials.security(),
            frame_count_max: mdp::FRAME_COUNT_MAX,
            send_count_max: self.window.max(1),
            heartbeat_ms: self.heartbeat_ms,
            heartbeat_timeout_ms: self.heartbeat_timeout_ms,
            reconnect_max_ms: 500,
            // Unsent requests are of no use after the client is gone.
            linger_ms: 1_000,
            properties: vec![hsn1::property()],
            yield_us: self.yield_us,
            gather_us: self.gather_us,
            ..Options::default()
        }
    }
}
