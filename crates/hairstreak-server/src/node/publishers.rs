//! `Publishers`: how many channels have published and are open.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The channels that have published.
#[derive(Debug, Default)]
pub(crate) struct Publishers(AtomicU64);

/// A channel among the publishers, until it is dropped.
#[derive(Debug)]
pub(crate) struct Publisher(Arc<Publishers>);

impl Publishers {
    /// A channel publishes for the first time.
    pub fn add(self: &Arc<Publishers>) -> Publisher {
        self.0.fetch_add(1, Relaxed);
        Publisher(Arc::clone(self))
    }

    pub fn count(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Relaxed);
    }
}
