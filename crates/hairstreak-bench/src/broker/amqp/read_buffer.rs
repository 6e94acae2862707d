//! A large buffer that is filled by one read and walked.
//!
//! The rest of a read that is less than a frame moves to the front before the next one, so that frames lie in one piece.

use std::io::Read;

use super::error::AmqpError;

/// Larger than any frame, and small enough for a cache.
const SIZE: usize = 256 * 1024;

/// Bytes that have been read and not been consumed.
#[derive(Debug)]
pub struct ReadBuffer {
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl ReadBuffer {
    /// An empty one.
    pub fn new() -> Self {
        Self::with_size(SIZE)
    }

    /// An empty one for `size` bytes.
    pub fn with_size(size: usize) -> Self {
        Self { bytes: vec![0; size].into_boxed_slice(), start: 0, end: 0 }
    }

    /// The bytes that were read and not consumed.
    pub fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The first `size` bytes have been dealt with.
    pub fn consume(&mut self, size: usize) {
        self.start += size;
    }

    /// Reads once.
    pub fn fill(&mut self, source: &mut impl Read) -> Result<(), AmqpError> {
        if self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.end == self.bytes.len() {
            return Err(AmqpError::Malformed("a frame that is larger than it may be"));
        }
        match source.read(&mut self.bytes[self.end..])? {
            0 => Err(AmqpError::Ended),
            size => {
                self.end += size;
                Ok(())
            }
        }
    }
}

impl Default for ReadBuffer {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::{AmqpError, ReadBuffer};

    #[test]
    fn what_is_left_moves_to_the_front() {
        let mut buffer = ReadBuffer::with_size(8);
        buffer.fill(&mut &b"abcdef"[..]).unwrap();
        buffer.consume(4);
        buffer.fill(&mut &b"ghijklmn"[..]).unwrap();
        assert_eq!(buffer.unread(), b"efghijkl");
        let full = buffer.fill(&mut &b"m"[..]);
        assert!(matches!(full, Err(AmqpError::Malformed(_))));
        buffer.consume(8);
        assert!(matches!(buffer.fill(&mut &b""[..]), Err(AmqpError::Ended)));
    }
}
