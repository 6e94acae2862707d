//! `Writer`: puts groups of batches into segments, and syncs them. It has no thread and no clock.
//!
//! A segment is written by one run of the node, from its start to its end, and never again. A group whose write or sync fails
//! goes to a fresh segment, with all groups since the last sync; the file of the failure is not written any more.
//!
//! Between two segments the writer makes a checkpoint. Segments without live messages are free from then on.

use std::collections::BTreeSet;
use std::io::{self, IoSlice};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::LogId;
use super::checkpoint::{self, CheckpointHead};
use super::files::{Files, Preparation, TakenFile, is_full};
use super::footer::Footer;
use super::index::Index;
use super::layout::{
    BLOCK_SIZE, FIRST_GROUP, GROUP_HEADER_SIZE, GroupHeader, Seed, SegmentHeader, file_name, round_up,
};
use super::record::{Batch, MessageRecord, Record, Target, Targets, seal};
use super::record_reader::{RecordReader, are_dense};
use super::scan::scan;
use super::space::Space;
use super::storage::{StorageBackend, StorageFile, read_whole};

/// Size of the first segment: a node with few messages writes few zeros.
const FIRST_SIZE: u64 = 1 << 20;
/// Size of later segments. A start reads at most one segment behind the last checkpoint, and a message that is never consumed pins
/// at most one segment.
pub const SEGMENT_SIZE: u64 = 64 << 20;
/// Room that a segment keeps for its footer: a part of its size.
const FOOTER_PART: u64 = 16;
/// A segment has room for so many groups of the size of its first one, or for this group only. Sealed segments are thus well filled.
const FILL_COUNT: u64 = 4;
/// The file for the next segment is made when the groups of a segment have this part of its size, or at once if the segment has the
/// last size.
const PREPARED_PART: u64 = 2;
/// Slack of the space bound, in segments: active, spare, dead and copied segments. The bound is twice the live bytes and this slack.
const SLACK_COUNT: u64 = 6;
/// Dead segments of the last size that wait for the end of the active one.
const DEAD_COUNT_MAX: u64 = 2;

/// The state that a start finds, and the writer goes on from.
#[derive(Debug)]
pub(super) struct State {
    pub log: LogId,
    /// Run of the node.
    pub epoch: u32,
    pub index: Arc<Mutex<Index>>,
    pub next_segment: u64,
    pub next_file: u64,
    pub next_group: u64,
}

/// Sizes of segments. Each is twice as large as the one before, up to the last size. A group that is larger gets a segment for
/// itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSizes {
    pub first: u64,
    pub last: u64,
}

impl Default for SegmentSizes {
    fn default() -> SegmentSizes {
        SegmentSizes { first: FIRST_SIZE, last: SEGMENT_SIZE }
    }
}

/// Writes the log.
#[derive(Debug)]
pub(super) struct Writer {
    storage: Arc<dyn StorageBackend>,
    state: State,
    sizes: SegmentSizes,
    active: Option<Active>,
    /// Groups since the last sync.
    unsynced: Vec<Group>,
    /// Bytes of their records.
    unsynced_size: usize,
    /// A write or a sync has failed: [`Writer::restart`] comes next.
    has_failed: bool,
    /// Segments that were given up before a group in them was synced.
    abandoned: Vec<u64>,
    synced_group: u64,
    /// Last group in the index.
    applied_group: u64,
    files: Files,
    /// Files of dead segments that the last checkpoint may still name.
    dead_files: Vec<u64>,
    compaction: Option<Compaction>,
    /// Segments with live messages that cannot be read.
    damaged_segments: BTreeSet<u64>,
    last_size: u64,
    space: Arc<Space>,
    /// Space was short at the last step.
    is_short: bool,
    /// Nothing more will be written.
    is_finished: bool,
}

/// The segment that is written.
#[derive(Debug)]
struct Active {
    number: u64,
    file: Arc<dyn StorageFile>,
    size: u64,
    end: u64,
    /// A group of the segment is synced.
    is_synced: bool,
    /// The file for the next segment was asked for.
    has_prepared: bool,
    /// The segment is from before a shortage of space, and large.
    is_surplus: bool,
}

