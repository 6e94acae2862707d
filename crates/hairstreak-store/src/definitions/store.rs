//! `DefinitionStore`: a node's definitions on disk.

use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::committer::Committer;
use super::disk::{Disk, FileDisk};
use super::entry::{Entry, Kind, Write};
use super::error::StoreError;
use super::queue::Queue;
use super::writer::{Health, State, Writer};
use crate::directory::{DataDirectory, DirectoryLock};

/// The file in the data directory.
const FILE_NAME: &str = "definitions.redb";
/// So many bytes of changes may wait for the disk.
const WAITING_BYTES_MAX: usize = 256 << 20;
/// The store tries again so long after a failure.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The definitions of a node, which a thread writes.
///
/// Promises for each batch:
///
/// - After `done(Ok(()))` the batch survives the death of the process and a loss of power.
/// - After `done(Err(_))`, and before `done` is called, the batch may or may not be there after a restart: whole, or not at all.
/// - Batches are committed in the order of their submission: none is there without all that were submitted before it, except
///   those that were refused with [`StoreError::Full`].
///
/// When a commit fails, the store is *failing*: it keeps the changes and retries every second. Until a retry succeeds, new batches
/// are answered with the error at once, and kept as well. A batch that was answered with an error is thus written later, if the
/// disk recovers while the process lives.
pub struct DefinitionStore {
    queue: Arc<Queue>,
    health: Arc<Health>,
    kinds: Vec<Kind>,
    thread: Option<JoinHandle<()>>,
}

/// Values that the tests vary.
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
    /// Opens the definitions in `directory`, and starts the thread `definitions`. Returns all that is stored, by kind and key.
    ///
    /// A missing file is made, unless the directory had one. The whole file is read and checked. The store keeps the directory's lock until it is dropped.
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

    /// Returns the kinds that the file had when it was opened, those without entries among them. A kind stays in the file once it has had an entry.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Has `batch` committed, whole, together with all other batches that wait. Never blocks.
    ///
    /// `done` is called with the outcome on the thread `definitions`, in the order of submission. `done` holds up all later
    /// commits: it must not block. It may submit; it must not call [`DefinitionStore::close`]. If so much waits that the batch is
    /// refused ([`StoreError::Full`]), the batch is dropped at once, and `done` still waits for its turn.
    pub fn submit(&self, batch: Vec<Write>, done: impl FnOnce(Result<(), Arc<StoreError>>) + Send + 'static) {
        self.queue.push(batch, Box::new(done));
    }

    /// Whether less than half of the bytes that may wait do so. A caller that asks before it acts on a change is not refused later.
    pub fn has_room(&self) -> bool {
        self.queue.has_room()
    }

    /// The reason why commits fail at present; none if the last commit succeeded. Costs one read of an atomic while all is well.
    pub fn failing(&self) -> Option<Arc<StoreError>> {
        self.health.failing()
    }

    /// The number of groups that were committed since the store was opened.
    pub fn commit_count(&self) -> u64 {
        self.health.commit_count()
    }

    /// Commits all that waits, with a last retry if the store is failing, and closes the file. Later batches are refused
    /// with [`StoreError::Closed`].
    ///
    /// # Errors
    ///
    /// The reason why the last commit failed. Changes that were answered with an error may be lost, and no others.
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
    /// Closes the store if it was not closed, and waits for that, unless `done` of a batch drops the store.
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
