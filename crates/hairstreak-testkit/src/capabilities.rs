//! `without_capabilities`: work that the permissions of files hold up, also in tests that root runs.

use std::thread;

use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Calls `work` on a thread that does not have root's right to open every file.
///
/// # Panics
///
/// If `work` panics, or the system does not take the right away.
pub fn without_capabilities<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let drop_and_work = move || {
        let mut sets = capabilities(None).expect("the system tells the capabilities");
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).expect("a capability is given up");
        work()
    };
    let worked = thread::scope(|scope| scope.spawn(drop_and_work).join());
    worked.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
