//! `Record`: one change of the queues, as bytes. `Batch`: the records that a virtual host hands over at once.
//!
//! ```text
//! 0      4          8      9
//! | size | checksum | kind | fields ...
//! ```
//!
//! `size` counts the whole record. Numbers among the fields are LEB128. A record of another kind, with other flags, or with an extension of an
//! unknown odd type is of a later version of the program: it stops the start, and is never taken for damage.
//!
//! | kind | record | fields |
//! |---|---|---|
//! | 1 | [`MessageRecord`] | flags, priority, number of targets, targets, and as the flags say: time, moved message, extensions; exchange, routing key, properties, body |
//! | 2 | [`Record::Settled`] | runs: queue, first sequence, count, size of each body |
//! | 3 | [`Record::Dropped`] | queue, first sequence, last sequence |
//! | 4 | [`Record::Returned`] | queue, sequence, count |
//! | 5 | [`Record::Leased`] | queue, last sequence |
//! | 6 | [`Record::Forgotten`] | queue |

use std::io;

use super::layout::Seed;

/// Size of the fields that each record has.
pub(super) const HEADER_SIZE: usize = 9;

const MESSAGE: u8 = 1;
const SETTLED: u8 = 2;
const DROPPED: u8 = 3;
const RETURNED: u8 = 4;
const LEASED: u8 = 5;
const FORGOTTEN: u8 = 6;

/// Delivery mode 2.
const IS_PERSISTENT: u8 = 1;
/// The record has the time of its messages, and each target a time to live.
const EXPIRES: u8 = 2;
/// The record settles a message: a dead letter leaves its queue.
const IS_MOVE: u8 = 4;
/// The record has extensions.
const IS_EXTENDED: u8 = 8;
const KNOWN_FLAGS: u8 = IS_PERSISTENT | EXPIRES | IS_MOVE | IS_EXTENDED;
/// The first bit of the type of an extension that a reader has to know.
const IS_CRITICAL: u64 = 1;

/// A message in one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Id of the queue.
    pub queue: u64,
    /// Place of the message in the queue.
    pub sequence: u64,
    /// Milliseconds for which the message lives in the queue.
    pub ttl_ms: Option<u64>,
}

/// Messages of one queue with consecutive sequences and bodies of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Id of the queue.
    pub queue: u64,
    /// Sequence of the first message.
    pub first: u64,
    /// Number of messages.
    pub count: u64,
    /// Bytes of each body.
    pub body_size: u64,
}

/// A message, and the queues that get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRecord<'a> {
    /// Queues that get the message.
    pub targets: Targets<'a>,
    /// Delivery mode 2.
    pub is_persistent: bool,
    /// Priority.
    pub priority: u8,
    /// Time of the arrival in milliseconds since 1970, if the message expires in one of its queues.
    pub time_ms: u64,
    /// The message that this one replaces in its queue: a dead letter.
    pub moved: Option<Run>,
    /// Exchange that the message was published to.
    pub exchange: &'a [u8],
    /// Routing key.
    pub routing_key: &'a [u8],
    /// Encoded properties.
    pub properties: &'a [u8],
    /// Extensions: for each its type and its bytes. A reader has to know those with odd types.
    pub extensions: &'a [u8],
    /// Body.
    pub body: &'a [u8],
}

