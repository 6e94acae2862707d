//! Processes that came of this one, however far they went: a process that leaves its group and session and
//! loses its parent is adopted by the nearest ancestor that asked for it (PR_SET_CHILD_SUBREAPER), and so can
//! be ended with it.
//!
//! A process may have had children before it had anything to do with stages: a shell's, say, that it was executed
//! in the place of. These [`Bystanders`] are left alone, and theirs, as far as they stay in a process group that
//! was there before; every stage has a new one.
//!
//! What this cannot end: a process of another user (unless this one is root's), and what is left when an
//! adopter is itself killed by SIGKILL, unless an adopter above it still lives.

use std::collections::HashSet;
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};
use signal_hook::consts::SIGCHLD;
use signal_hook::iterator::Signals;

/// How long processes that were killed may take to be gone.
const KILLED_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks whether they are.
const LOOK: Duration = Duration::from_millis(1);

/// Descendants that were there before this process adopted any.
#[derive(Debug, Default)]
pub struct Bystanders {
    processes: HashSet<Identity>,
    groups: HashSet<Pid>,
}

/// A process, even if its id is another's later: the id, and when it was started.
type Identity = (Pid, u64);

impl Bystanders {
    fn now() -> Bystanders {
        let all = Process::all();
        let mut family = HashSet::from([getpid()]);
        let mut bystanders = Bystanders::default();
        loop {
            let count = family.len();
            for process in &all {
                if process.parent.is_some_and(|parent| family.contains(&parent)) {
                    family.insert(process.id);
                    bystanders.processes.insert(process.identity());
                    bystanders.groups.insert(process.group);
                }
            }
            if family.len() == count {
                return bystanders;
            }
        }
    }

    fn include(&self, process: &Process) -> bool {
        self.processes.contains(&process.identity()) || self.groups.contains(&process.group)
    }
}

/// From now on this process adopts its descendants that lose their parents. Returns those it has already.
pub fn adopt() -> io::Result<Bystanders> {
    let bystanders = Bystanders::now();
    set_child_subreaper(Some(getpid()))?;
    Ok(bystanders)
}

/// Waits, in a thread, for those adopted children that end by themselves, so that they do not pile up as
/// zombies. The child `own` is left to who started it.
pub fn bury_all_but(own: Pid) -> io::Result<()> {
    let mut ended = Signals::new([SIGCHLD])?;
    thread::Builder::new().name("undertaker".into()).spawn(move || {
        for _ in ended.forever() {
            for child in children().into_iter().filter(|child| child.id != own) {
                // It may well live, then this does nothing.
                let _ = waitpid(Some(child.id), WaitOptions::NOHANG);
            }
        }
    })?;
    Ok(())
}

/// Kills every child of this process but bystanders, and those that are adopted by that, until none is left.
pub fn end(bystanders: &Bystanders) {
    let deadline = Instant::now() + KILLED_WITHIN;
    loop {
        let left: Vec<_> = children().into_iter().filter(|child| !bystanders.include(child)).collect();
        if left.is_empty() || Instant::now() >= deadline {
            return;
        }
        for child in left {
            // Nothing can be done about one that may not be killed.
            let _ = kill_process(child.id, Signal::KILL);
            let _ = waitpid(Some(child.id), WaitOptions::NOHANG);
        }
        thread::sleep(LOOK);
    }
}

/// The children of this process, those that ended and were not waited for included.
fn children() -> Vec<Process> {
    let parent = getpid();
    Process::all().into_iter().filter(|process| process.parent == Some(parent)).collect()
}

struct Process {
    id: Pid,
    parent: Option<Pid>,
    group: Pid,
    /// In ticks since the machine was started.
    started: u64,
}

impl Process {
    fn all() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let id = |entry: io::Result<fs::DirEntry>| process_id(entry.ok()?.file_name().to_str()?);
        entries.filter_map(id).filter_map(Process::find).collect()
    }

    fn find(id: Pid) -> Option<Process> {
        Process::read(id, &fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?)
    }

    /// By proc_pid_stat(5): fields 4, 5 and 22; the second, the name, stands in brackets and may hold anything.
    /// One that goes just now has -1 for a group: it is gone.
    fn read(id: Pid, stat: &str) -> Option<Process> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace().skip(1);
        let parent = process_id(fields.next()?);
        let group = process_id(fields.next()?)?;
        Some(Process { id, parent, group, started: fields.nth(16)?.parse().ok()? })
    }

    fn identity(&self) -> Identity {
        (self.id, self.started)
    }
}

/// An id is positive; what is none is left out.
pub fn process_id(text: &str) -> Option<Pid> {
    text.parse().ok().filter(|&id: &i32| id > 0).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stat: &str) -> Option<(Option<Pid>, Pid, u64)> {
        let process = Process::read(process_id("7")?, stat)?;
        Some((process.parent, process.group, process.started))
    }

    #[test]
    fn a_process_that_goes_while_it_is_looked_at_is_gone() {
        let rest = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 99 0";
        let living = read(&format!("7 (a ) b) S 5 6 {rest}"));
        assert_eq!(living, process_id("6").map(|group| (process_id("5"), group, 99)));
        assert_eq!(read(&format!("7 (a) X 0 -1 {rest}")), None);
        assert_eq!(read("7 (a) S 5"), None);
        assert_eq!(process_id("-1").or(process_id("0")).or(process_id("4294967295")), None);
    }
}
