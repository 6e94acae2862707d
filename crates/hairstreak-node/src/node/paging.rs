//! `Paging`: messages of long queues on their way to the disk and back.
//!
//! ```text
//!   turn of a host: requests --> serve --> thread of a log --> `PageMail` of the host --> timekeeper: the next turn
//! ```
//!
//! Messages that the message log does not have go to a second log, whose files are never synced and are removed at the next start.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use hairstreak_broker::message::{Attributes, BodyView, Message};
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{HostOutbox, LeaseRequest, PagePlace, PageRequest, ReadMessage, VirtualHost};
use hairstreak_store::DataDirectory;
use hairstreak_store::log::{Batch, Loaded, LogError, MessageLog, Progress, Record, StoredMessage};
use parking_lot::Mutex;

use super::account::Account;
use super::reached::{Awaited, Reached};
use super::waiting::{Waiter, Waiting};

/// Folder of the pages in the data directory.
const FOLDER: &str = "pages";
/// Messages that are read at once.
const READ_COUNT: usize = 4_096;
/// Messages that a host takes in one turn; further ones follow in the next turn.
const DELIVERED_COUNT: usize = 4_096;
/// Time between a read that failed and the next attempt, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// The message log and the log of pages, as the requests of virtual hosts need them.
pub struct Paging {
    logged: (Arc<MessageLog>, Arc<Waiting>),
    paged: (Arc<MessageLog>, Arc<Waiting>),
    /// Places of queues up to which messages count as delivered before.
    recovered: HashMap<u64, u64>,
    /// Messages on their way to the disk and back count as memory.
    account: Arc<Account>,
    /// The thread of the log of pages is to be woken.
    is_wanted: AtomicBool,
}

/// Requests that were served, for the next turn of their host.
pub struct PageMail {
    account: Arc<Account>,
    done: Mutex<Vec<Done>>,
}

/// A request that was served, or failed.
enum Done {
    Written { place: PagePlace, through: u64, bytes: u64 },
    Read { place: PagePlace, messages: Vec<ReadRecord>, next: u64 },
    Leased(LeaseRequest),
    Failed { request: PageRequest, retry_at: u64 },
}

impl Done {
    /// The memory of messages that were read.
    fn bytes(&self) -> usize {
        match self {
            Done::Read { messages, .. } => messages.iter().map(|record| record.stored.size()).sum(),
            Done::Written { .. } | Done::Leased(_) | Done::Failed { .. } => 0,
        }
    }
}

/// A message that was read.
struct ReadRecord {
    stored: StoredMessage,
    /// The message log has the message.
    is_logged: bool,
    /// The message may have been delivered before the node was killed.
    was_delivered: bool,
}

