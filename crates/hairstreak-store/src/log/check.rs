//! `check`: verifies all bytes of a log, and tells the cost of each damaged place.
//!
//! | place | its cost is known from |
//! |---|---|
//! | a segment that the last checkpoint names | the index: messages that are live, and have no sound record |
//! | a later segment | nothing: the records of a damaged place are counted by no one |
//!
//! The last groups of a run of the node may be torn: the node died before their sync. A damaged group counts as damage if it was synced,
//! as another group of its run or the checkpoint says, or if a live message is lost with it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::checkpoint::{self, CheckpointHead};
use super::error::LogError;
use super::footer::{Footer, TRAILER_SIZE};
use super::index::RecoveredQueue;
use super::layout::{BLOCK_SIZE, FIRST_GROUP, GROUP_HEADER_SIZE, SegmentHeader, file_name};
use super::record::Record;
use super::recovery::{KEPT, SegmentFile};
use super::scan::FoundGroup;
use super::stored_log::StoredLog;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogReport {
    /// Segments.
    pub segment_count: u64,
    /// Files that wait for later segments.
    pub spare_count: u64,
    /// Bytes of all these files.
    pub file_bytes: u64,
    /// Groups.
    pub group_count: u64,
    /// Sound records, by kind.
    pub record_counts: BTreeMap<&'static str, u64>,
    /// Queues that have messages, or had some, by id.
    pub queues: Vec<RecoveredQueue>,
    /// The log was closed in order, or is new.
    pub was_closed: bool,
    /// Damaged places, and others that are worth a line.
    pub findings: Vec<Finding>,
}

/// A place that is not as the log wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the file.
    pub file: String,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes of the place.
    pub size: u64,
    /// The part of the log.
    pub part: Part,
    /// Live messages that are lost, by queue.
    pub lost: BTreeMap<u64, u64>,
}

/// A part of the log that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The last checkpoint.
    Checkpoint,
    /// The checkpoint before the last one.
    FormerCheckpoint,
    /// A file that is missing.
    MissingFile,
    /// A file that is missing, where the last checkpoint is damaged: the log may have freed the file.
    FreeFile,
    /// The end of a file that is too short.
    MissingEnd,
    /// A file without anything sound.
    UnreadableFile,
    /// Groups between two segments.
    MissingGroups,
    /// The header of a segment.
    SegmentHeader,
    /// The header of a group.
    GroupHeader,
    /// Records in front of the last checkpoint.
    Records,
    /// Records behind the last checkpoint.
    LaterRecords,
    /// Bytes that have to be zeros.
    Zeros,
    /// The footer of a segment.
    Footer,
    /// Groups that a node did not sync before it died. No damage.
    CutOff,
    /// A file that an earlier start has set aside. No damage.
    SetAside,
}

impl Part {
    /// Returns true if a sound log has no such place.
    pub fn is_damage(self) -> bool {
        !matches!(self, Part::CutOff | Part::SetAside)
    }

    /// Returns the part in words.
    pub fn describe(self) -> &'static str {
        match self {
            Part::Checkpoint => "the checkpoint is damaged or missing",
            Part::FormerCheckpoint => "the former checkpoint is damaged",
            Part::MissingFile => "the file is missing",
            Part::FreeFile => {
                "the file is missing, and only the damaged checkpoint knows whether it was free"
            }
            Part::MissingEnd => "the end of the file is missing",
            Part::UnreadableFile => "nothing in the file is sound",
            Part::MissingGroups => "groups before this segment are missing",
            Part::SegmentHeader => "a header of the segment is damaged",
            Part::GroupHeader => "the header of a group is damaged",
            Part::Records | Part::LaterRecords => "records are damaged",
            Part::Zeros => "unused bytes have changed",
            Part::Footer => "the footer is damaged",
            Part::CutOff => "the node died before it synced this group",
            Part::SetAside => "an earlier start has set the file aside",
        }
    }

    /// Returns the cost in words, apart from the live messages that are lost.
    pub fn cost(self) -> &'static str {
        match self {
            Part::Checkpoint => "settlements that only this file has: their messages are delivered again",
            Part::FormerCheckpoint | Part::SegmentHeader | Part::GroupHeader | Part::Zeros | Part::Footer => {
                "nothing: the rest of the log has the same content"
            }
            Part::MissingFile | Part::FreeFile | Part::MissingEnd | Part::Records => {
                "nothing: no live message was there"
            }
            Part::UnreadableFile | Part::MissingGroups | Part::LaterRecords => {
                "an unknown number of messages, and settlements: their messages are delivered again"
            }
            Part::CutOff => "nothing that was confirmed",
            Part::SetAside => "nothing in addition to the losses of that start",
        }
    }
}

