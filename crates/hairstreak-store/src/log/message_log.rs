//! `MessageLog`: the log with its threads. `messages` writes groups and syncs them, and `messages-read` reads messages back. A thread
//! `messages-next` makes the next file while a segment fills.
//!
//! While a group is synced, the next group gathers. Many publishers share a sync, and a single publisher waits for its own sync only.
//! No confirm waits for a timer. Acknowledgements and returns need no sync: the log writes them with the next group, or a moment later.
//! A lazy group has no batch that asks for a sync. The group is synced with a later group, and after a second at the latest.
//!
//! Behind each group, and while no batch waits, the thread copies messages out of segments that are mostly settled.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{fs, io};

use super::LogId;
use super::checkpoint;
use super::error::LogError;
use super::group_limit::{GROUP_BYTES_MAX, GroupLimit};
use super::index::{DroppedQueues, Index, RecoveredQueue};
use super::layout::file_name;
use super::reader::{Loaded, SealedSegments, Source, load};
use super::record::Batch;
use super::recovery::{Damage, Recovered, recover};
use super::space::Space;
use super::storage::{Directory, StorageBackend};
use super::writer::{SegmentSizes, Writer};
use crate::directory::DataDirectory;

/// Name of the log's folder in the data directory.
pub(super) const FOLDER: &str = "messages";
/// Bytes that may wait without a sync.
pub(super) const UNSYNCED_BYTES_MAX: usize = 8 << 20;
/// Longest delay before the log writes records that ask for no write, and the bytes at which the log writes them at once.
const LAZY_TIME: Duration = Duration::from_millis(10);
const LAZY_BYTES_MAX: usize = 256 << 10;
/// Longest delay before the log syncs a lazy group.
const LAZY_SYNC_TIME: Duration = Duration::from_secs(1);
/// Bytes that are copied out of sparse segments behind each group, and for each byte of the group.
const COPIED_BYTES_MIN: usize = 64 << 10;
const COPIED_PER_BYTE: usize = 2;
/// Most bytes of a group, in segments of the last size: a group and the offsets in its segment stay below 4 GiB. A larger batch is
/// cut.
const GROUP_SEGMENTS_MAX: usize = 16;
/// Time for which the end of the log waits for an operation of the disk.
const HANG_TIME_MAX: Duration = Duration::from_secs(10);
/// Time between two looks at an operation that the end of the log waits for.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// Time between a failure and the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Called by the thread `messages` when the log has written or synced more, and when it fails or recovers.
pub type OnProgress = dyn Fn(&Progress) + Send + Sync;

/// How far the log is. Positions count batches, from 1 on.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Last batch that was written to its file.
    pub written: u64,
    /// Last batch that is on the medium.
    pub synced: u64,
    /// Why nothing can be written at present.
    pub failing: Option<Arc<io::Error>>,
    /// The file system has fewer free bytes than the limit.
    pub is_short: bool,
    /// Bytes of batches that have left the memory since the last report: they are synced.
    pub freed_bytes: usize,
}

/// The log of a node's messages.
#[derive(Debug)]
pub struct MessageLog {
    shared: Arc<Shared>,
    readers: Mutex<Option<Sender<ReadJob>>>,
    ends: Mutex<Option<Ends>>,
}

/// The ends of both threads. A thread drops its sender when it ends.
#[derive(Debug)]
struct Ends {
    writer: Receiver<()>,
    reader: Receiver<()>,
}

/// A log that was opened.
#[derive(Debug)]
pub struct OpenedLog {
    /// The log.
    pub log: MessageLog,
    /// The run of the node, which is larger than that of each run before.
    pub epoch: u32,
    /// Queues that have messages, or had some.
    pub queues: Vec<RecoveredQueue>,
    /// Queues that are not known, with messages that are forgotten.
    pub dropped: DroppedQueues,
    /// Damaged parts of files.
    pub damages: Vec<Damage>,
    /// Messages whose files are missing.
    pub missing_count: u64,
}

