//! `Options`: the limits of services, with their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

/// Limits of all services together, and of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Interval of heartbeats in both directions between the broker and its workers. A resent request waits as long for
    /// the worker that has it.
    pub heartbeat_ms: u32,
    /// Silent heartbeats after which an idle worker of plain MDP is gone. A busy worker may be silent.
    pub silent_heartbeats_max: u32,
    /// Most services with workers or requests.
    pub services_max: usize,
    /// Most workers of all services.
    pub workers_max: usize,
    /// Most clients, including absent clients that may come back. Of the clients without open requests, the one with
    /// the longest absence makes room.
    pub clients_max: usize,
    /// Time in which a disconnected client may come back to its requests.
    pub client_absence_max_ms: u32,
    /// Most numbers from a client's first open one to its last.
    pub open_per_client_max: usize,
    /// Most numbers of all clients that the broker follows.
    pub open_max: usize,
    /// Most bytes of requests and of unread replies, of all services.
    pub bytes_max: usize,
    /// Most bytes of one client's requests.
    pub bytes_per_client_max: usize,
    /// Most bytes of one client's unread replies. The client learns of further replies when it reads again.
    pub replies_bytes_max: usize,
    /// Limits of each service.
    pub limits: Limits,
    /// Limits of named services, instead of `limits`.
    pub named: BTreeMap<Vec<u8>, Limits>,
}

/// Limits of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most waiting requests.
    pub queue_count_max: usize,
    /// Most bytes of waiting requests.
    pub queue_bytes_max: usize,
    /// Longest wait of a request for a worker, in milliseconds.
    pub queue_age_max_ms: u32,
    /// Longest time that a worker may have a request, in milliseconds. The request then goes to another worker.
    pub processing_max_ms: u32,
    /// Most workers that a request is given to, one after the other.
    pub deliveries_max: u16,
    /// Most requests that a worker of plain MDP has before it replies, because it cannot announce its capacity. With 1
    /// it gets the next request after its reply, as RFC 7 and RFC 18 specify. With more, the next requests wait in its
    /// socket.
    pub plain_capacity: u16,
}

impl Options {
    /// Returns the end of the wait of a request for the worker that has it. `arrived` is the arrival of the request.
    pub(super) fn held_until(&self, arrived: Duration) -> Duration {
        arrived + Duration::from_millis(self.heartbeat_ms.into())
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            heartbeat_ms: 2_500,
            silent_heartbeats_max: 4,
            services_max: 4_096,
            workers_max: 16_384,
            clients_max: 65_536,
            client_absence_max_ms: 60_000,
            open_per_client_max: 131_072,
            open_max: 8_388_608,
            bytes_max: 1_073_741_824,
            bytes_per_client_max: 268_435_456,
            replies_bytes_max: 67_108_864,
            limits: Limits::default(),
            named: BTreeMap::new(),
        }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            queue_count_max: 262_144,
            queue_bytes_max: 268_435_456,
            queue_age_max_ms: 60_000,
            processing_max_ms: 1_800_000,
            deliveries_max: 5,
            plain_capacity: 1,
        }
    }
}
