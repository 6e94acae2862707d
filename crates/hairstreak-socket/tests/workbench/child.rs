//! A forked child, for tests that are a binary of their own: what it inherits is the whole process.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rustix::process::{Pid, WaitOptions, waitpid};

/// A child that hangs is ended by the kernel after so many seconds.
const CHILD_SECONDS_MAX: u32 = 120;

/// Does `work` in a forked child, which then exits as a program does. Whether all was well.
pub fn in_child(work: impl FnOnce()) -> bool {
    // SAFETY: the C library makes its own state, its memory among it, fit for use in a child.
    let pid = unsafe { libc::fork() }; // tidy: allow(unsafety) fork(2) is what this tests, and nobody wraps it
    let Some(child) = Pid::from_raw(pid) else {
        // SAFETY: the signal has its default action, which ends the process.
        unsafe { libc::alarm(CHILD_SECONDS_MAX) }; // tidy: allow(unsafety) as above
        let done = catch_unwind(AssertUnwindSafe(work));
        std::process::exit(i32::from(done.is_err()));
    };
    assert!(pid > 0, "fork failed");
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
    status.exit_status() == Some(0)
}
