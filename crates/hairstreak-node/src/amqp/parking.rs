//! Parking of frames while the alarm is raised, so that the frames behind them are still read.
//!
//! A client that publishes and consumes on one connection sends acknowledgements behind its messages, and acknowledgements free
//! memory. A basic.publish that comes while the alarm is raised is parked unchanged, with all later frames of its channel behind
//! it. Only acknowledgements go ahead. When the alarm is over the frames are handled like new ones. Confirms, transactions and
//! the end of a channel keep their meaning.
//!
//! | frame | while frames of its channel are parked |
//! |---|---|
//! | basic.ack, basic.nack, basic.reject | handled; parked if it would fail, in a transaction, or behind a change of its meaning |
//! | everything else of the channel | parked |
//! | connection.close | parked behind the frames of all channels |
//! | frames of other channels | handled |
//!
//! The parked bytes of a connection are bounded ([`Parking`](crate::node::Parking)). Beyond the bound nothing is read until the
//! alarm is over. When a connection ends, its parked frames are dropped, except if an acknowledgement has gone ahead of them: a
//! client may have acknowledged a task behind the message with its result. Such frames are handled within the grace of the node.

use hairstreak_wire::amqp::{
    FRAME_HEADER_SIZE, FRAME_OVERHEAD, FrameKind, Method, basic, channel, check_frame_size, connection,
    decode_frame, method_id, tx,
};

use super::reading::{Reading, Step};
use super::session::{Outcome, Session};
use super::turn::Turn;

/// The id of the class and of the method at the start of a method's payload.
const METHOD_ID_SIZE: usize = 4;
/// The bytes of a frame that settles deliveries, and some more: a tag and its flags.
const SETTLEMENT_SIZE: usize = 32;
/// Methods that change the meaning of a later acknowledgement: after them it is part of a transaction, or settles other
/// deliveries.
const BARRIERS: [(u16, u16); 5] =
    [tx::Select::ID, basic::Get::ID, basic::Recover::ID, basic::RecoverAsync::ID, channel::Close::ID];

impl Session {
    /// Parks a basic.publish that comes while the alarm is raised, or makes the connection wait. `frame`: its bytes. `None`: the
    /// frame is not a basic.publish, or need not wait. A transaction that has messages may get to its end while there is room.
    pub(super) fn park_publish(
        &mut self,
        number: u16,
        (frame, payload): (&[u8], &[u8]),
        turn: &mut Turn<'_>,
    ) -> Option<Step> {
        if !self.node.is_alarmed() || method_id(payload) != Some(basic::Publish::ID) || self.parked.is_ending
        {
            return None;
        }
        self.block(turn);
        let transaction = self.channels.get(&number).and_then(|channel| channel.transaction.as_ref());
        let has_begun = transaction.is_some_and(|transaction| transaction.bytes() > 0);
        let size = frame.len();
        // A parked frame does not stop the connection.
        if has_begun
            && if self.parked.is_handled {
                self.alarm_quota.has_room(size)
            } else {
                self.alarm_quota.take(size)
            }
        {
            return None;
        }
        Some(match (self.parked.is_handled, self.throttle.may_park() && !has_begun) {
            // The frame is parked already.
            (true, _) => (0, Ok(())),
            (false, true) => self.park(number, frame.len(), frame),
            (false, false) => {
                self.throttle.wait();
                (0, Ok(()))
            }
        })
    }

    /// Notifies the client that its messages wait, unless it is notified already or did not ask for notices.
    pub(super) fn block(&mut self, turn: &mut Turn<'_>) {
        if self.throttle.block() && self.hears_blocked {
            let reason = self.node.account.alarm.text();
            let blocked = connection::Blocked { reason: reason.as_bytes() };
            turn.reply(0, &Method::ConnectionBlocked(blocked));
        }
    }

