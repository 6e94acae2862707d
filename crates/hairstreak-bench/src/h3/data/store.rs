//! `Store`: the memory of a receiving host that messages are kept in until they are verified.
//!
//! The memory is touched before a run, so that no run pays for the kernel's first look at a page.

use std::io;

use super::blocking_stream::BlockingStream;
use super::digest::{Digester, Tally};
use super::framing::Frames;
use super::windows::Windows;

/// The most bytes of one read: small beside what a window holds.
const READ_SIZE: usize = 256 * 1024;
const PAGE_SIZE: usize = 4096;

/// Received messages, as they came.
#[derive(Debug, Default)]
pub struct Store {
    bytes: Vec<u8>,
    filled: usize,
}

impl Store {
    /// Forgets all messages, and has room for `size` bytes.
    pub fn reset(&mut self, size: usize) {
        self.filled = 0;
        let touched = self.bytes.len();
        if size > touched {
            self.bytes.resize(size, 0);
            // Zeroes may be pages that the kernel has yet to give.
            self.bytes[touched..].iter_mut().step_by(PAGE_SIZE).for_each(|byte| *byte = 1);
        }
    }

    /// Bytes of its memory.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Receives to the end of the stream, and notes each message as it is whole. Returns how many came.
    ///
    /// Errors: the stream fails, it ends within a message, or more comes than there is room for.
    pub fn receive(&mut self, stream: &mut BlockingStream, windows: &mut Windows) -> io::Result<u64> {
        let (mut frames, mut total) = (Frames::default(), 0);
        loop {
            let end = self.bytes.len().min(self.filled + READ_SIZE);
            let room = &mut self.bytes[self.filled..end];
            if room.is_empty() {
                // A full store is no error as long as nothing more comes.
                match stream.read_some(&mut [0])? {
                    0 => break,
                    _ => {
                        return Err(io::Error::other(format!(
                            "more than the {end} bytes that were agreed came"
                        )));
                    }
                }
            }
            let count = stream.read_some(room)?;
            if count == 0 {
                break;
            }
            self.filled += count;
            let count = frames.take(&self.bytes[..self.filled], |_| ())?;
            windows.note(count);
            total += count;
        }
        match frames.taken() == self.filled {
            true => Ok(total),
            false => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream ended within a message")),
        }
    }

    /// Counts and digests all messages.
    pub fn tally(&self, key: u64) -> io::Result<Tally> {
        let mut digester = Digester::new(key);
        Frames::default().take(&self.bytes[..self.filled], |body| digester.add(body))?;
        Ok(digester.tally())
    }
}
