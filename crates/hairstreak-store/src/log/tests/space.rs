//! The space of the files: below twice the live bytes and six segments, whatever stays in the queues.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex};

use hairstreak_testkit::Rng;

use super::storage::{Faults, SimulatedStorage};
use super::world::LOG;
use crate::log::index::Index;
use crate::log::reader::{SealedSegments, Source, load};
use crate::log::record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
use crate::log::recovery::recover;
use crate::log::writer::{SegmentSizes, Writer};

const SIZES: SegmentSizes = SegmentSizes { first: 16 << 10, last: 128 << 10 };
/// Bytes that are copied behind each group, as a part of a segment, as for segments of the usual size.
const COPIED_MIN: usize = 1 << 10;
/// Bytes of a record beside its body and its properties, at most.
const OVERHEAD: usize = 40;

/// Bytes that a checkpoint needs in these tests, at most.
const PAGE: usize = 4 << 10;

/// A live message in some queues.
struct Live {
    targets: BTreeSet<(u64, u64)>,
    body: Vec<u8>,
    size: u64,
}

/// A log, and its live messages.
struct Files {
    storage: SimulatedStorage,
    writer: Writer,
    index: Arc<Mutex<Index>>,
    batch: Batch,
    messages: HashMap<u64, Live>,
    places: BTreeMap<(u64, u64), u64>,
    sequences: HashMap<u64, u64>,
    live_bytes: u64,
    message_count: u64,
    /// Files are made ahead.
    is_preparing: bool,
}

impl Files {
    fn new() -> Files {
        let storage = SimulatedStorage::new(0);
        let state = recover(Arc::new(storage.clone()), LOG).unwrap().state;
        let index = Arc::clone(&state.index);
        let writer = Writer::new(Arc::new(storage.clone()), state, SIZES);
        Files {
            storage,
            writer,
            index,
            batch: Batch::default(),
            messages: HashMap::new(),
            places: BTreeMap::new(),
            sequences: HashMap::new(),
            live_bytes: 0,
            message_count: 0,
            is_preparing: true,
        }
    }

    /// Publishes a message to queues, perhaps in place of another one. Returns its places.
    fn publish(
        &mut self,
        queues: &[u64],
        body_size: usize,
        properties_size: usize,
        moved: Option<(u64, u64)>,
    ) -> Vec<(u64, u64)> {
        self.message_count += 1;
        let id = self.message_count;
        let body: Vec<u8> = id.to_le_bytes().iter().copied().cycle().take(body_size).collect();
        let target = |queue: &u64| {
            let last = self.sequences.entry(*queue).or_default();
            *last += 1;
            Target { queue: *queue, sequence: *last, ttl_ms: None }
        };
        let targets: Vec<Target> = queues.iter().map(target).collect();
        let places: Vec<_> = targets.iter().map(|target| (target.queue, target.sequence)).collect();
        let moved = moved.map(|place| self.take(place));
        self.batch.push(&Record::Message(MessageRecord {
            targets: Targets::List(&targets),
            is_persistent: true,
            priority: 0,
            time_ms: 0,
            moved,
            exchange: b"x",
            routing_key: b"key",
            properties: &vec![9; properties_size],
            extensions: &[],
            body: &body,
        }));
        let size = (body_size + properties_size + OVERHEAD) as u64;
        self.live_bytes += size;
        self.places.extend(places.iter().map(|place| (*place, id)));
        self.messages.insert(id, Live { targets: places.iter().copied().collect(), body, size });
        places
    }

    /// Takes a message out of one of its queues.
    fn take(&mut self, place: (u64, u64)) -> Run {
        let id = self.places.remove(&place).unwrap();
        let live = self.messages.get_mut(&id).unwrap();
        let body_size = live.body.len() as u64;
        live.targets.remove(&place);
        if live.targets.is_empty() {
            self.live_bytes -= live.size;
            self.messages.remove(&id);
        }
        Run { queue: place.0, first: place.1, count: 1, body_size }
    }

    fn settle(&mut self, places: &[(u64, u64)]) {
        let runs: Vec<Run> = places.iter().map(|place| self.take(*place)).collect();
        self.batch.push(&Record::Settled(Runs::List(&runs)));
    }

