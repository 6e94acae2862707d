//! `Journal`: the way of changed definitions to the data directory.
//!
//! A change takes effect at once in memory. The change is promised only when the disk has it: the caller is notified by
//! [`Commit`], or by mail. A node without a data directory promises nothing, and every commit is done at once.
//!
//! An answer that an object exists is a promise, too: an answer that changes nothing waits for the changes before it
//! ([`Journal::is_awaited`]). It fails if its own object is refused ([`Journal::wait`]), and not for the changes of others.
//!
//! While nothing can be written, a change that cannot be kept is not begun ([`Journal::check`]). Deletions are accepted. They are
//! kept, and take at most the memory of the deleted objects.
//!
//! A change that cannot be written is refused, and taken back before its caller is notified. [`TakeBack`] does this in memory. On
//! disk an opposite change does, which the store keeps behind the refused one. A deletion is not taken back, because the messages
//! of a queue are lost: it is written when that is possible.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll};

use futures_channel::oneshot;
use hairstreak_broker::Refusal;
use hairstreak_broker::change::Change as Recorded;
use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::vhost::VirtualHost;
use hairstreak_broker::view::BindingInfo;
use hairstreak_store::{DefinitionStore, Kind as StoreKind, StoreError, Write};
use hairstreak_wire::amqp::ReplyCode;
use parking_lot::Mutex;
use thiserror::Error;

use super::recording::to_definition;
use crate::definitions::{Change, Definition, Kind, Place};

/// The reason why changes are not on disk.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the definitions cannot be written: {0}")]
pub struct JournalError(pub Arc<str>);

/// Takes a refused definition back in memory. The second is the definition before, if there was one.
pub type TakeBack = dyn Fn(&Definition, Option<Definition>) + Send + Sync;

/// The way to the data directory.
pub enum Journal {
    /// The node has no data directory.
    Off,
    /// Changes are written to a store.
    On(OpenJournal),
}

/// A store, and the progress of changes on their way there.
pub struct OpenJournal {
    store: DefinitionStore,
    progress: Arc<Progress>,
}

/// The outcome of changes, as far as it is known.
#[derive(Default)]
struct Progress {
    /// Batches with an unknown outcome, which are not on disk.
    awaited_count: AtomicUsize,
    /// The number of the last batch with changes. Batches are submitted under the lock, in the order of their numbers.
    last_number: Mutex<u64>,
    /// The number of the last submitted batch with changes.
    submitted: AtomicU64,
    /// The number of the last batch with changes whose outcome is known.
    settled: AtomicU64,
    /// The places of refused definitions, with the definitions before. The map is empty once any later batch is on disk.
    unwritten: Mutex<HashMap<Place, Option<Definition>>>,
    /// The places of definitions that are deleted in memory, and not on disk. The set is empty once any later batch is on disk.
    undeleted: Mutex<HashSet<Place>>,
    take_back: OnceLock<Box<TakeBack>>,
}

impl Progress {
    /// Notes the outcome of a batch. Returns the refused definitions, each with the one before the first refusal.
    fn note(
        &self,
        changes: Vec<Change>,
        result: &Result<(), JournalError>,
    ) -> Vec<(Definition, Option<Definition>)> {
        self.awaited_count.fetch_sub(1, Ordering::AcqRel);
        let (mut unwritten, mut undeleted) = (self.unwritten.lock(), self.undeleted.lock());
        let Err(error) = result else {
            undeleted.clear();
            if !unwritten.is_empty() {
                unwritten.clear();
                log::info!("the definitions can be written again");
            }
            return Vec::new();
        };
        if unwritten.is_empty() {
            log::error!("{error}; until they can, what is new is refused");
        }
        let mut refused = Vec::new();
        for change in changes {
            let (definition, before) = match change {
                Change::Put(definition) => (definition, None),
                Change::Replace(before, definition) => (definition, Some(before)),
                Change::Delete(place) => {
                    // A definition that was new when it was refused was never on disk.
                    if !matches!(unwritten.remove(&place), Some(None)) {
                        undeleted.insert(place);
                    }
                    continue;
                }
            };
            undeleted.remove(&definition.place());
            // A definition that was refused before was never there.
            let first = unwritten.entry(definition.place()).or_insert(before).clone();
            refused.push((definition, first));
        }
        refused
    }

    /// Returns true if the last change of a definition at one of these places failed.
    fn has_failed(&self, places: &[Place]) -> bool {
        let (unwritten, undeleted) = (self.unwritten.lock(), self.undeleted.lock());
        places.iter().any(|place| unwritten.contains_key(place) || undeleted.contains(place))
    }
}

