//! `Options`: the limits of services, with their defaults.

use std::collections::BTreeMap;
use std::time::Duration;

/// The limits of all services together, and of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How often workers are heard of and hear of the broker; what was sent before waits as long for the worker that has it.
    pub heartbeat_ms: u32,
    /// An idle worker of plain MDP that is silent for so many heartbeats is gone. A busy one may be silent.
    pub silent_heartbeats_max: u32,
    /// Services that have workers or requests.
    pub services_max: usize,
    /// Workers of all services.
    pub workers_max: usize,
    /// Clients, those that may come back included. Of those that have nothing open, the one gone longest makes room.
    pub clients_max: usize,
    /// How long a client that is gone may come back to its requests.
    pub client_absence_max_ms: u32,
    /// Numbers from a client's first open one to its last.
    pub open_per_client_max: usize,
    /// Numbers that the broker follows, of all clients.
    pub open_max: usize,
    /// Bytes of requests and of replies that wait for their clients, of all services.
    pub bytes_max: usize,
    /// Bytes of one client's requests.
    pub bytes_per_client_max: usize,
    /// Bytes of replies that wait for one client; of further ones it is told when it reads again.
    pub replies_bytes_max: usize,
    /// Limits of each service.
    pub limits: Limits,
    /// Limits of services by their names, instead of `limits`.
    pub named: BTreeMap<Vec<u8>, Limits>,
}

/// The limits of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests that wait.
    pub queue_count_max: usize,
    /// Bytes of the requests that wait.
    pub queue_bytes_max: usize,
    /// How long a request waits for a worker, in milliseconds.
    pub queue_age_max_ms: u32,
    /// How long a worker may have a request, in milliseconds; then it goes to another.
    pub processing_max_ms: u32,
    /// Workers that a request is given to, one after the other.
    pub deliveries_max: u16,
    /// Requests that a worker of plain MDP, which cannot say how many it has room for, is given before it has replied. With 1 it is given
    /// the next one when it has replied, as RFC 7 and RFC 18 have it; with more, what comes next waits in its socket.
    pub plain_capacity: u16,
}

impl Options {
    /// Until when a request that came then waits for the worker that has it.
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