    /// Empties a queue, and deletes it if that is wanted.
    fn clear(&mut self, queue: u64, is_deleted: bool) {
        let places: Vec<_> =
            self.places.range((queue, 0)..=(queue, u64::MAX)).map(|(place, _)| *place).collect();
        places.iter().for_each(|place| {
            self.take(*place);
        });
        if is_deleted {
            self.batch.push(&Record::Forgotten { queue });
        } else if let (Some(first), Some(last)) = (places.first(), places.last()) {
            self.batch.push(&Record::Dropped { queue, first: first.1, last: last.1 });
        }
    }

    /// Writes the batch, copies as the thread does, and checks the space.
    fn step(&mut self) {
        self.write();
        self.check_space();
    }

    fn write(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        let size_max =
            if self.writer.is_over_bound() { usize::MAX } else { COPIED_MIN.max(2 * batch.size()) };
        let written = self.writer.write(vec![batch]).and_then(|()| self.writer.sync());
        self.recover(written);
        let copied = self.writer.compact(size_max).and_then(|_| self.writer.free_dead());
        self.recover(copied);
        if self.is_preparing
            && let Some(preparation) = self.writer.prepare()
        {
            self.writer.end_preparation(preparation.run());
        }
    }

    /// Goes on after a failure.
    fn recover(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            assert_eq!(error.kind(), ErrorKind::StorageFull);
            self.writer.restart().unwrap();
        }
    }

    /// Copies until nothing is sparse, as the thread does while no batch waits.
    fn rest(&mut self) {
        let before = self.storage.counts().written_bytes;
        while self.writer.compact(8 << 10).unwrap() {
            self.writer.free_dead().unwrap();
            let copied = self.storage.counts().written_bytes - before;
            assert!(
                copied < 6 * self.live_bytes + 20 * SIZES.last,
                "{copied} bytes are copied without an end"
            );
        }
        self.check_space();
    }

    fn check_space(&self) {
        let (used, max) = (self.storage.used_bytes() as u64, 2 * self.live_bytes + 6 * SIZES.last);
        assert!(used <= max, "{used} bytes for {} live ones: more than {max}", self.live_bytes);
    }

    /// Rests, and starts again: all messages are there.
    fn finish(mut self) {
        self.step();
        self.rest();
        self.writer.close().unwrap();
        self.storage.lose_power();
        let recovered = recover(Arc::new(self.storage.clone()), LOG).unwrap();
        assert_eq!((recovered.damages.len(), recovered.missing_count), (0, 0));
        // Of very many queues, some are read.
        let every = (self.sequences.len() as u64 / 1_000).max(1);
        for index in [&self.index, &recovered.state.index] {
            let mut there = BTreeSet::new();
            for queue in self.sequences.keys().filter(|queue| *queue % every == 0) {
                let loaded = load(
                    Source::new(&self.storage, &LOG, index),
                    &mut SealedSegments::default(),
                    (*queue, 0),
                    (usize::MAX, usize::MAX),
                )
                .unwrap();
                assert_eq!(loaded.damaged, []);
                for message in loaded.messages {
                    let place = (*queue, message.sequence);
                    let expected = &self.messages[&self.places[&place]].body;
                    assert!(message.message().unwrap().body == expected, "{place:?}");
                    there.insert(place);
                }
            }
            assert!(there.iter().eq(self.places.keys().filter(|(queue, _)| queue % every == 0)));
        }
    }
}

#[test]
fn messages_that_are_never_acknowledged_pin_no_segments() {
    let mut files = Files::new();
    for round in 0..600 {
        let places: Vec<_> = (0..20).flat_map(|_| files.publish(&[1], 500, 0, None)).collect();
        files.step();
        // One in a segment stays.
        files.settle(if round % 12 == 0 { &places[1..] } else { &places });
        files.step();
    }
    assert_eq!(files.places.len(), 50);
    files.finish();
}

