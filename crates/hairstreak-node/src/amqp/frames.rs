//! Bytes to frames: the input of a session.
//!
//! - A message like the last one of its channel takes the short path (`publishing`), without decoding.
//! - A method or a content header is decoded when its whole frame is here. A frame longer than the read buffer gathers in memory
//!   of its own.
//! - A body that its channel awaits is taken as it comes: its frame need not be here whole.
//!
//! A frame is refused once it is here whole, or by its size: where the network cuts the bytes changes nothing.

use hairstreak_base::BodyBuffer;
use hairstreak_wire::amqp::{
    FRAME_END, FRAME_HEADER_SIZE, Frame, FrameKind, Method, check_frame_size, decode_frame, method_id,
};

use super::channel::Content;
use super::fault::{Fault, SHOWN_SIZE};
use super::methods::{go_on_committing, go_on_getting, handle_method};
use super::publishing::out_of_turn;
use super::reading::{BodyFrame, Reading, Step, whole_size};
use super::session::{Outcome, Session};
use super::turn::Turn;
use crate::node::REPLIES_BYTES_MAX;

impl Session {
    /// Handles the frames in `bytes`. Returns the number of bytes used. The caller hands in the rest again, with more bytes
    /// behind it.
    pub(super) fn handle_frames(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> usize {
        let mut at = 0;
        loop {
            // Frames that wait for the end of the memory alarm come first.
            if self.may_unpark() {
                self.handle_parked(turn);
            }
            if self.may_unpark() {
                break;
            }
            at += self.handle_run(&bytes[at..], turn);
            if !self.may_unpark() {
                break;
            }
        }
        if self.parked.is_in_the_way() && self.node.is_alarmed() {
            self.block(turn);
        }
        at
    }

    /// Handles frames until more bytes are needed, or something else comes first. Returns how many bytes were used.
    pub(super) fn handle_run(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> usize {
        let mut at = 0;
        while self.outcome == Outcome::Running {
            if self.may_unpark() {
                return at;
            }
            // The host has not finished the earlier operations.
            if turn.has_to_wait() {
                return at;
            }
            self.settle_slow(turn);
            if let Err((fault, channel)) = go_on_committing(self, turn) {
                self.refuse(fault, channel, turn);
                continue;
            }
            if self.committing.is_some() {
                return at;
            }
            if let Err((fault, channel)) = go_on_getting(self, turn) {
                self.refuse(fault, channel, turn);
                continue;
            }
            if self.getting.is_some() {
                return at;
            }
            turn.tell_late();
            // The client does not read its answers, or others have waited long enough.
            if turn.output.queued_bytes() >= REPLIES_BYTES_MAX || turn.is_over() {
                return at;
            }
            let (count, result) = self.handle_next(&bytes[at..], turn);
            at += count;
            match result {
                Ok(()) if count == 0 => return at,
                Ok(()) => {}
                Err((fault, channel)) => self.refuse(fault, channel, turn),
            }
        }
        // The rest is for the end of the connection.
        at
    }

    /// Handles the next frame, or the next messages that are like the last one.
    fn handle_next(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> Step {
        match &mut self.reading {
            Reading::Start => {}
            Reading::Body(frame) => {
                let channel = frame.channel;
                let (count, result) = self.take_body(bytes, turn);
                return (count, result.map_err(|fault| (fault, channel)));
            }
            Reading::Long(_) => return self.take_long(bytes, turn),
            Reading::Parked { missing } => {
                let count = self.parked.take(bytes, missing);
                if *missing == 0 {
                    self.reading = Reading::Start;
                }
                return (count, Ok(()));
            }
        }
        if self.parked.is_in_the_way() {
            if let Some(step) = self.park_behind(bytes, turn) {
                return step;
            }
        } else {
            let count = self.publish_same(bytes, turn);
            if count > 0 {
                return (count, Ok(()));
            }
        }
        match self.begins_body(bytes) {
            Ok(true) => return (FRAME_HEADER_SIZE, Ok(())),
            Ok(false) => {}
            Err(fault) => return (0, Err((fault, 0))),
        }
        self.take_frame(bytes, turn)
    }

    /// Enters a body frame that its channel awaits, once the frame's header is here. A body that no channel awaits is refused
    /// like any other frame, once it is whole.
    fn begins_body(&mut self, bytes: &[u8]) -> Result<bool, Fault> {
        let Some(&[kind, c0, c1, s0, s1, s2, s3]) = bytes.first_chunk() else { return Ok(false) };
        if kind != FrameKind::Body as u8 {
            return Ok(false);
        }
        let (channel, size) = (u16::from_be_bytes([c0, c1]), u32::from_be_bytes([s0, s1, s2, s3]));
        check_frame_size(size, self.tuned.frame_size_max).map_err(|error| Fault::of_frame(&error, bytes))?;
        let Some(Content::Body(assembly)) = self.channels.get(&channel).map(|channel| &channel.content)
        else {
            return Ok(false);
        };
        if u64::from(size) > assembly.missing() {
            return Ok(false);
        }
        let begins_at = assembly.size - assembly.missing();
        self.reading = Reading::Body(BodyFrame { channel, begins_at, missing: size as usize });
        Ok(true)
    }

    /// Takes the available bytes of a body frame's payload, and its end.
    fn take_body(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> (usize, Result<(), Fault>) {
        let Reading::Body(BodyFrame { channel, begins_at, missing }) = &mut self.reading else {
            return (0, Ok(()));
        };
        let count = bytes.len().min(*missing);
        let (channel, is_whole) = (*channel, count == *missing);
        if is_whole
            && let Some(end) = bytes.get(count)
            && *end != FRAME_END
        {
            let begins_at = *begins_at as usize;
            let Some(Content::Body(assembly)) =
                self.channels.get_mut(&channel).map(|channel| &mut channel.content)
            else {
                return (0, Err(out_of_turn(&Content::None)));
            };
            let mut payload = assembly.part(begins_at, SHOWN_SIZE + 1).to_vec();
            payload.extend_from_slice(&bytes[..count.min(SHOWN_SIZE + 1 - payload.len())]);
            return (0, Err(Fault::bad_end(FrameKind::Body as u8, &payload, *end)));
        }
        // Parked frames are in memory already.
        if count > 0 && self.node.is_alarmed() && !self.parked.is_handled && !self.alarm_quota.take(count) {
            self.block(turn);
            self.throttle.wait();
            return (0, Ok(()));
        }
        let Reading::Body(BodyFrame { missing, .. }) = &mut self.reading else { return (0, Ok(())) };
        *missing -= count;
        let has_ended = is_whole && bytes.len() > count;
        if has_ended {
            self.reading = Reading::Start;
        }
        let result = self.append_body(channel, &bytes[..count], has_ended, turn);
        (count + usize::from(has_ended), result)
    }

    /// The memory of the body that comes next, if it is a long one, and how much of it comes in this frame.
    pub(super) fn long_body(&mut self) -> Option<(&mut BodyBuffer, usize)> {
        // The body may have to wait.
        if self.node.is_alarmed() {
            return None;
        }
        let Reading::Body(BodyFrame { channel, missing, .. }) = self.reading else { return None };
        let Content::Body(assembly) = &mut self.channels.get_mut(&channel)?.content else { return None };
        let size_max = (missing as u64).min(assembly.missing()) as usize;
        assembly.body_to_read().filter(|_| size_max > 0).map(|body| (body, size_max))
    }

    /// `size` bytes were read into [`Session::long_body`].
    pub(super) fn has_read_body(&mut self, size: usize) {
        let Reading::Body(BodyFrame { channel, missing, .. }) = &mut self.reading else { return };
        *missing -= size;
        if let Some(channel) = self.channels.get_mut(channel)
            && let Content::Body(assembly) = &mut channel.content
        {
            assembly.has_read(size);
            self.throttle.receive_partial(size);
        }
    }

    /// Gathers more of a long frame.
    fn take_long(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> Step {
        let Reading::Long(gathered) = &mut self.reading else { return (0, Ok(())) };
        let size = whole_size(gathered);
        let count = bytes.len().min(size - gathered.len());
        gathered.extend_from_slice(&bytes[..count]);
        if gathered.len() < size {
            return (count, Ok(()));
        }
        let gathered = std::mem::take(gathered);
        self.reading = Reading::Start;
        (count, self.take_frame(&gathered, turn).1)
    }

    /// Decodes the frame at the start of `bytes`, if it is here whole, and handles it.
    fn take_frame(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> Step {
        let error = match decode_frame(bytes, self.tuned.frame_size_max) {
            Ok(Some(frame)) => return self.handle_frame(&frame, bytes, turn),
            Ok(None) => return (self.reading.begin_long(bytes), Ok(())),
            Err(error) => error,
        };
        let fault = Fault::of_frame(&error, bytes);
        let used = if fault.is_fatal { 0 } else { whole_size(bytes) };
        (used, Err((fault, 0)))
    }

    /// Handles a frame that is here whole, at the start of `bytes`.
    fn handle_frame(&mut self, frame: &Frame<'_>, bytes: &[u8], turn: &mut Turn<'_>) -> Step {
        let (channel, size) = (frame.channel, frame.size());
        if let Some(fault) = Fault::of_kind(frame) {
            return (size, Err((fault, 0)));
        }
        let result = match frame.kind {
            FrameKind::Heartbeat => Ok(()),
            FrameKind::Header => self.take_header(channel, frame.payload, turn),
            FrameKind::Body => self.refuse_body(channel),
            FrameKind::Method => {
                if let Some(step) = self.park_publish(channel, (&bytes[..size], frame.payload), turn) {
                    return step;
                }
                match self.publish_whole(frame, bytes, turn) {
                    Some((size, result)) => return (size, result.map_err(|fault| (fault, channel))),
                    None => self.take_method(channel, frame.payload, turn),
                }
            }
        };
        (size, result.map_err(|fault| (fault, channel)))
    }

    pub(super) fn take_method(
        &mut self,
        channel: u16,
        payload: &[u8],
        turn: &mut Turn<'_>,
    ) -> Result<(), Fault> {
        let id = method_id(payload).unwrap_or_default();
        if self.closing_channels.contains(&channel) {
            return self.take_while_closing(channel, id, turn);
        }
        let fields = payload.get(4..).unwrap_or_default();
        let method = Method::decode(payload).map_err(|error| Fault::of_payload(&error, id, fields))?;
        handle_method(self, channel, method, turn)
    }
}
