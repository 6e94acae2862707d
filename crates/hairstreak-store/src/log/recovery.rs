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
    BLOCK_SIZE, FIRST_GROUP, GroupHeader, NoSegment, Seed, SegmentHeader, file_name, file_number,
};
use super::record::{Record, Run};
use super::scan::{FoundGroup, scan};
use super::storage::{StorageBackend, StorageFile, read_sectors, read_whole};
use super::writer::State;

/// Suffix of a file that nothing sound was found in.
pub(super) const KEPT: &str = ".damaged";
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
    /// Groups that were synced are nowhere.
    pub has_lost_groups: bool,
    /// Records that were synced may be lost, and leases with them.
    pub are_leases_lost: bool,
    /// The log was closed in order, or is new.
    pub was_closed: bool,
}

/// A file with a segment.
#[derive(Clone, Debug)]
pub(super) struct SegmentFile {
    pub number: u64,
    pub file_number: u64,
    pub file: Arc<dyn StorageFile>,
    pub header: SegmentHeader,
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
    let FoundFiles { segments: files, unused, unreadable, next_file } =
        find_files(&*storage, &log, &head, &index)?;
    for name in unused {
        // The state of the file on the medium is unknown: it is not used again.
        storage.remove(&name).map_err(failed(&name))?;
    }
    let numbers: HashSet<u64> = files.iter().map(|file| file.number).collect();
    let missing_count = index.drop_missing(|number| numbers.contains(&number));
    let mut reader = Reader {
        index: &mut index,
        last_group: head.group,
        synced: head.group,
        unsynced: Vec::new(),
        damages: Vec::new(),
        doubt: None,
        gap: None,
    };
    for file in files.iter().filter(|file| file.number >= head.next_segment) {
        reader.read(file, &log).map_err(failed(&file_name(file.file_number)))?;
    }
    reader.secure().map_err(failed(""))?;
    let has_lost_groups = reader.has_lost_groups();
    let (last_group, mut damages) = reader.finish();
    for UnreadableFile { name: file, size, is_begun } in unreadable {
        if is_begun && !has_lost_groups {
            storage.remove(&file).map_err(failed(&file))?;
        } else {
            // The file stays under another name.
            storage.rename(&file, &format!("{file}{KEPT}")).map_err(failed(&file))?;
            damages.push(Damage { file, offset: 0, size, was_synced: false });
        }
    }
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
    // Damage from the first byte on is the loss of a file.
    let is_loss = |damage: &Damage| damage.was_synced || damage.offset == 0;
    let are_leases_lost = missing_count > 0 || has_lost_groups || damages.iter().any(is_loss);
    let was_closed = was_closed || is_new;
    Ok(Recovered { state, damages, missing_count, has_lost_groups, are_leases_lost, was_closed })
}

/// The files of a log.
#[derive(Debug)]
pub(super) struct FoundFiles {
    /// Segments that the last checkpoint names, and later ones, by number.
    pub segments: Vec<SegmentFile>,
    /// Names of files without such a segment: dead segments, and files that were never finished.
    pub unused: Vec<String>,
    /// Files in which nothing is sound.
    pub unreadable: Vec<UnreadableFile>,
    /// Number of the next file.
    pub next_file: u64,
}

/// A file in which nothing is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnreadableFile {
    pub name: String,
    pub size: u64,
    /// The sectors of both headers are zeros, as before the first group. The headers are synced with that group: the node died, or
    /// the power was lost, before the file had anything that was promised.
    pub is_begun: bool,
}

