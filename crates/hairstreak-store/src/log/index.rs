//! `Index`: where the messages of each queue lie in the log, and which of them are settled.
//!
//! The index follows from the records of the log: the thread of the log applies each record that it writes, and a start
//! applies the records behind the last checkpoint. A checkpoint is the index as bytes.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::extent::{Extent, MessageSizes};
use super::record::{Record, put_number, take_number};

/// The messages of all queues, and the segments that they lie in.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    queues: HashMap<u64, QueueIndex>,
    segments: BTreeMap<u64, SegmentIndex>,
}

/// The messages of one queue.
#[derive(Debug, Default, PartialEq, Eq)]
struct QueueIndex {
    /// Extents with live messages, in the order of their first sequences.
    extents: Vec<Extent>,
    last_sequence: u64,
    /// Messages up to this sequence may be delivered, or count as delivered.
    leased: u64,
    /// Returns of live messages.
    returns: BTreeMap<u64, u64>,
}

/// The use of one segment.
#[derive(Debug, Default, PartialEq, Eq)]
struct SegmentIndex {
    /// Number of its file.
    file: u64,
    /// Size of the file, in bytes.
    size: u64,
    /// Queues that have extents in the segment.
    queues: BTreeSet<u64>,
    live_count: u64,
    /// Bytes of the file that the live messages take, as an estimate.
    live_share: u64,
}

/// A live message, and the place of its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub sequence: u64,
    pub segment: u64,
    /// Offset in the segment. `None`: the footer of the segment has the offset.
    pub offset: Option<u32>,
    /// Returns of the message.
    pub return_count: u64,
}

/// A queue as a start finds it in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveredQueue {
    /// Id of the queue.
    pub id: u64,
    /// Messages that are not settled.
    pub count: u64,
    /// Bytes of their bodies.
    pub body_bytes: u64,
    /// First sequence of a message that is not settled, or 0.
    pub first_sequence: u64,
    /// Last sequence that the queue gave to a message.
    pub last_sequence: u64,
    /// Messages up to this sequence may have been delivered before, which a kill of the node kept from the log.
    pub leased: u64,
    /// Sequences of messages that came back, and how often they did.
    pub returns: Vec<(u64, u64)>,
}

/// Queues that a start forgets, because the definitions lack them, and their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedQueues {
    /// Queues with messages.
    pub queue_count: u64,
    /// Their messages.
    pub message_count: u64,
}

/// Offsets of the live messages of a queue in one segment, by sequence.
pub(super) type QueueOffsets = (u64, Vec<(u64, u32)>);

impl Index {
    /// Applies a record that lies at `offset` in a segment.
    pub fn apply(&mut self, record: &Record<'_>, segment: u64, offset: u32) {
        match record {
            Record::Message(message) => {
                let target_count = message.targets.iter().count().max(1) as u64;
                let share = message.size_estimate().div_ceil(target_count);
                let sizes = MessageSizes { body: message.body.len() as u64, share };
                for target in message.targets.iter() {
                    self.add(target.queue, target.sequence, segment, offset, sizes);
                }
                if let Some(moved) = message.moved {
                    self.settle(moved.queue, moved.first, moved.first, Some(moved.body_size));
                }
            }
            Record::Settled(runs) => {
                for run in runs.iter().filter(|run| run.count > 0) {
                    self.settle(
                        run.queue,
                        run.first,
                        run.first.saturating_add(run.count - 1),
                        Some(run.body_size),
                    );
                }
            }
            Record::Dropped { queue, first, last } => self.settle(*queue, *first, *last, None),
            Record::Returned { queue, sequence, count } => {
                let queue = self.queues.entry(*queue).or_default();
                if queue.extent_of(*sequence).is_some() {
                    queue.returns.insert(*sequence, *count);
                }
            }
            Record::Leased { queue, through } => {
                let queue = self.queues.entry(*queue).or_default();
                queue.leased = queue.leased.max(*through);
            }
            Record::Forgotten { queue } => self.forget(*queue),
        }
    }