/// Verifies all checkpoints, headers, groups, records and footers of a log.
///
/// # Errors
///
/// See [`LogError`].
pub fn check(log: &StoredLog) -> Result<LogReport, LogError> {
    let head = log.checkpoint.head;
    let mut checker = Checker {
        log,
        report: LogReport {
            queues: log.queues(),
            was_closed: log.recovered.was_closed,
            ..LogReport::default()
        },
        // All groups of the checkpoint that are of its own run are synced.
        synced: BTreeMap::from([(head.epoch, head.group)]),
        unsure: Vec::new(),
        last_group: head.group,
    };
    checker.check_checkpoints()?;
    checker.check_files()?;
    for segment in &log.files.segments {
        checker.check_segment(segment)?;
    }
    Ok(checker.finish())
}

struct Checker<'a> {
    log: &'a StoredLog,
    report: LogReport,
    /// The last group of each run that is known to be synced.
    synced: BTreeMap<u32, u64>,
    /// Findings in groups that may not have been synced: the place among the findings, the run and the group.
    unsure: Vec<(usize, u32, u64)>,
    /// The last group that was found behind the checkpoint.
    last_group: u64,
}

impl Checker<'_> {
    fn found(&mut self, file: &str, part: Part, place: Range<u64>) -> &mut Finding {
        let findings = &mut self.report.findings;
        let (offset, size) = (place.start, place.end.saturating_sub(place.start));
        findings.push(Finding { file: file.to_owned(), offset, size, part, lost: BTreeMap::new() });
        // INVARIANT: the list has the finding that was pushed.
        findings.last_mut().expect("a finding was pushed")
    }

    fn check_checkpoints(&mut self) -> Result<(), LogError> {
        let log = self.log;
        let failed = |source| LogError::Io { file: log.storage.path(checkpoint::NAME), source };
        let all = checkpoint::all(&*log.storage, &log.log).map_err(failed)?;
        let mut has_sound = false;
        for (name, size, is_sound) in &all {
            let part = if has_sound { Part::FormerCheckpoint } else { Part::Checkpoint };
            if !is_sound {
                self.found(name, part, 0..*size);
            }
            has_sound |= *is_sound;
        }
        if all.is_empty() && !log.files.segments.is_empty() {
            self.found(checkpoint::NAME, Part::Checkpoint, 0..0);
        }
        Ok(())
    }

    /// Looks for files that are missing, unreadable or set aside, and counts the others.
    fn check_files(&mut self) -> Result<(), LogError> {
        let log = self.log;
        let numbers: HashSet<u64> = log.files.segments.iter().map(|segment| segment.number).collect();
        let missing = log.checkpoint.index.segments().filter(|(number, ..)| !numbers.contains(number));
        for (number, file, size) in missing {
            let is_last = log.checkpoint.damaged.is_empty();
            let part = if is_last { Part::MissingFile } else { Part::FreeFile };
            let finding = self.found(&file_name(file), part, 0..size);
            for (queue, sequences) in log.checkpoint.index.live_in(number) {
                *finding.lost.entry(queue).or_default() += sequences.len() as u64;
            }
        }
        for file in &log.files.unreadable {
            let is_cut_off = file.is_begun && !log.recovered.has_lost_groups;
            let part = if is_cut_off { Part::CutOff } else { Part::UnreadableFile };
            self.found(&file.name, part, 0..file.size);
        }
        let failed = |source| LogError::Io { file: log.storage.path(""), source };
        let size_of = |name: &str| log.storage.open(name).and_then(|file| file.size()).map_err(failed);
        for name in log.storage.list().map_err(failed)?.iter().filter(|name| name.ends_with(KEPT)) {
            self.found(name, Part::SetAside, 0..size_of(name)?);
        }
        for name in &log.files.unused {
            self.report.spare_count += 1;
            self.report.file_bytes += size_of(name)?;
        }
        Ok(())
    }

    fn check_segment(&mut self, segment: &SegmentFile) -> Result<(), LogError> {
        let log = self.log;
        let (name, bytes) = (file_name(segment.file_number), log.read(segment)?);
        self.report.segment_count += 1;
        self.report.file_bytes += bytes.len() as u64;
        let head = log.checkpoint.head;
        let mut state = SegmentState {
            is_covered: segment.number < head.next_segment,
            first_finding: self.report.findings.len(),
            offsets: HashMap::new(),
        };
        let has_header = self.check_headers(segment, &name, &bytes);
        let size = log.checkpoint.index.segments().find(|(number, ..)| *number == segment.number);
        let is_short = size.is_some_and(|(_, _, size)| size > bytes.len() as u64);
        if let Some((_, _, size)) = size.filter(|_| is_short) {
            self.found(&name, Part::MissingEnd, bytes.len() as u64..size);
        }
        // A former checkpoint, or none, does not know the groups that were freed since.
        let is_last = log.checkpoint.damaged.is_empty() && head != CheckpointHead::default();
        let follows = segment.header.first_group <= self.last_group + 1;
        if is_last && !state.is_covered && has_header && !follows {
            self.found(&name, Part::MissingGroups, 0..0);
        }
        let mut epoch = has_header.then_some(segment.header.epoch);
        let end = log.scan(segment, &bytes, |group| {
            let epoch = *epoch.get_or_insert(group.header.map_or(0, |header| header.epoch));
            self.check_group(&group, &name, &bytes, epoch, &mut state);
        })?;
        let mut known = HashMap::new();
        if state.is_covered && !is_short {
            known = self.check_footer(segment, &name, &bytes, end, &state);
        }
        self.count_lost(segment, &name, end, &state, &known);
        Ok(())
    }

    /// Checks the two headers of a segment. Returns true if one is sound.
    fn check_headers(&mut self, segment: &SegmentFile, name: &str, bytes: &[u8]) -> bool {
        let mut has_header = false;
        for (block, offset) in bytes.as_chunks().0.iter().zip([0, BLOCK_SIZE]) {
            let is_sound = SegmentHeader::decode(block, &self.log.log) == Ok(segment.header);
            has_header |= is_sound;
            // The header is encoded with all of its zeros, and synced with the first group.
            let header = segment.header;
            if !is_sound || *block != header.encode() {
                // Where both headers are lost, the run may not be known.
                if header.epoch > 0 {
                    self.unsure.push((self.report.findings.len(), header.epoch, header.first_group));
                }
                let part = if is_sound { Part::Zeros } else { Part::SegmentHeader };
                self.found(name, part, offset..offset + BLOCK_SIZE);
            }
        }
        has_header
    }

    fn check_group(
        &mut self,
        group: &FoundGroup<'_>,
        name: &str,
        bytes: &[u8],
        epoch: u32,
        state: &mut SegmentState,
    ) {
        self.report.group_count += 1;
        self.last_group = self.last_group.max(group.sequence);
        if let Some(header) = group.header {
            let synced = self.synced.entry(header.epoch).or_default();
            *synced = header.synced.max(*synced);
        }
        for (offset, record) in &group.records {
            *self.report.record_counts.entry(record.kind_name()).or_default() += 1;
            let Record::Message(message) = record else { continue };
            for target in message.targets.iter() {
                state.offsets.insert((target.queue, target.sequence), *offset);
            }
        }
        for (part, place) in damages(group, bytes, state.is_covered) {
            self.unsure.push((self.report.findings.len(), epoch, group.sequence));
            self.found(name, part, place);
        }
    }

    /// Checks the footer of a segment. Returns the offsets in it, by queue and sequence.
    fn check_footer(
        &mut self,
        segment: &SegmentFile,
        name: &str,
        bytes: &[u8],
        end: u64,
        state: &SegmentState,
    ) -> HashMap<(u64, u64), u32> {
        let trailer_start = bytes.len().saturating_sub(BLOCK_SIZE as usize);
        let trailer = &bytes[trailer_start..];
        if trailer.iter().all(|byte| *byte == 0) {
            // A segment whose sync has failed has no footer.
            return HashMap::new();
        }
        if trailer.iter().skip(TRAILER_SIZE).any(|byte| *byte != 0) {
            self.found(name, Part::Zeros, (trailer_start + TRAILER_SIZE) as u64..bytes.len() as u64);
        }
        let queues = match Footer::read_all(&*segment.file, self.log.seed(segment)) {
            Ok(queues) => queues,
            Err(place) => {
                self.found(name, Part::Footer, place);
                return HashMap::new();
            }
        };
        let offsets = queues.into_iter().flat_map(|(queue, offsets)| {
            offsets.into_iter().map(move |(sequence, offset)| ((queue, sequence), offset))
        });
        let offsets: HashMap<(u64, u64), u32> = offsets.collect();
        let is_other = |(message, offset): (&(u64, u64), &u32)| {
            state.offsets.get(message).is_some_and(|found| found != offset)
        };
        let live = self.log.index().live_in(segment.number);
        let lacks = |(queue, sequences): &(u64, Vec<u64>)| {
            sequences.iter().any(|sequence| !offsets.contains_key(&(*queue, *sequence)))
        };
        if offsets.iter().any(is_other) || live.iter().any(lacks) {
            self.found(name, Part::Footer, end..bytes.len() as u64);
        }
        offsets
    }

    /// Counts the live messages of a segment that have no sound record, each at its damaged place.
    fn count_lost(
        &mut self,
        segment: &SegmentFile,
        name: &str,
        end: u64,
        state: &SegmentState,
        known: &HashMap<(u64, u64), u32>,
    ) {
        for (queue, sequences) in self.log.index().live_in(segment.number) {
            for sequence in sequences {
                if state.offsets.contains_key(&(queue, sequence)) {
                    continue;
                }
                let findings = &self.report.findings[state.first_finding..];
                let holds = |finding: &Finding| match known.get(&(queue, sequence)) {
                    Some(offset) => {
                        (finding.offset..finding.offset + finding.size).contains(&u64::from(*offset))
                    }
                    None => matches!(finding.part, Part::MissingEnd | Part::Records),
                };
                let place = findings.iter().position(holds).map(|place| state.first_finding + place);
                let finding = match place {
                    Some(place) => &mut self.report.findings[place],
                    // The place in the segment is not known.
                    None => self.found(name, Part::Records, FIRST_GROUP..end),
                };
                *finding.lost.entry(queue).or_default() += 1;
            }
        }
    }

    fn finish(mut self) -> LogReport {
        for (finding, epoch, group) in self.unsure {
            let finding = &mut self.report.findings[finding];
            let is_synced = self.synced.get(&epoch).is_some_and(|synced| *synced >= group);
            if !is_synced && finding.lost.is_empty() {
                finding.part = Part::CutOff;
            }
        }
        self.report
    }
}