/// Changes or messages that are being written to the disk. Resolves when they are there.
#[derive(Debug)]
pub struct Commit(Option<oneshot::Receiver<Result<(), JournalError>>>);

impl Journal {
    /// The way to a store.
    pub fn on(store: DefinitionStore) -> Journal {
        Journal::On(OpenJournal { store, progress: Arc::default() })
    }

    /// Returns true if changes are kept.
    pub fn is_on(&self) -> bool {
        matches!(self, Journal::On(_))
    }

    /// Returns the reason for which nothing more can be written now.
    pub fn refusal(&self) -> Option<JournalError> {
        let Journal::On(OpenJournal { store, .. }) = self else { return None };
        match store.failing() {
            Some(error) => Some(error.into()),
            None if store.has_room() => None,
            None => Some(JournalError("the disk does not keep up".into())),
        }
    }

    /// Checks that a change can be written.
    ///
    /// # Errors
    ///
    /// Nothing can be written now. For clients of AMQP the error is `PRECONDITION_FAILED`.
    pub fn check(&self) -> Result<(), JournalError> {
        self.refusal().map_or(Ok(()), Err)
    }

    /// Checks that an exchange can be declared.
    ///
    /// # Errors
    ///
    /// The exchange is durable, and not on disk, and nothing can be written now.
    pub fn check_exchange(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        declaration: &ExchangeDeclaration,
    ) -> Result<(), JournalError> {
        let existing = || {
            host.topology().exchange(&declaration.name)?;
            Some(Place::new(Kind::Exchange, &[virtual_host.as_bytes(), &declaration.name]))
        };
        self.check_object(|| declaration.is_durable, existing)
    }

    /// Checks that a queue can be declared.
    ///
    /// # Errors
    ///
    /// The queue is durable, and not on disk, and nothing can be written now.
    pub fn check_queue(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        declaration: &QueueDeclaration,
    ) -> Result<(), JournalError> {
        let existing = || {
            host.queue(&declaration.name)?;
            Some(Place::new(Kind::Queue, &[virtual_host.as_bytes(), &declaration.name]))
        };
        self.check_object(|| declaration.is_durable && !declaration.is_exclusive, existing)
    }

    /// Checks that a binding can be made.
    ///
    /// # Errors
    ///
    /// The ends of the binding are durable, the binding is not on disk, and nothing can be written now.
    pub fn check_binding(
        &self,
        virtual_host: &str,
        host: &VirtualHost,
        binding: &BindingInfo,
    ) -> Result<(), JournalError> {
        let place = || to_definition(virtual_host, Recorded::Bound(binding.clone())).place();
        let existing = || host.topology().is_bound(binding).then(place);
        self.check_object(|| has_durable_ends(host, binding), existing)
    }

    /// Checks that an object can be kept. Objects on disk stay while nothing can be written, and requests for them are answered:
    /// clients declare their queues again with each start. `existing` is the place of an object that is there.
    fn check_object(
        &self,
        is_durable: impl FnOnce() -> bool,
        existing: impl FnOnce() -> Option<Place>,
    ) -> Result<(), JournalError> {
        self.check().or_else(|error| {
            let is_on_disk = || existing().is_some_and(|place| !self.is_unwritten(&place));
            if is_durable() && !is_on_disk() { Err(error) } else { Ok(()) }
        })
    }

    /// Returns true if changes are being written.
    pub fn is_awaited(&self) -> bool {
        let Journal::On(OpenJournal { progress, .. }) = self else { return false };
        progress.awaited_count.load(Ordering::Acquire) > 0
    }

    /// Returns true if a definition was refused, and is being taken back.
    pub fn is_unwritten(&self, place: &Place) -> bool {
        match self {
            Journal::Off => false,
            Journal::On(OpenJournal { progress, .. }) => progress.unwritten.lock().contains_key(place),
        }
    }

    /// Sets the function that takes refused definitions back in memory. Only the first call counts. A node that starts has none:
    /// it ends if it cannot write.
    pub fn set_take_back(&self, take_back: Box<TakeBack>) {
        if let Journal::On(OpenJournal { progress, .. }) = self {
            let _ = progress.take_back.set(take_back);
        }
    }

