//! Messages on a byte stream: four bytes of size, little-endian, then the body.

use std::io;

/// Bytes in front of a body.
pub const HEADER_SIZE: usize = 4;
/// The largest body that is taken for one.
const BODY_SIZE_MAX: usize = 16 << 20;

/// Appends the header of a body of `size` bytes. The body is the caller's to append.
#[inline]
pub fn push_frame(out: &mut Vec<u8>, size: usize) {
    out.extend_from_slice(&(size as u32).to_le_bytes());
}

/// Where messages end in bytes that lie in one piece and grow.
#[derive(Debug, Default)]
pub struct Frames {
    /// Where the next message begins.
    at: usize,
}

impl Frames {
    /// Takes all whole messages of `bytes`, of which those taken before are the beginning, and hands each to `take`. Returns how many
    /// there were.
    ///
    /// Errors: a size that no message has.
    #[inline]
    pub fn take(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) -> io::Result<u64> {
        let mut count = 0;
        while let Some(header) = bytes[self.at..].first_chunk::<HEADER_SIZE>() {
            let size = u32::from_le_bytes(*header) as usize;
            if size > BODY_SIZE_MAX {
                let reason = format!("a message of {size} bytes was announced; at most {BODY_SIZE_MAX}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
            }
            let begin = self.at + HEADER_SIZE;
            let Some(body) = bytes.get(begin..begin + size) else { break };
            take(body);
            self.at = begin + size;
            count += 1;
        }
        Ok(count)
    }

    /// How many bytes the messages have that were taken.
    pub fn taken(&self) -> usize {
        self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_any_size_come_out_whole_wherever_the_bytes_are_cut() {
        let bodies: [&[u8]; 4] = [b"first", b"", &[7; 300], b"last"];
        let mut bytes = Vec::new();
        for body in bodies {
            push_frame(&mut bytes, body.len());
            bytes.extend_from_slice(body);
        }
        for cut in 0..=bytes.len() {
            let (mut frames, mut taken) = (Frames::default(), Vec::new());
            let first = frames.take(&bytes[..cut], |body| taken.push(body.to_vec())).unwrap();
            let second = frames.take(&bytes, |body| taken.push(body.to_vec())).unwrap();
            assert_eq!((first + second, frames.taken()), (4, bytes.len()));
            assert_eq!(taken, bodies, "cut at {cut}");
        }
    }

    #[test]
    fn a_size_beyond_the_bound_is_an_error_that_names_it_and_the_bound_itself_is_none() {
        let take = |size: usize| {
            let mut bytes = Vec::new();
            push_frame(&mut bytes, size);
            Frames::default().take(&bytes, |_| ())
        };
        assert_eq!(take(BODY_SIZE_MAX).unwrap(), 0);
        let error = take(BODY_SIZE_MAX + 1).unwrap_err().to_string();
        assert_eq!(error, "a message of 16777217 bytes was announced; at most 16777216");
    }
}
