//! `Messages`: the message log of a node, and the connections that wait for it.
//!
//! ```text
//!   turn of a host: records --> hand_over, under the host's lock --> thread of the log: group, sync
//!   connections that wait for the position <-- wake <-- progress <---------------'
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use hairstreak_broker::message::Message;
use hairstreak_broker::queue::Durability;
use hairstreak_broker::vhost::{LogChange, LogRun, LogTarget};
use hairstreak_store::DataDirectory;
use hairstreak_store::log::{
    Batch, Damage, DroppedQueues, LogError, MessageLog, MessageRecord, OpenedLog, Progress, Record,
    RecoveredQueue, Run, Runs, SEGMENT_SIZE, Target, Targets,
};
use hairstreak_transport::event_loop::Address;

use super::account::Account;
use super::disk_watch::DiskWatch;
use super::journal::Journal;
use super::paging::Paging;
use super::reached::{Awaited, Reached};
use super::waiting::{Waiter, Waiting};

/// The message log of a node.
pub struct Messages {
    log: Arc<MessageLog>,
    waiting: Arc<Waiting>,
    /// Batches that are not on disk count as memory.
    account: Arc<Account>,
    /// The last id that a queue was given.
    ids: Arc<AtomicU64>,
    /// The thread of the log is to be woken.
    is_wanted: AtomicBool,
    /// The messages of long queues that are on disk.
    pub(super) paging: Paging,
    disk: Arc<DiskWatch>,
}

impl Messages {
    /// Opens the log in a data directory. Each sync takes `sync_delay` longer. Messages of queues for which `is_known` returns
    /// false are forgotten. `last_id` is the largest id of a queue in the definitions. Returns also the queues that are in the log.
    /// Publishers wait by the alarm of `account` while the disk does not answer, fails, or has fewer free bytes than `free_limit`.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn open(
        directory: &DataDirectory,
        sync_delay: Duration,
        is_known: impl Fn(u64) -> bool,
        last_id: u64,
        (account, free_limit): (Arc<Account>, u64),
    ) -> Result<(Messages, Vec<RecoveredQueue>), LogError> {
        let waiting = Arc::new(Waiting::default());
        let disk = Arc::new(DiskWatch::new(Arc::clone(&account), free_limit));
        let (told, watch, memory) = (Arc::clone(&waiting), Arc::clone(&disk), Arc::clone(&account));
        let on_progress = Box::new(move |progress: &Progress| {
            memory.note(progress.freed_bytes, 0);
            watch.note_written(progress.failing.as_ref());
            watch.note_space(progress.is_short);
            told.note(Reached::of(progress));
        });
        let OpenedLog { log, epoch, queues, dropped, damages, missing_count } =
            MessageLog::open_in(directory, sync_delay, is_known, on_progress)?;
        log.set_free_limit(free_limit);
        disk.note_space(log.is_short());
        if free_limit < 2 * SEGMENT_SIZE {
            log::warn!(
                "disk_free_limit: {free_limit} bytes are less than two files of messages ({} bytes): the disk may be full before publishers wait",
                2 * SEGMENT_SIZE
            );
        }
        for Damage { file, offset, size, was_synced } in &damages {
            if *was_synced {
                log::error!(
                    "messages: {file} is damaged from byte {offset} on, {size} bytes; acknowledged messages may come again"
                );
            } else {
                log::info!(
                    "messages: {size} bytes of {file} from byte {offset} on were cut off before they were synced"
                );
            }
        }
        // The definitions lose a queue first, and a crash may keep its end from the log.
        if dropped.message_count > 0 {
            let DroppedQueues { queue_count, message_count } = dropped;
            log::info!("messages: {message_count} messages of {queue_count} deleted queues are dropped");
        }
        if missing_count > 0 {
            log::error!("messages: {missing_count} messages are lost with their files");
        }
        // Ids of this run are larger than all ids in the log and in the definitions. A log that was begun anew does not know the latter.
        let ids = Arc::new(AtomicU64::new((u64::from(epoch) << 32).max(last_id)));
        let recovered = queues.iter().map(|queue| (queue.id, queue.leased));
        let log = Arc::new(log);
        let logged = (Arc::clone(&log), Arc::clone(&waiting));
        let paging = Paging::create(directory, logged, recovered.collect(), Arc::clone(&account))?;
        Ok((Messages { log, waiting, account, ids, is_wanted: AtomicBool::new(false), paging, disk }, queues))
    }

    /// The source of queue ids.
    pub fn ids(&self) -> &Arc<AtomicU64> {
        &self.ids
    }

    /// A new id for a queue.
    pub fn next_id(&self) -> u64 {
        self.ids.fetch_add(1, Relaxed) + 1
    }

    /// Sets how connections are woken. Only the first call counts.
    pub fn set_wake(&self, wake: Box<dyn Fn(Address) + Send + Sync>) {
        self.waiting.set_wake(wake);
    }

    /// Hands the records of a turn to the log, and returns their position if there are any. The caller holds the lock of the host,
    /// and calls [`Messages::wake`] behind it. The position is not confirmed before the definitions that are under way in `journal`:
    /// they may have queues of these messages.
    #[inline]
    pub fn hand_over(
        &self,
        batch: &mut Batch,
        changes: &mut Vec<LogChange>,
        journal: &Journal,
    ) -> Option<u64> {
        if batch.is_empty() && changes.is_empty() { None } else { Some(self.append(batch, changes, journal)) }
    }

    fn append(&self, batch: &mut Batch, changes: &mut Vec<LogChange>, journal: &Journal) -> u64 {
        let mut batch = std::mem::take(batch);
        push_changes(changes, &mut batch);
        self.account.note(0, batch.size());
        let appended = match journal.pending() {
            None => self.log.append(batch),
            Some(definitions) => {
                let append = || self.log.append(batch);
                let (appended, is_new) = self.waiting.append_held(append, definitions);
                if is_new {
                    let waiting = Arc::clone(&self.waiting);
                    journal.after_changes(move || waiting.follow(|barriers| barriers.release(definitions)));
                }
                appended
            }
        };
        if appended.has_to_wake {
            self.is_wanted.store(true, Release);
        }
        appended.position
    }

    /// Wakes the threads of the logs if they have work. The caller holds no lock.
    #[inline]
    pub fn wake(&self) {
        if self.is_wanted.load(Relaxed) && self.is_wanted.swap(false, AcqRel) {
            self.log.wake();
        }
        self.paging.wake();
    }

    /// The last positions that may be confirmed: the definitions of their queues are on the medium.
    #[inline]
    pub fn reached(&self) -> Reached {
        self.waiting.reached()
    }

    /// Returns the faults of the disk, for operators.
    pub fn faults(&self) -> Vec<String> {
        self.disk.faults()
    }

    /// Returns how long the present operation of the log on the disk has taken. `None`: there is none.
    pub fn operation_time(&self) -> Option<Duration> {
        self.log.sync_time()
    }

    /// Returns the free bytes of the disk at the last look.
    pub fn free_bytes(&self) -> u64 {
        self.log.free_bytes()
    }

    /// Looks at the disk if a look is due. Returns the time of the next look. `now`: the node's milliseconds.
    pub fn look_at_disk(&self, now: u64) -> u64 {
        self.disk.look(now, || {
            self.log.look_at_space();
            (self.log.sync_time(), self.log.is_short())
        })
    }

    /// How far the log is.
    #[cfg(test)]
    pub(super) fn log_reached(&self) -> Reached {
        self.waiting.log_reached()
    }

    /// Waits for a position: `waiter` is served once it may be confirmed.
    pub fn wait(&self, awaited: Awaited, waiter: Waiter) {
        self.waiting.wait(awaited, waiter);
    }

    /// Sets the leases that count after an end in order: see [`MessageLog::end_leases`].
    pub fn end_leases(&self, leases: Vec<(u64, u64)>) {
        self.log.end_leases(leases);
    }

    /// Writes all records, and ends the log.
    ///
    /// # Errors
    ///
    /// The disk does not answer.
    pub fn close(&self) -> Result<(), LogError> {
        let closed = self.log.close();
        self.paging.close();
        closed
    }
}

