//! `Children`: the processes that are at work, so that all of them can be ended at once.
//!
//! Each child leads a process group of its own: the processes that a shell started end with the shell. A terminal's Ctrl-C
//! reaches this process alone. No child outlives this process. A process that a child started outlives this process in two
//! cases: the process ignores SIGTERM, or its parent was killed.

use std::collections::HashMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::parent::end_with_parent;
use super::process_groups::ProcessGroups;

/// How long children may take to end when they are asked, before they are killed; then, what they started may take as long.
const GRACE: Duration = Duration::from_millis(500);
/// Between two looks whether they have.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
struct Living {
    /// Each group, and whether the group was asked to end.
    groups: HashMap<Pid, bool>,
    /// Nobody is started any more.
    has_stopped: bool,
}

/// The processes at work; clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Children {
    living: Arc<Mutex<Living>>,
    groups: ProcessGroups,
}

impl Children {
    /// Starts one, unless all have been stopped.
    pub fn start(&self, command: &mut Command) -> io::Result<(Child, Pid)> {
        // With the lock, so that none is overlooked.
        let mut living = self.living();
        if living.has_stopped {
            return Err(io::Error::other("the work is being stopped"));
        }
        end_with_parent(command);
        let spawn = || {
            let child = command.process_group(0).spawn()?;
            let group = Pid::from_child(&child);
            Ok(((child, group), group))
        };
        let (child, group) = self.groups.start(spawn)?;
        living.groups.insert(group, false);
        Ok((child, group))
    }

    /// The groups of the processes.
    pub fn groups(&self) -> &ProcessGroups {
        &self.groups
    }

    /// Whether no process is at work.
    pub fn are_none(&self) -> bool {
        self.living().groups.is_empty()
    }

    /// One has ended, and is about to be waited for. What it left in the background lives on, as under a shell.
    ///
    /// A group that was asked to end is asked again: a shell that is about to fork holds the signal back, and its
    /// child, which is in the group a moment later, has not seen the signal.
    ///
    /// Does not return once all are stopped. The program ends then, and until its end the number of a group is no other's.
    pub fn forget(&self, group: Pid) {
        let mut living = self.living();
        while living.has_stopped {
            drop(living);
            std::thread::park();
            living = self.living();
        }
        self.groups.forget(group);
        if living.groups.remove(&group) == Some(true) {
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Kills one.
    pub fn kill(&self, group: Pid) {
        self.tell(group, Signal::KILL);
    }

    /// Asks one to end.
    pub fn ask_to_end(&self, group: Pid) {
        self.tell(group, Signal::TERM);
    }

    fn tell(&self, group: Pid, signal: Signal) {
        // With the lock, so that the number is not another's by then.
        if let Some(is_asked) = self.living().groups.get_mut(&group) {
            ask(group, signal, is_asked);
        }
    }

    /// Returns whether all were stopped.
    pub fn have_stopped(&self) -> bool {
        self.living().has_stopped
    }

    /// Asks all to end, kills those who do not, and lets nobody start any more.
    pub fn stop(&self) {
        self.living().has_stopped = true;
        self.tell_all(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        while !self.have_ended() {
            if Instant::now() >= deadline {
                return self.kill_all();
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
        // The groups may have new members (see `forget`). A member between fork and exec can lose a signal, so that the
        // signal is sent again. A member that ignores SIGTERM lives on.
        let (deadline, mut pause) = (Instant::now() + GRACE, LOOK_INTERVAL);
        while self.have_members() && Instant::now() < deadline {
            self.tell_all(Signal::TERM);
            std::thread::sleep(pause.min(deadline.saturating_duration_since(Instant::now())));
            pause *= 4;
        }
    }

    /// Whether a process of a group lives. The leader of the group has ended, and waits to be buried.
    fn have_members(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let living = self.living();
        processes
            .filter_map(|process| fs::read_to_string(process.ok()?.path().join("stat")).ok())
            .any(|stat| group_of_living(&stat).is_some_and(|group| living.groups.contains_key(&group)))
    }

    /// Whether all have, though nobody may have buried them: who did that is told that the work has been stopped.
    fn have_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.living().groups.keys().all(|&leader| !matches!(waitid(WaitId::Pid(leader), look), Ok(None)))
    }

    /// Kills all, at once, and lets nobody start any more.
    pub fn kill_all(&self) {
        self.living().has_stopped = true;
        self.tell_all(Signal::KILL);
    }

    fn tell_all(&self, signal: Signal) {
        for (&group, is_asked) in &mut self.living().groups {
            ask(group, signal, is_asked);
        }
    }

    fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends a signal to a group. A group that is stopped goes on, so that its processes can end as they were asked to.
fn ask(group: Pid, signal: Signal, is_asked: &mut bool) {
    // A group that has just ended needs no signal.
    let _ = kill_process_group(group, signal);
    if signal == Signal::TERM {
        *is_asked = true;
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// The group of a process with this `/proc/PID/stat`, unless the process has ended.
fn group_of_living(stat: &str) -> Option<Pid> {
    // The name, in parentheses, may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let (state, group) = (fields.next()?, fields.nth(1)?);
    if matches!(state, "Z" | "X") { None } else { Pid::from_raw(group.parse().ok()?) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_no_member() {
        let group = |stat| group_of_living(stat).map(|group| group.as_raw_nonzero().get());
        assert_eq!(group("7 (sleep) S 1 6 5 0 -1"), Some(6));
        assert_eq!(group("7 (a) Z 9) R 1 6 5 0 -1"), Some(6));
        assert_eq!(group("7 (sleep) Z 1 6 5 0 -1"), None);
        assert_eq!(group("7 (kernel) S 0 0 0 0 -1"), None);
        assert_eq!(group("7"), None);
    }
}
