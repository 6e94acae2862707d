//! `Framing`: the format that separates records in a stream of bytes. `Splitter`: cuts the bytes of a stream into
//! records.
//!
//! Invariant of a splitter: `start <= scanned <= end <= buffer.len()`; no record ends between `start` and `scanned`.

use std::ops::Range;

use thiserror::Error;

/// Size of one read.
const READ_SIZE: usize = 128 * 1024;
/// Size of the length before each record, in bytes. The length is big-endian.
const LENGTH_SIZE: usize = 4;

/// Format that separates records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// A newline ends a record.
    Lines,
    /// A NUL ends a record.
    Null,
    /// The size of a record goes before it.
    Length,
}

impl Framing {
    /// Returns the byte that ends a record, or `None` if the format has none.
    pub fn separator(self) -> Option<u8> {
        match self {
            Framing::Lines => Some(b'\n'),
            Framing::Null => Some(0),
            Framing::Length => None,
        }
    }

    /// Appends a record. Its size fits into the length field, because larger records are not read.
    pub fn write(self, into: &mut Vec<u8>, record: &[u8]) {
        if self == Framing::Length {
            into.extend_from_slice(&(record.len() as u32).to_be_bytes());
        }
        into.extend_from_slice(record);
        into.extend(self.separator());
    }

    /// Returns the number of bytes of a record in this format.
    pub fn written_size(self, record_size: usize) -> usize {
        record_size + if self == Framing::Length { LENGTH_SIZE } else { 1 }
    }

    /// Returns the reason that a record from another process cannot be written in this format.
    pub fn refusal(self, record: &[u8]) -> Option<String> {
        let separator = self.separator()?;
        memchr::memchr(separator, record)?;
        let name = if separator == 0 { "NUL" } else { "newline" };
        Some(format!(
            "there is a {name} in it: the map and its workers must tell records apart in the same way (-0, --length)"
        ))
    }
}

/// A record that cannot be taken.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum SplitError {
    /// The record exceeds the size limit.
    #[error("it has more than {0} bytes")]
    TooLarge(usize),
    /// The stream ends inside the record.
    #[error("the input ends inside it")]
    Torn,
}

/// Bytes that were read and do not yet form a whole record.
#[derive(Debug)]
pub struct Splitter {
    framing: Framing,
    size_max: usize,
    buffer: Vec<u8>,
    start: usize,
    scanned: usize,
    end: usize,
}

impl Splitter {
    /// Returns a splitter of records of at most `size_max` bytes.
    pub fn new(framing: Framing, size_max: usize) -> Splitter {
        Splitter { framing, size_max, buffer: Vec::new(), start: 0, scanned: 0, end: 0 }
    }

    /// Returns the buffer for the next read. Records that were cut off before are overwritten.
    pub fn room(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.scanned -= self.start;
            self.end -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.end < READ_SIZE {
            // The buffer doubles, so that a long record is not moved again and again.
            let size =
                (self.end + READ_SIZE).max(self.buffer.len() * 2).min(self.end + self.size_max + READ_SIZE);
            self.buffer.resize(size, 0);
        }
        &mut self.buffer[self.end..]
    }

