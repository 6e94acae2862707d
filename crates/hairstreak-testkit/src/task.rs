//! `Task`: a thread of this process as the kernel shows the thread to others, for tests that wait until a thread sleeps.

use std::fs;
use std::path::PathBuf;

use crate::until::until;

/// A thread of this process. The kernel calls a thread a task.
#[derive(Clone, Debug)]
pub struct Task(PathBuf);

impl Task {
    /// The calling thread.
    ///
    /// # Panics
    ///
    /// Without the `/proc` of Linux.
    pub fn current() -> Task {
        Task(PathBuf::from("/proc").join(fs::read_link("/proc/thread-self").expect("a thread in /proc")))
    }

    /// The thread of this process with this name, once the thread has the name.
    ///
    /// # Panics
    ///
    /// If no thread has the name in the end.
    #[track_caller]
    pub fn named(name: &str) -> Task {
        until(&format!("a thread with the name {name}"), || {
            let tasks = fs::read_dir("/proc/self/task").expect("the threads in /proc");
            let mut tasks = tasks.flatten().map(|task| task.path());
            tasks
                .find(|task| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim_end() == name))
                .map(Task)
        })
    }

    /// The value of a field in the kernel's status of the thread, such as `voluntary_ctxt_switches:`.
    ///
    /// # Panics
    ///
    /// If the thread has ended, or there is no such field.
    pub fn status(&self, field: &str) -> String {
        let status = fs::read_to_string(self.0.join("status")).expect("a thread that runs");
        let value = status.lines().find_map(|line| line.strip_prefix(field));
        value.expect("a field of the status").trim().to_owned()
    }

    /// Waits until the thread sleeps.
    ///
    /// # Panics
    ///
    /// If the thread does not sleep in the end.
    #[track_caller]
    pub fn until_asleep(&self) {
        until("the thread sleeps", || match self.status("State:") {
            state if state.starts_with('S') => Ok(()),
            state => Err(state),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_seen_to_sleep_and_found_by_its_name() {
        let (tell, told) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let sleeper = thread::Builder::new().name("sleeper".to_owned()).spawn(move || {
            tell.send(Task::current()).unwrap();
            assert!(ends.recv().is_err());
        });
        let task = told.recv().unwrap();
        task.until_asleep();
        assert_eq!(Task::named("sleeper").status("Pid:"), task.status("Pid:"));
        assert!(Task::current().status("State:").starts_with('R'), "this thread runs");
        drop(end);
        sleeper.unwrap().join().unwrap();
    }
}