#[derive(Debug)]
struct Shared {
    log: LogId,
    storage: Arc<dyn StorageBackend>,
    index: Arc<Mutex<Index>>,
    waiting: Mutex<Waiting>,
    /// Used by the thread `messages-read`.
    sealed: Mutex<SealedSegments>,
    changed: Condvar,
    /// Most bytes of a group.
    group_size_max: usize,
    space: Arc<Space>,
    /// A look at the free space is under way.
    is_looking: AtomicBool,
    /// Milliseconds since `start` at which the present write, sync or copy began, or 0.
    sync_began: AtomicU64,
    /// Number of the file that is written, or `u64::MAX`.
    written_file: AtomicU64,
    start: Instant,
    /// A thread has panicked.
    fault: OnceLock<Arc<io::Error>>,
}

/// Batches that wait for the thread.
#[derive(Debug, Default)]
struct Waiting {
    batches: Vec<Batch>,
    bytes: usize,
    /// Position of the last batch.
    position: u64,
    /// A caller waits for one of the batches.
    is_urgent: bool,
    /// Space is short: the thread is to free what it can.
    wants_space: bool,
    is_asleep: bool,
    is_closing: bool,
    /// Leases of queues after the end: see [`MessageLog::end_leases`].
    last_leases: Vec<(u64, u64)>,
}

/// A batch that was appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Position of the batch.
    pub position: u64,
    /// The thread sleeps: call [`MessageLog::wake`] when all locks are released.
    pub has_to_wake: bool,
}

/// The job gets an error if the log is closed.
type ReadJob = Box<dyn FnOnce(io::Result<&Shared>) + Send>;

