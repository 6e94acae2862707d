//! `DefinitionFile`: the file as redb sees it.
//!
//! ```text
//!   held ── release ──> released ── refuse ──> refused
//!     └────── release fails, or refuse ──────────^
//! ```
//!
//! - **Held**: nothing is written until the database has been checked. Changes that redb makes while it opens a file
//!   are held in memory, and its reads see them. On release they are made in their order, with their syncs. A damaged
//!   file stays unchanged.
//! - **Refused**: every write fails. redb does not notice that a held change was not made, and would build on it, if
//!   only to close the file.
//! - **Fault**: the system's first error. redb does not repeat it.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{io, mem};

use redb::{BackendError, StorageBackend};

/// The file of a database. Clones share the file.
#[derive(Clone, Debug)]
pub(super) struct DefinitionFile {
    inner: Arc<dyn StorageBackend>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    fault: Option<io::Error>,
}

#[derive(Debug)]
enum Phase {
    /// The changes so far, in their order.
    Held(Vec<Change>),
    Released,
    Refused,
}

#[derive(Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
}

impl DefinitionFile {
    /// Returns the file in the held phase.
    pub fn hold(inner: Box<dyn StorageBackend>) -> DefinitionFile {
        let state = State { phase: Phase::Held(Vec::new()), fault: None };
        DefinitionFile { inner: inner.into(), state: Arc::new(Mutex::new(state)) }
    }

    /// Makes the held changes. Later changes are made immediately.
    ///
    /// # Errors
    ///
    /// The system's error. The file is in the state of a crash in the middle of these changes, and refused.
    pub fn release(&self) -> io::Result<()> {
        let former = mem::replace(&mut self.state().phase, Phase::Refused);
        let Phase::Held(changes) = former else { return Err(refusal()) };
        for change in changes {
            match change {
                Change::Write(offset, bytes) => self.watch(self.inner.write(offset, &bytes))?,
                Change::Length(length) => self.watch(self.inner.set_len(length))?,
                Change::Sync => self.watch(self.inner.sync_data())?,
            }
        }
        self.state().phase = Phase::Released;
        Ok(())
    }

    /// Makes every later write fail.
    pub fn refuse(&self) {
        self.state().phase = Phase::Refused;
    }

    /// Takes the system's first error. The second call returns `None`.
    pub fn take_fault(&self) -> Option<io::Error> {
        self.state().fault.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a change if the file is released, and holds it otherwise.
    fn change(
        &self,
        change: impl FnOnce() -> Change,
        make: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        match &mut self.state().phase {
            Phase::Held(held) => {
                held.push(change());
                return Ok(());
            }
            Phase::Refused => return Err(refusal()),
            Phase::Released => {}
        }
        self.watch(make())
    }

    /// Records a system error.
    fn watch<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let copy = || match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            self.state().fault.get_or_insert_with(copy);
        }
        result
    }
}

/// Returns the error of a refused file. Only redb sees it: the first error is the system's or redb's own.
fn refusal() -> io::Error {
    io::Error::other("the file is to be opened again first")
}

impl State {
    /// Returns the held changes.
    fn held(&self) -> &[Change] {
        match &self.phase {
            Phase::Held(held) => held,
            Phase::Released | Phase::Refused => &[],
        }
    }

    /// Applies the held changes to `bytes`, which were read from the file at `offset`.
    fn overlay(&self, offset: u64, bytes: &mut [u8]) {
        for change in self.held() {
            match change {
                Change::Write(start, written) => copy_common(*start, written, offset, bytes),
                Change::Length(length) => {
                    let kept = length.saturating_sub(offset).min(bytes.len() as u64);
                    bytes[kept as usize..].fill(0);
                }
                Change::Sync => {}
            }
        }
    }

    fn held_length(&self) -> Option<u64> {
        self.held().iter().rev().find_map(|change| match change {
            Change::Length(length) => Some(*length),
            _ => None,
        })
    }
}

/// Copies the bytes that `source`, at `start`, has in common with `target`, at `offset`.
fn copy_common(start: u64, source: &[u8], offset: u64, target: &mut [u8]) {
    let from = start.max(offset);
    let end = (start + source.len() as u64).min(offset + target.len() as u64);
    if from < end {
        let within = |base: u64| (from - base) as usize..(end - base) as usize;
        target[within(offset)].copy_from_slice(&source[within(start)]);
    }
}

impl StorageBackend for DefinitionFile {
    fn len(&self) -> io::Result<u64> {
        match self.state().held_length() {
            Some(length) => Ok(length),
            None => self.watch(self.inner.len()),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if state.held().is_empty() {
            drop(state);
            return self.watch(self.inner.read(offset, out));
        }
        let length = self.inner.len()?;
        let wanted = offset + out.len() as u64;
        if wanted > state.held_length().unwrap_or(length) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let there = length.saturating_sub(offset).min(out.len() as u64) as usize;
        out[there..].fill(0);
        let read = self.inner.read(offset, &mut out[..there]);
        state.overlay(offset, out);
        drop(state);
        self.watch(read)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(|| Change::Length(length), || self.inner.set_len(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.change(|| Change::Sync, || self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(|| Change::Write(offset, data.to_owned()), || self.inner.write(offset, data))
    }

    fn close(&self) -> io::Result<()> {
        self.inner.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.inner.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.inner.query_lock_range(start, end)
    }
}