/// A segment whose live records are copied.
#[derive(Debug)]
struct Compaction {
    segment: u64,
    records: RecordReader,
    /// Offsets of records that are still to be copied, the next one last.
    offsets: Vec<u32>,
}

#[derive(Debug)]
struct Group {
    sequence: u64,
    batches: Vec<Batch>,
}

impl Group {
    fn records_size(&self) -> u64 {
        self.batches.iter().map(|batch| batch.size() as u64).sum()
    }

    /// Returns the size of the group in its segment.
    fn size(&self) -> u64 {
        group_size(self.records_size())
    }
}

impl Active {
    fn has_room(&self, group_size: u64) -> bool {
        self.end + group_size <= self.size - self.size / FOOTER_PART - BLOCK_SIZE
    }
}

/// Returns the size of a group in its segment.
fn group_size(records_size: u64) -> u64 {
    round_up(GROUP_HEADER_SIZE as u64 + records_size)
}

impl Writer {
    pub fn new(storage: Arc<dyn StorageBackend>, state: State, sizes: SegmentSizes) -> Writer {
        let synced_group = state.next_group - 1;
        let space = Arc::new(Space::new());
        let files = Files::new(Arc::clone(&storage), Arc::clone(&space), state.next_file);
        Writer {
            storage,
            state,
            sizes,
            active: None,
            unsynced: Vec::new(),
            unsynced_size: 0,
            has_failed: false,
            abandoned: Vec::new(),
            synced_group,
            applied_group: synced_group,
            files,
            dead_files: Vec::new(),
            compaction: None,
            damaged_segments: BTreeSet::new(),
            last_size: sizes.first / 2,
            space,
            is_short: false,
            is_finished: false,
        }
    }

    /// Returns the space of the file system.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Syncs all groups, and ends the log in order: the next start knows that nothing was cut off. `leases`: see
    /// [`Index::set_leases`].
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn finish(&mut self, leases: &[(u64, u64)]) -> io::Result<()> {
        self.is_finished = true;
        // Only the checkpoint has them. It comes when all groups are synced.
        self.index().set_leases(leases);
        self.close()
    }

    /// Writes batches as one group. They are on the medium after [`Writer::sync`].
    ///
    /// # Errors
    ///
    /// The system's error. The group is kept: [`Writer::restart`] writes it elsewhere.
    pub fn write(&mut self, batches: Vec<Batch>) -> io::Result<()> {
        let sequence = self.state.next_group;
        self.state.next_group += 1;
        self.unsynced_size += batches.iter().map(Batch::size).sum::<usize>();
        self.unsynced.push(Group { sequence, batches });
        self.check()?;
        let result = self.write_last();
        self.note(result)
    }

    /// Refuses to go on after a failure: later groups on the medium would hide that earlier ones are missing.
    fn check(&self) -> io::Result<()> {
        if self.has_failed { Err(io::Error::other("a group before has failed")) } else { Ok(()) }
    }

    fn note(&mut self, result: io::Result<()>) -> io::Result<()> {
        self.has_failed |= result.is_err();
        result
    }

    /// Syncs all groups so far.
    ///
    /// # Errors
    ///
    /// The system's error. Nothing more may be written before [`Writer::restart`].
    pub fn sync(&mut self) -> io::Result<()> {
        self.check()?;
        let result = self.sync_active();
        self.note(result)
    }

    fn sync_active(&mut self) -> io::Result<()> {
        if let (Some(active), Some(last)) = (&mut self.active, self.unsynced.last()) {
            active.file.sync()?;
            active.is_synced = true;
            self.synced_group = last.sequence;
            self.unsynced.clear();
            self.unsynced_size = 0;
        }
        Ok(())
    }

    /// Returns true if all groups are on the medium.
    pub fn is_synced(&self) -> bool {
        self.unsynced.is_empty()
    }