impl MessageLog {
    /// Opens the log with the id `log` in a directory, and starts its threads. Queues for which `is_known` returns false are forgotten.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn open(
        storage: Arc<dyn StorageBackend>,
        log: [u8; 16],
        is_known: impl Fn(u64) -> bool,
        on_progress: Box<OnProgress>,
    ) -> Result<OpenedLog, LogError> {
        MessageLog::open_with(storage, log, is_known, on_progress, SegmentSizes::default())
    }

    /// Opens the log of a data directory, in its folder `messages`. Each sync takes `sync_delay` longer. See [`MessageLog::open`].
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn open_in(
        directory: &DataDirectory,
        sync_delay: Duration,
        is_known: impl Fn(u64) -> bool,
        on_progress: Box<OnProgress>,
    ) -> Result<OpenedLog, LogError> {
        let folder = folder(directory.path(), directory.has_messages())?;
        let failed = |source| LogError::Io { file: folder.clone(), source };
        let storage = Directory::open(&folder).map_err(failed)?.with_sync_delay(sync_delay);
        let opened =
            MessageLog::open(Arc::new(storage), *directory.node_id().as_bytes(), is_known, on_progress)?;
        directory.note_messages().map_err(|(file, source)| LogError::Io { file, source })?;
        Ok(opened)
    }

    /// Creates a log in a folder of a data directory whose messages need not survive the process. Nothing is synced.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn create_temporary(
        directory: &DataDirectory,
        folder: &str,
        on_progress: Box<OnProgress>,
    ) -> Result<MessageLog, LogError> {
        let path = directory.path().join(folder);
        let failed = |source| LogError::Io { file: path.clone(), source };
        let storage = Arc::new(Directory::create_temporary(&path).map_err(failed)?);
        let log = *directory.node_id().as_bytes();
        Ok(MessageLog::open(storage, log, |_| true, on_progress)?.log)
    }

    /// Opens the log with segments of other sizes.
    pub(super) fn open_with(
        storage: Arc<dyn StorageBackend>,
        log: LogId,
        is_known: impl Fn(u64) -> bool,
        on_progress: Box<OnProgress>,
        sizes: SegmentSizes,
    ) -> Result<OpenedLog, LogError> {
        let Recovered { state, damages, missing_count, are_leases_lost, .. } =
            recover(Arc::clone(&storage), log)?;
        let (index, epoch) = (Arc::clone(&state.index), state.epoch);
        let (queues, dropped) = {
            let mut index = index.lock().unwrap_or_else(PoisonError::into_inner);
            let dropped = index.retain_queues(is_known);
            index.end_leases(are_leases_lost);
            (index.recovered(), dropped)
        };
        let mut writer = Writer::new(Arc::clone(&storage), state, sizes);
        // A start after a start that was cut off reads no segment twice.
        match writer.close() {
            // Consumers need no space, and free some.
            Err(error) if error.kind() == io::ErrorKind::StorageFull => {
                checkpoint::note_open(&*storage, &log)
            }
            closed => closed,
        }
        .map_err(|source| LogError::Io { file: storage.path(checkpoint::NAME), source })?;
        let shared = Arc::new(Shared {
            log,
            storage,
            index,
            waiting: Mutex::default(),
            sealed: Mutex::default(),
            changed: Condvar::new(),
            group_size_max: GROUP_SEGMENTS_MAX * sizes.last as usize,
            space: Arc::clone(writer.space()),
            is_looking: AtomicBool::new(false),
            sync_began: AtomicU64::new(0),
            written_file: AtomicU64::new(u64::MAX),
            start: Instant::now(),
            fault: OnceLock::new(),
        });
        let (readers, jobs) = mpsc::channel::<ReadJob>();
        let of_reader = Arc::clone(&shared);
        let reader = thread::Builder::new().name("messages-read".into());
        let (reader_end, reader_ends) = mpsc::channel::<()>();
        reader
            .spawn(move || {
                let _end = reader_end;
                for job in jobs {
                    // The log has noted a panic.
                    let _ = of_reader.guard("messages-read", || {
                        job(Ok(&of_reader));
                        Ok(())
                    });
                }
            })
            .map_err(LogError::Thread)?;
        let thread = WriterThread {
            shared: Arc::clone(&shared),
            writer,
            on_progress,
            taken: 0,
            written: 0,
            synced: 0,
            unsynced_bytes: 0,
            limit: GroupLimit::new(),
            sync_at: None,
            copies_from: Instant::now(),
            next_file: None,
        };
        let of_writer = Arc::clone(&shared);
        let (writer_end, writer_ends) = mpsc::channel::<()>();
        let writer = thread::Builder::new().name("messages".into());
        writer
            .spawn(move || {
                let _end = writer_end;
                let mut thread = thread;
                let ended = of_writer.guard("messages", || {
                    thread.run();
                    Ok(())
                });
                if ended.is_err() {
                    thread.tell(None);
                }
            })
            .map_err(LogError::Thread)?;
        let ends = Mutex::new(Some(Ends { writer: writer_ends, reader: reader_ends }));
        let log = MessageLog { shared, readers: Mutex::new(Some(readers)), ends };
        Ok(OpenedLog { log, epoch, queues, dropped, damages, missing_count })
    }

    /// Hands a batch over. Batches are written in the order of their calls. Makes no system call.
    pub fn append(&self, batch: Batch) -> Appended {
        let mut waiting = self.shared.waiting();
        waiting.position += 1;
        waiting.bytes += batch.size();
        waiting.is_urgent |= batch.is_urgent();
        waiting.batches.push(batch);
        let is_lazy = !waiting.is_urgent && waiting.batches.len() > 1 && waiting.bytes < LAZY_BYTES_MAX;
        let has_to_wake = waiting.is_asleep && !is_lazy;
        waiting.is_asleep &= is_lazy;
        Appended { position: waiting.position, has_to_wake }
    }

    /// Wakes the thread `messages`.
    pub fn wake(&self) {
        self.shared.changed.notify_one();
    }

    /// Returns how long the present operation of the thread on its files has taken: a write, a sync or a copy. `None`: there is none.
    pub fn sync_time(&self) -> Option<Duration> {
        let began = self.shared.sync_began.load(Ordering::Relaxed);
        (began > 0).then(|| (self.shared.start + Duration::from_millis(began)).elapsed())
    }

    /// Reads messages of a queue from the sequence `from` on: up to a number of messages, and up to the message that reaches a number
    /// of bytes. The thread `messages-read` calls `limits` for both numbers before it reads, and `done` then;
    /// or this thread calls `done` if the log is closed.
    pub fn load(
        &self,
        queue: u64,
        from: u64,
        limits: impl FnOnce() -> (usize, usize) + Send + 'static,
        done: impl FnOnce(io::Result<Loaded>) + Send + 'static,
    ) {
        self.read(Box::new(move |shared| {
            done(shared.and_then(|shared| {
                let source = Source::new(&*shared.storage, &shared.log, &shared.index);
                let mut sealed = shared.sealed.lock().unwrap_or_else(PoisonError::into_inner);
                shared.guard("messages-read", || load(source, &mut sealed, (queue, from), limits()))
            }));
        }));
    }

    /// Sets the free bytes below which space is short, and looks at the free space. While space is short the log keeps no files
    /// for later, and frees segments at once.
    pub fn set_free_limit(&self, bytes: u64) {
        self.shared.space.set_limit(bytes);
        self.shared.space.look(&*self.shared.storage);
    }

    /// Returns the free bytes of the file system at the last look.
    pub fn free_bytes(&self) -> u64 {
        self.shared.space.free_bytes()
    }

    /// Returns true if space was short at the last look.
    pub fn is_short(&self) -> bool {
        self.shared.space.is_short()
    }

    /// Has the thread `messages-read` look at the free space, unless a look is under way. If space is short, the thread `messages`
    /// frees what it can.
    pub fn look_at_space(&self) {
        if self.shared.is_looking.swap(true, Ordering::AcqRel) {
            return;
        }
        self.read(Box::new(|shared| {
            let Ok(shared) = shared else { return };
            shared.space.look(&*shared.storage);
            shared.is_looking.store(false, Ordering::Release);
            if shared.space.is_short() {
                shared.waiting().wants_space = true;
                shared.changed.notify_one();
            }
        }));
    }

    fn read(&self, job: ReadJob) {
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let sent = match readers {
            Some(readers) => readers.send(job),
            None => Err(SendError(job)),
        };
        if let Err(SendError(job)) = sent {
            job(Err(io::Error::other("the message log is closed")));
        }
    }

    /// Sets leases of queues, which count once the log was closed in order: pairs of a queue, and the last sequence of its messages
    /// that still count as delivered. All other messages that may have been delivered are settled, or have returned.
    pub fn end_leases(&self, leases: Vec<(u64, u64)>) {
        self.shared.waiting().last_leases = leases;
    }

    /// Writes all batches, seals the log and ends the threads. A disk that does not answer for ten seconds is left alone.
    ///
    /// # Errors
    ///
    /// [`LogError::Hangs`]: the end of the log is not written.
    pub fn close(&self) -> Result<(), LogError> {
        self.close_within(HANG_TIME_MAX)
    }

    pub(super) fn close_within(&self, time_max: Duration) -> Result<(), LogError> {
        *self.readers.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.shared.waiting().is_closing = true;
        self.shared.changed.notify_one();
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(ends) = ends else { return Ok(()) };
        while ends.writer.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Timeout) {
            if self.sync_time().is_some_and(|time| time >= time_max) {
                return Err(self.hangs(time_max));
            }
        }
        match ends.reader.recv_timeout(time_max) {
            Err(RecvTimeoutError::Timeout) => Err(self.hangs(time_max)),
            _ => Ok(()),
        }
    }

    fn hangs(&self, time: Duration) -> LogError {
        let name = match self.shared.written_file.load(Ordering::Relaxed) {
            u64::MAX => String::new(),
            number => file_name(number),
        };
        LogError::Hangs { file: self.shared.storage.path(&name), seconds: time.as_secs() }
    }
}

