//! A session's outgoing side: encode once into the outgoing buffer; one write carries what gathered.

use std::io;

use hairstreak_base::Bytes;
use hairstreak_wire::zmtp::command;
use hairstreak_wire::zmtp::curve::MessageFlags;
use hairstreak_wire::zmtp::frame::{HEADER_SIZE_MAX, SHORT_BODY_SIZE_MAX, encode_header, short_header};

use super::error::SessionError;
use super::zmtp::{Phase, Session};
use crate::outgoing::{Outgoing, Parcel};

/// A shared body of at least this size is not copied into the outgoing buffer.
pub(crate) const SHARE_SIZE: usize = 8 * 1024;

impl Session {
    /// Whether a body of `size` bytes can simply join others that gather already.
    #[inline]
    pub fn gathers(&self, size: usize) -> bool {
        let bytes_max = self.limits.send_bytes_max.min(self.connection.gather_bytes_max());
        self.connection.output.gathers(HEADER_SIZE_MAX + size, self.gather_count_max, bytes_max)
    }

    /// Encodes a body as one message if it can simply join others that gather already.
    #[inline(always)]
    pub fn push_gathering(&mut self, body: &[u8]) -> bool {
        let (count_max, bytes_max) =
            (self.gather_count_max, self.limits.send_bytes_max.min(self.connection.gather_bytes_max()));
        if body.len() <= SHORT_BODY_SIZE_MAX {
            self.connection.output.push_gathering(short_header(body.len() as u8), body, count_max, bytes_max)
        } else {
            let mut header = [0; HEADER_SIZE_MAX];
            encode_header(&mut header, false, false, body.len());
            self.connection.output.push_gathering(header, body, count_max, bytes_max)
        }
    }

    /// Encodes the message. `slept`: a caller slept since the last, and not for want of room. Returns whether it gathers: the link is busy, a
    /// later write takes it. An error leaves the session to be closed.
    pub fn push(&mut self, parcel: &Parcel<'_>, slept: bool) -> Result<bool, SessionError> {
        if slept {
            self.connection.caller_has_slept();
        }
        let was_empty = self.connection.output.is_empty();
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
            self.connection.output.push_copy(parcel.encoded, &[], true);
            return self.write_or_leave(was_empty);
        }
        for frame in parcel.envelope {
            self.push_borrowed(frame.as_bytes(), true)?;
        }
        match parcel.message {
            Outgoing::Body(body) if body.len() <= SHORT_BODY_SIZE_MAX => {
                self.connection.output.push_copy(&short_header(body.len() as u8), body, true);
            }
            other => self.push_frames(other, parcel.skip_frames)?,
        }
        self.write_or_leave(was_empty)
    }

    #[inline]
    fn write_or_leave(&mut self, was_empty: bool) -> Result<bool, SessionError> {
        if self.connection.gathers(was_empty) {
            return Ok(true);
        }
        self.write_or_gather(was_empty)
    }

    /// Tells a publisher of a subscription or its end, as its version of ZMTP wants it.
    pub fn push_subscription(&mut self, subscribes: bool, prefix: &[u8]) -> Result<bool, SessionError> {
        let was_empty = self.connection.output.is_empty();
        if self.minor == 0 {
            let body = [&[u8::from(subscribes)], prefix].concat();
            if self.cipher.is_some() {
                self.push_sealed(&body, MessageFlags { more: false, command: false }, false);
            } else {
                let mut header = [0; HEADER_SIZE_MAX];
                let size = encode_header(&mut header, false, false, body.len());
                self.connection.output.push_copy(&header[..size], &body, false);
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
        let is_in_block = self.is_in_block();
        let result = self.connection.write_unless_busy(was_empty, is_in_block);
        self.after_write(result.map(|_| ()))?;
        Ok(!self.connection.output.is_empty())
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
    fn push_shared(&mut self, frames: &[Bytes], skip: usize) -> Result<(), SessionError> {
        for (index, frame) in frames.iter().enumerate().skip(skip) {
            let more = index + 1 < frames.len();
            if frame.size() < SHARE_SIZE {
                self.push_borrowed(frame.as_bytes(), more)?;
                continue;
            }
            let mut header = [0; HEADER_SIZE_MAX];
            let size = encode_header(&mut header, more, false, frame.size());
            self.connection.output.push_shared(&header[..size], frame.clone(), !more);
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
        // What is written past the buffer is not retained.
        let is_retained = self.settling.is_some();
        if is_retained || self.phase != Phase::Ready || !self.connection.writes_directly(body.len()) {
            self.connection.output.push_copy(header, body, !more);
            return Ok(());
        }
        if let Err(error) = self.connection.write_directly(header, body, !more) {
            self.on_write_error(error)?;
            self.connection.output.push_copy(header, body, !more);
        }
        Ok(())
    }

    /// Writes what has gathered, as far as the kernel takes it.
    pub fn flush(&mut self) -> Result<(), SessionError> {
        let result = self.connection.flush();
        self.after_write(result)
    }

    fn after_write(&mut self, result: io::Result<()>) -> Result<(), SessionError> {
        if let Err(error) = result {
            self.on_write_error(error)?;
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
        self.connection.stop_writing();
        Ok(())
    }
}
