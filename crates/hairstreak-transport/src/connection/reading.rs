//! Reading: one read of the stream each call, into the read buffer or into a body's own memory.

use std::io;
use std::time::Instant;

use hairstreak_base::BodyBuffer;

use super::Connection;

/// Result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The number of bytes that came.
    Bytes(usize),
    /// Nothing is there now.
    Nothing,
    /// The peer has ended the stream, and all its bytes were read.
    End,
}

impl Connection {
    /// Reads once into `input`, 64 KiB at most.
    ///
    /// Errors: the connection broke.
    pub fn read(&mut self) -> io::Result<Read> {
        let stream = &mut self.stream;
        let result = self.input.fill(|room| stream.read(room));
        self.note_read(result)
    }

    /// Reads once into the missing part of `body`, `size_max` bytes at most.
    ///
    /// Errors: the connection broke.
    pub fn read_body(&mut self, body: &mut BodyBuffer, size_max: usize) -> io::Result<Read> {
        let stream = &mut self.stream;
        let size = body.missing().min(size_max);
        let result = body.fill(|room| stream.read(&mut room[..size]));
        self.note_read(result.map(|(count, _)| (count, count == size)))
    }

    /// Notes the result of a read: the number of bytes, and whether the room was full.
    pub(crate) fn note_read(&mut self, result: io::Result<(usize, bool)>) -> io::Result<Read> {
        self.read_count += 1;
        match result {
            Ok((0, _)) => {
                self.input_over = true;
                Ok(Read::End)
            }
            Ok((count, filled)) => {
                self.read_bytes += count as u64;
                self.gathering.has_read(Instant::now());
                self.liveness.has_heard();
                // A short read emptied the socket: the next bytes make a new event.
                self.readable = filled || self.peer_ended || !self.stream.reads_short();
                Ok(Read::Bytes(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(Read::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Bytes read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Returns the number of bytes read since the last call.
    pub fn take_read_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.read_bytes)
    }

    /// Returns the number of reads since the last call.
    pub fn take_read_count(&mut self) -> u32 {
        std::mem::take(&mut self.read_count)
    }

    /// Stops reading until [`Connection::resume`]. The peer's bytes stay in the buffers on the way, and the peer is slowed.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Reads again. Returns whether a read may find something.
    pub fn resume(&mut self) -> bool {
        self.paused = false;
        self.readable
    }

    /// Returns `true` if reading is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }
}