    /// Gives the active segment up, whose write or sync has failed, and writes all groups since the last sync to a fresh one.
    ///
    /// # Errors
    ///
    /// The system's error. The groups are still kept.
    pub fn restart(&mut self) -> io::Result<()> {
        self.has_failed = true;
        self.save_space();
        if let Some(failed) = self.active.take() {
            // Offsets of groups that stay there are found by scanning.
            self.index().seal(failed.number);
            if !failed.is_synced {
                self.abandoned.push(failed.number);
            }
        }
        self.remove_abandoned();
        if let Some(first) = self.unsynced.first() {
            // One segment for all of them: the index has groups that are not synced, and a checkpoint between two segments would
            // make them last.
            let size = self.unsynced.iter().map(Group::size).sum();
            let sequence = first.sequence;
            let mut opened = self.open_segment(sequence, size);
            // A checkpoint may have room, and sets the files of dead segments free.
            if opened.as_ref().is_err_and(is_full) && self.can_free_files() {
                self.checkpoint()?;
                opened = self.open_segment(sequence, size);
            }
            opened?;
        }
        let kept = std::mem::take(&mut self.unsynced);
        let mut kept = kept.into_iter();
        while let Some(group) = kept.next() {
            self.unsynced.push(group);
            if let Err(error) = self.write_last() {
                self.unsynced.extend(kept);
                return Err(error);
            }
        }
        self.remove_abandoned();
        self.sync_active()?;
        self.has_failed = false;
        Ok(())
    }

    /// Removes segments without a synced group whose groups were written elsewhere. No checkpoint names them.
    fn remove_abandoned(&mut self) {
        for segment in std::mem::take(&mut self.abandoned) {
            let file = self.index().remove_if_dead(segment);
            match file {
                // A file that stays is removed by the next start.
                Some(file) => drop(self.storage.remove(&file_name(file))),
                None => self.abandoned.push(segment),
            }
        }
    }

    /// Copies live records of the segment with the smallest live part to the end of the log. The record that reaches `size_max`
    /// bytes is the last one. Returns false if no segment is worth that. A segment is free once all of its live records are copied.
    ///
    /// # Errors
    ///
    /// The system's error, as for [`Writer::write`].
    pub fn compact(&mut self, size_max: usize) -> io::Result<bool> {
        let Some(mut compaction) = self.compaction.take().or_else(|| self.find_sparse()) else {
            return Ok(false);
        };
        let mut batch = Batch::default();
        while batch.size() < size_max
            && let Some(offset) = compaction.offsets.pop()
        {
            self.copy_live(&mut compaction, offset, &mut batch);
        }
        let segment = compaction.segment;
        let is_over = compaction.offsets.is_empty();
        self.compaction = Some(compaction).filter(|_| !is_over);
        if !batch.is_empty() {
            self.write(vec![batch])?;
        }
        if is_over && self.index().is_segment_live(segment) {
            // Records that are damaged stay where they are.
            self.damaged_segments.insert(segment);
        }
        Ok(true)
    }

    /// Returns true if the files have more than twice the live bytes and six segments: more has to be copied at once.
    pub fn is_over_bound(&self) -> bool {
        let (size, live) = self.index().sizes();
        size + self.files.size() > 2 * live + SLACK_COUNT * self.sizes.last
    }

