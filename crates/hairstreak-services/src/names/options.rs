//! `Options`: the limits of the directory, with their defaults.

/// Limits of the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The lease for a request without one (0), in milliseconds.
    pub lease_ms: u32,
    /// The longest lease, in milliseconds.
    pub lease_max_ms: u32,
    /// The longest life of a name after the end of its connection, in milliseconds.
    pub orphan_lease_max_ms: u32,
    /// The longest wait of a LOOKUP, in milliseconds. A longer wait is cut to this.
    pub wait_max_ms: u32,
    /// Most names.
    pub entries_max: usize,
    /// Most names of one owner, and most new names over one connection.
    pub entries_per_client_max: usize,
    /// Most names from one [`super::Origin`].
    pub entries_per_origin_max: usize,
    /// Most waiting LOOKUPs.
    pub waiters_max: usize,
    /// Most waiting LOOKUPs of one peer.
    pub waiters_per_peer_max: usize,
    /// Most waiting LOOKUPs from one [`super::Origin`].
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
