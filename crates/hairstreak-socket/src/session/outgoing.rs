//! A session's outgoing side: encode once into the outgoing buffer; one write carries what gathered.

use std::io::{self, IoSlice};
use std::time::{Duration, Instant};

use hairstreak_base::{Frame, SEGMENT_SIZE};
use hairstreak_wire::zmtp::command;
use hairstreak_wire::zmtp::curve::MessageFlags;
use hairstreak_wire::zmtp::frame::{HEADER_SIZE_MAX, SHORT_BODY_SIZE_MAX, encode_header};

use super::connection::{Phase, Session};
use super::error::SessionError;
use crate::outgoing::{Outgoing, Parcel};

/// A link that last wrote longer ago than this counts as idle: the next send writes at once.
pub(crate) const GATHER_TIME: Duration = Duration::from_micros(50);
/// As above, when as much was written as gathers at most: writing as much to other links takes its time.
const BUSY_TIME: Duration = Duration::from_millis(5);
/// As much gathers for one write while messages of the peer wait to be answered: then both ends are at work, each on
/// a part of what is under way.
pub(super) const ANSWER_SIZE: usize = SEGMENT_SIZE / 4;
/// A borrowed body of at least this size is written from where it lies when the link is idle.
const DIRECT_SIZE: usize = 32 * 1024;
/// As above, into shared memory, where a write is no system call.
const SHARED_DIRECT_SIZE: usize = 4 * 1024;
/// A shared body of at least this size is not copied into the outgoing buffer.
pub(crate) const SHARE_SIZE: usize = 8 * 1024;

impl Session {
    /// Whether a body of `size` bytes can simply join others that gather already.
    #[inline]
    pub fn gathers(&self, size: usize) -> bool {
        let bytes_max = self.limits.send_bytes_max.min(self.gather_bytes_max);
        self.outgoing.gathers(HEADER_SIZE_MAX + size, self.gather_count_max, bytes_max)
    }

    /// Encodes a body as one message if it can simply join others that gather already.
    #[inline(always)]
    pub fn push_gathering(&mut self, body: &[u8]) -> bool {
        let (count_max, bytes_max) =
            (self.gather_count_max, self.limits.send_bytes_max.min(self.gather_bytes_max));
        if body.len() <= SHORT_BODY_SIZE_MAX {
            self.outgoing.push_gathering([0, body.len() as u8], body, count_max, bytes_max)
        } else {
            let mut header = [0; HEADER_SIZE_MAX];
            encode_header(&mut header, false, false, body.len());
            self.outgoing.push_gathering(header, body, count_max, bytes_max)
        }
    }

    /// Encodes the message. `slept`: a caller slept since the last, and not for want of room. Returns whether it gathers: the link is busy, a
    /// later write takes it. An error leaves the session to be closed.
    pub fn push(&mut self, parcel: &Parcel<'_>, slept: bool) -> Result<bool, SessionError> {
        if slept && self.outgoing.is_empty() {
            self.busy_until = None;
        }
        let was_empty = self.outgoing.is_empty();
        if self.cipher.is_some() {
            self.push_parcel_sealed(parcel);
            self.retain_plain(parcel);
            return self.write_or_leave(was_empty);
        }
        if self.limits.is_plain {
            self.push_plain(parcel);
            return self.write_or_leave(was_empty);
        }
        if !parcel.encoded.is_empty() {
            self.outgoing.push_copy(parcel.encoded, &[], true);
            return self.write_or_leave(was_empty);
        }
        for frame in parcel.envelope {
            self.push_borrowed(frame.as_bytes(), true)?;
        }
        match parcel.message {
            Outgoing::Body(body) if body.len() <= SHORT_BODY_SIZE_MAX => {
                self.outgoing.push_copy(&[0, body.len() as u8], body, true);
            }
            other => self.push_frames(other, parcel.skip_frames)?,
        }
        self.write_or_leave(was_empty)
    }

    #[inline]
    fn write_or_leave(&mut self, was_empty: bool) -> Result<bool, SessionError> {
        if !was_empty && self.outgoing.queued_bytes() < self.gather_bytes_max {
            return Ok(true);
        }
        self.write_or_gather(was_empty)
    }

    /// Tells a publisher of a subscription or its end, as its version of ZMTP wants it.
    pub fn push_subscription(&mut self, subscribes: bool, prefix: &[u8]) -> Result<bool, SessionError> {
        let was_empty = self.outgoing.is_empty();
        if self.minor == 0 {
            let body = [&[u8::from(subscribes)], prefix].concat();
            if self.cipher.is_some() {
                self.push_sealed(&body, MessageFlags { more: false, command: false }, false);
            } else {
                let mut header = [0; HEADER_SIZE_MAX];
                let size = encode_header(&mut header, false, false, body.len());
                self.outgoing.push_copy(&header[..size], &body, false);
            }
        } else {
            let mut bytes = Vec::new();
            let encode = if subscribes { command::encode_subscribe } else { command::encode_cancel };
            encode(&mut bytes, prefix);
            self.push_command(&bytes);
        }
        self.write_or_leave(was_empty)
    }

    /// Tells the peer why the connection ends.
    pub fn push_error(&mut self, reason: &str) {
        let mut bytes = Vec::new();
        command::encode_error(&mut bytes, reason.as_bytes());
        self.push_command(&bytes);
        self.has_sent = true;
    }

