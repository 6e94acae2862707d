//! `LoopOptions`: the number of loops, and their bounds.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use crate::endpoint::Endpoint;

/// The number of loops, and their bounds.
#[derive(Clone, Debug)]
pub struct LoopOptions {
    /// Loops, and so threads; at least 1. By default one for each core.
    pub loop_count: usize,
    /// The threads' name, to which the number of the loop is added.
    pub name: String,
    /// Connections of all loops together. A stream beyond the bound is closed as it is accepted.
    pub connections_max: usize,
    /// The time limit until a connection can send its first byte: for a connect, a TLS handshake or an agreement about
    /// shared memory.
    pub establish_timeout: Duration,
    /// The time limit for writing the rest of the output after this side has closed a connection.
    pub drain_timeout: Duration,
    /// Reads of one connection in one turn of its loop, 64 KiB each; then the other connections have their turn.
    pub reads_per_turn: usize,
    /// Called in the thread of a loop that ends without being stopped: a protocol panicked or the system failed. The
    /// connections of the loop are gone then, and the other loops go on.
    pub on_failure: OnFailure,
    /// Called in the thread of the loop with the listener whenever nothing can be accepted: descriptors are short, or a fabric is gone. The
    /// listener tries again by itself.
    pub on_accept_failure: OnAcceptFailure,
}

/// The hook that is called when nothing can be accepted; none by default.
#[derive(Clone, Default)]
pub struct OnAcceptFailure(Option<Arc<TellFailure>>);

type TellFailure = dyn Fn(&Endpoint, &io::Error) + Send + Sync;

impl OnAcceptFailure {
    /// Has `act` called with the endpoint and the reason.
    pub fn new(act: impl Fn(&Endpoint, &io::Error) + Send + Sync + 'static) -> OnAcceptFailure {
        OnAcceptFailure(Some(Arc::new(act)))
    }

    pub(super) fn call(&self, endpoint: &Endpoint, error: &io::Error) {
        if let Some(act) = &self.0 {
            act(endpoint, error);
        }
    }
}

impl fmt::Debug for OnAcceptFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnAcceptFailure").field(&self.0.is_some()).finish()
    }
}

/// The hook that is called when a loop fails; none by default.
#[derive(Clone, Default)]
pub struct OnFailure(Option<Arc<dyn Fn() + Send + Sync>>);

impl OnFailure {
    /// Has `act` called.
    pub fn new(act: impl Fn() + Send + Sync + 'static) -> OnFailure {
        OnFailure(Some(Arc::new(act)))
    }

    pub(super) fn call(&self) {
        if let Some(act) = &self.0 {
            act();
        }
    }
}

impl fmt::Debug for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OnFailure").field(&self.0.is_some()).finish()
    }
}

impl Default for LoopOptions {
    fn default() -> LoopOptions {
        LoopOptions {
            loop_count: std::thread::available_parallelism().map_or(1, usize::from),
            name: "loop".into(),
            connections_max: 65_536,
            establish_timeout: Duration::from_secs(10),
            drain_timeout: Duration::from_secs(30),
            reads_per_turn: 1,
            on_failure: OnFailure::default(),
            on_accept_failure: OnAcceptFailure::default(),
        }
    }
}