impl Drop for MessageLog {
    fn drop(&mut self) {
        // A caller that needs the result has closed the log before.
        let _ = self.close();
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the work of a thread. After a panic the log counts as failing until its end.
    fn guard<T>(&self, thread: &str, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
            let fault = || io::Error::other(format!("the thread {thread} has panicked: restart the node"));
            self.fault.get_or_init(|| Arc::new(fault()));
            // The other thread tells.
            self.waiting().wants_space = true;
            self.changed.notify_one();
            Err(fault())
        })
    }

    /// Takes the next group. Waits until there is one or space is short, unless `may_wait` is false. Waits until `sync_at` at the
    /// longest. The group may be empty. `None`: the log is closed, and there is no batch.
    fn take_group(&self, bytes_max: usize, may_wait: bool, sync_at: Option<Instant>) -> Option<Vec<Batch>> {
        let mut waiting = self.waiting();
        let mut write_at = None;
        while may_wait
            && !waiting.is_closing
            && !waiting.is_urgent
            && !waiting.wants_space
            && waiting.bytes < LAZY_BYTES_MAX
        {
            let now = Instant::now();
            if !waiting.batches.is_empty() {
                write_at.get_or_insert(now + LAZY_TIME);
            }
            let deadline = [write_at, sync_at].into_iter().flatten().min();
            if deadline.is_some_and(|deadline| deadline <= now) {
                break;
            }
            waiting.is_asleep = true;
            waiting = match deadline {
                None => self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let result = self.changed.wait_timeout(waiting, deadline - now);
                    result.unwrap_or_else(PoisonError::into_inner).0
                }
            };
            waiting.is_asleep = false;
        }
        waiting.wants_space = false;
        let (mut bytes, mut count) = (0, 0);
        while bytes < bytes_max
            && let Some(batch) = waiting.batches.get(count)
        {
            bytes += batch.size();
            count += 1;
        }
        let mut later = waiting.batches.split_off(count);
        let mut group = mem::take(&mut waiting.batches);
        if bytes > self.group_size_max
            && let Some(mut last) = group.pop()
        {
            // Only the last batch may be that large.
            let before = bytes - last.size();
            if let Some(rest) = last.cut(self.group_size_max.saturating_sub(before)) {
                bytes -= rest.size();
                later.insert(0, rest);
            }
            group.push(last);
        }
        waiting.batches = later;
        waiting.bytes -= bytes;
        waiting.is_urgent = waiting.batches.iter().any(Batch::is_urgent);
        (!group.is_empty() || !waiting.is_closing).then_some(group)
    }
}