/// Puts a message into a batch, which the log writes or syncs without delay.
pub(super) fn push_message(
    batch: &mut Batch,
    message: &Message<'_>,
    targets: &[LogTarget],
    moved: Option<LogRun>,
    (durability, now): (Durability, u64),
) {
    let targets: Vec<Target> = targets
        .iter()
        .map(|target| Target { queue: target.queue, sequence: target.sequence, ttl_ms: target.ttl_ms })
        .collect();
    batch.push(&Record::Message(MessageRecord {
        targets: Targets::List(&targets),
        is_persistent: message.attributes.is_persistent,
        priority: message.attributes.priority,
        time_ms: now,
        moved: moved.map(to_run),
        exchange: message.exchange,
        routing_key: message.routing_key,
        properties: message.properties,
        extensions: &[],
        body: message.body.as_bytes(),
    }));
    match durability {
        Durability::Memory => {}
        Durability::Written => batch.want_write(),
        Durability::Synced => batch.want_sync(),
    }
}

fn push_changes(changes: &mut Vec<LogChange>, batch: &mut Batch) {
    let mut runs = Vec::new();
    for change in changes.drain(..) {
        if let LogChange::Settled(run) = change {
            runs.push(to_run(run));
            continue;
        }
        push_runs(&mut runs, batch);
        match change {
            LogChange::Settled(_) => {}
            LogChange::Returned { queue, sequence, count } => {
                batch.push(&Record::Returned { queue, sequence, count: u64::from(count) });
            }
            LogChange::Dropped { queue, first, last } => batch.push(&Record::Dropped { queue, first, last }),
            LogChange::Leased { queue, through } => {
                batch.push(&Record::Leased { queue, through });
                // Deliveries wait for the lease.
                batch.want_sync();
            }
            LogChange::Forgotten { queue } => batch.push(&Record::Forgotten { queue }),
        }
    }
    push_runs(&mut runs, batch);
}

fn push_runs(runs: &mut Vec<Run>, batch: &mut Batch) {
    if !runs.is_empty() {
        batch.push(&Record::Settled(Runs::List(runs)));
        runs.clear();
    }
}

fn to_run(run: LogRun) -> Run {
    Run { queue: run.queue, first: run.first, count: run.count, body_size: run.body_size }
}