impl Paging {
    /// Creates the log of pages in a data directory. `logged` is the message log.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn create(
        directory: &DataDirectory,
        logged: (Arc<MessageLog>, Arc<Waiting>),
        recovered: HashMap<u64, u64>,
        account: Arc<Account>,
    ) -> Result<Paging, LogError> {
        let (waiting, was_failing) = (Arc::new(Waiting::default()), AtomicBool::new(false));
        let (told, memory) = (Arc::clone(&waiting), Arc::clone(&account));
        let on_progress = Box::new(move |progress: &Progress| {
            memory.note(progress.freed_bytes, 0);
            match (&progress.failing, was_failing.swap(progress.failing.is_some(), Relaxed)) {
                (Some(error), false) => log::error!("messages cannot be moved from memory to disk: {error}"),
                (None, true) => log::info!("messages are moved from memory to disk again"),
                _ => {}
            }
            told.note(Reached::of(progress));
        });
        let log = Arc::new(MessageLog::create_temporary(directory, FOLDER, on_progress)?);
        Ok(Paging { logged, paged: (log, waiting), recovered, account, is_wanted: AtomicBool::new(false) })
    }

    /// Serves requests of a host. `batch` has the messages that the message log does not have, and `logged` is the position of the
    /// others. The caller holds the lock of the host, and calls [`Paging::wake`] behind it.
    pub fn serve(
        &self,
        mail: &Arc<PageMail>,
        requests: impl Iterator<Item = PageRequest>,
        batch: &mut Batch,
        (logged, now): (u64, u64),
    ) {
        let paged = if batch.is_empty() { 0 } else { self.append(std::mem::take(batch)) };
        for request in requests {
            match request {
                PageRequest::Write { place, through, has_logged, bytes } => {
                    let logged = if has_logged { logged } else { 0 };
                    self.await_written(mail, (logged, paged), Done::Written { place, through, bytes });
                }
                PageRequest::Read { .. } => self.read(mail, request, now),
                PageRequest::Lease(lease) => {
                    let mail = Arc::clone(mail);
                    let tell = Waiter::Call(Box::new(move || mail.push(Done::Leased(lease))));
                    self.logged.1.wait(synced(logged), tell);
                }
                PageRequest::Forget { page_id } => {
                    let mut batch = Batch::default();
                    batch.push(&Record::Forgotten { queue: page_id });
                    self.append(batch);
                }
            }
        }
    }

    fn append(&self, batch: Batch) -> u64 {
        self.account.note(0, batch.size());
        let appended = self.paged.0.append(batch);
        if appended.has_to_wake {
            self.is_wanted.store(true, Release);
        }
        appended.position
    }

    /// Tells the host once both logs have their positions on disk.
    fn await_written(&self, mail: &Arc<PageMail>, (logged, paged): (u64, u64), done: Done) {
        let (mail, pages) = (Arc::clone(mail), Arc::clone(&self.paged.1));
        let tell = Waiter::Call(Box::new(move || mail.push(done)));
        let then = Waiter::Call(Box::new(move || pages.wait(synced(paged), tell)));
        self.logged.1.wait(synced(logged), then);
    }

    /// Reads messages.
    pub fn read(&self, mail: &Arc<PageMail>, request: PageRequest, now: u64) {
        let PageRequest::Read { place, log_id, from, through, has_unlogged, is_wanted, bytes } = request
        else {
            return;
        };
        let mail = Arc::clone(mail);
        let recovered = self.recovered.get(&log_id).copied().unwrap_or(0);
        let (account, memory) = (Arc::clone(&mail.account), Arc::clone(&mail.account));
        let limits = move || {
            let has_room = is_wanted || !memory.is_low(false);
            (if has_room { READ_COUNT } else { 0 }, bytes as usize)
        };
        let pages = has_unlogged.then(|| Arc::clone(&self.paged.0));
        let finish = move |read: io::Result<[Loaded; 2]>, pages: Option<Arc<MessageLog>>| {
            mail.push(match read {
                Ok(read) => {
                    let (messages, next) = merge(read, through);
                    if let Some(pages) = pages {
                        let mut batch = Batch::default();
                        batch.push(&Record::Dropped { queue: place.page_id(), first: 0, last: next - 1 });
                        account.note(0, batch.size());
                        if pages.append(batch).has_to_wake {
                            pages.wake();
                        }
                    }
                    let marked = |(stored, is_logged): (StoredMessage, bool)| {
                        let was_delivered = stored.sequence <= recovered;
                        ReadRecord { stored, is_logged, was_delivered }
                    };
                    Done::Read { place, messages: messages.into_iter().map(marked).collect(), next }
                }
                Err(error) => {
                    log::error!("messages cannot be read from the disk: {error}; the next attempt follows");
                    Done::Failed { request, retry_at: now + RETRY_MS }
                }
            });
        };
        let nothing = Loaded { is_end: true, ..Loaded::default() };
        let limits_of_pages = limits.clone();
        let read_pages = move |logged: io::Result<Loaded>| match (logged, pages) {
            (Ok(logged), Some(pages)) => {
                let log = Arc::clone(&pages);
                log.load(place.page_id(), from, limits_of_pages, move |paged| {
                    finish(paged.map(|paged| [logged, paged]), Some(pages));
                });
            }
            (Ok(logged), None) => finish(Ok([logged, nothing]), None),
            (Err(error), _) => finish(Err(error), None),
        };
        if log_id == 0 {
            read_pages(Ok(Loaded { is_end: true, ..Loaded::default() }));
        } else {
            self.logged.0.load(log_id, from, limits, read_pages);
        }
    }

    /// Wakes the thread of the log of pages if it has work. The caller holds no lock.
    #[inline]
    pub fn wake(&self) {
        if self.is_wanted.load(Relaxed) && self.is_wanted.swap(false, AcqRel) {
            self.paged.0.wake();
        }
    }

    /// Ends the log of pages.
    pub fn close(&self) {
        // The next start removes the pages, whole or not.
        let _ = self.paged.0.close();
    }
}

