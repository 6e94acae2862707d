//! `Journal`: the way of changed definitions to the data directory.
//!
//! A change acts at once in memory. It is promised only when it is on disk: whoever made the change hears of that from [`Commit`], or by mail.
//! A node without a data directory promises nothing, and every commit is done at once.
//!
//! An answer that an object exists is a promise, too: an answer that changes nothing waits for the changes before it ([`Journal::is_awaited`]).

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};

use hairstreak_store::{DefinitionStore, Kind as StoreKind, StoreError, Write};
use parking_lot::Mutex;
use thiserror::Error;
use tokio::sync::oneshot;

use crate::definitions::{Change, Place};

/// Why changes are not on disk. They act in memory, and are written as soon as that is possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the definitions cannot be written: {0}")]
pub(crate) struct JournalError(pub Arc<str>);

/// The way to the data directory.
pub(crate) enum Journal {
    /// The node has no data directory.
    Off,
    On(OpenJournal),
}

/// A store, and how far changes are on their way there.
pub(crate) struct OpenJournal {
    store: DefinitionStore,
    progress: Arc<Progress>,
}

/// The outcome of changes, as far as it is known.
#[derive(Debug, Default)]
struct Progress {
    /// Batches that are not on disk, and whose outcome is not known.
    awaited_count: AtomicUsize,
    /// The places of definitions that could not be written, and that act in memory. All of them are on disk when any later batch is.
    unwritten: Mutex<HashSet<Place>>,
}

impl Progress {
    /// Notes the outcome of a batch.
    fn note(&self, changes: Vec<Change>, result: &Result<(), JournalError>) {
        self.awaited_count.fetch_sub(1, Ordering::AcqRel);
        let mut unwritten = self.unwritten.lock();
        match result {
            Ok(()) if unwritten.is_empty() => {}
            Ok(()) => {
                unwritten.clear();
                log::info!("the definitions can be written again");
            }
            Err(error) => {
                if unwritten.is_empty() {
                    log::error!("{error}; until they can, what is new is refused");
                }
                for change in changes {
                    match change {
                        Change::Put(definition) => drop(unwritten.insert(definition.place())),
                        Change::Delete(place) => drop(unwritten.remove(&place)),
                    }
                }
            }
        }
    }
}

/// Changes on their way to the disk. Resolves when they are there.
#[derive(Debug)]
pub(crate) struct Commit(Option<oneshot::Receiver<Result<(), JournalError>>>);

impl Journal {
    /// The way to a store.
    pub fn on(store: DefinitionStore) -> Journal {
        Journal::On(OpenJournal { store, progress: Arc::default() })
    }

    /// Whether changes are to be kept.
    pub fn is_on(&self) -> bool {
        matches!(self, Journal::On(_))
    }

    /// Why nothing more can be written now.
    pub fn refusal(&self) -> Option<JournalError> {
        let Journal::On(OpenJournal { store, .. }) = self else { return None };
        match store.failing() {
            Some(error) => Some(error.into()),
            None if store.has_room() => None,
            None => Some(JournalError("the disk does not keep up".into())),
        }
    }

    /// Whether changes are on their way, of which one that asks for them would be told. Not while nothing can be written: what
    /// acts in memory is then answered as it is.
    pub fn is_awaited(&self) -> bool {
        let Journal::On(OpenJournal { store, progress }) = self else { return false };
        progress.awaited_count.load(Ordering::Acquire) > 0 && store.failing().is_none()
    }

    /// Whether a definition acts in memory, and could not be written so far.
    pub fn is_unwritten(&self, place: &Place) -> bool {
        match self {
            Journal::Off => false,
            Journal::On(OpenJournal { progress, .. }) => progress.unwritten.lock().contains(place),
        }
    }

    /// Hands changes to the writer. Never blocks. `done` is called by the writer's thread, behind all changes that were submitted before, also if there are
    /// no changes in this batch; or here, if nothing is kept.
    pub fn submit(&self, changes: Vec<Change>, done: impl FnOnce(Result<(), JournalError>) + Send + 'static) {
        let Journal::On(OpenJournal { store, progress }) = self else { return done(Ok(())) };
        progress.awaited_count.fetch_add(1, Ordering::AcqRel);
        let progress = Arc::clone(progress);
        store.submit(changes.iter().map(to_write).collect(), move |result| {
            let result = result.map_err(JournalError::from);
            progress.note(changes, &result);
            done(result);
        });
    }

    /// As [`Journal::submit`], for one that waits.
    pub fn commit(&self, changes: &[Change]) -> Commit {
        if !self.is_on() || changes.is_empty() && !self.is_awaited() {
            return Commit(None);
        }
        let (tell, told) = oneshot::channel();
        self.submit(changes.to_vec(), |result| {
            // Nobody waits any more if the other end is gone.
            let _ = tell.send(result);
        });
        Commit(Some(told))
    }

    /// Waits until all changes so far are on disk.
    ///
    /// # Errors
    ///
    /// The changes cannot be written.
    pub fn flush(&self) -> Result<(), JournalError> {
        let (tell, told) = mpsc::sync_channel(1);
        self.submit(Vec::new(), move |result| {
            // The other end waits.
            let _ = tell.send(result);
        });
        told.recv().unwrap_or_else(|_| Err(JournalError("the node stops".into())))
    }

    /// Writes all that waits, with a last attempt if that was not possible before. Later changes are refused.
    ///
    /// # Errors
    ///
    /// Changes that were not promised are lost.
    pub fn close(&self) -> Result<(), JournalError> {
        match self {
            Journal::Off => Ok(()),
            Journal::On(OpenJournal { store, .. }) => store.close().map_err(JournalError::from),
        }
    }
}

impl From<Arc<StoreError>> for JournalError {
    fn from(error: Arc<StoreError>) -> JournalError {
        JournalError(error.to_string().into())
    }
}

fn to_write(change: &Change) -> Write {
    let place = change.place();
    let value = match change {
        Change::Put(definition) => Some(definition.encode()),
        Change::Delete(_) => None,
    };
    Write { kind: StoreKind::new(place.kind.number()), key: place.key, value }
}

impl Commit {
    /// Nothing is on its way.
    pub fn done() -> Commit {
        Commit(None)
    }
}

impl Future for Commit {
    type Output = Result<(), JournalError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(told) = &mut self.0 else { return Poll::Ready(Ok(())) };
        // The writer answers every batch, also when it stops.
        let stopped = |_| JournalError("the node stops".into());
        Pin::new(told).poll(context).map(|result| result.map_err(stopped).and_then(|result| result))
    }
}
