//! Reading messages of a queue back from the files.
//!
//! A reader holds no lock while it reads. Where a segment was freed and its file used again meanwhile, no checksum fits: the
//! reader asks the index again.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::LogId;
use super::footer::Footer;
use super::index::{Index, Place, QueueOffsets};
use super::layout::{Seed, file_name};
use super::record::{MessageRecord, Record, Target};
use super::record_reader::{RecordReader, are_dense};
use super::scan::scan;
use super::storage::{StorageBackend, read_whole};

/// Places of messages that are looked up at once.
const PLACE_COUNT: usize = 256;
/// Segments whose footers stay in memory. Queues that are read at the same time often have their messages in the same segment.
const SEALED_COUNT_MAX: usize = 16;

/// A message that was read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredMessage {
    /// Place in the queue.
    pub sequence: u64,
    /// Milliseconds for which the message lives in the queue, from its time on.
    pub ttl_ms: Option<u64>,
    /// Returns of the message so far.
    pub return_count: u64,
    record: Vec<u8>,
}

/// Messages of a queue that were read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The messages, by sequence.
    pub messages: Vec<StoredMessage>,
    /// Sequences of messages whose records are damaged.
    pub damaged: Vec<u64>,
    /// Sequence behind the last message that was looked at.
    pub next: u64,
    /// No live message has this sequence or a later one. Otherwise there may be more, even if none was read.
    pub is_end: bool,
}

impl StoredMessage {
    /// Returns the bytes of the message.
    pub fn size(&self) -> usize {
        size_of::<StoredMessage>() + self.record.len()
    }

    /// Returns the message.
    pub fn message(&self) -> Option<MessageRecord<'_>> {
        match Record::decode_sealed(&self.record)? {
            (Record::Message(message), _) => Some(message),
            _ => None,
        }
    }
}

/// A log, as a reader sees it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub storage: &'a dyn StorageBackend,
    pub log: &'a LogId,
    pub index: &'a Mutex<Index>,
}

impl<'a> Source<'a> {
    pub fn new(storage: &'a dyn StorageBackend, log: &'a LogId, index: &'a Mutex<Index>) -> Source<'a> {
        Source { storage, log, index }
    }
}

/// Reads up to `count_max` messages of a queue from the sequence `from` on. The message that reaches `bytes_max` is the last one.
///
/// # Errors
///
/// The system's error.
pub(super) fn load(
    source: Source<'_>,
    sealed: &mut SealedSegments,
    (queue, from): (u64, u64),
    (count_max, bytes_max): (usize, usize),
) -> io::Result<Loaded> {
    let mut loaded = Loaded { next: from, ..Loaded::default() };
    let mut bytes_left = bytes_max.max(1);
    // Places beyond the last message are found in vain.
    while loaded.messages.len() < count_max
        && bytes_left > 0
        && !loaded.is_end
        && load_some(source, sealed, queue, &mut loaded, (count_max, &mut bytes_left))?
    {}
    Ok(loaded)
}

/// Reads further messages. Returns false if none is read, or a message has left its place.
fn load_some(
    source: Source<'_>,
    sealed: &mut SealedSegments,
    queue: u64,
    loaded: &mut Loaded,
    (count_max, bytes_left): (usize, &mut usize),
) -> io::Result<bool> {
    let lock = || source.index.lock().unwrap_or_else(PoisonError::into_inner);
    let count_max = PLACE_COUNT.min(count_max - loaded.messages.len());
    let places = lock().live(queue, loaded.next, count_max);
    let mut open = None::<Segment>;
    let mut left = places.len();
    for (place, next) in places.iter().zip(places.iter().skip(1).map(Some).chain([None])) {
        if open.as_ref().is_none_or(|open| open.number != place.segment) {
            sealed.extend(open.take());
            open = match sealed.take(place, queue) {
                Some(segment) => Some(segment),
                None => {
                    let file = lock().file_of(place.segment);
                    Segment::open(source, sealed, file, place, queue)?
                }
            };
        }
        let is_dense = next.is_some_and(|next| is_near(place, next));
        let record = match &mut open {
            Some(segment) => segment.record(source.index, place, is_dense)?,
            None => None,
        };
        let target = record.as_deref().and_then(|record| target_of(record, queue, place.sequence));
        match (record, target) {
            (Some(record), Some(target)) => {
                *bytes_left = bytes_left.saturating_sub(record.len());
                loaded.messages.push(StoredMessage {
                    sequence: place.sequence,
                    ttl_ms: target.ttl_ms,
                    return_count: place.return_count,
                    record,
                });
            }
            // A message that was settled or moved meanwhile is none that is damaged.
            _ if lock().live(queue, place.sequence, 1).first() != Some(place) => return Ok(false),
            _ => loaded.damaged.push(place.sequence),
        }
        loaded.next = place.sequence + 1;
        left -= 1;
        if *bytes_left == 0 {
            break;
        }
    }
    sealed.extend(open);
    loaded.is_end = left == 0 && places.len() < count_max;
    Ok(!places.is_empty())
}

/// Returns true if two records lie close together in one segment.
fn is_near(one: &Place, next: &Place) -> bool {
    one.segment == next.segment
        && match (one.offset, next.offset) {
            (Some(one), Some(next)) => are_dense(one, next),
            _ => true,
        }
}

fn target_of(record: &[u8], queue: u64, sequence: u64) -> Option<Target> {
    let (Record::Message(message), _) = Record::decode_sealed(record)? else { return None };
    message.targets.iter().find(|target| target.queue == queue && target.sequence == sequence)
}

/// Sealed segments that were read last: their footers need not be read again.
#[derive(Debug, Default)]
pub(super) struct SealedSegments(Vec<Segment>);

impl SealedSegments {
    /// Takes the segment of a message out, if the segment was read for its queue.
    fn take(&mut self, place: &Place, queue: u64) -> Option<Segment> {
        let is_same = |segment: &Segment| segment.number == place.segment && segment.queue == queue;
        // A segment was perhaps not sealed when it was read.
        place.offset.is_none().then(|| Some(self.0.remove(self.0.iter().position(is_same)?))).flatten()
    }

