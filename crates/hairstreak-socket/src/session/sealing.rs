//! Traffic behind a CURVE handshake: frames are sealed in the outgoing buffer and opened in the read buffer,
//! each as the body of a MESSAGE.
//!
//! ```text
//! frame header | MESSAGE head, 33 bytes | payload
//! ```

use hairstreak_base::{BodyBuffer, Bytes};
use hairstreak_wire::zmtp::curve::{MESSAGE_OVERHEAD, MessageFlags};
use hairstreak_wire::zmtp::frame::{self, COMMAND_SIZE_MAX, HEADER_SIZE_MAX, encode_header};

use super::error::SessionError;
use super::incoming::OWN_BODY_SIZE;
use super::zmtp::Session;
use crate::outgoing::{Outgoing, Parcel};

impl Session {
    /// Appends a command, given as the whole frame that it is without encryption.
    pub fn push_command(&mut self, command: &[u8]) {
        let header = frame::decode_header(command, 0).ok().flatten();
        match header {
            Some(header) if self.cipher.is_some() => {
                let flags = MessageFlags { more: false, command: true };
                self.push_sealed(&command[header.header_size..], flags, false);
            }
            _ => self.connection.output.push_copy(command, &[], false),
        }
    }

    /// Encodes the frames of a message, its envelope first, each sealed.
    pub(super) fn push_parcel_sealed(&mut self, parcel: &Parcel<'_>) {
        for frame in parcel.envelope {
            self.push_sealed(frame.as_bytes(), MessageFlags { more: true, command: false }, false);
        }
        let skip = parcel.skip_frames;
        let mut push = |body: &[u8], more| {
            self.push_sealed(body, MessageFlags { more, command: false }, !more);
        };
        match parcel.message {
            Outgoing::Body(body) => push(body, false),
            Outgoing::Frames([]) => push(&[], false),
            Outgoing::Frames(frames) => {
                for (index, frame) in frames.iter().enumerate().skip(skip) {
                    push(frame, index + 1 < frames.len());
                }
            }
            Outgoing::Message(message) => {
                let frames = message.as_frames();
                for (index, frame) in frames.iter().enumerate().skip(skip) {
                    push(frame.as_bytes(), index + 1 < frames.len());
                }
            }
            message @ Outgoing::Headed { .. } => {
                let count = message.frame_count();
                message.for_each_frame(|index, frame| {
                    if index >= skip {
                        push(frame, index + 1 < count);
                    }
                });
            }
        }
    }

    /// Copies the payload behind its heads and seals it there.
    pub(super) fn push_sealed(&mut self, payload: &[u8], flags: MessageFlags, ends_message: bool) {
        let Some(cipher) = &mut self.cipher else { return };
        let body_size = MESSAGE_OVERHEAD + payload.len();
        let mut header = [0; HEADER_SIZE_MAX];
        let header_size = encode_header(&mut header, false, false, body_size);
        let mut head = [0; HEADER_SIZE_MAX + MESSAGE_OVERHEAD];
        head[..header_size].copy_from_slice(&header[..header_size]);
        self.connection.output.push_copy(&head[..header_size + MESSAGE_OVERHEAD], payload, ends_message);
        cipher.seal(self.connection.output.last_mut(body_size), flags);
    }

    /// As `decode_frame`, for sealed traffic. What the header of a frame says beside its size is not sealed, and is
    /// not believed.
    pub(super) fn decode_sealed(&mut self) -> Result<Option<(Bytes, bool)>, SessionError> {
        loop {
            let size_left = self.limits.message_size_max - self.partial_size;
            let size_max = size_left.max(COMMAND_SIZE_MAX).saturating_add(MESSAGE_OVERHEAD);
            let unread = self.connection.input.unread();
            let Some(header) = frame::decode_header(unread, size_max)? else { return Ok(None) };
            let (skip, size) = (header.header_size, header.body_size);
            let is_whole = unread.len() >= skip + size;
            let needs_own = !is_whole && size > OWN_BODY_SIZE;
            let has_begun = self.arriving.has_begun();
            let arrived = unread.len().min(skip + size);
            if (is_whole && has_begun || needs_own) && !self.arriving.admit(arrived) {
                // No edge will tell when there is room.
                self.connection.mark_readable();
                return Ok(None);
            }
            if needs_own {
                let unread = self.connection.input.unread();
                let mut body = BodyBuffer::new(size, &self.pool);
                body.append(&unread[skip..]);
                let count = unread.len();
                self.connection.input.consume(count);
                self.decoded_bytes += size;
                self.body = Some((body, false));
            }
            if !is_whole {
                return Ok(None);
            }
            let Some(cipher) = &mut self.cipher else { return Ok(None) };
            let flags = cipher.open(&mut self.connection.input.unread_mut()[skip..skip + size])?;
            if flags.more && !has_begun {
                // Only now is it known that more follow; what fits the read buffer costs nothing.
                self.arriving.admit(skip + size);
            }
            self.decoded_bytes += skip + size;
            let frame = self.connection.input.take(skip + MESSAGE_OVERHEAD, size - MESSAGE_OVERHEAD);
            if flags.command {
                match self.on_command(frame.as_bytes())? {
                    Some(subscription) => return self.between_messages(subscription),
                    None => continue,
                }
            }
            self.check_opened(frame.size())?;
            return Ok(Some((frame, flags.more)));
        }
    }

    /// Opens a body that has been read into an allocation of its own. As `decode_frame`.
    pub(super) fn open_body(&mut self, mut body: BodyBuffer) -> Result<Option<(Bytes, bool)>, SessionError> {
        let Some(cipher) = &mut self.cipher else { return Ok(Some((body.finish(), false))) };
        let flags = cipher.open(body.filled_mut())?;
        let frame = body.finish_behind(MESSAGE_OVERHEAD);
        if flags.command {
            if frame.size() > COMMAND_SIZE_MAX {
                return Err(SessionError::TooLarge(COMMAND_SIZE_MAX));
            }
            return match self.on_command(frame.as_bytes())? {
                Some(subscription) => self.between_messages(subscription),
                None => Ok(None),
            };
        }
        self.check_opened(frame.size())?;
        Ok(Some((frame, flags.more)))
    }

    fn check_opened(&self, size: usize) -> Result<(), SessionError> {
        if size > self.limits.message_size_max - self.partial_size {
            return Err(SessionError::TooLarge(self.limits.message_size_max));
        }
        if !self.limits.receives {
            return Err(SessionError::Unexpected);
        }
        Ok(())
    }
}
