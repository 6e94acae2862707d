//! `SegmentError`: why there is no shared memory.

use rustix::io::Errno;
use thiserror::Error;

/// The smallest ring.
pub const RING_SIZE_MIN: usize = 4096;
/// The largest ring.
pub const RING_SIZE_MAX: usize = 64 << 20;

/// Why there is no segment.
#[derive(Debug, Error)]
pub enum SegmentError {
    /// The system has none to give.
    #[error("no shared memory: {0}")]
    System(#[from] std::io::Error),
    /// The host promises no more memory than it has, and kills who touches what it cannot give.
    #[error("no shared memory: this host accounts memory strictly (vm.overcommit_memory = 2)")]
    Strict,
    /// Files of this process may not be that large.
    #[error("no shared memory: the process's limit on the size of files is too low")]
    FileSize,
    /// No ring can have that size.
    #[error("no ring of {0} bytes: a power of two from {RING_SIZE_MIN} to {RING_SIZE_MAX} it must be")]
    RingSize(usize),
    /// The peer passed another descriptor than was agreed on.
    #[error("the peer passed no descriptor of a sealed segment of that size")]
    Unfit,
}

impl From<Errno> for SegmentError {
    fn from(error: Errno) -> SegmentError {
        SegmentError::System(error.into())
    }
}