#[test]
fn random_acknowledgements_leave_no_holes() {
    let mut files = Files::new();
    let mut rng = Rng::with_seed(1);
    let mut live = Vec::new();
    for round in 0..450 {
        for _ in 0..10 {
            let size = [100, 1_000, 9_000][rng.usize(..3).min(rng.usize(..3))];
            live.extend(files.publish(&[rng.u64(1..4)], size, 20, None));
        }
        // The backlog grows, stays and shrinks.
        let count = if round < 120 { rng.usize(..10) } else { rng.usize(..22).min(live.len()) };
        let settled: Vec<_> = (0..count).map(|_| live.swap_remove(rng.usize(..live.len()))).collect();
        files.settle(&settled);
        files.step();
    }
    files.finish();
}

#[test]
fn purged_and_deleted_queues_leave_no_space_behind() {
    for is_deleted in [false, true] {
        let mut files = Files::new();
        for round in 0..4 {
            for _ in 0..150 {
                (0..10).for_each(|_| drop(files.publish(&[round + 1], 700, 0, None)));
                // Beside it, a queue whose messages stay.
                files.publish(&[100], 300, 0, None);
                files.step();
            }
            // A queue that goes at once leaves much to copy.
            files.clear(round + 1, is_deleted);
            files.write();
            files.rest();
        }
        files.finish();
    }
}

#[test]
fn dead_letters_in_a_ring_take_no_space_but_their_own() {
    let mut files = Files::new();
    let mut ring: Vec<_> = (0..200).flat_map(|_| files.publish(&[1], 800, 60, None)).collect();
    files.step();
    for round in 0..40 {
        for part in ring.chunks_mut(10) {
            for place in part {
                *place = files.publish(&[(round + 1) % 3 + 1], 800, 60, Some(*place))[0];
            }
            files.step();
        }
    }
    files.finish();
}

#[test]
fn a_message_that_returns_without_an_end_takes_no_space_but_its_own() {
    let mut files = Files::new();
    files.publish(&[1], 500, 20, None);
    files.step();
    let used_bytes = files.storage.used_bytes();
    for round in 1..=300 {
        for count in 1..=1_000 {
            files.batch.push(&Record::Returned { queue: 1, sequence: 1, count: round * 1_000 + count });
        }
        files.step();
    }
    assert!(files.storage.counts().written_bytes > 10 * used_bytes as u64);
    files.finish();
}

#[test]
fn consumers_that_empty_their_queues_at_once_leave_no_space_behind() {
    let mut files = Files::new();
    for round in 1..=1_500 {
        // A delivery is leased first, and the queue is empty again.
        let queue = round % 7 + 1;
        let places = files.publish(&[queue], 300, 0, None);
        files.batch.push(&Record::Leased { queue, through: places[0].1 + 100 });
        files.step();
        files.settle(&places);
        files.step();
    }
    files.finish();
}

#[test]
fn ten_thousand_idle_queues_pin_no_segments() {
    let mut files = Files::new();
    let mut busy = Vec::new();
    for round in 0..400 {
        (1..=25).for_each(|queue| drop(files.publish(&[round * 25 + queue], 6, 3, None)));
        let settled = std::mem::take(&mut busy);
        busy.extend((0..8).flat_map(|_| files.publish(&[50_000], 2_000, 0, None)));
        if !settled.is_empty() {
            files.settle(&settled);
        }
        files.step();
    }
    files.finish();
}

#[test]
fn messages_in_many_queues_count_once() {
    let mut files = Files::new();
    let queues: Vec<u64> = (1..=10).collect();
    let mut live = Vec::new();
    for round in 0..400 {
        for number in 0..5 {
            let places = files.publish(&queues, 800, 0, None);
            // One in ten stays in all queues, and some of the others in one.
            match number + round % 2 * 5 {
                0 => {}
                1..3 => live.push(places),
                _ => files.settle(&places),
            }
        }
        files.step();
        if let Some(places) = live.pop() {
            files.settle(&places[1..]);
        }
    }
    files.finish();
}

#[test]
fn live_segments_are_not_copied_without_an_end() {
    // Messages with long properties and no body, ones that take half a segment or more, and groups much smaller than a sector.
    let shapes = [(0, 3_000, 150), (62_000, 10, 15), (70_000, 10, 15), (20, 5, 700)];
    for (body_size, properties_size, count) in shapes {
        let mut files = Files::new();
        for _ in 0..count {
            files.publish(&[1], body_size, properties_size, None);
            files.step();
        }
        files.publish(&[2], 10, 0, None);
        files.finish();
    }
}

