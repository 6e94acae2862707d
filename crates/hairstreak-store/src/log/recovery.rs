//! Recovery: from the files of a log to its index.
//!
//! The last checkpoint has the index of all sealed segments; the groups of later segments are applied. Without a sound checkpoint,
//! all segments are read. Nothing is confirmed on the strength of the index alone: a reader checks each record again.

use std::collections::HashSet;
use std::io::{self, IoSlice};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use super::LogId;
use super::checkpoint::{self, CheckpointHead, ReadCheckpoint};
use super::error::LogError;
use super::footer::Footer;
use super::index::Index;
use super::layout::{
    BLOCK_SIZE, FIRST_GROUP, GROUP_HEADER_SIZE, GroupHeader, NoSegment, Seed, SegmentHeader, file_name,
    file_number,
};
use super::scan::{FoundGroup, scan};
use super::storage::{StorageBackend, StorageFile};
use super::writer::State;

/// Numbers of segments that are tried where a header is lost.
const GUESSED_COUNT: u64 = 1_024;

/// A part of a file whose records could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Name of the file.
    pub file: String,
    /// Offset of the damaged group.
    pub offset: u64,
    /// Number of bytes without a sound record.
    pub size: u64,
    /// True if the group was on the medium once. The end of a log that lost its power is damaged otherwise.
    pub was_synced: bool,
}

/// A log that was read.
#[derive(Debug)]
pub(super) struct Recovered {
    pub state: State,
    pub damages: Vec<Damage>,
    /// Messages in segments whose files are missing.
    pub missing_count: u64,
    /// The log was closed in order, or is new.
    pub was_closed: bool,
}

/// A file with a segment.
struct SegmentFile {
    number: u64,
    file_number: u64,
    file: Arc<dyn StorageFile>,
    header: SegmentHeader,
}

/// Reads the log in a directory. A directory without files is an empty log.
///
/// # Errors
///
/// The system's error; a file of another version, or of another log.
pub(super) fn recover(storage: Arc<dyn StorageBackend>, log: LogId) -> Result<Recovered, LogError> {
    let failed = |name: &str| {
        let file = storage.path(name);
        move |source| LogError::Io { file, source }
    };
    let ReadCheckpoint { head, mut index, damaged } =
        checkpoint::read(&*storage, &log).map_err(failed("checkpoint"))?;
    let mut files = Vec::new();
    let mut next_file = head.next_file;
    for name in storage.list().map_err(failed(""))? {
        let Some(file_number) = file_number(&name) else { continue };
        next_file = next_file.max(file_number + 1);
        let file = storage.open(&name).map_err(failed(&name))?;
        let header = match read_header(&*file, &log).map_err(failed(&name))? {
            Ok(header) => Some(header),
            Err(NoSegment::Damaged) => {
                let known = index.segment_of(file_number);
                guess_header(&*file, &log, known, head.next_segment).map_err(failed(&name))?
            }
            Err(NoSegment::Version(found)) => {
                return Err(LogError::Version { file: storage.path(&name), found });
            }
            Err(NoSegment::OtherLog) => return Err(LogError::OtherLog { file: storage.path(&name) }),
        };
        // The last checkpoint names the segment, or the segment is newer.
        let is_in_use = |header: &SegmentHeader| {
            header.number >= head.next_segment || index.file_of(header.number) == Some(file_number)
        };
        match header.filter(is_in_use) {
            Some(header) => files.push(SegmentFile { number: header.number, file_number, file, header }),
            // A dead segment, or a file that was never finished. Its state on the medium is unknown: it is not used again.
            None => storage.remove(&name).map_err(failed(&name))?,
        }
    }
    files.sort_unstable_by_key(|file| file.number);
    let numbers: HashSet<u64> = files.iter().map(|file| file.number).collect();
    let missing_count = index.drop_missing(|number| numbers.contains(&number));
    let mut reader = Reader {
        index: &mut index,
        last_group: head.group,
        synced: head.group,
        unsynced: Vec::new(),
        damages: Vec::new(),
    };
    for file in files.iter().filter(|file| file.number >= head.next_segment) {
        reader.read(file, &log).map_err(failed(&file_name(file.file_number)))?;
    }
    reader.secure().map_err(failed(""))?;
    let (last_group, mut damages) = reader.finish();
    // Acknowledgements that only the lost checkpoint had are lost with it.
    damages.extend(damaged.into_iter().map(|name| Damage {
        file: name.to_owned(),
        offset: 0,
        size: 0,
        was_synced: true,
    }));
    let epochs = files.iter().map(|file| file.header.epoch);
    let numbers = files.iter().map(|file| file.number + 1);
    let state = State {
        log,
        epoch: epochs.fold(head.epoch, u32::max) + 1,
        index: Arc::new(Mutex::new(index)),
        next_segment: numbers.fold(head.next_segment, u64::max).max(1),
        next_file,
        next_group: last_group + 1,
    };
    let is_new = head == CheckpointHead::default() && files.is_empty();
    let was_closed = head.is_closed && files.iter().all(|file| file.number < head.next_segment);
    Ok(Recovered { state, damages, missing_count, was_closed: was_closed || is_new })
}

