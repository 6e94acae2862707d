//! A session's incoming side: read big, slice, never copy; large bodies into their own allocation.

use hairstreak_base::{BodyBuffer, Bytes, Message, READ_SIZE};
use hairstreak_transport::Read;
use hairstreak_wire::zmtp::frame::{self, COMMAND_SIZE_MAX, ZmtpFraming};

use super::error::SessionError;
use super::zmtp::Session;

/// Reads in one go; then other connections, and whoever waits for the lock, have their turn.
const READS_MAX: u32 = 4;
/// Frames of messages of several that are read ahead in one go, which take as long as those reads.
const FRAMES_AHEAD_MAX: usize = 1024;

/// Bodies longer than this are read straight into their own allocation.
pub(super) const OWN_BODY_SIZE: usize = 16 * 1024;

/// How much of such a body one read takes.
const BODY_READ_SIZE_MAX: usize = 1 << 20;

impl Session {
    /// Takes the next message if it has one frame and is here already.
    #[inline]
    pub fn take_ready(&mut self, into: &mut Message) -> bool {
        self.in_step && self.connection.input.take_single::<ZmtpFraming>(into)
    }

    /// As [`Session::take_ready`], at most `max`, appended to `into`. Returns their bytes.
    pub fn take_ready_many(&mut self, into: &mut Vec<Message>, max: usize) -> usize {
        if self.in_step { self.connection.input.take_singles::<ZmtpFraming>(into, max) } else { 0 }
    }

    /// Appends messages that are here, whatever lies between them, at most `max`, to `into`, and reads nothing. `handed`: how
    /// many the application has had. Returns how many frames they have
    /// beyond the first of each.
    pub fn take_here_many(
        &mut self,
        into: &mut Vec<Message>,
        max: usize,
        handed: u64,
    ) -> (usize, Result<(), SessionError>) {
        let before = into.len();
        let mut further_frames = 0;
        let result = loop {
            if self.ended && self.ahead.is_empty() {
                break Ok(());
            }
            self.take_ready_many(into, max - (into.len() - before));
            let count = into.len() - before;
            if count == max {
                break Ok(());
            }
            self.handed = handed + count as u64;
            let next = match self.ahead.pop_front() {
                Some((message, charge, _)) => {
                    self.ahead_bytes -= charge;
                    Some(message)
                }
                None => match self.decode() {
                    Ok(next) => next,
                    Err(error) => break Err(error),
                },
            };
            self.keep_step();
            match next {
                Some(message) => {
                    further_frames += message.frame_count() - 1;
                    into.push(message);
                }
                None => break Ok(()),
            }
        };
        self.handed = handed + (into.len() - before) as u64;
        (further_frames, result.and_then(|()| self.check_sender()))
    }

    /// Puts the next whole message into `into`, reading up to [`READS_MAX`] times. False: nothing
    /// more now, or nothing yet if the stream is still readable. `handed`: how many the application has had.
    pub fn next_message(&mut self, into: &mut Message, handed: u64) -> Result<bool, SessionError> {
        self.handed = handed;
        let next = self.next_message_slowly();
        self.keep_step();
        self.check_sender()?;
        match next? {
            Some(message) => {
                *into = message;
                Ok(true)
            }
            None => {
                self.connection.rest();
                Ok(false)
            }
        }
    }

    fn next_message_slowly(&mut self) -> Result<Option<Message>, SessionError> {
        if let Some((message, charge, _)) = self.ahead.pop_front() {
            self.ahead_bytes -= charge;
            return Ok(Some(message));
        }
        if self.ended {
            return Err(SessionError::Closed);
        }
        for _ in 0..READS_MAX {
            if let Some(message) = self.decode()? {
                return Ok(Some(message));
            }
            if self.is_held_up() || !self.connection.is_readable() || !self.read()? {
                return Ok(None);
            }
        }
        self.decode()
    }

    /// Reads ahead of an application that is not receiving, up to the limits, [`READS_MAX`] times and
    /// [`FRAMES_AHEAD_MAX`], so that commands are answered and the end of the stream is seen. `handed`: how many messages the application has had.
    pub fn read_ahead(&mut self, handed: u64) -> Result<(), SessionError> {
        self.handed = handed;
        let result = self.read_until_full();
        self.keep_step();
        self.connection.rest();
        result.and_then(|()| self.check_sender())
    }