/// Returns the folder of the log in a data directory. `has_messages`: the directory had a log.
pub(super) fn folder(directory: &Path, has_messages: bool) -> Result<PathBuf, LogError> {
    let folder = directory.join(FOLDER);
    // A log that was opened once has a checkpoint.
    let is_empty = || fs::read_dir(&folder).map_or(true, |mut entries| entries.next().is_none());
    if has_messages && is_empty() { Err(LogError::Missing { directory: folder }) } else { Ok(folder) }
}

/// State of the thread `messages`.
struct WriterThread {
    shared: Arc<Shared>,
    writer: Writer,
    on_progress: Box<OnProgress>,
    /// Last batch that the thread has taken.
    taken: u64,
    written: u64,
    synced: u64,
    /// Bytes of batches that are taken, and not synced.
    unsynced_bytes: usize,
    limit: GroupLimit,
    /// Time of the sync of lazy groups.
    sync_at: Option<Instant>,
    /// Time from which on messages are copied: later than now after a failure.
    copies_from: Instant,
    /// The thread that makes the next file.
    next_file: Option<JoinHandle<bool>>,
}

impl WriterThread {
    fn run(&mut self) {
        let mut is_compact = false;
        while let Some(group) = self.shared.take_group(self.limit.bytes_max(), is_compact, self.sync_at) {
            let bytes: usize = group.iter().map(Batch::size).sum();
            if !group.is_empty() {
                self.taken += group.iter().filter(|batch| !batch.is_part).count() as u64;
                self.unsynced_bytes += bytes;
                if let Err(error) = self.write(group)
                    && !self.recover(error)
                {
                    return;
                }
                self.tell(None);
            }
            let compacted = if self.copies_from <= Instant::now() { self.compact(bytes) } else { Ok(true) };
            is_compact = match compacted {
                Ok(is_compact) => is_compact,
                Err(error) => {
                    self.copies_from = Instant::now() + RETRY_INTERVAL;
                    if !self.recover(error) {
                        return;
                    }
                    true
                }
            };
            if let Err(error) = self.sync_if_due()
                && !self.recover(error)
            {
                return;
            }
            if self.writer.is_synced() && self.synced < self.written {
                self.synced = self.written;
                self.tell(None);
            }
            self.prepare_file();
            if self.shared.fault.get().is_some() {
                self.tell(None);
            }
        }
        self.writer.cancel_preparation();
        self.take_prepared_file(true);
        let leases = mem::take(&mut self.shared.waiting().last_leases);
        match self.timed(|writer| writer.finish(&leases)) {
            Ok(()) => {
                self.synced = self.written;
                self.tell(None);
            }
            Err(error) => self.tell(Some(error)),
        }
    }

    fn write(&mut self, group: Vec<Batch>) -> io::Result<()> {
        let bytes: usize = group.iter().map(Batch::size).sum();
        self.await_room(bytes);
        let start = Instant::now();
        let wants_sync = group.iter().any(|batch| batch.wants_sync);
        let wants_write = group.iter().any(|batch| batch.wants_write);
        self.timed(|writer| writer.write(group))?;
        self.written = self.taken;
        if wants_sync || self.writer.unsynced_size() > UNSYNCED_BYTES_MAX {
            if wants_write {
                // These callers need not wait for the sync.
                self.tell(None);
            }
            self.timed(Writer::sync)?;
        }
        if self.writer.is_synced() {
            self.synced = self.written;
            self.limit.note(bytes, start.elapsed());
        }
        Ok(())
    }

