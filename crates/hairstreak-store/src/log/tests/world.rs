//! `World`: a log on a simulated directory, and a model of what it has to keep.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use hairstreak_testkit::Rng;

use super::storage::{Faults, SimulatedStorage};
use crate::log::LogId;
use crate::log::files::Preparation;
use crate::log::index::Index;
use crate::log::reader::{Loaded, SealedSegments, Source, load};
use crate::log::record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
use crate::log::recovery::{Recovered, recover};
use crate::log::writer::{SegmentSizes, Writer};

pub const LOG: LogId = [7; 16];
/// Small segments, so that a test has many.
pub const SIZES: SegmentSizes = SegmentSizes { first: 8 << 10, last: 32 << 10 };
const QUEUES: std::ops::Range<u64> = 1..5;

/// A message of the model.
#[derive(Clone, Debug)]
struct Kept {
    body: Vec<u8>,
    /// Group of the message, and of its settlement.
    published: u64,
    settled: Option<u64>,
    /// Place of the message that this one becomes when it leaves.
    letter: Option<(u64, u64)>,
}

/// A log, and what it has to keep.
pub struct World {
    pub storage: SimulatedStorage,
    pub rng: Rng,
    writer: Writer,
    /// The next file, which is still to be made.
    preparation: Option<Preparation>,
    index: Arc<Mutex<Index>>,
    batch: Batch,
    /// Groups of ten that are synced at once.
    synced_of_ten: u8,
    messages: BTreeMap<(u64, u64), Kept>,
    sequences: BTreeMap<u64, u64>,
    /// Parts of queues were dropped: the sizes of the rest are estimated.
    has_dropped: bool,
    /// Group that the batch will be in, and the last group that is synced.
    group: u64,
    synced: u64,
}

impl World {
    pub fn new(seed: u64) -> World {
        World::on(SimulatedStorage::new(seed), Rng::with_seed(seed))
    }

    pub fn on(storage: SimulatedStorage, mut rng: Rng) -> World {
        let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
        assert_eq!((recovered.damages.len(), recovered.missing_count), (0, 0));
        let index = Arc::clone(&recovered.state.index);
        let writer = Writer::new(Arc::new(storage.clone()), recovered.state, SIZES);
        let (messages, sequences) = (BTreeMap::new(), BTreeMap::new());
        let synced_of_ten = [1, 7][rng.usize(..2)];
        World {
            storage,
            rng,
            writer,
            preparation: None,
            index,
            batch: Batch::default(),
            synced_of_ten,
            messages,
            sequences,
            has_dropped: false,
            group: 1,
            synced: 0,
        }
    }

    /// Publishes a message to some queues.
    pub fn publish(&mut self) {
        let size_max = [20, 300, 3_000, 40_000][self.rng.usize(0..4).min(self.rng.usize(0..4))];
        let body_size = self.rng.usize(0..size_max);
        let body: Vec<u8> = std::iter::repeat_with(|| self.rng.u8(..)).take(body_size).collect();
        let mut targets = Vec::new();
        for queue in QUEUES {
            if targets.is_empty() && queue + 1 == QUEUES.end || self.rng.u8(..3) == 0 {
                let last = self.sequences.entry(queue).or_default();
                // A transient message takes a sequence, too.
                *last += if self.rng.u8(..10) == 0 { 2 } else { 1 };
                targets.push(Target { queue, sequence: *last, ttl_ms: None });
            }
        }
        let dead = if self.rng.u8(..10) == 0 { self.settle_any() } else { None };
        if let Some(run) = dead {
            let kept = self.messages.get_mut(&(run.queue, run.first)).unwrap();
            kept.letter = Some((targets[0].queue, targets[0].sequence));
        }
        // A dead letter leaves its queue in the record of the letter, in a record behind it, or in both.
        let (is_moved, is_settled) = [(true, false), (false, true), (true, true)][self.rng.usize(..3)];
        let moved = dead.filter(|_| is_moved);
        for target in &targets {
            let kept = Kept { body: body.clone(), published: self.group, settled: None, letter: None };
            assert!(self.messages.insert((target.queue, target.sequence), kept).is_none());
        }
        self.batch.push(&Record::Message(MessageRecord {
            targets: Targets::List(&targets),
            is_persistent: true,
            priority: 0,
            time_ms: 0,
            moved,
            exchange: b"x",
            routing_key: b"key",
            properties: b"",
            extensions: &[],
            body: &body,
        }));
        if let Some(run) = dead.filter(|_| is_settled) {
            self.batch.push(&Record::Settled(Runs::List(&[run])));
        }
    }

