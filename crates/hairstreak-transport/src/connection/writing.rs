//! Writing: bytes gather in `output`; one vectored write carries them.

use std::io::{self, IoSlice};
use std::time::Instant;

use super::{Connection, OutputEnd};
use crate::stream::Stream;

/// A borrowed body of at least this size is written from where it lies when nothing waits before it.
const DIRECT_SIZE: usize = 32 * 1024;
/// The size for shared memory, where a write is no system call.
const SHARED_DIRECT_SIZE: usize = 4 * 1024;

impl Connection {
    /// The most bytes that gather for one write.
    #[inline]
    pub fn gather_bytes_max(&self) -> usize {
        self.gathering.bytes_max()
    }

    /// The caller has slept since it last put something in: if all is written, the next message is written at once.
    #[inline]
    pub fn caller_has_slept(&mut self) {
        if self.output.is_empty() {
            self.gathering.is_idle_again();
        }
    }

    /// Returns `true` if new output simply waits for more. `was_empty`: nothing waited before it.
    #[inline]
    pub fn gathers(&self, was_empty: bool) -> bool {
        !was_empty && self.output.queued_bytes() < self.gathering.bytes_max()
    }

    /// Writes the protocol's output, or lets it gather because the connection is busy. `is_in_block`: the caller has
    /// more to put in and flushes then. Returns whether bytes wait for a later write.
    ///
    /// Errors: as [`Connection::flush`].
    pub fn write_unless_busy(&mut self, was_empty: bool, is_in_block: bool) -> io::Result<bool> {
        let now = Instant::now();
        // A caller that is reading input has more to put in, and flushes before it sleeps.
        let answers = !self.input.unread().is_empty();
        let is_busy = self.gathering.is_busy(now, answers) || is_in_block;
        if was_empty && is_busy && self.output.queued_bytes() < self.gathering.bytes_max() {
            return Ok(!self.output.is_empty());
        }
        self.gathering.writes(now, was_empty, answers);
        self.flush()?;
        Ok(!self.output.is_empty())
    }

    /// Writes the gathered bytes that are not held, as far as the stream takes them.
    ///
    /// Errors: the peer takes nothing more.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.writable && self.output.ready_bytes() > 0 {
            let stream = &mut self.stream;
            match self.output.write_with(|slices| stream.write(slices)) {
                Ok((_, all)) => self.writable = all,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        flush_stream(&mut self.stream, &mut self.writable)?;
        // Bytes that wait within the stream leave before the end, which may wait there itself.
        if self.output_end == OutputEnd::Wanted && !self.has_unwritten() {
            self.output_end = OutputEnd::Said;
            self.stream.shutdown_write();
            flush_stream(&mut self.stream, &mut self.writable)?;
        }
        Ok(())
    }

    /// Returns `true` if bytes wait to be written, within the stream or before it. Held bytes count.
    pub fn has_unwritten(&self) -> bool {
        !self.output.is_empty() || self.stream.has_unsent()
    }

    /// Returns `true` if a borrowed body of `size` bytes is better written from its own memory.
    pub fn writes_directly(&self, size: usize) -> bool {
        let direct_size = if self.stream.is_shared() { SHARED_DIRECT_SIZE } else { DIRECT_SIZE };
        size >= direct_size && self.writable && !self.output.is_held()
    }

    /// Writes a header and a borrowed body after the gathered bytes. The stream takes the body from the caller's
    /// memory. The buffer keeps the bytes that the stream does not take, and all of the message if output is held.
    ///
    /// Errors: as [`Connection::flush`]; nothing of the message was taken then.
    pub fn write_directly(&mut self, header: &[u8], body: &[u8], ends_message: bool) -> io::Result<()> {
        self.flush()?;
        let mut taken = 0;
        if self.output.is_empty() && self.writable && !self.output.is_held() {
            match self.stream.write(&[IoSlice::new(header), IoSlice::new(body)]) {
                Ok(count) => taken = count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        let is_whole = taken == header.len() + body.len();
        self.output.count_written(taken, usize::from(is_whole && ends_message));
        if taken < header.len() {
            self.output.push_copy(&header[taken..], body, ends_message);
        } else if !is_whole {
            self.output.push_copy(&[], &body[taken - header.len()..], ends_message);
        }
        Ok(())
    }

    /// The peer takes nothing more. The peer's bytes are still to be read, and then the end.
    pub fn stop_writing(&mut self) {
        (self.write_failed, self.writable) = (true, false);
        (self.peer_ended, self.readable) = (true, true);
    }

    /// The stream has no room now; an event reports new room.
    pub fn mark_unwritable(&mut self) {
        self.writable = false;
    }
}

/// Sends the bytes that wait within the stream, as far as there is room.
#[inline]
fn flush_stream(stream: &mut Stream, writable: &mut bool) -> io::Result<()> {
    if *writable && stream.has_unsent() {
        match stream.flush() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => *writable = false,
            other => other?,
        }
    }
    Ok(())
}