    /// Syncs lazy groups if their time has come.
    fn sync_if_due(&mut self) -> io::Result<()> {
        if self.writer.is_synced() {
            self.sync_at = None;
            return Ok(());
        }
        let now = Instant::now();
        if *self.sync_at.get_or_insert(now + LAZY_SYNC_TIME) > now {
            return Ok(());
        }
        self.sync_at = None;
        self.timed(Writer::sync)
    }

    /// Copies messages behind a group of that size. Returns true if there is nothing more to copy.
    fn compact(&mut self, group_bytes: usize) -> io::Result<bool> {
        // The next group waits longer where copying falls behind.
        let is_behind = self.writer.is_over_bound();
        let size_max = COPIED_BYTES_MIN.max(COPIED_PER_BYTE * group_bytes);
        let size_max = if is_behind { GROUP_BYTES_MAX } else { size_max };
        self.await_room(size_max);
        // A sync of the next group carries the copies, too.
        let unsynced_max = self.limit.bytes_max();
        self.timed(|writer| {
            let has_copied = writer.compact(size_max)?;
            if has_copied && writer.unsynced_size() > unsynced_max {
                writer.sync()?;
            }
            writer.free_dead()?;
            Ok(!has_copied)
        })
    }

    /// Has the next file made if the active segment fills, by a thread of its own.
    fn prepare_file(&mut self) {
        self.take_prepared_file(false);
        let Some(preparation) = self.writer.prepare() else { return };
        let thread = thread::Builder::new().name("messages-next".into()).spawn(move || preparation.run());
        // Without a thread the file is made when it is needed.
        self.next_file = thread.ok();
        if self.next_file.is_none() {
            self.writer.end_preparation(false);
        }
    }

    /// Takes over the next file if it is made. `waits`: until it is made, or cannot be made.
    fn take_prepared_file(&mut self, waits: bool) {
        if let Some(thread) = self.next_file.take_if(|thread| waits || thread.is_finished()) {
            let is_made = self.timed(|_| Ok(thread.join().unwrap_or(false)));
            self.writer.end_preparation(is_made.unwrap_or(false));
        }
    }

    /// Waits for the next file, if it is being made and a group of so many bytes may need it.
    fn await_room(&mut self, bytes: usize) {
        let has_room = self.writer.has_room(bytes);
        self.take_prepared_file(!has_room);
    }

    /// Runs an operation that may hang in the disk.
    fn timed<T>(&mut self, operation: impl FnOnce(&mut Writer) -> io::Result<T>) -> io::Result<T> {
        let file = self.writer.active_file().unwrap_or(u64::MAX);
        self.shared.written_file.store(file, Ordering::Relaxed);
        let began = self.shared.start.elapsed().as_millis().max(1) as u64;
        self.shared.sync_began.store(began, Ordering::Relaxed);
        let result = operation(&mut self.writer);
        self.shared.sync_began.store(0, Ordering::Relaxed);
        result
    }

    /// Writes the groups of a failure to a fresh segment, again and again until that succeeds. Returns false if the log is closed
    /// and the last attempt has failed.
    fn recover(&mut self, mut error: io::Error) -> bool {
        loop {
            let is_closing = self.shared.waiting().is_closing;
            self.take_prepared_file(false);
            let Err(next) = self.timed(Writer::restart) else { break };
            self.tell(Some(mem::replace(&mut error, next)));
            if is_closing {
                return false;
            }
            let waiting = self.shared.waiting();
            let waited = self
                .shared
                .changed
                .wait_timeout_while(waiting, RETRY_INTERVAL, |waiting| !waiting.is_closing);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
        }
        self.written = self.taken;
        if self.writer.is_synced() {
            self.synced = self.written;
        }
        true
    }

    fn tell(&mut self, failing: Option<io::Error>) {
        let freed_bytes = if self.synced == self.taken { mem::take(&mut self.unsynced_bytes) } else { 0 };
        let fault = self.shared.fault.get().cloned();
        let progress = Progress {
            written: self.written,
            synced: self.synced,
            failing: fault.or(failing.map(Arc::new)),
            is_short: self.shared.space.is_short(),
            freed_bytes,
        };
        (self.on_progress)(&progress);
    }
}
