//! `Messages`: the message log of a node, and the connections that wait for it.
//!
//! ```text
//!   turn of a host: records --> hand_over, under the host's lock --> thread of the log: group, sync
//!   connections that wait for the position <-- wake <-- progress <---------------'
//! ```

use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use hairstreak_broker::message::Message;
use hairstreak_broker::vhost::{LogChange, LogRun, LogTarget};
use hairstreak_store::DataDirectory;
use hairstreak_store::log::{
    Batch, Damage, LogError, MessageLog, MessageRecord, OpenedLog, Progress, Record, RecoveredQueue, Run,
    Runs, Target, Targets,
};
use hairstreak_transport::event_loop::Address;

use super::paging::Paging;
use super::waiting::{Waiter, Waiting};

/// The message log of a node.
pub struct Messages {
    log: Arc<MessageLog>,
    waiting: Arc<Waiting>,
    /// The last id that a queue was given.
    ids: Arc<AtomicU64>,
    /// The thread of the log is to be woken.
    is_wanted: AtomicBool,
    /// The messages of long queues that are on disk.
    pub(super) paging: Paging,
}

impl Messages {
    /// Opens the log in a data directory. Messages of queues for which `is_known` returns false are forgotten. Returns
    /// also the queues that are in the log.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn open(
        directory: &DataDirectory,
        is_known: impl Fn(u64) -> bool,
    ) -> Result<(Messages, Vec<RecoveredQueue>), LogError> {
        let waiting = Arc::new(Waiting::new("messages cannot be written, and are not confirmed"));
        let told = Arc::clone(&waiting);
        let on_progress = Box::new(move |progress: &Progress| told.note(progress));
        let OpenedLog { log, epoch, queues, damages, missing_count, was_closed } =
            MessageLog::open_in(directory, is_known, on_progress)?;
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
        if missing_count > 0 {
            log::error!("messages: {missing_count} messages are lost with their files");
        }
        // Ids of this run are larger than all ids in the log and in the definitions.
        let ids = Arc::new(AtomicU64::new(u64::from(epoch) << 32));
        let recovered = queues.iter().filter(|_| !was_closed).map(|queue| (queue.id, queue.last_sequence));
        let log = Arc::new(log);
        let logged = (Arc::clone(&log), Arc::clone(&waiting));
        let paging = Paging::create(directory, logged, recovered.collect())?;
        Ok((Messages { log, waiting, ids, is_wanted: AtomicBool::new(false), paging }, queues))
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
    /// and calls [`Messages::wake`] behind it.
    #[inline]
    pub fn hand_over(&self, batch: &mut Batch, changes: &mut Vec<LogChange>) -> Option<u64> {
        if batch.is_empty() && changes.is_empty() { None } else { Some(self.append(batch, changes)) }
    }

    fn append(&self, batch: &mut Batch, changes: &mut Vec<LogChange>) -> u64 {
        let mut batch = std::mem::take(batch);
        push_changes(changes, &mut batch);
        let appended = self.log.append(batch);
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

    /// The last position that is on the medium.
    #[inline]
    pub fn synced(&self) -> u64 {
        self.waiting.synced()
    }

    /// Returns true if nothing can be written at present.
    pub fn is_failing(&self) -> bool {
        self.waiting.is_failing()
    }

    /// Waits for a position: `waiter` is served once it is on the medium.
    pub fn wait(&self, position: u64, waiter: Waiter) {
        self.waiting.wait(position, waiter);
    }

    /// Writes all records, and ends the log.
    pub fn close(&self) {
        self.log.close();
        self.paging.close();
    }
}

/// Puts a message into a batch, which the log syncs without delay.
pub(super) fn push_message(
    batch: &mut Batch,
    message: &Message<'_>,
    targets: &[LogTarget],
    moved: Option<LogRun>,
    now: u64,
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
    batch.want_sync();
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