    /// Enters a frame that must go behind parked ones. `None`: the frame need not.
    pub(super) fn park_behind(&mut self, bytes: &[u8], turn: &mut Turn<'_>) -> Option<Step> {
        let &[kind, c0, c1, s0, s1, s2, s3] = bytes.first_chunk::<FRAME_HEADER_SIZE>()?;
        let number = u16::from_be_bytes([c0, c1]);
        let payload_size = u32::from_be_bytes([s0, s1, s2, s3]);
        let size = payload_size as usize + FRAME_OVERHEAD;
        let is_held = self.parked.has_channel(number);
        let is_of_channel = [FrameKind::Method, FrameKind::Header, FrameKind::Body].map(|kind| kind as u8);
        // An error of the frame is reported without delay.
        let is_too_large = check_frame_size(payload_size, self.tuned.frame_size_max).is_err();
        if !is_of_channel.contains(&kind) || is_too_large || !is_held && number != 0 {
            return None;
        }
        if kind != FrameKind::Method as u8 {
            return is_held.then(|| self.park(number, size, bytes));
        }
        let payload = &bytes[FRAME_HEADER_SIZE..];
        if payload.len() < METHOD_ID_SIZE {
            return Some((0, Ok(())));
        }
        let id = method_id(payload).unwrap_or_default();
        if !is_held && id != connection::Close::ID {
            return None;
        }
        let settles = [basic::Ack::ID, basic::Nack::ID, basic::Reject::ID].contains(&id);
        let is_transactional =
            self.channels.get(&number).is_some_and(|channel| channel.transaction.is_some());
        if settles && size <= SETTLEMENT_SIZE && !is_transactional && self.parked.lets_overtake(number) {
            return Some(self.settle_ahead(number, bytes, turn));
        }
        if BARRIERS.contains(&id) {
            self.parked.bar(number);
        }
        Some(self.park(number, size, bytes))
    }

    /// Handles an acknowledgement ahead of parked frames. A refused acknowledgement is parked and fails in its turn.
    fn settle_ahead(&mut self, number: u16, bytes: &[u8], turn: &mut Turn<'_>) -> Step {
        let Ok(Some(frame)) = decode_frame(bytes, self.tuned.frame_size_max) else { return (0, Ok(())) };
        if self.take_method(number, frame.payload, turn).is_err() {
            return self.park(number, frame.size(), bytes);
        }
        self.parked.is_overtaken = true;
        (frame.size(), Ok(()))
    }

    /// Enters a frame of `size` bytes, whose first bytes are at the start of `bytes`.
    fn park(&mut self, number: u16, size: usize, bytes: &[u8]) -> Step {
        if !self.parked.reserve(number, size, self.throttle.missing_bytes()) {
            self.throttle.wait();
            return (0, Ok(()));
        }
        let mut missing = size;
        let count = self.parked.take(bytes, &mut missing);
        self.reading = if missing == 0 { Reading::Start } else { Reading::Parked { missing } };
        (count, Ok(()))
    }

    /// Returns true if parked frames are to be handled before anything else: the alarm is over.
    pub(super) fn may_unpark(&self) -> bool {
        let is_between_frames = matches!(self.reading, Reading::Start);
        self.parked.is_in_the_way() && is_between_frames && !self.node.is_alarmed()
    }

    /// Handles parked frames within the limits of the turn and the host. The others stay. A turn stops between frames only, so
    /// the first of them begins a frame.
    pub(super) fn handle_parked(&mut self, turn: &mut Turn<'_>) {
        let frames = self.parked.lend();
        let used = self.handle_run(&frames, turn);
        self.parked.take_back(frames, used);
    }

    /// Notes that the connection ends. Returns true if parked frames are to be handled, as many as one turn takes, because an
    /// acknowledgement has gone ahead of them.
    pub(super) fn begins_end_of_parked(&mut self) -> bool {
        if !self.parked.is_overtaken || self.parked.is_handled || self.outcome != Outcome::Running {
            return false;
        }
        if !self.parked.may_be_let_in() {
            let reason = self.node.account.alarm.text();
            log::warn!("{reason}: messages of a connection that ends are dropped");
            return false;
        }
        self.parked.begin_end(&mut self.reading);
        true
    }
}