    /// Frees dead segments, if there are some, without waiting for the end of the active one. While space is short all of them
    /// are freed, but for a small one.
    ///
    /// # Errors
    ///
    /// The system's error, as for [`Writer::close`].
    pub fn free_dead(&mut self) -> io::Result<()> {
        self.save_space();
        // An active segment from before the shortage is freed like the others.
        let active = self.active.as_ref().filter(|active| !self.is_short || !active.is_surplus);
        let index = self.index();
        let dead: Vec<u64> = index.dead_sizes(active.map(|active| active.number)).collect();
        let mut dead_size: u64 = dead.iter().sum();
        let used = index.sizes().0 - dead_size;
        drop(index);
        if self.is_short && !self.files.has_reserve() {
            // One of the files is kept back. A segment that is sealed for this file alone frees nothing: its messages would be
            // copied to the file, and back, without an end.
            dead_size -= dead.into_iter().filter(|size| *size <= used).max().unwrap_or(0);
        }
        // A small segment that is sealed early would be sparse, and copied again.
        let dead_size_max = if self.is_short { self.sizes.first } else { DEAD_COUNT_MAX * self.sizes.last };
        // A checkpoint that has failed is made again.
        if dead_size <= dead_size_max && self.dead_files.is_empty() {
            return Ok(());
        }
        // A copy that is not synced would be lost with the segment that it came from.
        self.close()?;
        self.space.look(&*self.storage);
        Ok(())
    }

    /// Returns the number of the active segment's file.
    pub fn active_file(&self) -> Option<u64> {
        self.index().file_of(self.active.as_ref()?.number)
    }

    /// Returns true if a group of so many bytes of records needs no further file.
    pub fn has_room(&self, records_size: usize) -> bool {
        self.active.as_ref().is_some_and(|active| active.has_room(group_size(records_size as u64)))
    }

    /// Returns the file that is to be made for the next segment, if the active segment is filled so far and no spare file is large
    /// enough. The caller runs the preparation beside the writer, and calls [`Writer::end_preparation`] behind it.
    pub fn prepare(&mut self) -> Option<Preparation> {
        let size = self.next_size(0);
        let last_size = self.sizes.last;
        let active = self.active.as_mut()?;
        let is_filled = active.end >= active.size / PREPARED_PART || active.size == last_size;
        if active.has_prepared || !is_filled {
            return None;
        }
        active.has_prepared = true;
        self.files.prepare(size)
    }

    /// Has the preparation end soon.
    pub fn cancel_preparation(&self) {
        self.files.cancel_preparation();
    }

    /// Takes over the file of a preparation. `is_made`: the preparation has made it.
    pub fn end_preparation(&mut self, is_made: bool) {
        self.files.end_preparation(is_made);
        self.trim_files();
    }

    fn trim_files(&mut self) {
        let used = self.index().sizes().0;
        self.files.trim(used);
    }

    /// Follows the free space. At the beginning of a shortage spare files are removed, but for one. Segments are small until its end.
    fn save_space(&mut self) {
        let was_short = std::mem::replace(&mut self.is_short, self.space.is_short());
        if self.is_short && !was_short {
            self.last_size = self.sizes.first;
            if let Some(active) = &mut self.active {
                active.is_surplus = active.size > self.last_size;
            }
            self.trim_files();
            self.space.look(&*self.storage);
        }
    }

    /// Finds the segment with the smallest live part, and the live records in it.
    fn find_sparse(&mut self) -> Option<Compaction> {
        let active = self.active.as_ref().map(|active| active.number);
        let index = self.index();
        let is_excluded = |number| Some(number) == active || self.damaged_segments.contains(&number);
        let segment = index.sparsest(is_excluded)?;
        let (file, live) = (index.file_of(segment)?, index.live_in(segment));
        drop(index);
        let found = self.storage.open(&file_name(file)).and_then(|file| {
            let seed = Seed::new(&self.state.log, segment);
            let mut offsets = match Footer::find(&*file, seed, &live) {
                Some(offsets) => offsets,
                None => message_offsets(&*file, seed)?,
            };
            // The last one is the next.
            offsets.sort_unstable_by(|one, other| other.cmp(one));
            offsets.dedup();
            Ok(Compaction { segment, records: RecordReader::new(file, seed), offsets })
        });
        if found.is_err() {
            self.damaged_segments.insert(segment);
        }
        found.ok()
    }

