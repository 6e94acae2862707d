//! `LoginThread`: the thread `logins`, which hashes passwords one after the other.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};

use super::queue::{LoginJob, LoginQueue, Waiting};

/// The hashing thread. When dropped, it finishes the current hash, refuses the waiting logins and ends.
pub(in crate::access) struct LoginThread {
    inbox: Arc<Inbox>,
    handle: Option<JoinHandle<()>>,
}

/// Work for the thread.
pub(super) enum LoginWork {
    /// Check name and password, and answer the waiting logins.
    Check(LoginJob),
    /// Refuse these logins without a check.
    Refuse(Vec<Waiting>),
}

#[derive(Default)]
struct Inbox {
    state: Mutex<InboxState>,
    arrived: Condvar,
}

#[derive(Default)]
struct InboxState {
    queue: LoginQueue,
    is_stopping: bool,
}

impl LoginThread {
    /// Starts the thread, which does its work by `work`.
    ///
    /// Errors: the system gives no thread.
    pub(super) fn start(work: impl Fn(LoginWork) + Send + 'static) -> io::Result<LoginThread> {
        let inbox = Arc::new(Inbox::default());
        let run = {
            let inbox = Arc::clone(&inbox);
            move || {
                while let Some(next) = inbox.next() {
                    work(next);
                }
            }
        };
        let handle = thread::Builder::new().name("logins".into()).spawn(run)?;
        Ok(LoginThread { inbox, handle: Some(handle) })
    }

    /// Adds a login. Returns false if there is no room: the login is dropped without an answer.
    pub fn add(&self, job: LoginJob) -> bool {
        let is_added = self.inbox.state.lock().queue.push(job);
        self.inbox.arrived.notify_one();
        is_added
    }
}

impl Drop for LoginThread {
    fn drop(&mut self) {
        self.inbox.state.lock().is_stopping = true;
        self.inbox.arrived.notify_one();
        let Some(handle) = self.handle.take() else { return };
        // The answer to a login may drop the last user of the thread. The thread cannot wait for itself.
        if handle.thread().id() != thread::current().id() {
            // The thread fails only by a panic, and no caller is left to report it to.
            let _ = handle.join();
        }
    }
}

impl Inbox {
    /// Waits for the next work. Returns `None` when the thread is to end and all logins are answered.
    fn next(&self) -> Option<LoginWork> {
        let mut state = self.state.lock();
        loop {
            let displaced = state.queue.take_displaced();
            if !displaced.is_empty() {
                return Some(LoginWork::Refuse(displaced));
            }
            match state.queue.pop() {
                Some(job) if state.is_stopping => return Some(LoginWork::Refuse(job.waiting)),
                Some(job) => return Some(LoginWork::Check(job)),
                None if state.is_stopping => return None,
                None => self.arrived.wait(&mut state),
            }
        }
    }
}
