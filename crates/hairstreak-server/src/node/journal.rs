//! `Journal`: the way of changed definitions to the data directory.
//!
//! A change acts at once in memory. It is promised only when it is on disk: whoever made the change hears of that from [`Commit`], or by mail.
//! A node without a data directory promises nothing, and every commit is done at once.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hairstreak_store::{DefinitionStore, Kind as StoreKind, Write};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::definitions::Change;

/// Why changes are not on disk. They act in memory, and are written as soon as that is possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the definitions cannot be written: {0}")]
pub(crate) struct JournalError(pub Arc<str>);

/// The way to the data directory.
pub(crate) enum Journal {
    /// The node has no data directory.
    Off,
    On(DefinitionStore),
}

/// Changes on their way to the disk. Resolves when they are there.
#[derive(Debug)]
pub(crate) struct Commit(Option<oneshot::Receiver<Result<(), JournalError>>>);

impl Journal {
    /// Whether changes are to be kept.
    pub fn is_on(&self) -> bool {
        matches!(self, Journal::On(_))
    }

    /// Why nothing can be written now.
    pub fn failing(&self) -> Option<JournalError> {
        match self {
            Journal::Off => None,
            Journal::On(store) => store.failing().map(|error| JournalError(error.to_string().into())),
        }
    }

    /// Hands changes to the writer. Never blocks. `done` is called by the writer's thread, or here if there is nothing to write.
    pub fn submit(&self, changes: &[Change], done: impl FnOnce(Result<(), JournalError>) + Send + 'static) {
        match self {
            Journal::On(store) if !changes.is_empty() => {
                store.submit(changes.iter().map(to_write).collect(), |result| {
                    done(result.map_err(|error| JournalError(error.to_string().into())));
                });
            }
            _ => done(Ok(())),
        }
    }

    /// As [`Journal::submit`], for one that waits.
    pub fn commit(&self, changes: &[Change]) -> Commit {
        if !self.is_on() || changes.is_empty() {
            return Commit(None);
        }
        let (tell, told) = oneshot::channel();
        self.submit(changes, |result| {
            // Nobody waits any more if the other end is gone.
            let _ = tell.send(result);
        });
        Commit(Some(told))
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
