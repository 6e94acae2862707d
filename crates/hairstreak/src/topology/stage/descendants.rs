//! Processes that came of this one, however far they went: a process that leaves its group and session and
//! loses its parent is adopted by the nearest ancestor that asked for it (PR_SET_CHILD_SUBREAPER), and so can
//! be ended with it.
//!
//! What this cannot end: a process of another user (unless this one is root's), and what is left when an
//! adopter is itself killed by SIGKILL, unless an adopter above it still lives.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;

/// How long processes that were killed may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks whether they are.
const LOOK: Duration = Duration::from_millis(1);

/// From now on this process adopts its descendants that lose their parents.
pub(in crate::topology) fn adopt() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Waits, in a thread, for those adopted children that end by themselves, so that they do not pile up as
/// zombies. The child `own` is left to who started it.
pub(super) fn bury_all_but(own: Pid) -> io::Result<()> {
    let mut ended = Signals::new([SIGCHLD])?;
    thread::Builder::new().name("undertaker".into()).spawn(move || {
        for _ in ended.forever() {
            for child in children().into_iter().filter(|child| *child != own) {
                // It may well live, then this does nothing.
                let _ = waitpid(Some(child), WaitOptions::NOHANG);
            }
        }
    })?;
    Ok(())
}

/// Kills every child of this process, and those that are adopted by that, until none is left.
pub(in crate::topology) fn end() {
    let deadline = Instant::now() + KILLED_WITHIN;
    loop {
        let left = children();
        if left.is_empty() || Instant::now() >= deadline {
            return;
        }
        for child in left {
            // Nothing can be done about one that may not be killed.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
        thread::sleep(LOOK);
    }
}

/// The children of this process, those that ended and were not waited for included.
fn children() -> Vec<Pid> {
    let parent = getpid();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let id = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries
        .filter_map(id)
        .filter_map(Pid::from_raw)
        .filter(|child| parent_of(*child) == Some(parent))
        .collect()
}

/// By proc_pid_stat(5): the second field after the name, which stands in brackets and may hold anything.
fn parent_of(process: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
}
