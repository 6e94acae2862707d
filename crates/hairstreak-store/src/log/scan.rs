//! Scanning a segment: its groups, whatever happened to the file.
//!
//! Groups follow each other. Where a header is damaged, the next sound header of a later group is looked for, and the records
//! between the two are read without their header. Where a record is damaged, the next sound record of the group is looked for.
//! Damage thus costs the damaged records only. Seeded checksums keep bytes of other segments out.

use std::io;
use std::ops::Range;

use super::layout::{BLOCK_SIZE, FIRST_GROUP, GROUP_HEADER_SIZE, GroupHeader, Seed, round_up};
use super::record::{NoRecord, Record};

/// Bytes of checksums that the search for sound records computes, for each byte that it searches.
const CHECKSUMS_PER_BYTE: usize = 8;

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
///
/// # Errors
///
/// A record of a later version of the program.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    seed: Seed,
    first_group: u64,
    mut take: impl FnMut(FoundGroup<'a>),
) -> io::Result<u64> {
    let (mut offset, mut sequence) = (FIRST_GROUP, first_group);
    loop {
        if let Some(header) = header_at(bytes, seed, offset, sequence) {
            let start = offset as usize + GROUP_HEADER_SIZE;
            let FoundRecords { records, mut damaged_size, .. } =
                read_records(bytes, start..start + header.size as usize, seed)?;
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
        let end = next.map_or(bytes.len(), |next| next as usize);
        let FoundRecords { records, end, .. } = read_records(bytes, start.min(end)..end, seed)?;
        let end = next.unwrap_or(round_up(end as u64));
        let is_end = next.is_none() && records.is_empty();
        if is_end {
            return Ok(offset);
        }
        let end = end.min(bytes.len() as u64);
        take(FoundGroup { offset, end, sequence, header: None, records, damaged_size: end - offset });
        if next.is_none() {
            return Ok(end);
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

/// The sound records of a part of a segment.
struct FoundRecords<'a> {
    /// The records, each with its offset.
    records: Vec<(u32, Record<'a>)>,
    /// Bytes without a sound record.
    damaged_size: u64,
    /// End of the last record.
    end: usize,
}

/// Reads all sound records of a part of a segment.
fn read_records(bytes: &[u8], range: Range<usize>, seed: Seed) -> io::Result<FoundRecords<'_>> {
    let mut found = FoundRecords { records: Vec::new(), damaged_size: 0, end: range.start };
    // A body that looks like records everywhere must not hold up a start.
    let mut budget = CHECKSUMS_PER_BYTE * range.len();
    let mut at = range.start;
    while at < range.end {
        let rest = &bytes[at..range.end];
        if rest.first_chunk() == Some(&[0; BLOCK_SIZE as usize]) {
            found.damaged_size += BLOCK_SIZE;
            at += BLOCK_SIZE as usize;
            continue;
        }
        let size = Record::size_at(rest).filter(|size| *size <= budget);
        budget -= size.unwrap_or(0);
        match size.map_or(Err(NoRecord::Damaged), |_| Record::decode(rest, seed)) {
            Ok((record, size)) => {
                found.records.push((at as u32, record));
                at += size;
                found.end = at;
            }
            Err(NoRecord::Unknown(unknown)) => return Err(unknown.at(at as u64)),
            Err(NoRecord::Damaged) => {
                found.damaged_size += 1;
                at += 1;
            }
        }
    }
    Ok(found)
}