/// Targets, as a list or as bytes of a record.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// Targets in memory.
    List(&'a [Target]),
    /// Encoded targets: their number, their bytes, and whether they have times to live.
    Encoded(u64, &'a [u8], bool),
}

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// A message arrives.
    Message(MessageRecord<'a>),
    /// Messages are acknowledged, or leave their queue for good in another way.
    Settled(Runs<'a>),
    /// All messages of a part of a queue leave for good.
    Dropped {
        /// Id of the queue.
        queue: u64,
        /// First sequence.
        first: u64,
        /// Last sequence.
        last: u64,
    },
    /// A message came back to its queue.
    Returned {
        /// Id of the queue.
        queue: u64,
        /// Place of the message.
        sequence: u64,
        /// Returns so far.
        count: u64,
    },
    /// Messages up to this one may be delivered, or count as delivered.
    Leased {
        /// Id of the queue.
        queue: u64,
        /// Last sequence.
        through: u64,
    },
    /// The queue is deleted.
    Forgotten {
        /// Id of the queue.
        queue: u64,
    },
}

/// Runs, as a list or as bytes of a record.
#[derive(Clone, Copy, Debug)]
pub enum Runs<'a> {
    /// Runs in memory.
    List(&'a [Run]),
    /// Encoded runs.
    Encoded(&'a [u8]),
}

/// Why bytes are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRecord {
    /// The bytes are damaged, or something else.
    Damaged,
    /// The record is sound, and a later version of the program wrote it.
    Unknown(Unknown),
}

/// A part of a record that has to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unknown {
    Kind(u8),
    Flags(u8),
    Extension(u64),
}

impl Unknown {
    /// Returns the error for a file that has such a record at that offset.
    pub fn at(self, offset: u64) -> io::Error {
        let part = match self {
            Unknown::Kind(kind) => format!("the kind {kind}"),
            Unknown::Flags(flags) => format!("the flags {flags:#x}"),
            Unknown::Extension(kind) => format!("an extension of type {kind}"),
        };
        let remedy = "which a later version of the program wrote: use that program";
        io::Error::new(
            io::ErrorKind::Unsupported,
            format!("the record at byte {offset} has {part}, {remedy}"),
        )
    }
}

/// Records of one turn of a virtual host. The log writes all of them in one group, unless they are extremely large.
#[derive(Debug, Default)]
pub struct Batch {
    pub(super) bytes: Vec<u8>,
    pub(super) count: u32,
    /// A caller waits until the batch is written.
    pub(super) wants_write: bool,
    /// A caller waits until the batch is on the medium.
    pub(super) wants_sync: bool,
    /// The rest of the batch follows.
    pub(super) is_part: bool,
}

impl Batch {
    /// Returns true if the batch has no records.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the bytes of the records.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Has the log write the batch without delay.
    pub fn want_write(&mut self) {
        self.wants_write = true;
    }

    /// Returns true if a caller waits for the batch.
    pub(super) fn is_urgent(&self) -> bool {
        self.wants_write || self.wants_sync
    }

    /// Has the log sync the batch without delay.
    pub fn want_sync(&mut self) {
        self.wants_sync = true;
    }

    /// Cuts the batch behind the record that reaches `size_max`. Returns the rest, if there is one. The batch is a part then, and asks
    /// for no write and no sync.
    pub(super) fn cut(&mut self, size_max: usize) -> Option<Batch> {
        let (mut end, mut count) = (0, 0);
        while end < self.bytes.len().min(size_max) {
            end += u32::from_le_bytes(*self.bytes[end..].first_chunk()?) as usize;
            count += 1;
        }
        let rest = Batch {
            bytes: self.bytes.split_off(end),
            count: self.count - count,
            wants_write: self.wants_write,
            wants_sync: self.wants_sync,
            is_part: self.is_part,
        };
        if rest.is_empty() {
            return None;
        }
        (self.count, self.is_part) = (count, true);
        (self.wants_write, self.wants_sync) = (false, false);
        Some(rest)
    }

    /// Appends a record.
    pub fn push(&mut self, record: &Record<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; HEADER_SIZE]);
        let kind = record.encode(&mut self.bytes);
        let size = (self.bytes.len() - start) as u32;
        self.bytes[start..start + 4].copy_from_slice(&size.to_le_bytes());
        self.bytes[start + HEADER_SIZE - 1] = kind;
        self.count += 1;
    }
}

