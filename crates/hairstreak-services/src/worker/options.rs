//! `WorkerOptions`: limits and times of a worker.

use std::time::Duration;

use hairstreak_socket::Options;
use hairstreak_wire::hsn1;
use hairstreak_wire::mdp::{self, Version};

use crate::credentials::Credentials;

/// Limits and times of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The credentials for brokers. Without any the worker has the rights of anybody on the broker's host.
    pub credentials: Credentials,
    /// Threads that run the handler. At least 1.
    pub concurrency: usize,
    /// The most requests that it may have at a time, those that wait here included; at least as many as it has threads. When it dies
    /// all of them go to other workers. `None`: 16 for each thread.
    pub capacity: Option<u32>,
    /// What is spoken to a broker that does not number requests.
    pub plain_version: Version,
    /// How often each side of plain MDP is to be heard of.
    pub plain_heartbeat: Duration,
    /// A broker that has been silent this long is sent a PING.
    pub heartbeat_ms: u64,
    /// How long a PING may stay unanswered before the connection is given up.
    pub heartbeat_timeout_ms: u64,
    /// How long a worker that was asked to leave waits for its brokers to know.
    pub leave_timeout: Duration,
    /// How long a worker that waits yields the processor before it sleeps, in microseconds. See
    /// [`Options::yield_us`].
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

/// Requests that a worker has ready for each of its threads, if it is not said.
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
            // Brokers wait no longer than a heartbeat of theirs for who has a request.
            reconnect_max_ms: 200,
            linger_ms: 1_000,
            properties: vec![hsn1::property()],
            yield_us: self.yield_us,
            // One thread sends when it has handled all that came; of several, one may be alone with its reply.
            gather_us: if self.thread_count() == 1 { 5_000 } else { Options::default().gather_us },
            ..Options::default()
        }
    }
}