    /// Adds a segment if it is sealed.
    fn extend(&mut self, segment: Option<Segment>) {
        self.0.extend(segment.filter(|segment| segment.is_sealed));
        if self.0.len() > SEALED_COUNT_MAX {
            self.0.remove(0);
        }
    }

    /// The file of a segment, if the segment was read for any queue, and its footer.
    fn find(&self, number: u64) -> Option<(&RecordReader, &Arc<Footer>)> {
        // A footer may have been written since it was not found.
        let mut found = self.0.iter().filter(|segment| segment.number == number);
        found.find_map(|segment| Some((&segment.records, segment.footer.as_ref()?)))
    }
}

/// A segment that is read.
#[derive(Debug)]
struct Segment {
    number: u64,
    queue: u64,
    file_number: u64,
    is_sealed: bool,
    records: RecordReader,
    /// The directory of the footer, if the segment is sealed.
    footer: Option<Arc<Footer>>,
    /// Offsets of the queue's records, if the segment is sealed.
    offsets: Vec<(u64, u32)>,
    /// The offsets come from the records, and not from the footer.
    is_scanned: bool,
}

impl Segment {
    /// Opens the segment of a message for the records of its queue. `None`: the segment is gone.
    fn open(
        source: Source<'_>,
        sealed: &SealedSegments,
        file: Option<u64>,
        place: &Place,
        queue: u64,
    ) -> io::Result<Option<Segment>> {
        let Some(file_number) = file else { return Ok(None) };
        let (seed, is_sealed) = (Seed::new(source.log, place.segment), place.offset.is_none());
        let (file, footer) = match sealed.find(place.segment).filter(|_| is_sealed) {
            Some((records, footer)) => (records.file_handle(), Some(Arc::clone(footer))),
            None => {
                let file = match source.storage.open(&file_name(file_number)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    file => file?,
                };
                let footer = is_sealed.then(|| Footer::read(&*file, seed)).flatten();
                (file, footer.map(Arc::new))
            }
        };
        let offsets = footer.as_ref().and_then(|footer| footer.offsets(&*file, seed, queue));
        Ok(Some(Segment {
            number: place.segment,
            queue,
            file_number,
            is_sealed,
            records: RecordReader::new(file, seed),
            footer,
            offsets: offsets.unwrap_or_default(),
            is_scanned: false,
        }))
    }

    /// Reads the record of a message. `None`: there is no sound record. `is_dense`: the next record is near.
    fn record(&mut self, index: &Mutex<Index>, place: &Place, is_dense: bool) -> io::Result<Option<Vec<u8>>> {
        let mut offset = place.offset.or_else(|| self.sealed_offset(place.sequence));
        if offset.is_none() && !self.is_scanned {
            // A start that was cut off may have left a footer without messages that are live now.
            (self.offsets, self.is_scanned) = (self.scan(index)?, true);
            offset = self.sealed_offset(place.sequence);
        }
        offset.map_or(Ok(None), |offset| self.records.record(offset.into(), is_dense))
    }

    fn sealed_offset(&self, sequence: u64) -> Option<u32> {
        let found = self.offsets.binary_search_by_key(&sequence, |(sequence, _)| *sequence);
        Some(self.offsets[found.ok()?].1)
    }

    /// Returns the offsets of the queue's messages from the records. Makes the footer again.
    fn scan(&mut self, index: &Mutex<Index>) -> io::Result<Vec<(u64, u32)>> {
        let (file, seed) = (self.records.file(), self.records.seed());
        let bytes = read_whole(file)?;
        let mut offsets: BTreeMap<u64, BTreeMap<u64, u32>> = BTreeMap::new();
        let end = scan(&bytes, seed, 0, |group| {
            for (offset, record) in group.records {
                let Record::Message(message) = record else { continue };
                for target in message.targets.iter() {
                    offsets.entry(target.queue).or_default().insert(target.sequence, offset);
                }
            }
        })?;
        let offsets: Vec<QueueOffsets> =
            offsets.into_iter().map(|(queue, found)| (queue, found.into_iter().collect())).collect();
        // The lock keeps the segment: its file may not be used again while the footer is written.
        let index = index.lock().unwrap_or_else(PoisonError::into_inner);
        if index.file_of(self.number) == Some(self.file_number) {
            // The disk may be full. The next reader scans again.
            self.footer = Footer::write(file, seed, end, &offsets).ok().map(Arc::new);
        }
        drop(index);
        let found = offsets.into_iter().find(|(queue, _)| *queue == self.queue);
        Ok(found.map(|(_, offsets)| offsets).unwrap_or_default())
    }
}