impl<'a> Record<'a> {
    /// Returns the kind as a word.
    pub fn kind_name(&self) -> &'static str {
        match self {
            Record::Message(_) => "message",
            Record::Settled(_) => "settled",
            Record::Dropped { .. } => "dropped",
            Record::Returned { .. } => "returned",
            Record::Leased { .. } => "leased",
            Record::Forgotten { .. } => "forgotten",
        }
    }

    /// Appends the fields, and returns the kind.
    fn encode(&self, bytes: &mut Vec<u8>) -> u8 {
        let mut put = |numbers: &[u64]| numbers.iter().for_each(|number| put_number(bytes, *number));
        match self {
            Record::Message(message) => {
                message.encode(bytes);
                MESSAGE
            }
            Record::Settled(runs) => {
                runs.iter().for_each(|run| put(&[run.queue, run.first, run.count, run.body_size]));
                SETTLED
            }
            Record::Dropped { queue, first, last } => {
                put(&[*queue, *first, *last]);
                DROPPED
            }
            Record::Returned { queue, sequence, count } => {
                put(&[*queue, *sequence, *count]);
                RETURNED
            }
            Record::Leased { queue, through } => {
                put(&[*queue, *through]);
                LEASED
            }
            Record::Forgotten { queue } => {
                put(&[*queue]);
                FORGOTTEN
            }
        }
    }

    /// Reads the record at the start of `bytes`.
    pub(super) fn decode(bytes: &'a [u8], seed: Seed) -> Result<(Record<'a>, usize), NoRecord> {
        let bytes = Record::sound(bytes, seed).ok_or(NoRecord::Damaged)?;
        let (kind, fields) = (bytes[8], &bytes[HEADER_SIZE..]);
        if !(MESSAGE..=FORGOTTEN).contains(&kind) {
            return Err(NoRecord::Unknown(Unknown::Kind(kind)));
        }
        if kind == MESSAGE && fields[0] & !KNOWN_FLAGS != 0 {
            return Err(NoRecord::Unknown(Unknown::Flags(fields[0] & !KNOWN_FLAGS)));
        }
        let record = Record::decode_fields(kind, fields).ok_or(NoRecord::Damaged)?;
        if let Record::Message(message) = &record {
            check_extensions(message.extensions)?;
        }
        Ok((record, bytes.len()))
    }

    /// Returns the bytes of the record at the start of `bytes`, if it is whole and its checksum fits.
    fn sound(bytes: &[u8], seed: Seed) -> Option<&[u8]> {
        let size = u32::from_le_bytes(*bytes.first_chunk()?) as usize;
        let bytes = bytes.get(..size).filter(|_| size > HEADER_SIZE)?;
        let sum = u32::from_le_bytes(*bytes[4..].first_chunk()?);
        (sum == record_checksum(bytes, seed)).then_some(bytes)
    }

    /// Reads the record at the start of bytes that were just sealed.
    pub(super) fn decode_sealed(bytes: &'a [u8]) -> Option<(Record<'a>, usize)> {
        let size = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
        let bytes = bytes.get(..size)?;
        Some((Record::decode_fields(bytes[8], &bytes[HEADER_SIZE..])?, size))
    }

    fn decode_fields(kind: u8, fields: &'a [u8]) -> Option<Record<'a>> {
        let mut rest = fields;
        let mut next = || take_number(&mut rest);
        let record = match kind {
            MESSAGE => Record::Message(MessageRecord::decode(fields)?),
            SETTLED => Record::Settled(Runs::Encoded(fields)),
            DROPPED => Record::Dropped { queue: next()?, first: next()?, last: next()? },
            RETURNED => Record::Returned { queue: next()?, sequence: next()?, count: next()? },
            LEASED => Record::Leased { queue: next()?, through: next()? },
            FORGOTTEN => Record::Forgotten { queue: next()? },
            _ => return None,
        };
        Some(record)
    }

    /// Returns the size of the record that the bytes seem to begin with, before its checksum is computed.
    pub(super) fn size_at(bytes: &[u8]) -> Option<usize> {
        let header = bytes.get(..HEADER_SIZE)?;
        let size = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let is_one = (HEADER_SIZE + 1..=bytes.len()).contains(&size) && header[8] > 0;
        is_one.then_some(size)
    }
}

/// The checksum of a record that has the size of `bytes`.
fn record_checksum(bytes: &[u8], seed: Seed) -> u32 {
    crc32c::crc32c_append(seed.checksum(&bytes[..4]), &bytes[8..])
}

/// Puts the checksum into the record at the start of `bytes`. Returns the checksum and the size of the record.
pub(super) fn seal(bytes: &mut [u8], seed: Seed) -> (u32, usize) {
    let size = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    let sum = record_checksum(&bytes[..size], seed);
    bytes[4..8].copy_from_slice(&sum.to_le_bytes());
    (sum, size)
}

