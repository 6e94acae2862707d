//! `WorkerOptions`: limits and times of a worker.

use std::time::Duration;

use hairstreak_socket::Options;
use hairstreak_wire::hsn1;
use hairstreak_wire::mdp::{self, Version};

use crate::credentials::Credentials;

/// Limits and times of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The credentials for brokers. Without credentials the worker has the rights of an anonymous peer on the broker's
    /// host.
    pub credentials: Credentials,
    /// Threads that run the handler. At least 1.
    pub concurrency: usize,
    /// The most requests of the worker at a time, waiting ones included; at least its number of threads. All of them go
    /// to other workers if the worker dies. `None`: 16 for each thread.
    pub capacity: Option<u32>,
    /// Version of MDP for a broker that does not number requests.
    pub plain_version: Version,
    /// Interval of heartbeats of each side of plain MDP.
    pub plain_heartbeat: Duration,
    /// Silence of a broker, in milliseconds, after which it is sent a PING.
    pub heartbeat_ms: u64,
    /// Time without an answer to a PING, in milliseconds, after which the connection is given up.
    pub heartbeat_timeout_ms: u64,
    /// Time that a leaving worker waits for its brokers to confirm.
    pub leave_timeout: Duration,
    /// Time that a waiting worker yields the processor before it sleeps, in microseconds. See [`Options::yield_us`].
    pub yield_us: u64,
}

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        WorkerOptions {
            credentials: Credentials::default(),
            concurrency: 1,
            capacity: None,
            plain_version: Version::V01,
            plain_heartbeat: Duration::from_millis(2_500),
            heartbeat_ms: 1_000,
            heartbeat_timeout_ms: 5_000,
            leave_timeout: Duration::from_secs(2),
            yield_us: 50,
        }
    }
}

/// Default capacity for each thread, in requests.
const CAPACITY_PER_THREAD: u32 = 16;

impl WorkerOptions {
    pub(super) fn thread_count(&self) -> usize {
        self.concurrency.max(1)
    }

    pub(super) fn capacity(&self) -> u32 {
        let threads = u32::try_from(self.thread_count()).unwrap_or(u32::MAX);
        self.capacity.unwrap_or(threads.saturating_mul(CAPACITY_PER_THREAD)).max(threads)
    }

    pub(super) fn socket(&self) -> Options {
        Options {
            security: self.credentials.security(),
            frame_count_max: mdp::FRAME_COUNT_MAX,
            heartbeat_ms: self.heartbeat_ms,
            heartbeat_timeout_ms: self.heartbeat_timeout_ms,
            // A broker waits at most one of its heartbeats for the worker that has a request.
            reconnect_max_ms: 200,
            linger_ms: 1_000,
            properties: vec![hsn1::property()],
            yield_us: self.yield_us,
            // A worker of one thread flushes after it has handled all received requests. In a worker of several
            // threads, one may be alone with its reply.
            gather_us: if self.thread_count() == 1 { 5_000 } else { Options::default().gather_us },
            ..Options::default()
        }
    }
}