    /// Takes a random message out of the model. Returns it as a run.
    fn settle_any(&mut self) -> Option<Run> {
        let live: Vec<_> =
            self.messages.iter().filter(|(_, kept)| kept.settled.is_none()).map(|(key, _)| *key).collect();
        let (queue, first) = *live.get(self.rng.usize(0..live.len().max(1)))?;
        let kept = self.messages.get_mut(&(queue, first))?;
        kept.settled = Some(self.group);
        Some(Run { queue, first, count: 1, body_size: kept.body.len() as u64 })
    }

    /// Settles messages: some at random, or the first ones of a queue.
    pub fn settle(&mut self) {
        if self.rng.u8(..8) > 0 {
            let count = self.rng.usize(1..5);
            let runs: Vec<Run> = (0..count).filter_map(|_| self.settle_any()).collect();
            if !runs.is_empty() {
                self.batch.push(&Record::Settled(Runs::List(&runs)));
            }
            return;
        }
        let queue = self.rng.u64(QUEUES);
        let live = self.messages.iter_mut().filter(|((of, _), kept)| *of == queue && kept.settled.is_none());
        let (mut first, mut last) = (0, 0);
        for ((_, sequence), kept) in live.take(self.rng.usize(1..30)) {
            kept.settled = Some(self.group);
            first = if first == 0 { *sequence } else { first };
            last = *sequence;
        }
        if first > 0 {
            self.has_dropped = true;
            self.batch.push(&Record::Dropped { queue, first, last });
        }
    }

    /// Writes the batch as a group, and perhaps syncs it. After an error the log starts again in a fresh segment, unless the
    /// storage is dead.
    pub fn write(&mut self) -> io::Result<()> {
        let batch = std::mem::take(&mut self.batch);
        if batch.is_empty() {
            return Ok(());
        }
        let is_synced = self.rng.u8(..10) < self.synced_of_ten;
        let written = self.writer.write(vec![batch]);
        self.group += 1;
        let result = written.and_then(|()| if is_synced { self.sync() } else { Ok(()) });
        result.or_else(|_| {
            self.writer.restart()?;
            self.synced = self.group - 1;
            Ok(())
        })
    }

    /// Makes the next file if it was asked for, and asks for it.
    pub fn prepare(&mut self) {
        if let Some(preparation) = self.preparation.take() {
            self.writer.end_preparation(preparation.run());
        }
        self.preparation = self.writer.prepare();
        if self.rng.bool()
            && let Some(preparation) = self.preparation.take()
        {
            self.writer.end_preparation(preparation.run());
        }
    }

    pub fn sync(&mut self) -> io::Result<()> {
        self.writer.sync()?;
        self.synced = self.group - 1;
        Ok(())
    }

    /// Copies live records of a sparse segment, and frees dead ones.
    pub fn compact(&mut self) -> io::Result<()> {
        self.write()?;
        let size = self.rng.usize(1..20_000);
        let compacted = self.writer.compact(size).map(|_| self.group += 1);
        compacted.and_then(|()| self.writer.free_dead()).or_else(|_| {
            self.writer.restart()?;
            self.synced = self.group - 1;
            Ok(())
        })
    }

    /// Seals the segment, as the end of a node does.
    pub fn close(&mut self) -> io::Result<()> {
        self.write()?;
        self.writer.close()?;
        self.synced = self.group - 1;
        Ok(())
    }