impl<'a> MessageRecord<'a> {
    /// Returns the size of the record, up to a few bytes.
    pub(super) fn size_estimate(&self) -> u64 {
        let targets = match self.targets {
            Targets::List(targets) => size_of_val(targets),
            Targets::Encoded(_, bytes, _) => bytes.len(),
        };
        let fields = [self.exchange, self.routing_key, self.properties, self.extensions, self.body];
        let fields: usize = fields.iter().map(|field| field.len()).sum();
        // Flags, priority, and the lengths of the fields take at least 6 bytes.
        (HEADER_SIZE + 6 + targets + fields) as u64
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        let expires = self.targets.iter().any(|target| target.ttl_ms.is_some());
        let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
        let flags = flag(self.is_persistent, IS_PERSISTENT)
            | flag(expires, EXPIRES)
            | flag(self.moved.is_some(), IS_MOVE)
            | flag(!self.extensions.is_empty(), IS_EXTENDED);
        bytes.extend_from_slice(&[flags, self.priority]);
        put_number(bytes, self.targets.iter().count() as u64);
        for target in self.targets.iter() {
            put_number(bytes, target.queue);
            put_number(bytes, target.sequence);
            if expires {
                // 0: the message does not expire in this queue.
                put_number(bytes, target.ttl_ms.map_or(0, |ttl_ms| ttl_ms.saturating_add(1)));
            }
        }
        if expires {
            put_number(bytes, self.time_ms);
        }
        if let Some(Run { queue, first, body_size, .. }) = self.moved {
            [queue, first, body_size].iter().for_each(|number| put_number(bytes, *number));
        }
        if !self.extensions.is_empty() {
            put_number(bytes, self.extensions.len() as u64);
            bytes.extend_from_slice(self.extensions);
        }
        for field in [self.exchange, self.routing_key, self.properties] {
            put_number(bytes, field.len() as u64);
            bytes.extend_from_slice(field);
        }
        bytes.extend_from_slice(self.body);
    }

    fn decode(fields: &'a [u8]) -> Option<MessageRecord<'a>> {
        let (head, mut rest) = fields.split_at_checked(2)?;
        let [flags, priority] = *head else { return None };
        let expires = flags & EXPIRES != 0;
        let count = take_number(&mut rest)?;
        let encoded = rest;
        for _ in 0..count {
            for _ in 0..2 + usize::from(expires) {
                take_number(&mut rest)?;
            }
        }
        let targets = Targets::Encoded(count, &encoded[..encoded.len() - rest.len()], expires);
        let time_ms = if expires { take_number(&mut rest)? } else { 0 };
        let mut moved = None;
        if flags & IS_MOVE != 0 {
            let mut next = || take_number(&mut rest);
            moved = Some(Run { queue: next()?, first: next()?, count: 1, body_size: next()? });
        }
        let extensions = if flags & IS_EXTENDED != 0 { take_bytes(&mut rest)? } else { &[] };
        if check_extensions(extensions) == Err(NoRecord::Damaged) {
            return None;
        }
        Some(MessageRecord {
            targets,
            is_persistent: flags & IS_PERSISTENT != 0,
            priority,
            time_ms,
            moved,
            exchange: take_bytes(&mut rest)?,
            routing_key: take_bytes(&mut rest)?,
            properties: take_bytes(&mut rest)?,
            extensions,
            body: rest,
        })
    }
}

impl<'a> Targets<'a> {
    /// Returns the targets.
    pub fn iter(&self) -> impl Iterator<Item = Target> + use<'a> {
        let (list, mut encoded, has_ttls) = match *self {
            Targets::List(list) => (list, &[][..], false),
            Targets::Encoded(_, bytes, has_ttls) => (&[][..], bytes, has_ttls),
        };
        let next = move || {
            let (queue, sequence) = (take_number(&mut encoded)?, take_number(&mut encoded)?);
            let ttl_ms = if has_ttls { take_number(&mut encoded)?.checked_sub(1) } else { None };
            Some(Target { queue, sequence, ttl_ms })
        };
        list.iter().copied().chain(std::iter::from_fn(next))
    }
}

impl PartialEq for Targets<'_> {
    fn eq(&self, other: &Targets<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Targets<'_> {}

impl<'a> Runs<'a> {
    /// Returns the runs.
    pub fn iter(&self) -> impl Iterator<Item = Run> + use<'a> {
        let (list, mut encoded) = match *self {
            Runs::List(list) => (list, &[][..]),
            Runs::Encoded(bytes) => (&[][..], bytes),
        };
        let next = move || {
            let mut next = || take_number(&mut encoded);
            Some(Run { queue: next()?, first: next()?, count: next()?, body_size: next()? })
        };
        list.iter().copied().chain(std::iter::from_fn(next))
    }
}

