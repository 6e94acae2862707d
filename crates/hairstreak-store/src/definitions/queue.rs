//! `Queue`: the batches that wait for the thread, bounded in bytes, and the requests to close and to end.

use std::mem;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::entry::Write;
use super::error::StoreError;

/// Callback with the outcome of a batch.
pub(super) type Done = Box<dyn FnOnce(Result<(), Arc<StoreError>>) + Send>;
/// Sender of the outcome of closing.
pub(super) type CloseReport = SyncSender<Result<(), Arc<StoreError>>>;

/// Changes that are committed together, or a refusal that is reported in its turn.
pub(super) struct Batch {
    pub writes: Result<Vec<Write>, StoreError>,
    pub done: Done,
}

/// Work for the thread.
pub(super) struct Work {
    pub batches: Vec<Batch>,
    pub close_reports: Vec<CloseReport>,
    pub is_ended: bool,
}

/// State shared by the store and its thread. No lock is held during a write or a callback.
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    bytes_max: usize,
}

#[derive(Default)]
struct State {
    batches: Vec<Batch>,
    close_reports: Vec<CloseReport>,
    is_closed: bool,
    is_ended: bool,
    /// Bytes in `batches`.
    waiting: usize,
    /// Bytes that the thread holds: the group being committed, and the changes of failed groups.
    held: usize,
}

impl Queue {
    pub fn new(bytes_max: usize) -> Queue {
        Queue { state: Mutex::default(), changed: Condvar::new(), bytes_max }
    }

    /// Adds a batch, or its refusal if there is no room or the store is closed.
    pub fn push(&self, writes: Vec<Write>, done: Done) {
        let cost = size_of::<Batch>() + writes.iter().map(Write::cost).sum::<usize>();
        let mut state = self.state();
        let waiting = state.waiting + state.held;
        let writes = if state.is_closed {
            Err(StoreError::Closed)
        } else if waiting + cost > self.bytes_max {
            Err(StoreError::Full { waiting, max: self.bytes_max })
        } else {
            state.waiting += cost;
            Ok(writes)
        };
        state.batches.push(Batch { writes, done });
        drop(state);
        self.changed.notify_one();
    }

    /// Returns whether less than half of the limit is in use.
    pub fn has_room(&self) -> bool {
        let state = self.state();
        state.waiting + state.held < self.bytes_max / 2
    }

    /// Asks the thread to close the definitions after all waiting batches. Later batches are refused.
    pub fn close(&self, report: CloseReport) {
        let mut state = self.state();
        state.is_closed = true;
        state.close_reports.push(report);
        drop(state);
        self.changed.notify_one();
    }

    /// Asks the thread to end after all waiting batches.
    pub fn end(&self) {
        let mut state = self.state();
        state.is_closed = true;
        state.is_ended = true;
        drop(state);
        self.changed.notify_one();
    }

    /// Waits for work, until `deadline` if there is one. Returns all waiting batches at once.
    pub fn take(&self, deadline: Option<Instant>) -> Work {
        let mut state = self.state();
        while state.batches.is_empty() && state.close_reports.is_empty() && !state.is_ended {
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(left) if left.is_zero() => break,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.held += mem::take(&mut state.waiting);
        Work {
            batches: mem::take(&mut state.batches),
            close_reports: mem::take(&mut state.close_reports),
            is_ended: state.is_ended,
        }
    }

    /// Sets the number of bytes that the thread still holds of the batches that it took.
    pub fn settle(&self, held: usize) {
        self.state().held = held;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