/// Finds the files of a log. Nothing is changed.
///
/// # Errors
///
/// The system's error; a file of another version, or of another log.
pub(super) fn find_files(
    storage: &dyn StorageBackend,
    log: &LogId,
    head: &CheckpointHead,
    index: &Index,
) -> Result<FoundFiles, LogError> {
    let failed = |name: &str| {
        let file = storage.path(name);
        move |source| LogError::Io { file, source }
    };
    let (mut segments, mut unused, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    let mut next_file = head.next_file;
    for name in storage.list().map_err(failed(""))? {
        let Some(file_number) = file_number(&name) else { continue };
        next_file = next_file.max(file_number + 1);
        let file = storage.open(&name).map_err(failed(&name))?;
        let header = match read_header(&*file, log).map_err(failed(&name))? {
            Ok(header) => Some(header),
            Err(NoSegment::Damaged) => {
                let bytes = read_whole(&*file).map_err(failed(&name))?;
                let known = index.segment_of(file_number);
                let header = guess_header(&bytes, log, known, head.next_segment);
                if header.is_none() && bytes.iter().any(|byte| *byte != 0) {
                    // Without a checkpoint the numbers that were tried may be wrong.
                    let is_begun = *head != CheckpointHead::default() && has_no_header(&*file);
                    unreadable.push(UnreadableFile { name, size: bytes.len() as u64, is_begun });
                    continue;
                }
                header
            }
            Err(NoSegment::Version(found)) => {
                return Err(LogError::Version { file: storage.path(&name), found });
            }
            Err(NoSegment::Features(found)) => {
                return Err(LogError::Features { file: storage.path(&name), found });
            }
            Err(NoSegment::OtherLog) => return Err(LogError::OtherLog { file: storage.path(&name) }),
        };
        let is_in_use = |header: &SegmentHeader| {
            header.number >= head.next_segment || index.file_of(header.number) == Some(file_number)
        };
        match header.filter(is_in_use) {
            Some(header) => segments.push(SegmentFile { number: header.number, file_number, file, header }),
            None => unused.push(name),
        }
    }
    segments.sort_unstable_by_key(|file| file.number);
    Ok(FoundFiles { segments, unused, unreadable, next_file })
}

/// Reads the header of a segment, which is there twice.
fn read_header(file: &dyn StorageFile, log: &LogId) -> io::Result<Result<SegmentHeader, NoSegment>> {
    if file.size()? < FIRST_GROUP {
        return Ok(Err(NoSegment::Damaged));
    }
    let mut block = [0; BLOCK_SIZE as usize];
    let mut header = Err(NoSegment::Damaged);
    for offset in [0, BLOCK_SIZE] {
        // A block that cannot be read is damaged.
        if header == Err(NoSegment::Damaged) && file.read_at(&mut block, offset).is_ok() {
            header = SegmentHeader::decode(&block, log);
        }
    }
    Ok(header)
}

/// Returns true if the sectors of both headers can be read, and are zeros.
fn has_no_header(file: &dyn StorageFile) -> bool {
    let mut blocks = [0; FIRST_GROUP as usize];
    file.read_at(&mut blocks, 0).is_ok() && blocks.iter().all(|byte| *byte == 0)
}

/// Finds the number of a segment whose header is lost. `known`: the checkpoint has the number. Otherwise a group has to fit one
/// of the numbers from `next` on.
fn guess_header(bytes: &[u8], log: &LogId, known: Option<u64>, next: u64) -> Option<SegmentHeader> {
    let header = |number, first_group, epoch| SegmentHeader { log: *log, number, first_group, epoch };
    if let Some(number) = known {
        return Some(header(number, 0, 0));
    }
    let blocks = bytes.chunks(BLOCK_SIZE as usize).enumerate();
    let mut blocks = blocks.filter(|(_, block)| GroupHeader::may_begin(block)).take(GUESSED_COUNT as usize);
    let numbers = || next..next.saturating_add(GUESSED_COUNT);
    let fitting = |block: &[u8], number| Some((number, GroupHeader::decode(block, Seed::new(log, number))?));
    let (place, (number, group)) = blocks
        .find_map(|(place, block)| Some((place, numbers().find_map(|number| fitting(block, number))?)))?;
    // The groups before the first sound one are lost with the header.
    let lost_count = u64::from(place as u64 * BLOCK_SIZE > FIRST_GROUP);
    Some(header(number, group.sequence.saturating_sub(lost_count), group.epoch))
}

/// Applies the groups of segments to an index.
struct Reader<'a> {
    index: &'a mut Index,
    last_group: u64,
    /// The last group that was synced, as a later group says.
    synced: u64,
    /// Groups behind that one.
    unsynced: Vec<UnsyncedGroup>,
    /// Damages, each with the group that it has hit.
    damages: Vec<(Damage, u64)>,
    /// There is a damaged group that no later group says was synced.
    doubt: Option<Doubt>,
    /// The first group that is missing in front of another one.
    gap: Option<u64>,
}

/// A group that may be in the page cache only.
#[derive(Debug)]
struct UnsyncedGroup {
    sequence: u64,
    file: Arc<dyn StorageFile>,
    place: Range<u64>,
    /// The header of the segment, which is synced with the first group.
    header: Option<SegmentHeader>,
}

/// The end of a log behind a damaged or missing group that was perhaps never synced. A message that leaves its queue there may be a
/// dead letter, and its new record may be in the damaged group.
#[derive(Debug)]
struct Doubt {
    /// The damaged group.
    group: u64,
    /// Records by which messages leave their queues.
    departures: Vec<Departure>,
}

/// Messages that leave their queue.
#[derive(Debug)]
struct Departure {
    queue: u64,
    first: u64,
    last: u64,
    body_size: Option<u64>,
}

impl Departure {
    /// Returns the departures of a record. A message that carries its departure from another queue is no such record.
    fn all(record: &Record<'_>) -> Vec<Departure> {
        match record {
            Record::Settled(runs) => {
                let runs = runs.iter().filter(|run| run.count > 0);
                let departure = |run: Run| Departure {
                    queue: run.queue,
                    first: run.first,
                    last: run.first.saturating_add(run.count - 1),
                    body_size: Some(run.body_size),
                };
                runs.map(departure).collect()
            }
            Record::Dropped { queue, first, last } => {
                vec![Departure { queue: *queue, first: *first, last: *last, body_size: None }]
            }
            _ => Vec::new(),
        }
    }
}