impl PartialEq for Runs<'_> {
    fn eq(&self, other: &Runs<'_>) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Runs<'_> {}

/// Appends a number as LEB128.
pub(super) fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number. `None`: the bytes end, or the number has more than 64 bits.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if shift == 63 && *byte > 1 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

/// Checks extensions. This program knows none: those of even types are kept as they are.
pub(super) fn check_extensions(mut bytes: &[u8]) -> Result<(), NoRecord> {
    while !bytes.is_empty() {
        let kind = take_number(&mut bytes).ok_or(NoRecord::Damaged)?;
        take_bytes(&mut bytes).ok_or(NoRecord::Damaged)?;
        if kind & IS_CRITICAL != 0 {
            return Err(NoRecord::Unknown(Unknown::Extension(kind)));
        }
    }
    Ok(())
}

/// Takes bytes behind their number.
pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let size = take_number(bytes)?.try_into().ok()?;
    let (taken, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn seed() -> Seed {
        Seed::new(&[7; 16], 1)
    }

    /// Encodes records, seals them, and reads them again.
    fn assert_read_back(records: &[Record<'_>]) {
        let mut batch = Batch::default();
        records.iter().for_each(|record| batch.push(record));
        let mut at = 0;
        for record in records {
            let (_, size) = seal(&mut batch.bytes[at..], seed());
            assert_eq!(Record::decode(&batch.bytes[at..], seed()), Ok((*record, size)));
            assert_eq!(Record::size_at(&batch.bytes[at..]), Some(size));
            at += size;
        }
        assert_eq!((at, batch.count), (batch.size(), records.len() as u32));
    }

    fn target() -> impl Strategy<Value = Target> {
        (any::<u64>(), any::<u64>(), proptest::option::of(0..u64::MAX - 1))
            .prop_map(|(queue, sequence, ttl_ms)| Target { queue, sequence, ttl_ms })
    }

    proptest! {
        #[test]
        fn records_are_read_as_they_were_written(
            targets in vec(target(), 0..5),
            (is_persistent, priority, time_ms) in any::<(bool, u8, u64)>(),
            moved in proptest::option::of(any::<[u64; 3]>()),
            texts in vec(vec(any::<u8>(), 0..300), 4),
            runs in vec(any::<[u64; 4]>(), 0..5),
            numbers in any::<[u64; 3]>(),
        ) {
            let expires = targets.iter().any(|target| target.ttl_ms.is_some());
            let message = MessageRecord {
                targets: Targets::List(&targets),
                is_persistent,
                priority,
                time_ms: if expires { time_ms } else { 0 },
                moved: moved.map(|[queue, first, body_size]| Run { queue, first, count: 1, body_size }),
                exchange: &texts[0],
                routing_key: &texts[1],
                properties: &texts[2],
                extensions: if is_persistent { &[2, 1, 9] } else { &[] },
                body: &texts[3],
            };
            let runs: Vec<Run> = runs
                .into_iter()
                .map(|[queue, first, count, body_size]| Run { queue, first, count, body_size })
                .collect();
            let [queue, first, last] = numbers;
            let records = [
                Record::Message(message),
                Record::Dropped { queue, first, last },
                Record::Returned { queue, sequence: first, count: last },
                Record::Leased { queue, through: first },
                Record::Forgotten { queue },
            ];
            assert_read_back(&records);
            if !runs.is_empty() {
                assert_read_back(&[Record::Settled(Runs::List(&runs))]);
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..100), kind in 0..8_u8) {
            let _ = Record::decode(&bytes, seed());
            let _ = Record::decode_fields(kind, &bytes);
        }
    }

    #[test]
    fn a_batch_is_cut_between_records() {
        let mut batch = Batch::default();
        (1..=5).for_each(|queue| batch.push(&Record::Forgotten { queue }));
        batch.want_sync();
        let (bytes, size) = (batch.bytes.clone(), batch.size());
        assert!(batch.cut(size).is_none() && batch.wants_sync && !batch.is_part);
        let rest = batch.cut(size / 5 + 1).unwrap();
        assert_eq!((batch.count, batch.wants_sync, batch.is_part), (2, false, true));
        assert_eq!((rest.count, rest.wants_sync, rest.is_part), (3, true, false));
        assert_eq!([batch.bytes, rest.bytes].concat(), bytes);
    }

    #[test]
    fn a_flipped_bit_is_found() {
        let mut batch = Batch::default();
        batch.push(&Record::Leased { queue: 300, through: 70_000 });
        seal(&mut batch.bytes, seed());
        for bit in 0..batch.bytes.len() * 8 {
            let mut bytes = batch.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Record::decode(&bytes, seed()), Err(NoRecord::Damaged), "bit {bit}");
        }
        let other = Seed::new(&[7; 16], 2);
        assert_eq!(Record::decode(&batch.bytes, other), Err(NoRecord::Damaged), "another segment");
    }
}