    /// Adds a message. A message that is there already has moved: its record was copied.
    fn add(&mut self, id: u64, sequence: u64, segment: u64, offset: u32, sizes: MessageSizes) {
        let queue = self.queues.entry(id).or_default();
        if sequence <= queue.last_sequence
            && let Some(place) = queue.extent_of(sequence)
        {
            let extent = &mut queue.extents[place];
            self.segments.entry(extent.segment).or_default().settle(
                extent,
                sequence,
                sequence,
                Some(sizes.body),
            );
            if extent.live_count() == 0 {
                queue.extents.remove(place);
            }
        }
        queue.last_sequence = queue.last_sequence.max(sequence);
        let used = self.segments.entry(segment).or_default();
        used.live_count += 1;
        used.live_share += sizes.share;
        // Arriving messages extend the last extent. Copied messages extend the last extent of copies.
        let place = queue.extents.partition_point(|extent| extent.first() < sequence);
        let before = queue.extents[..place].last_mut();
        if !before.is_some_and(|extent| extent.push(segment, sequence, offset, sizes)) {
            queue.extents.insert(place, Extent::new(segment, sequence, offset, sizes));
            used.queues.insert(id);
        }
    }

    /// Settles messages. Messages that are not there, or are settled, do not count.
    pub fn settle(&mut self, id: u64, first: u64, last: u64, body_size: Option<u64>) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        let end = queue.extents.partition_point(|extent| extent.first() <= last);
        let mut is_over = false;
        for extent in queue.extents[..end].iter_mut().filter(|extent| extent.last() >= first) {
            self.segments.entry(extent.segment).or_default().settle(extent, first, last, body_size);
            is_over |= extent.live_count() == 0;
        }
        if is_over {
            queue.extents.retain(|extent| extent.live_count() > 0);
        }
        if !queue.returns.is_empty() {
            while let Some(gone) = queue.returns.range(first..=last).next().map(|(sequence, _)| *sequence) {
                queue.returns.remove(&gone);
            }
        }
    }

    fn forget(&mut self, id: u64) {
        let extents = self.queues.remove(&id).map(|queue| queue.extents);
        for mut extent in extents.into_iter().flatten() {
            self.segments.entry(extent.segment).or_default().settle(&mut extent, 0, u64::MAX, None);
        }
    }

    /// Forgets the queues for which `is_known` returns false. Returns how many of them had messages.
    pub fn retain_queues(&mut self, is_known: impl Fn(u64) -> bool) -> DroppedQueues {
        let mut dropped = DroppedQueues::default();
        for queue in self.recovered().into_iter().filter(|queue| !is_known(queue.id)) {
            dropped.queue_count += u64::from(queue.count > 0);
            dropped.message_count += queue.count;
            self.forget(queue.id);
        }
        dropped
    }

    /// Ends the leases of the run before: from now on messages with a lease count as delivered, or all if `are_leases_lost`.
    pub fn end_leases(&mut self, are_leases_lost: bool) {
        for queue in self.queues.values_mut() {
            let leased = if are_leases_lost { u64::MAX } else { queue.leased };
            queue.leased = leased.min(queue.last_sequence);
        }
    }

    /// Sets the leases of queues: pairs of a queue and its last sequence.
    pub fn set_leases(&mut self, leases: &[(u64, u64)]) {
        for (id, through) in leases {
            if let Some(queue) = self.queues.get_mut(id) {
                queue.leased = *through;
            }
        }
    }

    /// Returns the queues.
    pub fn recovered(&self) -> Vec<RecoveredQueue> {
        let recovered = |(id, queue): (&u64, &QueueIndex)| RecoveredQueue {
            id: *id,
            count: queue.extents.iter().map(|extent| extent.live_count() as u64).sum(),
            body_bytes: queue.extents.iter().map(Extent::live_bytes).sum(),
            first_sequence: queue
                .extents
                .iter()
                .filter_map(|extent| Some(extent.live(0).next()?.0))
                .min()
                .unwrap_or(0),
            last_sequence: queue.last_sequence,
            leased: queue.leased,
            returns: queue.returns.iter().map(|(sequence, count)| (*sequence, *count)).collect(),
        };
        self.queues.iter().map(recovered).collect()
    }

    /// Returns up to `count_max` live messages of a queue from `from` on, by sequence.
    pub fn live(&self, queue: u64, from: u64, count_max: usize) -> Vec<Place> {
        let Some(queue) = self.queues.get(&queue) else { return Vec::new() };
        let mut places: Vec<Place> = Vec::new();
        for extent in queue.extents.iter().filter(|extent| extent.last() >= from) {
            // Later extents begin behind this extent and have none of the first messages.
            let is_full = places.len() >= count_max;
            if is_full && places.iter().take(count_max).all(|place| place.sequence < extent.first()) {
                break;
            }
            let segment = extent.segment;
            let found = extent.live(from).take(count_max);
            places.extend(found.map(|(sequence, offset)| {
                let return_count = queue.returns.get(&sequence).copied().unwrap_or(0);
                Place { sequence, segment, offset, return_count }
            }));
            places.sort_unstable_by_key(|place| place.sequence);
            places.truncate(count_max);
        }
        places
    }

    /// Returns true if a message is live, and its record lies in that segment.
    pub fn is_live_in(&self, segment: u64, queue: u64, sequence: u64) -> bool {
        self.queues.get(&queue).is_some_and(|queue| {
            queue.extent_of(sequence).is_some_and(|place| queue.extents[place].segment == segment)
        })
    }

    /// Returns true if a segment has live messages.
    pub fn is_segment_live(&self, segment: u64) -> bool {
        self.segments.get(&segment).is_some_and(|used| used.live_count > 0)
    }

    /// Returns the segment with the smallest live part, if that is less than half of the file. `is_excluded` names segments that
    /// cannot be copied.
    pub fn sparsest(&self, is_excluded: impl Fn(u64) -> bool) -> Option<u64> {
        let sealed = self.segments.iter().filter(|(number, _)| !is_excluded(**number));
        let sparse = sealed.filter(|(_, used)| used.live_count > 0 && 2 * used.live_share < used.size);
        sparse.min_by_key(|(_, used)| used.live_share * 1_000 / used.size).map(|(number, _)| *number)
    }

    /// Returns the bytes of the files of all segments, and the bytes in them that live messages take.
    pub fn sizes(&self) -> (u64, u64) {
        let add =
            |(size, share): (u64, u64), used: &SegmentIndex| (size + used.size, share + used.live_share);
        self.segments.values().fold((0, 0), add)
    }

    /// Returns the sequences of the live messages of a segment, by queue.
    pub fn live_in(&self, segment: u64) -> Vec<(u64, Vec<u64>)> {
        let sequences = |extent: &Extent| extent.live(0).map(|(sequence, _)| sequence).collect();
        self.extents_in(segment).map(|(id, extent)| (id, sequences(extent))).collect()
    }

    /// Returns the sizes of sealed segments without live messages.
    pub fn dead_sizes(&self, active: Option<u64>) -> impl Iterator<Item = u64> {
        let sealed = self.segments.iter().filter(move |(number, _)| Some(**number) != active);
        sealed.filter(|(_, used)| used.live_count == 0).map(|(_, used)| used.size)
    }

    fn extents_in(&self, segment: u64) -> impl Iterator<Item = (u64, &Extent)> {
        let ids = self.segments.get(&segment).into_iter().flat_map(|used| &used.queues);
        let queues = ids.filter_map(|id| Some((*id, self.queues.get(id)?)));
        let extents = queues.flat_map(|(id, queue)| queue.extents.iter().map(move |extent| (id, extent)));
        extents.filter(move |(_, extent)| extent.segment == segment)
    }

    /// Returns the offsets of the live messages of a segment, by queue, and forgets them.
    pub fn seal(&mut self, segment: u64) -> Vec<QueueOffsets> {
        let mut offsets: BTreeMap<u64, Vec<(u64, u32)>> = BTreeMap::new();
        for (id, extent) in self.extents_in(segment) {
            let found = extent.live(0).filter_map(|(sequence, offset)| Some((sequence, offset?)));
            offsets.entry(id).or_default().extend(found);
        }
        for id in offsets.keys() {
            let extents = self.queues.get_mut(id).into_iter().flat_map(|queue| &mut queue.extents);
            extents.filter(|extent| extent.segment == segment).for_each(Extent::seal);
        }
        offsets.values_mut().for_each(|of_queue| of_queue.sort_unstable());
        offsets.into_iter().collect()
    }

    /// Returns the segments: the number, the number of the file and the size of the file.
    pub fn segments(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        self.segments.iter().map(|(number, used)| (*number, used.file, used.size))
    }

    /// Adds a segment, and the number and the size of its file.
    pub fn add_segment(&mut self, segment: u64, file: u64, size: u64) {
        let used = self.segments.entry(segment).or_default();
        (used.file, used.size) = (file, size);
    }

    /// Removes the segments without live messages. Returns the numbers of their files.
    pub fn remove_dead_segments(&mut self) -> Vec<u64> {
        self.segments.extract_if(.., |_, used| used.live_count == 0).map(|(_, used)| used.file).collect()
    }

    /// Removes a segment if it has no live messages. Returns the number of its file.
    pub fn remove_if_dead(&mut self, segment: u64) -> Option<u64> {
        let is_dead = self.segments.get(&segment)?.live_count == 0;
        is_dead.then(|| self.segments.remove(&segment))?.map(|used| used.file)
    }

    /// Returns the segment in a file.
    pub fn segment_of(&self, file: u64) -> Option<u64> {
        self.segments.iter().find(|(_, used)| used.file == file).map(|(number, _)| *number)
    }

    /// Returns the number of a segment's file.
    pub fn file_of(&self, segment: u64) -> Option<u64> {
        Some(self.segments.get(&segment)?.file)
    }

    /// Returns the index as a checkpoint has it.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_into(&mut bytes);
        bytes
    }

    fn encode_into(&self, bytes: &mut Vec<u8>) {
        put_number(bytes, self.segments.len() as u64);
        for (number, used) in &self.segments {
            [*number, used.file, used.size].iter().for_each(|number| put_number(bytes, *number));
        }
        put_number(bytes, self.queues.len() as u64);
        for (id, queue) in &self.queues {
            let lengths = [queue.extents.len() as u64, queue.returns.len() as u64];
            for number in [*id, queue.last_sequence, queue.leased].into_iter().chain(lengths) {
                put_number(bytes, number);
            }
            queue.extents.iter().for_each(|extent| extent.encode(bytes));
            for (sequence, count) in &queue.returns {
                put_number(bytes, *sequence);
                put_number(bytes, *count);
            }
        }
    }

    /// Takes the index of a checkpoint from the start of bytes.
    pub fn take(bytes: &mut &[u8]) -> Option<Index> {
        let mut index = Index::default();
        for _ in 0..take_number(bytes)? {
            let (number, file, size) = (take_number(bytes)?, take_number(bytes)?, take_number(bytes)?);
            index.add_segment(number, file, size);
        }
        for _ in 0..take_number(bytes)? {
            let (id, last_sequence, leased) = (take_number(bytes)?, take_number(bytes)?, take_number(bytes)?);
            let (extent_count, return_count) = (take_number(bytes)?, take_number(bytes)?);
            let mut queue = QueueIndex { last_sequence, leased, ..QueueIndex::default() };
            for _ in 0..extent_count {
                let extent = Extent::decode(bytes)?;
                let used = index.segments.get_mut(&extent.segment)?;
                used.queues.insert(id);
                used.live_count += extent.live_count() as u64;
                used.live_share = used.live_share.checked_add(extent.live_share())?;
                queue.extents.push(extent);
            }
            for _ in 0..return_count {
                queue.returns.insert(take_number(bytes)?, take_number(bytes)?);
            }
            index.queues.insert(id, queue);
        }
        Some(index)
    }

    /// Forgets the messages of segments that do not exist. Returns their number.
    pub fn drop_missing(&mut self, exists: impl Fn(u64) -> bool) -> u64 {
        let mut lost = 0;
        for queue in self.queues.values_mut() {
            queue.extents.retain(|extent| {
                let is_there = exists(extent.segment);
                lost += if is_there { 0 } else { extent.live_count() as u64 };
                is_there
            });
        }
        self.segments.retain(|number, _| exists(*number));
        lost
    }
}

impl SegmentIndex {
    /// Settles messages of an extent that lies in the segment.
    fn settle(&mut self, extent: &mut Extent, first: u64, last: u64, body_size: Option<u64>) {
        let before = (extent.live_count() as u64, extent.live_share());
        extent.settle(first, last, body_size);
        self.live_count = self.live_count.saturating_sub(before.0 - extent.live_count() as u64);
        self.live_share = self.live_share.saturating_sub(before.1 - extent.live_share());
    }
}

impl QueueIndex {
    /// The place of the extent in which a message is live.
    fn extent_of(&self, sequence: u64) -> Option<usize> {
        let end = self.extents.partition_point(|extent| extent.first() <= sequence);
        self.extents[..end].iter().rposition(|extent| extent.is_live(sequence))
    }
}
