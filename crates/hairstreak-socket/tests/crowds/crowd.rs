//! What every crowd needs: its size, the process to itself, and enough descriptors.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hairstreak_socket::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::soak::amount;

/// Every way on which two sockets of ours meet: a scheme, or "ipc without shm".
pub const TRANSPORTS: [&str; 5] = ["tcp", "ipc", "ipc without shm", "shm", "inproc"];
/// Descriptors that a connection takes, both its ends and what they share, with one to spare.
const DESCRIPTORS_EACH: u64 = 5;
/// So that a thousand connections over shared memory fit any machine.
const RING_BYTES: usize = 64 << 10;

pub fn size() -> usize {
    amount(150, 1000)
}

/// One test at a time, with as many descriptors as its crowd needs: they look at the whole process.
pub fn alone() -> MutexGuard<'static, ()> {
    alone_with(DESCRIPTORS_EACH * size() as u64 + 100)
}

/// As [`alone`], with `need` descriptors.
pub fn alone_with(need: u64) -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    let guard = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < need) {
        let maximum = limit.maximum;
        assert!(maximum.is_none_or(|maximum| maximum >= need), "{need} descriptors of at most {maximum:?}");
        setrlimit(Resource::Nofile, Rlimit { current: Some(need), maximum }).unwrap();
    }
    guard
}

/// The scheme of a way.
pub fn scheme(transport: &str) -> &str {
    transport.split(' ').next().unwrap()
}

pub fn options(transport: &str) -> Options {
    let shared_memory = scheme(transport) == transport;
    Options { shared_memory, shared_ring_bytes: RING_BYTES, ..Options::default() }
}