/// A segment that is checked.
struct SegmentState {
    /// The last checkpoint has the messages of the segment.
    is_covered: bool,
    /// Place of the first finding of the segment among all findings.
    first_finding: usize,
    /// Offsets of sound messages, by queue and sequence.
    offsets: HashMap<(u64, u64), u32>,
}

/// Returns the damaged places of a group. `bytes` is the whole segment.
fn damages(group: &FoundGroup<'_>, bytes: &[u8], is_covered: bool) -> Vec<(Part, Range<u64>)> {
    let records = if is_covered { Part::Records } else { Part::LaterRecords };
    let start = group.offset + GROUP_HEADER_SIZE as u64;
    let end = group.header.map_or(group.end, |header| start + u64::from(header.size));
    let is_zero =
        |place: Range<u64>| bytes[place.start as usize..place.end as usize].iter().all(|byte| *byte == 0);
    let mut found = Vec::new();
    if group.header.is_none() {
        found.push((Part::GroupHeader, group.offset..start.min(group.end)));
    }
    let (mut at, mut sum) = (start, 0);
    let offsets = group.records.iter().map(|(offset, _)| u64::from(*offset));
    for offset in offsets.chain([end]) {
        let is_padding = || group.header.is_none() && offset - at < BLOCK_SIZE && is_zero(at..offset);
        if at < offset && !is_padding() {
            found.push((records, at..offset));
        }
        if offset < end {
            let record = &bytes[offset as usize..];
            sum = crc32c::crc32c_append(sum, &record[4..8]);
            at = offset + Record::size_at(record).unwrap_or_default() as u64;
        }
    }
    if let Some(header) = group.header {
        let is_whole = header.count as usize == group.records.len() && header.sum == sum;
        if found.is_empty() && !is_whole {
            found.push((records, start..end));
        }
        if !is_zero(end..group.end) {
            found.push((Part::Zeros, end..group.end));
        }
    }
    found
}
