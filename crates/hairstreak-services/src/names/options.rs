//! `Options`: the directory's limits, with their defaults.

/// The directory's limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The lease given to who asks for none (0), in milliseconds.
    pub lease_ms: u32,
    /// The longest lease given, in milliseconds.
    pub lease_max_ms: u32,
    /// The longest that a name stays once the connection it was registered over is gone, in milliseconds.
    pub orphan_lease_max_ms: u32,
    /// The longest wait of a LOOKUP, in milliseconds; a longer one ends there.
    pub wait_max_ms: u32,
    /// Names.
    pub entries_max: usize,
    /// Names of one owner, and new names over one connection.
    pub entries_per_client_max: usize,
    /// Names from one [`super::Origin`].
    pub entries_per_origin_max: usize,
    /// Waiting LOOKUPs.
    pub waiters_max: usize,
    /// Waiting LOOKUPs of one peer.
    pub waiters_per_peer_max: usize,
    /// Waiting LOOKUPs from one [`super::Origin`].
    pub waiters_per_origin_max: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            lease_ms: 5_000,
            lease_max_ms: 3_600_000,
            orphan_lease_max_ms: 10_000,
            wait_max_ms: 60_000,
            entries_max: 16_384,
            entries_per_client_max: 1_024,
            entries_per_origin_max: 4_096,
            waiters_max: 16_384,
            waiters_per_peer_max: 1_024,
            waiters_per_origin_max: 4_096,
        }
    }
}