    /// Notes that `count` bytes were read.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
    }

    /// Cuts off the next whole record. Returns its range in the buffer, which is valid until the next read.
    ///
    /// # Errors
    ///
    /// The record is too long.
    pub fn next_record(&mut self) -> Result<Option<Range<usize>>, SplitError> {
        let found = match self.framing.separator() {
            Some(separator) => self.next_ended(separator),
            None => self.next_sized()?,
        };
        match found {
            Some(record) if record.len() > self.size_max => Err(SplitError::TooLarge(self.size_max)),
            None if self.end - self.start > self.size_max + LENGTH_SIZE => {
                Err(SplitError::TooLarge(self.size_max))
            }
            found => Ok(found),
        }
    }

    fn next_ended(&mut self, separator: u8) -> Option<Range<usize>> {
        let Some(at) = memchr::memchr(separator, &self.buffer[self.scanned..self.end]) else {
            self.scanned = self.end;
            return None;
        };
        let record = self.start..self.scanned + at;
        self.start = record.end + 1;
        self.scanned = self.start;
        Some(record)
    }

    fn next_sized(&mut self) -> Result<Option<Range<usize>>, SplitError> {
        let Some((size, _)) = self.buffer[self.start..self.end].split_first_chunk::<LENGTH_SIZE>() else {
            return Ok(None);
        };
        let size = u32::from_be_bytes(*size) as usize;
        if size > self.size_max {
            return Err(SplitError::TooLarge(self.size_max));
        }
        let body = self.start + LENGTH_SIZE;
        if self.end - body < size {
            return Ok(None);
        }
        self.start = body + size;
        self.scanned = self.start;
        Ok(Some(body..body + size))
    }

    /// Returns the last record of a stream that has ended: the bytes after the last separator.
    pub fn last(&mut self) -> Result<Option<Range<usize>>, SplitError> {
        let rest = self.start..self.end;
        self.start = self.end;
        self.scanned = self.end;
        match self.framing {
            _ if rest.is_empty() => Ok(None),
            Framing::Length => Err(SplitError::Torn),
            _ => Ok(Some(rest)),
        }
    }

    /// Drops all bytes: another stream begins.
    pub fn clear(&mut self) {
        (self.start, self.scanned, self.end) = (0, 0, 0);
    }

    /// Returns the bytes of a record.
    pub fn bytes(&self, record: &Range<usize>) -> &[u8] {
        &self.buffer[record.clone()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the records of a stream that comes in pieces of that size.
    fn split(stream: &[u8], piece: usize, framing: Framing) -> Result<Vec<Vec<u8>>, SplitError> {
        let mut splitter = Splitter::new(framing, 10);
        let mut records = Vec::new();
        for bytes in stream.chunks(piece) {
            splitter.room()[..bytes.len()].copy_from_slice(bytes);
            splitter.filled(bytes.len());
            while let Some(record) = splitter.next_record()? {
                records.push(splitter.bytes(&record).to_vec());
            }
        }
        let last = splitter.last()?;
        records.extend(last.map(|record| splitter.bytes(&record).to_vec()));
        Ok(records)
    }

    #[test]
    fn records_come_back_as_they_were_written() {
        let records: [&[u8]; 5] = [b"one", b"", b"\r", b"four \xff", b"0123456789"];
        for framing in [Framing::Lines, Framing::Null, Framing::Length] {
            let mut stream = Vec::new();
            records.iter().for_each(|record| framing.write(&mut stream, record));
            for piece in [1, 2, 3, 7, stream.len()] {
                assert_eq!(split(&stream, piece, framing).unwrap(), records, "{framing:?} by {piece}");
            }
        }
    }

    #[test]
    fn the_last_record_needs_no_end_unless_its_length_is_told() {
        assert_eq!(split(b"a\nb", 9, Framing::Lines).unwrap(), [b"a", b"b"]);
        assert_eq!(split(b"a\0b\n", 1, Framing::Null).unwrap(), [&b"a"[..], b"b\n"]);
        assert_eq!(split(b"", 9, Framing::Lines).unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(split(b"\0\0\0\x02a", 9, Framing::Length), Err(SplitError::Torn));
        assert_eq!(split(b"\0\0\0", 9, Framing::Length), Err(SplitError::Torn));
    }

    #[test]
    fn a_record_has_a_largest_size() {
        let larger = SplitError::TooLarge(10);
        for piece in [1, 100] {
            assert_eq!(split(b"0123456789a\n", piece, Framing::Lines), Err(larger));
            assert_eq!(split(b"\0\0\0\x0b0123456789a", piece, Framing::Length), Err(larger));
            assert_eq!(split(b"\xff\xff\xff\xff", piece, Framing::Length), Err(larger));
        }
        assert_eq!(split(b"0123456789abcdefghij", 1, Framing::Null), Err(larger));
    }
}
