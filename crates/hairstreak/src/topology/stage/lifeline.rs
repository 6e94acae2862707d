//! A stage's process lives no longer than its runner, however that ends.
//!
//! Two signs are watched: standard input, which the runner holds open, ends; and the kernel sends
//! SIGHUP because the parent is dead. Either one suffices (a fork of the runner may keep the pipe
//! open). Standard input also carries the runner's one word to a filter: the count of messages after
//! which no more will come.

use std::io::{self, BufRead};
use std::num::NonZeroU32;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use signal_hook::consts::SIGHUP;
use signal_hook::iterator::Signals;

use super::environment::RUNNER;

/// Watches for the runner's end and calls `gone` then, from another thread, once or twice. Each
/// count that the runner writes goes to `last`.
pub(super) fn hold(gone: fn(), last: impl Fn(u64) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGHUP])?;
    set_parent_process_death_signal(Some(Signal::HUP))?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            gone();
        }
    });
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            match line.ok().and_then(|line| line.parse().ok()) {
                Some(count) => last(count),
                None => break,
            }
        }
        gone();
    });
    if getppid() != runner() {
        gone();
    }
    Ok(())
}

/// The runner, if it said so. A stage that was started by hand takes its parent for it.
fn runner() -> Option<Pid> {
    let id: Option<NonZeroU32> = std::env::var(RUNNER).ok().and_then(|id| id.parse().ok());
    match id.and_then(|id| Pid::from_raw(id.get() as i32)) {
        Some(pid) => Some(pid),
        None => getppid(),
    }
}

/// Ends this process, which holds nothing that anyone still wants.
pub(super) fn leave() {
    std::process::exit(0);
}

/// Ends this process and all that came of it: whatever is in its process group.
pub(super) fn leave_with_group() {
    let _ = rustix::process::kill_current_process_group(Signal::KILL);
    std::process::exit(1);
}
