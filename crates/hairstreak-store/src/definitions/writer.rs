//! `Writer`: the thread `definitions`, which commits waiting batches, reports each batch's outcome, and retries
//! failed commits.

use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::committer::Committer;
use super::entry::Write;
use super::error::StoreError;
use super::queue::{Batch, CloseReport, Queue};
use crate::directory::DirectoryLock;

/// Idle time after a retry, as a multiple of its duration. A long retry, such as that of a large file, thus comes
/// less often.
const IDLE_FACTOR: u32 = 10;

/// Outcome of the commits, read by other threads.
#[derive(Debug, Default)]
pub(super) struct Health {
    commit_count: AtomicU64,
    is_failing: AtomicBool,
    error: Mutex<Option<Arc<StoreError>>>,
}

/// State of the thread.
pub(super) struct Writer {
    pub queue: Arc<Queue>,
    pub health: Arc<Health>,
    pub committer: Committer,
    /// Time between a failure and the next retry.
    pub retry_interval: Duration,
    /// Keeps other processes from opening the directory before the file is closed.
    pub lock: Option<Arc<DirectoryLock>>,
    pub state: State,
}

#[derive(Debug)]
pub(super) enum State {
    Sound,
    Failing {
        error: Arc<StoreError>,
        retry_at: Instant,
    },
    /// The error describes the lost changes, if there are any.
    Closed(Result<(), Arc<StoreError>>),
}

impl Health {
    /// Returns the reason of the failure. Costs one atomic read while commits succeed.
    pub fn failing(&self) -> Option<Arc<StoreError>> {
        if self.is_failing.load(Ordering::Acquire) { self.error().clone() } else { None }
    }

    pub fn commit_count(&self) -> u64 {
        self.commit_count.load(Ordering::Relaxed)
    }

    fn set(&self, error: Option<Arc<StoreError>>) {
        let is_failing = error.is_some();
        *self.error() = error;
        self.is_failing.store(is_failing, Ordering::Release);
    }

    fn error(&self) -> MutexGuard<'_, Option<Arc<StoreError>>> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Writer {
    pub fn run(mut self) {
        loop {
            let retry_at = match &self.state {
                State::Failing { retry_at, .. } => Some(*retry_at),
                State::Sound | State::Closed(_) => None,
            };
            let work = self.queue.take(retry_at);
            if retry_at.is_some_and(|retry_at| retry_at <= Instant::now()) {
                self.retry();
            }
            self.commit(work.batches);
            if work.is_ended || !work.close_reports.is_empty() {
                self.close(work.close_reports);
            }
            if work.is_ended {
                return;
            }
        }
    }

    /// Commits the batches as one group, and reports their outcomes in their order.
    fn commit(&mut self, batches: Vec<Batch>) {
        let (mut group, mut outcomes) = (Vec::new(), Vec::with_capacity(batches.len()));
        for Batch { writes, done } in batches {
            let refusal = match writes {
                Ok(writes) => {
                    group.push(writes);
                    None
                }
                Err(refusal) => Some(Arc::new(refusal)),
            };
            outcomes.push((refusal, done));
        }
        let committed = if group.is_empty() { Ok(()) } else { self.commit_group(group) };
        self.queue.settle(self.committer.kept_bytes());
        for (refusal, done) in outcomes {
            let outcome = match refusal {
                Some(refusal) => Err(refusal),
                None => committed.clone(),
            };
            // The panic of one callback does not prevent the others. The panic's message is on standard error.
            let _ = catch_unwind(AssertUnwindSafe(|| done(outcome)));
        }
    }

    fn commit_group(&mut self, group: Vec<Vec<Write>>) -> Result<(), Arc<StoreError>> {
        match &self.state {
            State::Sound => {
                let start = Instant::now();
                let committed = self.committer.commit(group);
                self.note(start, committed)
            }
            State::Failing { error, .. } => {
                self.committer.keep(group);
                Err(Arc::clone(error))
            }
            State::Closed(_) => Err(Arc::new(StoreError::Closed)),
        }
    }

    fn retry(&mut self) {
        let start = Instant::now();
        let committed = self.committer.retry();
        // The state records the error.
        let _ = self.note(start, committed);
        self.queue.settle(self.committer.kept_bytes());
    }

    /// Records the outcome of a commit that began at `start`.
    fn note(&mut self, start: Instant, committed: Result<(), StoreError>) -> Result<(), Arc<StoreError>> {
        let committed = committed.map_err(Arc::new);
        self.health.set(committed.as_ref().err().cloned());
        self.state = match &committed {
            Ok(()) => {
                self.health.commit_count.fetch_add(1, Ordering::Relaxed);
                State::Sound
            }
            Err(error) => {
                let now = Instant::now();
                let interval = self.retry_interval.max((now - start) * IDLE_FACTOR);
                State::Failing { error: Arc::clone(error), retry_at: now + interval }
            }
        };
        committed
    }

    /// Closes the definitions after a last retry of the kept changes, and reports the outcome.
    fn close(&mut self, reports: Vec<CloseReport>) {
        if matches!(self.state, State::Failing { .. }) {
            self.retry();
        }
        let outcome = match mem::replace(&mut self.state, State::Sound) {
            State::Sound => Ok(()),
            State::Failing { error, .. } => Err(error),
            State::Closed(outcome) => outcome,
        };
        self.committer.close();
        self.queue.settle(0);
        self.lock = None;
        self.state = State::Closed(outcome.clone());
        for report in reports {
            // A caller that does not wait has no use for the outcome.
            let _ = report.send(outcome.clone());
        }
    }
}
