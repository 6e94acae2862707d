//! `Footer`: the offsets of a sealed segment's messages, by queue. The footer follows from the records; a lost or damaged footer is
//! made again.
//!
//! ```text
//! ... groups | offsets of queue | offsets of queue | ... | directory | ... | trailer, the last 512 bytes of the file |
//! offsets:   for each message, by sequence: distance from the sequence before, distance from the offset before (zigzag)
//! directory: for each queue, by id: id, 8 bytes; place of its offsets, 8; size, 4; checksum, 4
//! trailer:   magic, 4 bytes; checksum, 4; place of the directory, 8; size, 4; checksum, 4
//! ```

use std::io::{self, IoSlice};
use std::ops::Range;

use super::index::QueueOffsets;
use super::layout::{BLOCK_SIZE, Seed, round_up};
use super::record::{put_number, take_number};
use super::storage::StorageFile;

const MAGIC: [u8; 4] = *b"HFtr";
/// Bytes of the trailer that are used.
pub(super) const TRAILER_SIZE: usize = 24;
const ENTRY_SIZE: usize = 24;

/// The directory of a footer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footer {
    queues: Vec<QueueEntry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct QueueEntry {
    queue: u64,
    start: u64,
    size: u32,
    sum: u32,
}

impl Footer {
    /// Writes the footer of a segment behind its groups, which end at `end`. The file grows if the footer finds no room.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn write(
        file: &dyn StorageFile,
        seed: Seed,
        end: u64,
        offsets: &[QueueOffsets],
    ) -> io::Result<Footer> {
        let (mut bytes, mut queues) = (Vec::new(), Vec::new());
        for (queue, of_queue) in offsets {
            let start = bytes.len();
            encode_offsets(of_queue, &mut bytes);
            let (size, sum) = ((bytes.len() - start) as u32, seed.checksum(&bytes[start..]));
            queues.push(QueueEntry { queue: *queue, start: end + start as u64, size, sum });
        }
        let start = bytes.len();
        for entry in &queues {
            bytes.extend_from_slice(&entry.queue.to_le_bytes());
            bytes.extend_from_slice(&entry.start.to_le_bytes());
            bytes.extend_from_slice(&entry.size.to_le_bytes());
            bytes.extend_from_slice(&entry.sum.to_le_bytes());
        }
        let directory = &bytes[start..];
        let mut trailer = [0; BLOCK_SIZE as usize];
        trailer[..4].copy_from_slice(&MAGIC);
        trailer[8..16].copy_from_slice(&(end + start as u64).to_le_bytes());
        trailer[16..20].copy_from_slice(&(directory.len() as u32).to_le_bytes());
        trailer[20..24].copy_from_slice(&seed.checksum(directory).to_le_bytes());
        let sum = seed.checksum(&trailer[8..TRAILER_SIZE]);
        trailer[4..8].copy_from_slice(&sum.to_le_bytes());
        file.write_at(&[IoSlice::new(&bytes)], end)?;
        let last = file.size()?.max(round_up(end + bytes.len() as u64) + BLOCK_SIZE) - BLOCK_SIZE;
        file.write_at(&[IoSlice::new(&trailer)], last)?;
        Ok(Footer { queues })
    }

    /// Reads the offsets of some messages of a segment, given by queue. `None`: the footer is lost, or lacks one of the messages.
    pub fn find(file: &dyn StorageFile, seed: Seed, messages: &[(u64, Vec<u64>)]) -> Option<Vec<u32>> {
        let footer = Footer::read(file, seed)?;
        let mut found = Vec::new();
        let (mut of_queue, mut before) = (Vec::new(), None);
        for (queue, sequences) in messages {
            if before.replace(*queue) != Some(*queue) {
                of_queue = footer.offsets(file, seed, *queue)?;
            }
            for sequence in sequences {
                let place = of_queue.binary_search_by_key(sequence, |(sequence, _)| *sequence).ok()?;
                found.push(of_queue[place].1);
            }
        }
        Some(found)
    }

    /// Reads the directory. `None`: the segment has no sound footer.
    pub fn read(file: &dyn StorageFile, seed: Seed) -> Option<Footer> {
        let (start, size, sum) = read_trailer(file, seed)?;
        Footer::read_directory(file, seed, (start, size, sum))
    }

    fn read_directory(file: &dyn StorageFile, seed: Seed, (start, size, sum): Part) -> Option<Footer> {
        let directory = read_part(file, start, size, sum, seed)?;
        let entry = |entry: &[u8; ENTRY_SIZE]| {
            let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|index| entry[at + index]));
            let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|index| entry[at + index]));
            QueueEntry { queue: long(0), start: long(8), size: short(16), sum: short(20) }
        };
        Some(Footer { queues: directory.as_chunks().0.iter().map(entry).collect() })
    }

    /// Reads the offsets of all queues.
    ///
    /// # Errors
    ///
    /// The place of the first damaged part.
    pub fn read_all(file: &dyn StorageFile, seed: Seed) -> Result<Vec<QueueOffsets>, Range<u64>> {
        let end = file.size().unwrap_or_default();
        let trailer = read_trailer(file, seed).ok_or(end.saturating_sub(BLOCK_SIZE)..end)?;
        let place = |start: u64, size: u32| start..start.saturating_add(u64::from(size));
        let directory = Footer::read_directory(file, seed, trailer);
        let footer = directory.ok_or(place(trailer.0, trailer.1))?;
        let offsets = |entry: &QueueEntry| {
            let offsets = footer.offsets(file, seed, entry.queue);
            Ok((entry.queue, offsets.ok_or(place(entry.start, entry.size))?))
        };
        footer.queues.iter().map(offsets).collect()
    }

    /// Reads the offsets of a queue's messages, by sequence. `None`: they are lost. A queue without messages has no offsets.
    pub fn offsets(&self, file: &dyn StorageFile, seed: Seed, queue: u64) -> Option<Vec<(u64, u32)>> {
        let Ok(place) = self.queues.binary_search_by_key(&queue, |entry| entry.queue) else {
            return Some(Vec::new());
        };
        let QueueEntry { start, size, sum, .. } = self.queues[place];
        decode_offsets(&read_part(file, start, size, sum, seed)?)
    }
}