/// Waits until a position is on the medium.
fn synced(position: u64) -> Awaited {
    Awaited { position, durability: Durability::Synced }
}

impl PageMail {
    pub fn new(account: Arc<Account>) -> PageMail {
        PageMail { account, done: Mutex::default() }
    }

    fn push(&self, done: Done) {
        self.account.note(0, done.bytes());
        self.done.lock().push(done);
        self.account.timekeeper.wake_by(0);
    }

    /// Tells a host what was served, in slices. Returns requests that are to be served again, and the time of the next turn.
    pub fn deliver(
        &self,
        host: &mut VirtualHost,
        outlets: &mut impl HostOutbox,
        now: u64,
    ) -> (Vec<PageRequest>, Option<u64>) {
        let (mut retried, mut next_retry) = (Vec::new(), None);
        let mut waiting = std::mem::take(&mut *self.done.lock()).into_iter();
        let mut count = 0;
        while count < DELIVERED_COUNT
            && let Some(done) = waiting.next()
        {
            count += 1;
            self.account.note(done.bytes(), 0);
            match done {
                Done::Written { place, through, bytes } => {
                    host.pages_written(place, (through, bytes), now, outlets);
                }
                Done::Read { place, messages, next } => {
                    count += messages.len();
                    let read = messages.iter().filter_map(|record| to_read(record, now));
                    host.pages_read(place, read, next, now, outlets);
                }
                Done::Leased(lease) => host.lease_granted(lease, now, outlets),
                Done::Failed { request, retry_at } if retry_at <= now => retried.push(request),
                Done::Failed { request, retry_at } => {
                    next_retry = Some(next_retry.map_or(retry_at, |next: u64| next.min(retry_at)));
                    self.done.lock().push(Done::Failed { request, retry_at });
                }
            }
        }
        if waiting.len() > 0 {
            self.done.lock().splice(0..0, waiting);
            next_retry = Some(now);
        }
        (retried, next_retry)
    }
}

/// Puts messages of a queue from two logs in order, as far as both were read, and up to the place `through`. Returns for each
/// whether it is from the message log, and the first place that was not read.
fn merge([logged, paged]: [Loaded; 2], through: u64) -> (Vec<(StoredMessage, bool)>, u64) {
    let end = |loaded: &Loaded| if loaded.is_end { u64::MAX } else { loaded.next };
    let next = end(&logged).min(end(&paged)).min(through + 1);
    let damaged = logged.damaged.iter().chain(&paged.damaged).filter(|place| **place < next).count();
    if damaged > 0 {
        log::error!("{damaged} messages on disk are damaged and lost");
    }
    let is_sorted = paged.messages.is_empty();
    let logged = logged.messages.into_iter().map(|stored| (stored, true));
    let paged = paged.messages.into_iter().map(|stored| (stored, false));
    let mut messages: Vec<_> = logged.chain(paged).filter(|(stored, _)| stored.sequence < next).collect();
    if !is_sorted {
        messages.sort_unstable_by_key(|(stored, _)| stored.sequence);
    }
    (messages, next)
}

/// A message of the disk, as the host takes it.
fn to_read(read: &ReadRecord, now: u64) -> Option<ReadMessage<'_>> {
    let ReadRecord { stored, is_logged, was_delivered } = read;
    let record = stored.message()?;
    // A clock that was set back lengthens no life beyond its first length.
    let left = |ttl_ms: u64| ttl_ms.min(record.time_ms.saturating_add(ttl_ms).saturating_sub(now));
    let attributes =
        Attributes { is_persistent: record.is_persistent, priority: record.priority, expiration_ms: None };
    let message = Message {
        exchange: record.exchange,
        routing_key: record.routing_key,
        properties: record.properties,
        attributes,
        body: BodyView::Copied(record.body),
    };
    let expires_at = stored.ttl_ms.map(|ttl_ms| now.saturating_add(left(ttl_ms)));
    let return_count = stored.return_count.try_into().unwrap_or(u16::MAX);
    let (sequence, is_logged, was_delivered) = (stored.sequence, *is_logged, *was_delivered);
    Some(ReadMessage { message, sequence, expires_at, return_count, is_logged, was_delivered })
}
