//! `StoredLog`: a log that tools read while no node uses it. No file of the log changes.
//!
//! The log is recovered as at a start of the node. [`StoredLog::visit`] shows the records. Two functions read the log as well: `check` verifies all
//! bytes, and `salvage` copies all messages that are live and sound.

use std::ops::ControlFlow;
use std::sync::{Arc, MutexGuard, PoisonError};

use super::LogId;
use super::checkpoint::{self, ReadCheckpoint};
use super::error::LogError;
use super::index::{Index, RecoveredQueue};
use super::layout::{Seed, file_name};
use super::message_log::folder;
use super::read_only::ReadOnly;
use super::record::Record;
use super::recovery::{FoundFiles, Recovered, SegmentFile, find_files, recover};
use super::scan::{FoundGroup, scan};
use super::storage::{Directory, StorageBackend, read_whole};
use crate::directory::DirectoryReader;

/// A log that is read, and not changed.
#[derive(Debug)]
pub struct StoredLog {
    pub(super) storage: Arc<dyn StorageBackend>,
    pub(super) log: LogId,
    /// The last sound checkpoint.
    pub(super) checkpoint: ReadCheckpoint,
    pub(super) files: FoundFiles,
    /// The log as a start finds it.
    pub(super) recovered: Recovered,
}

/// The place of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordPlace {
    /// Number of the segment.
    pub segment: u64,
    /// Name of its file.
    pub file: String,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes of the record.
    pub size: u64,
    /// Sequence of the group.
    pub group: u64,
}

impl StoredLog {
    /// Opens the log of a data directory. A directory that never had a log has an empty one.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn open(directory: &DirectoryReader) -> Result<StoredLog, LogError> {
        let folder = folder(directory.path(), directory.has_messages())?;
        StoredLog::open_on(Arc::new(Directory::read_only(&folder)), *directory.node_id().as_bytes())
    }

    pub(super) fn open_on(storage: Arc<dyn StorageBackend>, log: LogId) -> Result<StoredLog, LogError> {
        let storage: Arc<dyn StorageBackend> = Arc::new(ReadOnly(storage));
        let checkpoint = checkpoint::read(&*storage, &log)
            .map_err(|source| LogError::Io { file: storage.path(checkpoint::NAME), source })?;
        let files = find_files(&*storage, &log, &checkpoint.head, &checkpoint.index)?;
        let recovered = recover(Arc::clone(&storage), log)?;
        Ok(StoredLog { storage, log, checkpoint, files, recovered })
    }

    /// Returns the queues that have messages, or had some, by id.
    pub fn queues(&self) -> Vec<RecoveredQueue> {
        let mut queues = self.index().recovered();
        queues.sort_unstable_by_key(|queue| queue.id);
        queues
    }

    /// Passes all sound records to `take`, in their order, until `take` breaks.
    ///
    /// # Errors
    ///
    /// See [`LogError`].
    pub fn visit<B>(
        &self,
        mut take: impl FnMut(&RecordPlace, &Record<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, LogError> {
        for segment in &self.files.segments {
            let bytes = self.read(segment)?;
            let mut flow = ControlFlow::Continue(());
            let file = file_name(segment.file_number);
            self.scan(segment, &bytes, |group| {
                for (offset, record) in &group.records {
                    let size = Record::size_at(&bytes[*offset as usize..]).unwrap_or_default() as u64;
                    let (segment, offset) = (segment.number, u64::from(*offset));
                    let place =
                        RecordPlace { segment, file: file.clone(), offset, size, group: group.sequence };
                    if flow.is_continue() {
                        flow = take(&place, record);
                    }
                }
            })?;
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    pub(super) fn index(&self) -> MutexGuard<'_, Index> {
        self.recovered.state.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn seed(&self, segment: &SegmentFile) -> Seed {
        Seed::new(&self.log, segment.number)
    }

    /// Passes the groups of a segment to `take`. See [`scan`].
    pub(super) fn scan<'a>(
        &self,
        segment: &SegmentFile,
        bytes: &'a [u8],
        take: impl FnMut(FoundGroup<'a>),
    ) -> Result<u64, LogError> {
        let file = || self.storage.path(&file_name(segment.file_number));
        let end = scan(bytes, self.seed(segment), segment.header.first_group, take);
        end.map_err(|source| LogError::Io { file: file(), source })
    }

    /// Reads the file of a segment. Unreadable sectors become zeros.
    pub(super) fn read(&self, segment: &SegmentFile) -> Result<Vec<u8>, LogError> {
        let file = self.storage.path(&file_name(segment.file_number));
        read_whole(&*segment.file).map_err(|source| LogError::Io { file, source })
    }
}