    /// Puts the live part of a record into a batch. A record that cannot be read stays where it is.
    fn copy_live(&self, compaction: &mut Compaction, offset: u32, batch: &mut Batch) {
        let is_dense = compaction.offsets.last().is_some_and(|next| are_dense(offset, *next));
        let Ok(Some(record)) = compaction.records.record(offset.into(), is_dense) else { return };
        let Some((Record::Message(message), _)) = Record::decode_sealed(&record) else { return };
        let index = self.index();
        let is_live = |target: &Target| index.is_live_in(compaction.segment, target.queue, target.sequence);
        let targets: Vec<Target> = message.targets.iter().filter(is_live).collect();
        if !targets.is_empty() {
            let targets = Targets::List(&targets);
            batch.push(&Record::Message(MessageRecord { targets, moved: None, ..message }));
        }
    }

    /// Returns the bytes of the groups since the last sync.
    pub fn unsynced_size(&self) -> usize {
        self.unsynced_size
    }

    /// Syncs and seals the active segment, and makes a checkpoint.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn close(&mut self) -> io::Result<()> {
        if self.has_failed {
            self.restart()?;
        }
        self.sync()?;
        self.seal_active()
    }

    /// Returns the index.
    pub fn index(&self) -> MutexGuard<'_, Index> {
        // A panic within the index has ended the thread of the log.
        self.state.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the last unsynced group.
    fn write_last(&mut self) -> io::Result<()> {
        let Some(mut group) = self.unsynced.pop() else { return Ok(()) };
        let result = self.write_group(&mut group);
        self.unsynced.push(group);
        result
    }

    fn write_group(&mut self, group: &mut Group) -> io::Result<()> {
        let (size, group_size) = (group.records_size(), group.size());
        if !self.has_room(size as usize) {
            self.open_segment(group.sequence, group_size)?;
        }
        // INVARIANT: a segment with room was found or opened.
        let active = self.active.as_mut().expect("a segment is open");
        let seed = Seed::new(&self.state.log, active.number);
        let (mut sum, mut count) = (0, 0);
        for batch in &mut group.batches {
            let mut rest = &mut batch.bytes[..];
            while !rest.is_empty() {
                let (checksum, size) = seal(rest, seed);
                sum = crc32c::crc32c_append(sum, &checksum.to_le_bytes());
                count += 1;
                rest = &mut rest[size..];
            }
        }
        let header = GroupHeader {
            sequence: group.sequence,
            synced: self.synced_group,
            epoch: self.state.epoch,
            size: size as u32,
            count,
            sum,
        };
        let (header, padding) = (header.encode(seed), [0; BLOCK_SIZE as usize]);
        let mut slices = vec![IoSlice::new(&header)];
        slices.extend(group.batches.iter().map(|batch| IoSlice::new(&batch.bytes)));
        slices.push(IoSlice::new(&padding[..(group_size - size) as usize - GROUP_HEADER_SIZE]));
        active.file.write_at(&slices, active.end)?;
        let (number, mut offset) = (active.number, active.end as u32 + GROUP_HEADER_SIZE as u32);
        active.end += group_size;
        self.applied_group = group.sequence;
        let mut index = self.index();
        for batch in &group.batches {
            let mut rest = &batch.bytes[..];
            while let Some((record, size)) = Record::decode_sealed(rest) {
                index.apply(&record, number, offset);
                offset += size as u32;
                rest = &rest[size..];
            }
        }
        Ok(())
    }

    /// Opens a segment that begins with the group `first_group`, and syncs and seals the segment before.
    fn open_segment(&mut self, first_group: u64, group_size: u64) -> io::Result<()> {
        if self.active.is_some() {
            self.close()?;
        }
        // Others may have taken the space that a large file needs.
        self.space.look(&*self.storage);
        self.save_space();
        let needed = FIRST_GROUP + group_size + BLOCK_SIZE;
        let needed = round_up(needed + needed.div_ceil(FOOTER_PART - 1));
        let is_alone = FILL_COUNT * needed > self.sizes.last;
        let next_size = self.next_size(needed);
        let sizes = if is_alone { needed..=needed + needed / 2 } else { next_size..=u64::MAX };
        let TakenFile { number: file_number, file, size } =
            self.files.take(sizes, needed.max(self.sizes.first))?;
        if !is_alone {
            self.last_size = next_size.min(size);
        }
        let number = self.state.next_segment;
        self.state.next_segment += 1;
        let header =
            SegmentHeader { log: self.state.log, number, first_group, epoch: self.state.epoch }.encode();
        if let Err(error) = file.write_at(&[IoSlice::new(&header), IoSlice::new(&header)], 0) {
            // The file is in no list. If it stays, the next start removes it.
            let _ = self.storage.remove(&file_name(file_number));
            return Err(error);
        }
        self.index().add_segment(number, file_number, size);
        self.active = Some(Active {
            number,
            file,
            size,
            end: FIRST_GROUP,
            is_synced: false,
            has_prepared: false,
            is_surplus: false,
        });
        Ok(())
    }

    /// Returns the size of the next segment, if its first group needs so many bytes and no segment for itself.
    fn next_size(&self, needed: u64) -> u64 {
        // While space is short no file is larger than its group needs.
        let size = if self.is_short { needed } else { (self.last_size * 2).max(FILL_COUNT * needed) };
        size.clamp(self.sizes.first, self.sizes.last)
    }

    /// Writes the footer of the active segment, makes a checkpoint and frees segments. All groups are synced.
    fn seal_active(&mut self) -> io::Result<()> {
        if let Some(active) = self.active.take() {
            let offsets = self.index().seal(active.number);
            let seed = Seed::new(&self.state.log, active.number);
            Footer::write(&*active.file, seed, active.end, &offsets)?;
        }
        self.checkpoint()
    }

    /// Makes a checkpoint, and frees the segments without live messages. No segment is active, and all groups are synced.
    fn checkpoint(&mut self) -> io::Result<()> {
        let mut index = self.index();
        let dead_files = index.remove_dead_segments();
        let bytes = index.encode();
        debug_assert!(Index::take(&mut &bytes[..]).is_some(), "a checkpoint can be read");
        drop(index);
        let head = CheckpointHead {
            epoch: self.state.epoch,
            group: self.synced_group,
            next_file: self.files.next_number(),
            next_segment: self.state.next_segment,
            is_closed: self.is_finished,
        };
        self.dead_files.extend(dead_files);
        let write = || checkpoint::write(&*self.storage, &self.state.log, &head, &bytes);
        let mut written = write();
        // On a full disk the checkpoint takes the room of a spare file, or of the checkpoint before the last one. The files of dead
        // segments follow as spare files.
        while written.as_ref().is_err_and(is_full)
            && (self.files.give_way() || checkpoint::give_way(&*self.storage, &self.state.log))
        {
            written = write();
        }
        written?;
        while let Some(file) = self.dead_files.pop() {
            self.give_back(file)?;
        }
        self.trim_files();
        Ok(())
    }

    /// Returns true if a checkpoint sets files free. The index may have no group that is not synced.
    fn can_free_files(&self) -> bool {
        let has_dead = !self.dead_files.is_empty() || self.index().dead_sizes(None).next().is_some();
        has_dead && self.applied_group == self.synced_group
    }

    /// Keeps the file of a dead segment for a later one, or removes it.
    fn give_back(&mut self, file: u64) -> io::Result<()> {
        let name = file_name(file);
        let size = self.storage.open(&name)?.size()?;
        if !(self.sizes.first..=self.sizes.last).contains(&size) {
            return self.storage.remove(&name);
        }
        self.files.keep(file, size);
        Ok(())
    }
}

/// Returns the offsets of all messages of a segment, from its records.
fn message_offsets(file: &dyn StorageFile, seed: Seed) -> io::Result<Vec<u32>> {
    let bytes = read_whole(file)?;
    let mut offsets = Vec::new();
    scan(&bytes, seed, 0, |group| {
        let is_message = |record: &Record<'_>| matches!(record, Record::Message(_));
        let messages = group.records.into_iter().filter(|(_, record)| is_message(record));
        offsets.extend(messages.map(|(offset, _)| offset));
    })?;
    Ok(offsets)
}
