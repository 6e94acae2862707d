//! `salvage`: copies the live and sound messages of a log to a new data directory.
//!
//! The new log has an id of its own, and thus other checksums. It keeps the ids of queues, the sequences, the returns and the settlements: a
//! settled message is not copied. Its run of the node follows the runs of the old log, so that a new queue gets no id of an old one.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use thiserror::Error;

use super::LogId;
use super::error::LogError;
use super::index::Index;
use super::message_log::{FOLDER, UNSYNCED_BYTES_MAX};
use super::record::{Batch, MessageRecord, Record, Target, Targets};
use super::storage::{Directory, StorageBackend};
use super::stored_log::StoredLog;
use super::writer::{SegmentSizes, State, Writer};
use crate::directory::{DataDirectoryError, DirectoryCopy, DirectoryReader};

/// Bytes of a group. The record that reaches them is the last one.
const GROUP_BYTES: usize = 1 << 20;

/// Messages of a salvage. A message in several queues counts for each of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Copied messages.
    pub copied_count: u64,
    /// Live messages whose records are damaged.
    pub damaged_count: u64,
    /// Live messages whose files are missing.
    pub missing_count: u64,
    /// Messages of queues that are not known.
    pub unknown_count: u64,
}

/// A salvage fails.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SalvageError {
    /// The new directory cannot be made.
    #[error(transparent)]
    Directory(#[from] DataDirectoryError),
    /// The log cannot be read, or the new one cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// Makes a new data directory at `new`, which is missing or empty, with the definitions and all messages that are live and sound. Messages
/// of queues for which `is_known` returns false are left out.
///
/// # Errors
///
/// See [`SalvageError`]. A node refuses a directory that is not complete.
pub fn salvage(
    log: &StoredLog,
    directory: &DirectoryReader,
    new: &Path,
    is_known: impl Fn(u64) -> bool,
) -> Result<Salvaged, SalvageError> {
    let copy = DirectoryCopy::begin(directory, new)?;
    let folder = copy.path().join(FOLDER);
    let storage = Directory::open(&folder).map_err(|source| LogError::Io { file: folder.clone(), source })?;
    let id = *copy.node_id().as_bytes();
    let salvaged = copy_messages(log, Arc::new(storage), id, is_known, SegmentSizes::default())?;
    copy.finish()?;
    Ok(salvaged)
}

/// Writes the messages to a new log with the id `new` in an empty directory.
pub(super) fn copy_messages(
    log: &StoredLog,
    storage: Arc<dyn StorageBackend>,
    new: LogId,
    is_known: impl Fn(u64) -> bool,
    sizes: SegmentSizes,
) -> Result<Salvaged, LogError> {
    let file = storage.path("");
    let failed = |source| LogError::Io { file: file.clone(), source };
    let state = State {
        log: new,
        epoch: log.recovered.state.epoch,
        index: Arc::new(Mutex::new(Index::default())),
        next_segment: 1,
        next_file: 1,
        next_group: 1,
    };
    let mut copier = Copier {
        writer: Writer::new(storage, state, sizes),
        batch: Batch::default(),
        last_sequences: BTreeMap::new(),
    };
    let mut salvaged = Salvaged { missing_count: log.recovered.missing_count, ..Salvaged::default() };
    for segment in &log.files.segments {
        let live = log.index().live_in(segment.number);
        let (known, unknown): (Vec<_>, Vec<_>) = live.into_iter().partition(|(queue, _)| is_known(*queue));
        salvaged.unknown_count += unknown.iter().map(|(_, sequences)| sequences.len() as u64).sum::<u64>();
        let places = known
            .into_iter()
            .flat_map(|(queue, sequences)| sequences.into_iter().map(move |sequence| (queue, sequence)));
        let mut live: HashSet<(u64, u64)> = places.collect();
        if live.is_empty() {
            continue;
        }
        let live_count = live.len() as u64;
        let (bytes, mut copied) = (log.read(segment)?, Ok(()));
        log.scan(segment, &bytes, |group| {
            for (_, record) in &group.records {
                if let (Record::Message(message), Ok(())) = (record, &copied) {
                    copied = copier.copy(message, &mut live);
                }
            }
        })?;
        copied.map_err(failed)?;
        salvaged.damaged_count += live.len() as u64;
        salvaged.copied_count += live_count - live.len() as u64;
    }
    copier.copy_progress(log).map_err(failed)?;
    let was_closed = log.recovered.was_closed && log.recovered.damages.is_empty();
    let writer = &mut copier.writer;
    if was_closed { writer.finish(&[]) } else { writer.close() }.map_err(failed)?;
    Ok(salvaged)
}

/// Copies messages to a new log.
struct Copier {
    writer: Writer,
    batch: Batch,
    /// Last copied sequence of each queue.
    last_sequences: BTreeMap<u64, u64>,
}

impl Copier {
    /// Copies a message to those of its queues in which the message is live, and removes the message from `live`.
    fn copy(&mut self, message: &MessageRecord<'_>, live: &mut HashSet<(u64, u64)>) -> io::Result<()> {
        let mut targets: Vec<Target> = message.targets.iter().collect();
        targets.retain(|target| live.remove(&(target.queue, target.sequence)));
        if targets.is_empty() {
            return Ok(());
        }
        for target in &targets {
            let last = self.last_sequences.entry(target.queue).or_default();
            *last = target.sequence.max(*last);
        }
        let targets = Targets::List(&targets);
        self.batch.push(&Record::Message(MessageRecord { targets, moved: None, ..*message }));
        if self.batch.size() >= GROUP_BYTES { self.flush() } else { Ok(()) }
    }

    /// Copies the returns of all copied messages, and the marks of deliveries.
    fn copy_progress(&mut self, log: &StoredLog) -> io::Result<()> {
        for queue in log.queues() {
            let Some(last) = self.last_sequences.get(&queue.id) else { continue };
            // Leases may be lost. A later message may get a sequence that was lost, and was not delivered.
            let through = if log.recovered.are_leases_lost { *last } else { queue.leased.min(*last) };
            if through > 0 {
                self.batch.push(&Record::Leased { queue: queue.id, through });
            }
            for (sequence, count) in queue.returns {
                self.batch.push(&Record::Returned { queue: queue.id, sequence, count });
            }
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.writer.write(vec![batch])?;
        }
        if self.writer.unsynced_size() > UNSYNCED_BYTES_MAX { self.writer.sync() } else { Ok(()) }
    }
}