#[test]
fn on_a_disk_that_others_have_filled_acknowledgements_and_dead_letters_free_space() {
    free_a_full_disk(true);
}

#[test]
fn on_a_disk_that_others_have_filled_acknowledgements_free_space_without_a_file_that_is_kept_back() {
    free_a_full_disk(false);
}

/// A log whose messages are all taken on a disk without free bytes, with no file that is kept back.
fn full_disk_of_dead_segments() -> Files {
    let mut files = Files::new();
    files.is_preparing = false;
    for _ in 0..60 {
        (0..10).for_each(|_| drop(files.publish(&[1], 500, 30, None)));
        files.step();
    }
    set_free(&files, 0);
    files.writer.space().set_limit(u64::MAX);
    files.clear(1, false);
    let batch = std::mem::take(&mut files.batch);
    files.writer.write(vec![batch]).unwrap();
    files
}

fn set_free(files: &Files, bytes: usize) {
    let space = Some(files.storage.used_bytes() + bytes);
    files.storage.set_faults(Faults { space, ..Faults::default() });
    files.writer.space().look(&files.storage);
}

fn check_freed(files: Files, used_before: usize) {
    let used = files.storage.used_bytes();
    assert!(used < used_before / 2, "{used} of {used_before} bytes");
    files.storage.set_faults(Faults::default());
    files.writer.space().look(&files.storage);
    files.finish();
}

#[test]
fn on_a_full_disk_a_checkpoint_takes_the_room_of_the_one_before_the_last() {
    let mut files = full_disk_of_dead_segments();
    let used = files.storage.used_bytes();
    files.writer.free_dead().unwrap();
    check_freed(files, used);
}

#[test]
fn a_checkpoint_that_a_full_disk_has_no_room_for_is_made_later() {
    for is_idle in [true, false] {
        let mut files = full_disk_of_dead_segments();
        files.storage.lose_file("checkpoint.old");
        set_free(&files, 0);
        let used = files.storage.used_bytes();
        files.writer.free_dead().unwrap_err();
        files.writer.restart().unwrap();
        if is_idle {
            files.writer.free_dead().unwrap_err();
            set_free(&files, PAGE);
            files.writer.free_dead().unwrap();
        } else {
            files.publish(&[1], 500, 30, None);
            let batch = std::mem::take(&mut files.batch);
            files.writer.write(vec![batch]).unwrap_err();
            files.writer.restart().unwrap_err();
            set_free(&files, PAGE);
            files.writer.restart().unwrap();
        }
        check_freed(files, used);
    }
}

/// Takes messages on a disk without free bytes. `has_reserve`: the log has a file for the next segment.
fn free_a_full_disk(has_reserve: bool) {
    let mut files = Files::new();
    files.is_preparing = has_reserve;
    let mut rng = Rng::with_seed(7);
    let mut live = Vec::new();
    while live.len() < 1_200 || !files.writer.has_room(100 << 10) {
        (0..10).for_each(|_| live.extend(files.publish(&[1], rng.usize(..900), 30, None)));
        files.step();
    }
    let fill = |files: &Files| {
        // The index has holes, and the checkpoint a page.
        let space = files.storage.used_bytes() + if has_reserve { 0 } else { PAGE };
        files.storage.set_faults(Faults { space: Some(space), ..Faults::default() });
        files.writer.space().look(&files.storage);
        space
    };
    let space = fill(&files);
    files.writer.space().set_limit(space as u64);
    files.writer.free_dead().unwrap();
    // Others take what the log gives back.
    let space = fill(&files).min(space);
    while !live.is_empty() {
        // Random ones, in small groups, and dead letters. Without the file that is kept back all of them would have to fit the
        // active segment before a segment is free.
        let place = if has_reserve { live.swap_remove(rng.usize(..live.len())) } else { live.remove(0) };
        if rng.u8(..10) == 0 {
            files.publish(&[2], 30, 30, Some(place));
        } else {
            files.settle(&[place]);
        }
        files.write();
        files.writer.space().look(&files.storage);
    }
    files.rest();
    let used = files.storage.used_bytes();
    assert!(used < space / 4, "{used} of {space} bytes");
    files.storage.set_faults(Faults::default());
    files.writer.space().look(&files.storage);
    files.finish();
}