    /// Hands changes to the writer. Never blocks. The writer's thread calls `done` after all changes submitted before, even if
    /// this batch has no changes. Without a data directory `done` is called here.
    pub fn submit(&self, changes: Vec<Change>, done: impl FnOnce(Result<(), JournalError>) + Send + 'static) {
        let Journal::On(OpenJournal { store, progress }) = self else { return done(Ok(())) };
        progress.awaited_count.fetch_add(1, Ordering::AcqRel);
        let mut last_number = progress.last_number.lock();
        *last_number += u64::from(!changes.is_empty());
        let number = *last_number;
        let told = Arc::clone(progress);
        store.submit(changes.iter().map(to_write).collect(), move |result| {
            let result = result.map_err(JournalError::from);
            let refused = told.note(changes, &result);
            if let Some(take_back) = told.take_back.get() {
                // The latest first: bindings before the queues that they lead to.
                refused.into_iter().rev().for_each(|(definition, before)| take_back(&definition, before));
            }
            told.settled.store(number, Ordering::Release);
            done(result);
        });
        progress.submitted.store(number, Ordering::Release);
    }

    /// Returns the number of the last changes if their outcome is not known.
    #[inline]
    pub fn pending(&self) -> Option<u64> {
        let Journal::On(OpenJournal { progress, .. }) = self else { return None };
        let submitted = progress.submitted.load(Ordering::Acquire);
        (progress.settled.load(Ordering::Acquire) < submitted).then_some(submitted)
    }

    /// Has the writer's thread call `done` once the outcome of all changes before is known. Refused changes are taken back then.
    pub fn after_changes(&self, done: impl FnOnce() + Send + 'static) {
        match self {
            Journal::Off => done(),
            Journal::On(OpenJournal { store, .. }) => store.submit(Vec::new(), |_| done()),
        }
    }

    /// Makes an answer that changes nothing wait for the changes before it. `done` is called as in [`Journal::submit`]. It gets
    /// an error only if a definition at one of the places was refused, or was deleted and stays on disk.
    pub fn wait(&self, places: Vec<Place>, done: impl FnOnce(Result<(), JournalError>) + Send + 'static) {
        let Journal::On(OpenJournal { store, progress }) = self else { return done(Ok(())) };
        progress.awaited_count.fetch_add(1, Ordering::AcqRel);
        let progress = Arc::clone(progress);
        store.submit(Vec::new(), move |result| {
            progress.awaited_count.fetch_sub(1, Ordering::AcqRel);
            let result = result.map_err(JournalError::from);
            done(if progress.has_failed(&places) { result } else { Ok(()) });
        });
    }

    /// Writes a definition as it was before a refused change, which the store keeps. Not taken back if that is refused as well.
    pub fn write_back(&self, before: &Definition) {
        let Journal::On(OpenJournal { store, progress }) = self else { return };
        let (progress, place) = (Arc::clone(progress), before.place());
        store.submit(vec![to_write(&Change::Put(before.clone()))], move |_| {
            progress.unwritten.lock().remove(&place);
        });
    }

    /// Like [`Journal::submit`], for a caller that waits.
    pub fn commit(&self, changes: &[Change]) -> Commit {
        let Journal::On(OpenJournal { store, .. }) = self else { return Commit(None) };
        // While nothing can be written, operators get the state in memory.
        if changes.is_empty() && (!self.is_awaited() || store.failing().is_some()) {
            return Commit(None);
        }
        let (tell, told) = oneshot::channel();
        self.submit(changes.to_vec(), |result| {
            // If the other end is gone, no receiver waits any more.
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

impl From<JournalError> for Refusal {
    fn from(error: JournalError) -> Refusal {
        Refusal::new(ReplyCode::PreconditionFailed, error.to_string())
    }
}

fn has_durable_ends(host: &VirtualHost, binding: &BindingInfo) -> bool {
    let topology = host.topology();
    let is_durable_exchange = |name| topology.exchange(name).is_some_and(|exchange| exchange.is_durable);
    let is_durable_queue =
        |name| host.queue(name).is_some_and(|queue| queue.is_durable && !queue.is_exclusive);
    let name = &binding.destination;
    let is_durable = if binding.is_to_exchange { is_durable_exchange(name) } else { is_durable_queue(name) };
    is_durable && is_durable_exchange(&binding.source)
}

fn to_write(change: &Change) -> Write {
    let place = change.place();
    let value = match change {
        Change::Put(definition) | Change::Replace(_, definition) => Some(definition.encode()),
        Change::Delete(_) => None,
    };
    Write { kind: StoreKind::new(place.kind.number()), key: place.key, value }
}

impl Commit {
    /// Returns a commit that is done already.
    pub fn done() -> Commit {
        Commit(None)
    }

    /// Returns a commit, and the function that ends it.
    pub(super) fn pending() -> (Commit, impl FnOnce() + Send + 'static) {
        let (tell, told) = oneshot::channel();
        // If the other end is gone, no receiver waits any more.
        (Commit(Some(told)), move || drop(tell.send(Ok(()))))
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