    /// Starts the node again. It may die while it starts, and then starts once more.
    pub fn restart(&mut self, loses_power: bool) {
        if let Some(preparation) = self.preparation.take().filter(|_| self.rng.bool()) {
            // The process dies before it uses the file.
            preparation.run();
        }
        if loses_power {
            self.storage.lose_power();
        }
        let mut faults = Faults::default();
        while self.rng.u8(..3) == 0 {
            faults.dead_from = Some(self.storage.counts().operations + self.rng.u64(..20));
            self.storage.set_faults(faults);
            let died = recover(Arc::new(self.storage.clone()), LOG).and_then(|recovered| {
                let mut writer = Writer::new(Arc::new(self.storage.clone()), recovered.state, SIZES);
                writer.close().map_err(|source| crate::log::error::LogError::Io { file: "".into(), source })
            });
            drop(died);
            if loses_power {
                self.storage.lose_power();
            }
        }
        self.storage.set_faults(Faults::default());
        let Recovered { state, damages, missing_count, has_lost_groups, .. } =
            recover(Arc::new(self.storage.clone()), LOG).unwrap();
        assert!(!has_lost_groups, "groups are missing");
        assert!(!damages.iter().any(|damage| damage.was_synced), "{damages:?}");
        assert_eq!(missing_count, 0, "a segment is missing");
        self.index = Arc::clone(&state.index);
        self.writer = Writer::new(Arc::new(self.storage.clone()), state, SIZES);
        self.writer.close().unwrap();
        self.batch = Batch::default();
        self.check_and_take_over();
        if !loses_power && self.rng.bool() {
            // All groups that the start has found are on the medium.
            self.restart(true);
        }
    }

    /// Checks that the log has all that it has to keep, and takes what it has for what it has to keep from now on.
    fn check_and_take_over(&mut self) {
        let mut messages = std::mem::take(&mut self.messages);
        for queue in QUEUES {
            let loaded = load_all(&self.storage, &LOG, &self.index, queue);
            assert_eq!(loaded.damaged, [], "queue {queue}");
            let mut before = 0;
            for found in loaded.messages {
                assert!(before < found.sequence, "the order of queue {queue}");
                before = found.sequence;
                let kept = messages.remove(&(queue, found.sequence));
                let kept = kept.unwrap_or_else(|| panic!("{queue}/{} was never published", found.sequence));
                let is_settled = kept.settled.is_some_and(|group| group <= self.synced);
                assert!(!is_settled, "{queue}/{} was settled", found.sequence);
                assert_eq!(found.message().unwrap().body, kept.body, "{queue}/{}", found.sequence);
                let kept = Kept { published: 0, settled: None, letter: None, ..kept };
                self.messages.insert((queue, found.sequence), kept);
                // A sequence that was lost is used again.
            }
        }
        for ((queue, sequence), kept) in &messages {
            let may_be_gone = kept.settled.is_some() || kept.published > self.synced;
            assert!(may_be_gone, "{queue}/{sequence} is lost: {:?}, synced {}", kept.published, self.synced);
            let letter = kept.letter.filter(|_| kept.published <= self.synced);
            let Some(letter) = letter else { continue };
            // The letter is there, or has left as well.
            let is_gone = messages.get(&letter).is_some_and(|letter| letter.settled.is_none());
            assert!(!is_gone, "{queue}/{sequence} has left, and its letter {letter:?} is lost");
        }
        let recovered = self.index.lock().unwrap().recovered();
        for queue in recovered {
            let last = self.sequences.entry(queue.id).or_default();
            assert!(queue.last_sequence <= *last);
            *last = queue.last_sequence;
            let live = self.messages.range((queue.id, 0)..=(queue.id, u64::MAX));
            let sizes: Vec<u64> = live.map(|(_, kept)| kept.body.len() as u64).collect();
            assert_eq!(queue.count, sizes.len() as u64);
            assert!(self.has_dropped || queue.body_bytes == sizes.iter().sum::<u64>());
        }
        (self.group, self.synced) = (1, 0);
    }
}

/// Changes some bytes, and cuts the rest off.
pub fn scramble(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..rng.usize(..200) {
        let at = rng.usize(..bytes.len());
        bytes[at] = rng.u8(..);
    }
    bytes.truncate(rng.usize(..=bytes.len()));
}

/// Reads all messages of a queue.
pub fn load_all(storage: &SimulatedStorage, log: &LogId, index: &Mutex<Index>, queue: u64) -> Loaded {
    let (mut all, mut sealed) = (Loaded::default(), SealedSegments::default());
    loop {
        let source = Source::new(storage, log, index);
        let part = load(source, &mut sealed, (queue, all.next), (7, 10_000)).unwrap();
        let is_end = part.next == all.next;
        all.messages.extend(part.messages);
        all.damaged.extend(part.damaged);
        all.next = part.next;
        if is_end {
            return all;
        }
    }
}
