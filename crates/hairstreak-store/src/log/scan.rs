//! Scanning a segment: its groups, whatever happened to the file.
//!
//! Groups follow each other. Where a header is damaged, the next sound header of a later group is looked for, and the records
//! between the two are read without their header. Where a record is damaged, the next sound record of the group is looked for.
//! Damage thus costs the damaged records only. Seeded checksums keep bytes of other segments out.

use super::layout::{BLOCK_SIZE, FIRST_GROUP, GROUP_HEADER_SIZE, GroupHeader, Seed, round_up};
use super::record::Record;

/// A group as it was found.
#[derive(Debug)]
pub(super) struct FoundGroup<'a> {
    /// Offset in the segment.
    pub offset: u64,
    /// End of the group.
    pub end: u64,
    /// Sequence; of the first one, if the headers of several groups are damaged.
    pub sequence: u64,
    /// The header, if it is sound.
    pub header: Option<GroupHeader>,
    /// Sound records, each with its offset.
    pub records: Vec<(u32, Record<'a>)>,
    /// Bytes without a sound record.
    pub damaged_size: u64,
}

/// Passes the groups of a segment to `take`, in their order. `bytes` is the whole segment, and `first_group` the sequence of its
/// first group. Returns the end of the last group.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    seed: Seed,
    first_group: u64,
    mut take: impl FnMut(FoundGroup<'a>),
) -> u64 {
    let (mut offset, mut sequence) = (FIRST_GROUP, first_group);
    loop {
        if let Some(header) = header_at(bytes, seed, offset, sequence) {
            let start = offset as usize + GROUP_HEADER_SIZE;
            let (records, mut damaged_size) = read_records(bytes, start..start + header.size as usize, seed);
            let is_whole = records.len() == header.count as usize && damaged_size == 0;
            if !is_whole && damaged_size == 0 {
                damaged_size = u64::from(header.size);
            }
            let end = (offset + header.group_size()).min(bytes.len() as u64);
            let (found, header) = (header.sequence, Some(header));
            take(FoundGroup { offset, end, sequence: found, header, records, damaged_size });
            (offset, sequence) = (end, found + 1);
            continue;
        }
        let start = (offset as usize + GROUP_HEADER_SIZE).min(bytes.len());
        let next = next_header(bytes, seed, offset + BLOCK_SIZE, sequence);
        let (records, end) = match next {
            Some(next) => (read_records(bytes, start..next as usize, seed).0, next),
            None => {
                let (records, end) = read_leading_records(bytes, start, seed);
                (records, round_up(end as u64))
            }
        };
        let is_end = next.is_none() && records.is_empty();
        if is_end {
            return offset;
        }
        let end = end.min(bytes.len() as u64);
        take(FoundGroup { offset, end, sequence, header: None, records, damaged_size: end - offset });
        if next.is_none() {
            return end;
        }
        offset = end;
    }
}

/// The header of the group `sequence` or of a later one, if there is one at this offset and the segment has room for the group.
fn header_at(bytes: &[u8], seed: Seed, offset: u64, sequence: u64) -> Option<GroupHeader> {
    let header = GroupHeader::decode(bytes.get(offset as usize..)?, seed)?;
    let end = offset + GROUP_HEADER_SIZE as u64 + u64::from(header.size);
    (header.sequence >= sequence && end <= bytes.len() as u64).then_some(header)
}

/// The next offset with a header of the group `sequence` or of a later one.
fn next_header(bytes: &[u8], seed: Seed, from: u64, sequence: u64) -> Option<u64> {
    let offsets = (from..bytes.len() as u64).step_by(BLOCK_SIZE as usize);
    offsets.into_iter().find(|offset| header_at(bytes, seed, *offset, sequence).is_some())
}

/// Reads all sound records of a part of a segment. Returns also the bytes between them, up to the last record.
fn read_records(bytes: &[u8], range: std::ops::Range<usize>, seed: Seed) -> (Vec<(u32, Record<'_>)>, u64) {
    let (mut records, mut damaged_size, mut at) = (Vec::new(), 0, range.start);
    while at < range.end {
        let rest = &bytes[at..range.end];
        match Record::may_begin(rest).then(|| Record::decode(rest, seed)).flatten() {
            Some((record, size)) => {
                records.push((at as u32, record));
                at += size;
            }
            None => {
                damaged_size += 1;
                at += 1;
            }
        }
    }
    (records, damaged_size)
}

/// Reads records up to the first one that is not sound. Returns also the end of the last one.
fn read_leading_records(bytes: &[u8], start: usize, seed: Seed) -> (Vec<(u32, Record<'_>)>, usize) {
    let (mut records, mut at) = (Vec::new(), start);
    while let Some((record, size)) = Record::decode(&bytes[at..], seed) {
        records.push((at as u32, record));
        at += size;
    }
    (records, at)
}
