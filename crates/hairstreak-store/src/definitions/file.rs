//! `DefinitionFile`: what redb reads and writes through. It knows two things that redb does not say.
//!
//! - **Held**: until the database has been found whole, nothing is written. The changes that redb makes while it opens a file are held
//!   in memory and seen by its reads; they are made, in their order and with their syncs, when the file is released. A
//!   damaged file is left as it is.
//! - **Fault**: the system's first refusal, and whether a sync was refused. After a refused sync nobody knows what is on the
//!   medium: Linux takes pages that it could not write for clean.

use std::io;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{BackendError, StorageBackend};

/// The file of a database. Clones are of the same file.
#[derive(Clone, Debug)]
pub(super) struct DefinitionFile {
    inner: Arc<dyn StorageBackend>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The changes that are held, in their order, or none once the file is released.
    held: Option<Vec<Change>>,
    fault: Option<Fault>,
}

#[derive(Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Length(u64),
    Sync,
}

/// The system's first refusal.
#[derive(Debug)]
pub(super) struct Fault {
    pub error: io::Error,
    /// Whether a sync was refused, first or later.
    pub is_sync: bool,
}

impl DefinitionFile {
    /// The file, held.
    pub fn hold(inner: Box<dyn StorageBackend>) -> DefinitionFile {
        let state = State { held: Some(Vec::new()), fault: None };
        DefinitionFile { inner: inner.into(), state: Arc::new(Mutex::new(state)) }
    }

    /// Makes the changes that were held; those that come are made at once.
    ///
    /// # Errors
    ///
    /// The system's. The file is as after a crash in the middle of these changes.
    pub fn release(&self) -> io::Result<()> {
        let mut state = self.state();
        for change in state.held.take().unwrap_or_default() {
            let made = match change {
                Change::Write(offset, bytes) => self.inner.write(offset, &bytes),
                Change::Length(length) => self.inner.set_len(length),
                Change::Sync => self.inner.sync_data(),
            };
            made?;
        }
        Ok(())
    }

    /// The system's first refusal, once.
    pub fn take_fault(&self) -> Option<Fault> {
        self.state().fault.take()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds the change, unless the file is released. Returns whether the change is held.
    fn holds(&self, change: impl FnOnce() -> Change) -> bool {
        match &mut self.state().held {
            Some(held) => {
                held.push(change());
                true
            }
            None => false,
        }
    }

    fn watch<T>(&self, is_sync: bool, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            let copy = match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
            let mut state = self.state();
            let fault = state.fault.get_or_insert(Fault { error: copy, is_sync });
            fault.is_sync |= is_sync;
        }
        result
    }
}

impl State {
    /// What `bytes`, read at `offset` of the file as it is, are after the changes that are held.
    fn overlay(&self, offset: u64, bytes: &mut [u8]) {
        for change in self.held.iter().flatten() {
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
        self.held.iter().flatten().rev().find_map(|change| match change {
            Change::Length(length) => Some(*length),
            _ => None,
        })
    }
}

/// Copies what `source`, which begins at `start`, has in common with `target`, which begins at `offset`.
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
            None => self.watch(false, self.inner.len()),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if state.held.is_none() {
            drop(state);
            return self.watch(false, self.inner.read(offset, out));
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
        self.watch(false, read)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        if self.holds(|| Change::Length(length)) {
            return Ok(());
        }
        self.watch(false, self.inner.set_len(length))
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.holds(|| Change::Sync) {
            return Ok(());
        }
        self.watch(true, self.inner.sync_data())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if self.holds(|| Change::Write(offset, data.to_owned())) {
            return Ok(());
        }
        self.watch(false, self.inner.write(offset, data))
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
