//! `Children`: the running processes. All of them can be ended at once.
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

/// Grace period between SIGTERM and SIGKILL. The descendants of the children get a second period of the same length.
const GRACE: Duration = Duration::from_millis(500);
/// Interval between two checks that the children have ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

#[derive(Debug, Default)]
struct Living {
    /// Each group. The flag is set once the group was asked to end.
    groups: HashMap<Pid, bool>,
    /// No process is started any more.
    has_stopped: bool,
}

/// The running processes. Clones share one set.
#[derive(Clone, Debug, Default)]
pub struct Children {
    living: Arc<Mutex<Living>>,
    groups: ProcessGroups,
}

impl Children {
    /// Starts a process, unless all processes were stopped.
    pub fn start(&self, command: &mut Command) -> io::Result<(Child, Pid)> {
        // The lock is held, so that `stop` sees the new process.
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

    /// Returns whether no process is running.
    pub fn are_none(&self) -> bool {
        self.living().groups.is_empty()
    }

    /// Removes a process that has ended. The caller then waits for it. Its background processes live on, as under a
    /// shell.
    ///
    /// A group that was asked to end is asked again: a shell that is about to fork holds the signal back, and its
    /// child, which is in the group a moment later, has not seen the signal.
    ///
    /// Does not return once all are stopped. The program then exits, and no other process can take the number of the
    /// group before.
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

    /// Kills a process.
    pub fn kill(&self, group: Pid) {
        self.tell(group, Signal::KILL);
    }

    /// Asks a process to end.
    pub fn ask_to_end(&self, group: Pid) {
        self.tell(group, Signal::TERM);
    }

    fn tell(&self, group: Pid, signal: Signal) {
        // The lock is held, so that the number still belongs to this group.
        if let Some(is_asked) = self.living().groups.get_mut(&group) {
            ask(group, signal, is_asked);
        }
    }

    /// Returns whether all were stopped.
    pub fn have_stopped(&self) -> bool {
        self.living().has_stopped
    }

    /// Asks all processes to end, kills the processes that do not end, and allows no further start.
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

    /// Returns whether a group has a living member. The leader of the group is a zombie.
    fn have_members(&self) -> bool {
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let living = self.living();
        processes
            .filter_map(|process| fs::read_to_string(process.ok()?.path().join("stat")).ok())
            .any(|stat| group_of_living(&stat).is_some_and(|group| living.groups.contains_key(&group)))
    }

    /// Returns whether all processes have ended, zombies included. The code that reaps a process is told that the work
    /// was stopped.
    fn have_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.living().groups.keys().all(|&leader| !matches!(waitid(WaitId::Pid(leader), look), Ok(None)))
    }

    /// Kills all processes at once, and allows no further start.
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

/// Sends a signal to a group. After SIGTERM a stopped group is continued, so that its processes can end by themselves.
fn ask(group: Pid, signal: Signal, is_asked: &mut bool) {
    // A group that has just ended needs no signal.
    let _ = kill_process_group(group, signal);
    if signal == Signal::TERM {
        *is_asked = true;
        let _ = kill_process_group(group, Signal::CONT);
    }
}

/// Returns the group of the process with this `/proc/PID/stat`, or `None` if the process has ended.
fn group_of_living(stat: &str) -> Option<Pid> {
    // The process name, in parentheses, may hold any bytes.
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