/// A part of a footer: its place, its size and its checksum.
type Part = (u64, u32, u32);

/// Reads the trailer of a file, which has the place of the directory. `None`: there is no sound trailer.
fn read_trailer(file: &dyn StorageFile, seed: Seed) -> Option<Part> {
    let mut trailer = [0; TRAILER_SIZE];
    file.read_at(&mut trailer, file.size().ok()?.checked_sub(BLOCK_SIZE)?).ok()?;
    let number =
        |at: usize| u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]]);
    if trailer[..4] != MAGIC || number(4) != seed.checksum(&trailer[8..]) {
        return None;
    }
    Some((u64::from(number(8)) | u64::from(number(12)) << 32, number(16), number(20)))
}

/// Reads bytes that have a checksum. `None`: they are lost.
fn read_part(file: &dyn StorageFile, start: u64, size: u32, sum: u32, seed: Seed) -> Option<Vec<u8>> {
    if start.checked_add(u64::from(size))? > file.size().ok()? {
        return None;
    }
    let mut bytes = vec![0; size as usize];
    file.read_at(&mut bytes, start).ok()?;
    (seed.checksum(&bytes) == sum).then_some(bytes)
}

fn encode_offsets(offsets: &[(u64, u32)], bytes: &mut Vec<u8>) {
    let (mut sequence_before, mut offset_before) = (0, 0);
    for (sequence, offset) in offsets {
        put_number(bytes, sequence - sequence_before);
        let distance = i64::from(*offset) - offset_before;
        put_number(bytes, (distance << 1 ^ distance >> 63) as u64);
        (sequence_before, offset_before) = (*sequence, i64::from(*offset));
    }
}

fn decode_offsets(mut bytes: &[u8]) -> Option<Vec<(u64, u32)>> {
    let (mut offsets, mut sequence, mut offset) = (Vec::new(), 0_u64, 0_i64);
    while !bytes.is_empty() {
        sequence = sequence.checked_add(take_number(&mut bytes)?)?;
        let distance = take_number(&mut bytes)?;
        offset = offset.checked_add((distance >> 1) as i64 ^ -((distance & 1) as i64))?;
        offsets.push((sequence, offset.try_into().ok()?));
    }
    Some(offsets)
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_map, vec};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn offsets_are_read_as_they_were_written(offsets in btree_map(any::<u64>(), any::<u32>(), 0..50)) {
            let offsets: Vec<_> = offsets.into_iter().collect();
            let mut bytes = Vec::new();
            encode_offsets(&offsets, &mut bytes);
            prop_assert_eq!(decode_offsets(&bytes), Some(offsets));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes in vec(any::<u8>(), 0..60)) {
            let _ = decode_offsets(&bytes);
        }
    }
}