    pub(super) fn keep_step(&mut self) {
        self.in_step = self.ahead.is_empty()
            && self.partial.is_empty()
            && self.body.is_none()
            && self.cipher.is_none()
            && self.limits.message_size_max >= READ_SIZE;
    }

    fn read_until_full(&mut self) -> Result<(), SessionError> {
        self.decoded_bytes = 0;
        let mut further_frames = 0;
        for _ in 0..READS_MAX {
            while self.has_room_ahead() {
                match self.decode()? {
                    Some(message) => {
                        let frames = message.frame_count() * size_of::<Bytes>();
                        let charge = frames + std::mem::take(&mut self.decoded_bytes);
                        self.ahead_bytes += charge;
                        further_frames += message.frame_count() - 1;
                        self.ahead.push_back((message, charge, self.decoded_position()));
                    }
                    None => break,
                }
                if further_frames >= FRAMES_AHEAD_MAX {
                    // No edge will tell of what lies in the buffer.
                    self.connection.mark_readable();
                    return Ok(());
                }
            }
            if !self.has_room_ahead()
                || self.is_held_up()
                || !self.connection.is_readable()
                || !self.read()?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Drops what was read ahead and is not wanted any more.
    pub fn retain_ahead(&mut self, is_wanted: impl Fn(&Message) -> bool) {
        let bytes = &mut self.ahead_bytes;
        self.ahead.retain(|(message, charge, _)| {
            let is_wanted = is_wanted(message);
            *bytes -= if is_wanted { 0 } else { *charge };
            is_wanted
        });
        self.keep_step();
    }

    /// Of a peer that has ended, whose messages its side keeps until they are settled, all is read: what its host has still
    /// to bring is bounded, and the end is behind it.
    pub fn has_room_ahead(&self) -> bool {
        if self.connection.has_peer_ended() && self.settles_received() {
            return true;
        }
        self.ahead.len() < self.limits.receive_count_max && self.ahead_bytes < self.limits.receive_bytes_max
    }

    /// Whether bytes of the peer lie unread because the application is not receiving.
    pub fn is_backlogged(&self) -> bool {
        self.connection.is_readable() || !self.ahead.is_empty()
    }

    /// Whether what lies in the read buffer waits for room. A body that waits asks again with each read.
    fn is_held_up(&self) -> bool {
        self.body.is_none() && self.arriving.waits()
    }

    /// One read. Returns false when there was nothing, or no room for it: then the stream stays readable, for no
    /// edge will tell when there is.
    fn read(&mut self) -> Result<bool, SessionError> {
        let read = match &mut self.body {
            Some((body, _)) if body.missing() > 0 => {
                let size = body.missing().min(BODY_READ_SIZE_MAX);
                if !self.arriving.admit(size) {
                    return Ok(false);
                }
                let read = self.connection.read_body(body, size);
                let count = if let Ok(Read::Bytes(count)) = read { count } else { 0 };
                self.arriving.give_back(size - count);
                read
            }
            _ => self.connection.read(),
        };
        match read? {
            Read::Bytes(_) => Ok(true),
            Read::Nothing => Ok(false),
            Read::End => Err(SessionError::Closed),
        }
    }

    /// The next whole message in the buffer, handling commands on the way.
    pub(super) fn decode(&mut self) -> Result<Option<Message>, SessionError> {
        if self.limits.is_plain {
            return Ok(self.take_plain());
        }
        loop {
            if let Some((body, _)) = &mut self.body {
                let unread = self.connection.input.unread();
                let count = body.missing().min(unread.len());
                body.append(&unread[..count]);
                self.connection.input.consume(count);
                if body.missing() > 0 {
                    return Ok(None);
                }
            }
            let (frame, more) = match self.body.take() {
                Some((body, _)) if self.cipher.is_some() => match self.open_body(body)? {
                    Some(next) => next,
                    None => continue,
                },
                Some((body, more)) => (body.finish(), more),
                None => match self.decode_frame()? {
                    Some(next) => next,
                    None => return Ok(None),
                },
            };
            if let Some(message) = self.add_frame(frame, more)? {
                if self.arriving.has_begun() {
                    self.arriving.finish();
                }
                return Ok(Some(message));
            }
        }
    }

    /// The next message frame that lies whole in the buffer, after any commands before it.
    fn decode_frame(&mut self) -> Result<Option<(Bytes, bool)>, SessionError> {
        if self.cipher.is_some() {
            return self.decode_sealed();
        }
        loop {
            let unread = self.connection.input.unread();
            let size_left = self.limits.message_size_max - self.partial_size;
            let header = frame::decode_header(unread, size_left.max(COMMAND_SIZE_MAX))?;
            let Some(header) = header else { return Ok(None) };
            let (skip, size) = (header.header_size, header.body_size);
            let limit = if header.command { COMMAND_SIZE_MAX } else { size_left };
            if size > limit {
                return Err(SessionError::TooLarge(self.limits.message_size_max));
            }
            if !header.command && !self.limits.receives {
                return Err(SessionError::Unexpected);
            }
            let is_whole = unread.len() >= skip + size;
            let is_part = !header.command && (header.more || self.arriving.has_begun());
            if header.command && skip + size > READ_SIZE {
                // The read buffer takes it in whole or not at all.
                return Err(SessionError::TooLarge(READ_SIZE));
            }
            let needs_own = !is_whole && !header.command && size > OWN_BODY_SIZE;
            let arrived = unread.len().min(skip + size);
            if (is_part && is_whole || needs_own) && !self.arriving.admit(arrived) {
                // No edge will tell when there is room.
                self.connection.mark_readable();
                return Ok(None);
            }
            if is_whole {
                self.decoded_bytes += skip + size;
                let frame = self.connection.input.take(skip, size);
                if header.command {
                    self.arriving.add_command(skip + size);
                    match self.on_command(frame.as_bytes())? {
                        Some(subscription) => return self.between_messages(subscription),
                        None => continue,
                    }
                }
                return Ok(Some((frame, header.more)));
            }
            if needs_own {
                let unread = self.connection.input.unread();
                let mut body = BodyBuffer::new(size, &self.pool);
                body.append(&unread[skip..]);
                let count = unread.len();
                self.connection.input.consume(count);
                self.decoded_bytes += size;
                self.body = Some((body, header.more));
            }
            return Ok(None);
        }
    }

    /// A subscription stands for a message of its own.
    pub(super) fn between_messages(
        &self,
        subscription: Bytes,
    ) -> Result<Option<(Bytes, bool)>, SessionError> {
        if !self.partial.is_empty() {
            return Err(SessionError::InsideMessage);
        }
        Ok(Some((subscription, false)))
    }

    fn add_frame(&mut self, frame: Bytes, more: bool) -> Result<Option<Message>, SessionError> {
        if !more && self.partial.is_empty() {
            return Ok(Some(frame.into()));
        }
        if self.partial.len() >= self.limits.frame_count_max {
            return Err(SessionError::TooManyFrames(self.limits.frame_count_max));
        }
        self.partial_size += frame.size();
        self.partial.push(frame);
        if more {
            return Ok(None);
        }
        self.partial_size = 0;
        Ok(Some(self.partial.drain(..).collect()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::LinkKind;
    use crate::{Context, Pull, Push};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// The most messages of so many empty frames that are read ahead in one go, of so many that are there.
    fn most_in_one_go(messages: usize, frame_count: usize) -> usize {
        let (pull, push) = (Pull::new(&Context::new()).unwrap(), Push::new(&Context::new()).unwrap());
        push.connect(&pull.bind("tcp://127.0.0.1:*").unwrap().to_string()).unwrap();
        assert!(pull.wait_for_peers(1, PATIENCE) && push.wait_for_peers(1, PATIENCE));
        // Nobody else reads meanwhile.
        let mut state = pull.handle.engine.lock();
        let message = Message::from_frames(vec![b""; frame_count]);
        (0..messages).for_each(|_| push.send(&message).unwrap());
        push.flush();
        let (_, link) = state.links.iter_mut().next().unwrap();
        let LinkKind::Stream(session) = &mut link.kind else { panic!("a ring") };
        let (mut ahead, mut most) = (0, 0);
        while ahead < messages {
            session.connection.mark_readable();
            session.read_ahead(0).unwrap();
            let now = session.ahead.len();
            (ahead, most) = (now, most.max(now - ahead));
            if ahead < messages {
                assert!(session.connection.is_readable() || session.connection.input.unread().is_empty());
            }
        }
        most
    }

    #[test]
    fn frames_are_read_ahead_in_goes_and_none_is_left_behind() {
        for (messages, frame_count, most) in [(15, 1000, 2), (15, 1024, 2), (1_500, 10, 114)] {
            assert!(most_in_one_go(messages, frame_count) <= most, "{messages} of {frame_count}");
        }
    }
}