/// Reads the header of a segment, which is there twice.
fn read_header(file: &dyn StorageFile, log: &LogId) -> io::Result<Result<SegmentHeader, NoSegment>> {
    if file.size()? < FIRST_GROUP {
        return Ok(Err(NoSegment::Damaged));
    }
    let mut block = [0; BLOCK_SIZE as usize];
    let mut header = Err(NoSegment::Damaged);
    for offset in [0, BLOCK_SIZE] {
        if header == Err(NoSegment::Damaged) {
            file.read_at(&mut block, offset)?;
            header = SegmentHeader::decode(&block, log);
        }
    }
    Ok(header)
}

/// Finds the number of a segment whose header is lost. `known`: the checkpoint has the number. Otherwise the first group has to
/// fit one of the numbers from `next` on.
fn guess_header(
    file: &dyn StorageFile,
    log: &LogId,
    known: Option<u64>,
    next: u64,
) -> io::Result<Option<SegmentHeader>> {
    let mut group = [0; GROUP_HEADER_SIZE];
    if file.size()? > FIRST_GROUP + BLOCK_SIZE {
        file.read_at(&mut group, FIRST_GROUP)?;
    }
    let header = |number, first_group, epoch| SegmentHeader { log: *log, number, first_group, epoch };
    let fitting = |number| {
        let group = GroupHeader::decode(&group, Seed::new(log, number))?;
        Some(header(number, group.sequence, group.epoch))
    };
    let known = known.map(|number| header(number, 0, 0));
    Ok(known.or_else(|| (next..next + GUESSED_COUNT).find_map(fitting)))
}

/// Applies the groups of segments to an index.
struct Reader<'a> {
    index: &'a mut Index,
    last_group: u64,
    /// The last group that was synced, as a later group says.
    synced: u64,
    /// Groups behind that one, with their files and places.
    unsynced: Vec<(u64, Arc<dyn StorageFile>, Range<u64>)>,
    /// Damages, each with the group that it has hit.
    damages: Vec<(Damage, u64)>,
}

impl Reader<'_> {
    fn read(&mut self, segment: &SegmentFile, log: &LogId) -> io::Result<()> {
        let size = segment.file.size()?;
        self.index.add_segment(segment.number, segment.file_number, size);
        let seed = Seed::new(log, segment.number);
        let mut bytes = vec![0; size as usize];
        segment.file.read_at(&mut bytes, 0)?;
        let end = scan(&bytes, seed, segment.header.first_group, |group| self.apply(segment, &group));
        let offsets = self.index.seal(segment.number);
        if !offsets.is_empty() {
            Footer::write(&*segment.file, seed, end, &offsets)?;
        }
        Ok(())
    }

    fn apply(&mut self, segment: &SegmentFile, group: &FoundGroup<'_>) {
        for (offset, record) in &group.records {
            self.index.apply(record, segment.number, *offset);
        }
        self.last_group = self.last_group.max(group.sequence);
        self.synced = self.synced.max(group.header.map_or(0, |header| header.synced));
        self.unsynced.retain(|(sequence, ..)| *sequence > self.synced);
        // The header of the segment is synced with the first group.
        let start = if group.offset == FIRST_GROUP { 0 } else { group.offset };
        self.unsynced.push((group.sequence, Arc::clone(&segment.file), start..group.end));
        if group.damaged_size == 0 {
            // The group was written again after a failed sync.
            self.damages.retain(|(_, sequence)| *sequence != group.sequence);
        } else {
            let file = file_name(segment.file_number);
            let (offset, size) = (group.offset, group.damaged_size);
            self.damages.push((Damage { file, offset, size, was_synced: false }, group.sequence));
        }
    }

    /// Writes the groups once more that may be in the page cache only: those of a process that was killed, and those whose sync
    /// failed, which the system takes for written. The next checkpoint relies on them.
    fn secure(&self) -> io::Result<()> {
        for (_, file, place) in &self.unsynced {
            let mut bytes = vec![0; (place.end - place.start) as usize];
            file.read_at(&mut bytes, place.start)?;
            file.write_at(&[IoSlice::new(&bytes)], place.start)?;
        }
        self.unsynced.iter().try_for_each(|(_, file, _)| file.sync())
    }

    /// Returns the last group, and the damages.
    fn finish(self) -> (u64, Vec<Damage>) {
        let synced = self.synced;
        let damages = self.damages.into_iter();
        let damages = damages.map(|(damage, group)| Damage { was_synced: group <= synced, ..damage });
        (self.last_group, damages.collect())
    }
}
