//! `DefinitionStore`: a node's definitions on disk.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::committer::Committer;
use super::database::HeldDatabase;
use super::disk::{Disk, FileDisk};
use super::entry::{Entry, Kind, Write};
use super::error::StoreError;
use super::queue::Queue;
use super::writer::{Health, State, Writer};
use crate::directory::{DataDirectory, DirectoryLock, DirectoryReader};

/// Name of the file in the data directory.
const FILE_NAME: &str = "definitions.redb";
/// Limit of the changes that wait for the disk, in bytes.
const WAITING_BYTES_MAX: usize = 256 << 20;
/// Time between a failure and the next retry.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The definitions of a node, written by a thread.
///
/// Promises for each batch:
///
/// - After `done(Ok(()))` the batch survives the death of the process and a loss of power.
/// - After `done(Err(_))`, and before `done` is called, a restart finds the whole batch or nothing of it.
/// - Batches are committed in the order of their submission. A batch on the medium implies all batches submitted
///   before it, except batches refused with [`StoreError::Full`].
///
/// A failed commit makes the store *failing*: it keeps the changes and retries every second. Until a retry succeeds,
/// new batches are answered immediately with the error, and kept as well. A batch answered with an error is thus
/// written later, if the disk recovers while the process lives.
pub struct DefinitionStore {
    queue: Arc<Queue>,
    health: Arc<Health>,
    kinds: Vec<Kind>,
    thread: Option<JoinHandle<()>>,
}

/// Settings that the tests vary.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub waiting_bytes_max: usize,
    pub retry_interval: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { waiting_bytes_max: WAITING_BYTES_MAX, retry_interval: RETRY_INTERVAL }
    }
}

impl DefinitionStore {
    /// Opens the definitions in `directory`, and starts the thread `definitions`. Returns the stored entries, by kind
    /// and key.
    ///
    /// A missing file is created, unless the directory had one before. The whole file is read and checked. The store
    /// keeps the directory's lock until it is dropped.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]. A damaged file is left as it is.
    pub fn open(directory: &DataDirectory) -> Result<(DefinitionStore, Vec<Entry>), StoreError> {
        let disk = FileDisk::new(directory.path(), FILE_NAME);
        let failed = |error| StoreError::of_system(disk.file(), error);
        if directory.has_definitions() && disk.open().map_err(failed)?.is_none() {
            return Err(StoreError::Missing { file: disk.file().to_owned() });
        }
        let opened = DefinitionStore::open_on(Box::new(disk), Some(directory.lock()), Settings::default())?;
        directory.note_definitions().map_err(|(file, error)| StoreError::of_system(&file, error))?;
        Ok(opened)
    }

    /// Reads the stored entries of a directory that is not changed, by kind and key. A directory that never had definitions has no entries.
    ///
    /// # Errors
    ///
    /// See [`StoreError`].
    pub fn read(directory: &DirectoryReader) -> Result<Vec<Entry>, StoreError> {
        let disk = FileDisk::read_only(directory.path(), FILE_NAME);
        let failed = |error| StoreError::of_system(disk.file(), error);
        match disk.open().map_err(failed)? {
            None if directory.has_definitions() => Err(StoreError::Missing { file: disk.file().to_owned() }),
            None => Ok(Vec::new()),
            Some(_) => Ok(HeldDatabase::open(&disk)?.load()?.1),
        }
    }

    pub(super) fn open_on(
        disk: Box<dyn Disk>,
        lock: Option<Arc<DirectoryLock>>,
        settings: Settings,
    ) -> Result<(DefinitionStore, Vec<Entry>), StoreError> {
        let (committer, entries) = Committer::open(disk)?;
        let kinds = committer.kinds().to_vec();
        let queue = Arc::new(Queue::new(settings.waiting_bytes_max));
        let health = Arc::new(Health::default());
        let writer = Writer {
            queue: Arc::clone(&queue),
            health: Arc::clone(&health),
            committer,
            retry_interval: settings.retry_interval,
            lock,
            state: State::Sound,
        };
        let thread = thread::Builder::new().name("definitions".into());
        let thread = Some(thread.spawn(move || writer.run()).map_err(StoreError::Thread)?);
        Ok((DefinitionStore { queue, health, kinds, thread }, entries))
    }

    /// Returns the kinds that the file had when it was opened, including kinds without entries. A kind stays in the
    /// file after its first entry.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Submits `batch`, to be committed whole, together with all other waiting batches. Never blocks.
    ///
    /// `done` is called with the outcome on the thread `definitions`, in the order of submission. `done` delays all
    /// later commits, so it must not block. It may submit; it must not call [`DefinitionStore::close`].
    /// A batch that exceeds the limit ([`StoreError::Full`]) is dropped immediately; its `done` is still called in
    /// its turn.
    pub fn submit(&self, batch: Vec<Write>, done: impl FnOnce(Result<(), Arc<StoreError>>) + Send + 'static) {
        self.queue.push(batch, Box::new(done));
    }

    /// Returns whether less than half of the limit on waiting bytes is in use. A caller that checks this before each
    /// change is not refused later.
    pub fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// Returns the reason why commits fail at present. `None` if the last commit succeeded: then the call costs one
    /// atomic read.
    pub fn failing(&self) -> Option<Arc<StoreError>> {
        self.health.failing()
    }

    /// Returns the number of groups committed since the store was opened.
    pub fn commit_count(&self) -> u64 {
        self.health.commit_count()
    }

    /// Commits all waiting batches, with a last retry if the store is failing, and closes the file. Later batches are
    /// refused with [`StoreError::Closed`].
    ///
    /// # Errors
    ///
    /// The reason why the last commit failed. Only changes that were answered with an error may be lost.
    ///
    /// # Panics
    ///
    /// If it is called from `done`, which would wait for itself.
    pub fn close(&self) -> Result<(), Arc<StoreError>> {
        assert!(!self.is_own_thread(), "`done` of a batch closes the store");
        let (report, outcome) = mpsc::sync_channel(1);
        self.queue.close(report);
        outcome.recv().unwrap_or_else(|_| Err(Arc::new(StoreError::Closed)))
    }

    fn is_own_thread(&self) -> bool {
        self.thread.as_ref().is_some_and(|writer| writer.thread().id() == thread::current().id())
    }
}

impl Drop for DefinitionStore {
    /// Closes the store if it is open, and waits for the thread, except in a `done` that drops the store.
    fn drop(&mut self) {
        self.queue.end();
        if self.is_own_thread() {
            return;
        }
        if let Some(thread) = self.thread.take() {
            // The thread does not panic.
            let _ = thread.join();
        }
    }
}