impl Reader<'_> {
    fn read(&mut self, segment: &SegmentFile, log: &LogId) -> io::Result<()> {
        let size = segment.file.size()?;
        self.index.add_segment(segment.number, segment.file_number, size);
        let seed = Seed::new(log, segment.number);
        let bytes = read_whole(&*segment.file)?;
        let end = scan(&bytes, seed, segment.header.first_group, |group| self.apply(segment, &group))?;
        let offsets = self.index.seal(segment.number);
        if !offsets.is_empty() {
            // The disk may be full. A lost footer is made again.
            let _ = Footer::write(&*segment.file, seed, end, &offsets);
        }
        Ok(())
    }

    fn apply(&mut self, segment: &SegmentFile, group: &FoundGroup<'_>) {
        self.synced = self.synced.max(group.header.map_or(0, |header| header.synced));
        self.note_doubt(group);
        for (offset, record) in &group.records {
            match (&mut self.doubt, record) {
                (Some(doubt), Record::Settled(_) | Record::Dropped { .. }) => {
                    doubt.departures.extend(Departure::all(record));
                }
                _ => self.index.apply(record, segment.number, *offset),
            }
        }
        self.last_group = self.last_group.max(group.sequence);
        self.unsynced.retain(|unsynced| unsynced.sequence > self.synced);
        self.unsynced.push(UnsyncedGroup {
            sequence: group.sequence,
            file: Arc::clone(&segment.file),
            place: group.offset..group.end,
            header: (group.offset == FIRST_GROUP).then_some(segment.header),
        });
        if group.damaged_size == 0 {
            // The group was written again after a failed sync.
            self.damages.retain(|(_, sequence)| *sequence != group.sequence);
        } else {
            let file = file_name(segment.file_number);
            let (offset, size) = (group.offset, group.damaged_size);
            self.damages.push((Damage { file, offset, size, was_synced: false }, group.sequence));
        }
    }

    /// Begins or ends the doubt at a group. Departures that are still in doubt at the end of the log do not count: the messages
    /// come again.
    fn note_doubt(&mut self, group: &FoundGroup<'_>) {
        if let Some(doubt) = self.doubt.take_if(|doubt| doubt.group <= self.synced) {
            for Departure { queue, first, last, body_size } in doubt.departures {
                self.index.settle(queue, first, last, body_size);
            }
        }
        // The groups were written again after a failed sync, and so are their departures.
        self.doubt.take_if(|doubt| group.sequence <= doubt.group);
        self.gap.take_if(|gap| group.sequence <= *gap);
        if self.last_group + 1 < group.sequence {
            self.gap.get_or_insert(self.last_group + 1);
        }
        let missing = self.last_group.max(self.synced) + 1;
        let is_bad = missing < group.sequence || group.damaged_size > 0;
        let first_bad = missing.min(group.sequence);
        if is_bad && first_bad > self.synced {
            self.doubt.get_or_insert(Doubt { group: first_bad, departures: Vec::new() });
        }
    }

    /// Writes the groups once more that may be in the page cache only: those of a process that was killed, and those whose sync
    /// failed, which the system takes for written. The next checkpoint relies on them.
    fn secure(&self) -> io::Result<()> {
        for (index, UnsyncedGroup { file, place, header, .. }) in self.unsynced.iter().enumerate() {
            if let Some(header) = header {
                // A header that was guessed is found at once from now on.
                let block = header.encode();
                file.write_at(&[IoSlice::new(&block), IoSlice::new(&block)], 0)?;
            }
            let mut bytes = vec![0; (place.end - place.start) as usize];
            // Writing may repair an unreadable sector.
            if read_sectors(&**file, &mut bytes, place.start).is_ok() {
                file.write_at(&[IoSlice::new(&bytes)], place.start)?;
            }
            let is_last = self.unsynced.get(index + 1).is_none_or(|next| !Arc::ptr_eq(file, &next.file));
            if is_last {
                file.sync()?;
            }
        }
        Ok(())
    }

    /// Returns true if groups are missing that were synced, as a later group says.
    fn has_lost_groups(&self) -> bool {
        self.synced > self.last_group || self.gap.is_some_and(|gap| gap <= self.synced)
    }

    /// Returns the last group, and the damages.
    fn finish(self) -> (u64, Vec<Damage>) {
        let synced = self.synced;
        let damages = self.damages.into_iter();
        let damages = damages.map(|(damage, group)| Damage { was_synced: group <= synced, ..damage });
        (self.last_group, damages.collect())
    }
}
