//! The names of segments, and their bytes around the records: headers of segments and of groups, and checksums.
//!
//! ```text
//! segment: | header, 512 bytes | header again | group | group | ... | footer | zeros | trailer, 512 bytes |
//! group:   | header, 64 bytes | record | record | ... | zeros up to a multiple of 512 |
//! ```
//!
//! All numbers are little-endian. Every checksum is a CRC-32C. Those of groups and records start with a [`Seed`] of the log's id and
//! the segment's number: bytes of another log, of the former use of a recycled file, or of a message body never pass for a record.

/// Random id of a log. Checksums start with it.
pub(super) type LogId = [u8; 16];

/// Headers of segments and groups begin at multiples of this number. A medium writes a sector of this size whole or not at all.
pub(super) const BLOCK_SIZE: u64 = 512;
/// Offset of the first group of a segment.
pub(super) const FIRST_GROUP: u64 = 2 * BLOCK_SIZE;
/// Size of the header of a group.
pub(super) const GROUP_HEADER_SIZE: usize = 64;
/// Version of the bytes of the log.
pub(super) const FORMAT_VERSION: u32 = 1;

const SEGMENT_MAGIC: [u8; 4] = *b"HSeg";
const GROUP_MAGIC: [u8; 4] = *b"HGrp";

/// A file of the log, by its number.
pub(super) fn file_name(number: u64) -> String {
    format!("{number:08}.segment")
}

/// The number of a file of the log.
pub(super) fn file_number(name: &str) -> Option<u64> {
    name.strip_suffix(".segment")?.parse().ok()
}

/// Rounds up to whole blocks.
pub(super) fn round_up(size: u64) -> u64 {
    size.next_multiple_of(BLOCK_SIZE)
}

/// The start of the checksums of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed(u32);

impl Seed {
    /// Returns the seed of a segment.
    pub fn new(log: &LogId, segment: u64) -> Seed {
        Seed(crc32c::crc32c_append(crc32c::crc32c(log), &segment.to_le_bytes()))
    }

    /// Returns the checksum of `bytes`.
    pub fn checksum(self, bytes: &[u8]) -> u32 {
        crc32c::crc32c_append(self.0, bytes)
    }
}

/// Reads a number at `offset`. The caller has checked the size.
fn number<const SIZE: usize>(bytes: &[u8], offset: usize) -> [u8; SIZE] {
    let mut number = [0; SIZE];
    number.copy_from_slice(&bytes[offset..offset + SIZE]);
    number
}

/// The header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub log: LogId,
    /// Place of the segment in the log: later segments have larger numbers.
    pub number: u64,
    /// Sequence of the first group.
    pub first_group: u64,
    /// Run of the node in which the segment began.
    pub epoch: u32,
}

/// Why a block is not the header of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoSegment {
    /// The block is empty or damaged.
    Damaged,
    /// Another version of the program wrote the segment.
    Version(u32),
    /// The segment may have records that this program does not know. Each bit stands for a kind of them.
    Features(u32),
    /// The segment belongs to another log.
    OtherLog,
}

impl SegmentHeader {
    /// ```text
    /// 0      4        8       24       32            40      44         48
    /// | magic | version | log id | number | first group | epoch | features | checksum | zeros ...
    /// ```
    pub fn encode(&self) -> [u8; BLOCK_SIZE as usize] {
        let mut block = [0; BLOCK_SIZE as usize];
        block[..4].copy_from_slice(&SEGMENT_MAGIC);
        block[4..8].copy_from_slice(&FORMAT_VERSION.to_le_bytes());
        block[8..24].copy_from_slice(&self.log);
        block[24..32].copy_from_slice(&self.number.to_le_bytes());
        block[32..40].copy_from_slice(&self.first_group.to_le_bytes());
        block[40..44].copy_from_slice(&self.epoch.to_le_bytes());
        // This version has no further features.
        let sum = crc32c::crc32c(&block[..48]);
        block[48..52].copy_from_slice(&sum.to_le_bytes());
        block
    }

    /// Reads the header of a segment of the log `log`.
    pub fn decode(block: &[u8; BLOCK_SIZE as usize], log: &LogId) -> Result<SegmentHeader, NoSegment> {
        if block[..4] != SEGMENT_MAGIC {
            return Err(NoSegment::Damaged);
        }
        let version = u32::from_le_bytes(number(block, 4));
        let owner: LogId = number(block, 8);
        if u32::from_le_bytes(number(block, 48)) != crc32c::crc32c(&block[..48]) {
            return Err(NoSegment::Damaged);
        }
        if version != FORMAT_VERSION {
            return Err(NoSegment::Version(version));
        }
        if owner != *log {
            return Err(NoSegment::OtherLog);
        }
        let features = u32::from_le_bytes(number(block, 44));
        if features != 0 {
            return Err(NoSegment::Features(features));
        }
        Ok(SegmentHeader {
            log: owner,
            number: u64::from_le_bytes(number(block, 24)),
            first_group: u64::from_le_bytes(number(block, 32)),
            epoch: u32::from_le_bytes(number(block, 40)),
        })
    }
}