    /// A message of several frames, or a longer one, as it goes over the wire to every peer.
    pub fn encode(message: &Outgoing<'_>, into: &mut Vec<u8>) {
        let count = message.frame_count();
        message.for_each_frame(|index, frame| {
            let mut header = [0; HEADER_SIZE_MAX];
            let size = encode_header(&mut header, index + 1 < count, false, frame.len());
            into.extend_from_slice(&header[..size]);
            into.extend_from_slice(frame);
        });
    }

    #[cold]
    fn write_or_gather(&mut self, was_empty: bool) -> Result<bool, SessionError> {
        self.has_sent = true;
        let now = Instant::now();
        // The caller that takes what was read just now has more to send, and flushes before it sleeps.
        let answers = !self.buffer.unread().is_empty();
        let is_busy = self.busy_until.is_some_and(|until| now < until)
            || (answers && self.last_read.is_some_and(|last| now.duration_since(last) < GATHER_TIME))
            || self.is_in_block();
        if was_empty && is_busy && self.outgoing.queued_bytes() < self.gather_bytes_max {
            return Ok(!self.outgoing.is_empty());
        }
        self.gather_bytes_max = if answers { ANSWER_SIZE } else { SEGMENT_SIZE };
        self.busy_until = Some(now + if was_empty { GATHER_TIME } else { BUSY_TIME });
        self.flush()?;
        Ok(!self.outgoing.is_empty())
    }

    fn push_frames(&mut self, message: &Outgoing<'_>, skip: usize) -> Result<(), SessionError> {
        match message {
            Outgoing::Body(body) => self.push_borrowed(body, false)?,
            Outgoing::Frames([]) => self.push_borrowed(&[], false)?,
            Outgoing::Frames(frames) => {
                for (index, frame) in frames.iter().enumerate().skip(skip) {
                    self.push_borrowed(frame, index + 1 < frames.len())?;
                }
            }
            Outgoing::Message(message) => self.push_shared(message.as_frames(), skip)?,
            Outgoing::Headed { head, body } => {
                for (index, frame) in head.iter().enumerate().skip(skip) {
                    self.push_borrowed(frame, index + 1 < head.len() + body.len())?;
                }
                self.push_shared(body, skip.saturating_sub(head.len()))?;
            }
        }
        Ok(())
    }

    /// The last frames of a message, behind so many of them.
    fn push_shared(&mut self, frames: &[Frame], skip: usize) -> Result<(), SessionError> {
        for (index, frame) in frames.iter().enumerate().skip(skip) {
            let more = index + 1 < frames.len();
            if frame.size() < SHARE_SIZE {
                self.push_borrowed(frame.as_bytes(), more)?;
                continue;
            }
            let mut header = [0; HEADER_SIZE_MAX];
            let size = encode_header(&mut header, more, false, frame.size());
            self.outgoing.push_shared(&header[..size], frame.clone(), !more);
        }
        Ok(())
    }

    fn push_borrowed(&mut self, body: &[u8], more: bool) -> Result<(), SessionError> {
        if self.settling.is_some() && body.len() >= SHARE_SIZE {
            self.push_owned(body, more);
            return Ok(());
        }
        let mut header = [0; HEADER_SIZE_MAX];
        let size = encode_header(&mut header, more, false, body.len());
        let header = &header[..size];
        let direct_size = if self.stream.is_shared() { SHARED_DIRECT_SIZE } else { DIRECT_SIZE };
        // What is written past the buffer is not retained.
        let is_retained = self.settling.is_some();
        if body.len() < direct_size || is_retained || !self.writable || self.phase != Phase::Ready {
            self.outgoing.push_copy(header, body, !more);
            return Ok(());
        }
        self.flush()?;
        let mut taken = 0;
        if self.outgoing.is_empty() && self.writable {
            match self.stream.write(&[IoSlice::new(header), IoSlice::new(body)]) {
                Ok(count) => taken = count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => self.on_write_error(error)?,
            }
        }
        let is_whole = taken == header.len() + body.len();
        self.outgoing.count_written(taken, usize::from(is_whole && !more));
        if taken < header.len() {
            self.outgoing.push_copy(&header[taken..], body, !more);
        } else if !is_whole {
            self.outgoing.push_copy(&[], &body[taken - header.len()..], !more);
        }
        Ok(())
    }

    /// Writes what has gathered, as far as the kernel takes it.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        while self.writable && !self.outgoing.is_empty() {
            let stream = &mut self.stream;
            match self.outgoing.write_with(|slices| stream.write(slices)) {
                Ok((_, all)) => self.writable = all || self.outgoing.is_empty(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => self.on_write_error(error)?,
            }
        }
        if self.settling.is_some() {
            self.refresh_gathering();
        }
        Ok(())
    }

    /// The peer takes nothing more. What it sent before is still to be read, and then the end.
    fn on_write_error(&mut self, error: io::Error) -> Result<(), SessionError> {
        if !self.limits.receives || self.phase != Phase::Ready {
            return Err(error.into());
        }
        (self.write_failed, self.writable) = (true, false);
        (self.peer_ended, self.readable) = (true, true);
        Ok(())
    }
}