/// The header of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupHeader {
    /// Number of the group in its log.
    pub sequence: u64,
    /// Last synced group at the time of writing.
    pub synced: u64,
    /// Run of the node that wrote the group.
    pub epoch: u32,
    /// Bytes of the records.
    pub size: u32,
    /// Number of records.
    pub count: u32,
    /// Checksum of the records' checksums.
    pub sum: u32,
}

impl GroupHeader {
    /// ```text
    /// 0      4          8          16       24      28     32      36                 40
    /// | magic | checksum | sequence | synced | epoch | size | count | sum of checksums | zeros |
    /// ```
    pub fn encode(&self, seed: Seed) -> [u8; GROUP_HEADER_SIZE] {
        let mut bytes = [0; GROUP_HEADER_SIZE];
        bytes[..4].copy_from_slice(&GROUP_MAGIC);
        bytes[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.synced.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.epoch.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.size.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.count.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.sum.to_le_bytes());
        let sum = seed.checksum(&bytes[8..]);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Returns true if the bytes begin as headers of groups of any segment do.
    pub fn may_begin(bytes: &[u8]) -> bool {
        bytes.starts_with(&GROUP_MAGIC)
    }

    /// Reads the header at the start of `bytes`, if there is one of this segment.
    pub fn decode(bytes: &[u8], seed: Seed) -> Option<GroupHeader> {
        let bytes = bytes.get(..GROUP_HEADER_SIZE)?;
        let is_header =
            bytes[..4] == GROUP_MAGIC && u32::from_le_bytes(number(bytes, 4)) == seed.checksum(&bytes[8..]);
        is_header.then(|| GroupHeader {
            sequence: u64::from_le_bytes(number(bytes, 8)),
            synced: u64::from_le_bytes(number(bytes, 16)),
            epoch: u32::from_le_bytes(number(bytes, 24)),
            size: u32::from_le_bytes(number(bytes, 28)),
            count: u32::from_le_bytes(number(bytes, 32)),
            sum: u32::from_le_bytes(number(bytes, 36)),
        })
    }

    /// Returns the size of the group in its segment.
    pub fn group_size(&self) -> u64 {
        round_up(GROUP_HEADER_SIZE as u64 + u64::from(self.size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: LogId = [7; 16];

    #[test]
    fn a_flipped_bit_of_a_header_is_found() {
        let segment = SegmentHeader { log: LOG, number: 3, first_group: 40, epoch: 2 };
        let block = segment.encode();
        assert_eq!(SegmentHeader::decode(&block, &LOG), Ok(segment));
        for bit in 0..52 * 8 {
            let mut block = block;
            block[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(SegmentHeader::decode(&block, &LOG), Err(NoSegment::Damaged), "bit {bit}");
        }
        let seed = Seed::new(&LOG, 3);
        let group = GroupHeader { sequence: 9, synced: 8, epoch: 2, size: 1_000, count: 3, sum: 77 };
        let bytes = group.encode(seed);
        assert_eq!(GroupHeader::decode(&bytes, seed), Some(group));
        assert_eq!(group.group_size(), 3 * BLOCK_SIZE);
        for bit in 0..bytes.len() * 8 {
            let mut bytes = bytes;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(GroupHeader::decode(&bytes, seed), None, "bit {bit}");
        }
        assert_eq!(GroupHeader::decode(&bytes, Seed::new(&LOG, 4)), None, "another segment");
    }

    #[test]
    fn a_segment_of_another_log_or_version_is_told_apart() {
        let other = SegmentHeader { log: [8; 16], number: 3, first_group: 40, epoch: 2 };
        assert_eq!(SegmentHeader::decode(&other.encode(), &LOG), Err(NoSegment::OtherLog));
        for (place, error) in [(4, NoSegment::Version(9)), (44, NoSegment::Features(9))] {
            let mut later = SegmentHeader { log: LOG, ..other }.encode();
            later[place..place + 4].copy_from_slice(&9_u32.to_le_bytes());
            let sum = crc32c::crc32c(&later[..48]);
            later[48..52].copy_from_slice(&sum.to_le_bytes());
            assert_eq!(SegmentHeader::decode(&later, &LOG), Err(error));
        }
        assert_eq!(SegmentHeader::decode(&[0; 512], &LOG), Err(NoSegment::Damaged));
    }
}
