//! `Session` itself: what it holds, from its first byte to its last.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::{
    BlockPool, BodyBuffer, Frame, Message, OutgoingBuffer, READ_SIZE, ReadBuffer, SEGMENT_SIZE,
};
use hairstreak_transport::{Delivery, Readiness, Stream};
use hairstreak_wire::zmtp::Handshake;
use hairstreak_wire::zmtp::curve::CurveCipher;

use super::arriving::{Arriving, ArrivingBudget};
use super::settling::Settling;
use super::sharing::{SharedWish, Sharing};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Handshaking,
    Ready,
    /// Closed by us: what is left is written, what comes is discarded, until the peer has it all.
    Draining,
}

/// What a session may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SessionLimits {
    pub message_size_max: usize,
    pub frame_count_max: usize,
    pub send_count_max: usize,
    pub send_bytes_max: usize,
    pub receive_count_max: usize,
    pub receive_bytes_max: usize,
    pub receives: bool,
    /// No ZMTP: bytes as they come.
    pub is_plain: bool,
    /// SUBSCRIBE and CANCEL come out as messages: 1 or 0, and the prefix.
    pub subscriptions: bool,
}

/// What a session has together with others: its socket's budget, its engine's spare memory.
pub(crate) struct SessionShares {
    pub arriving: Arc<ArrivingBudget>,
    pub pool: Arc<BlockPool>,
}

/// One connection; see the module's description.
pub(crate) struct Session {
    pub(super) stream: Stream,
    pub phase: Phase,
    pub(super) limits: SessionLimits,
    /// Until READY.
    pub(super) handshake: Option<Box<Handshake>>,
    /// What all traffic is sealed and opened with, if it is.
    pub(super) cipher: Option<Box<CurveCipher>>,
    /// How many messages may be queued that a short one joins without further ado; none where it has to be sealed,
    /// or has no header.
    pub(super) gather_count_max: usize,
    /// Whether the bytes may go on in shared memory, and the agreement about it, between handshake and READY.
    pub(super) shared_wish: Option<SharedWish>,
    pub(super) sharing: Option<Box<Sharing>>,
    pub readable: bool,
    pub writable: bool,
    /// The peer takes nothing more; it is read to its end.
    pub write_failed: bool,
    /// The peer has ended its side: no further edge will come, so reading goes on to the end.
    pub peer_ended: bool,

    pub(super) pool: Arc<BlockPool>,
    pub(super) buffer: ReadBuffer,
    /// A large body on its way into its own allocation, and whether more frames follow it.
    pub(super) body: Option<(BodyBuffer, bool)>,
    /// The first frames of a message whose last has not come.
    pub(super) partial: Vec<Frame>,
    pub(super) partial_size: usize,
    /// What the message is charged with that has not come whole.
    pub(super) arriving: Arriving,
    /// Nothing is in `body`, `partial` or `ahead`: what the buffer holds comes next, and is within the
    /// limits if it is there whole.
    pub(super) in_step: bool,
    /// Messages read while the application was not receiving, their charge, and where they end among all bytes.
    pub(super) ahead: VecDeque<(Message, usize, u64)>,
    /// What they are charged with: wire bytes (commands between them too) and the width of their frames.
    pub(super) ahead_bytes: usize,
    /// Wire bytes decoded since the last message was read ahead.
    pub(super) decoded_bytes: usize,

    /// Bytes read so far, and those that count no more.
    pub(super) read_bytes: u64,
    pub(super) read_bytes_before: u64,
    /// When it last read something.
    pub(super) last_read: Option<Instant>,
    /// Reads since the engine last asked.
    pub(super) read_count: u32,
    /// The connection is gone; only `ahead` is left.
    pub(super) ended: bool,

    pub outgoing: OutgoingBuffer,
    /// Until when the link counts as busy: what is sent gathers.
    pub(super) busy_until: Option<Instant>,
    /// How many bytes gather for one write at most.
    pub(super) gather_bytes_max: usize,

    /// What is kept of messages that are settled, if they are.
    pub(super) settling: Option<Settling>,
    /// Messages handed to the application, as the engine last said.
    pub(super) handed: u64,

    /// ZMTP minor version shared with the peer; PING needs 1.
    pub minor: u8,
    /// Whether any message was sent, and the end of the stream after the last.
    pub(super) has_sent: bool,
    pub(super) end_sent: bool,
    /// Whether anything came since the heartbeat last looked, and when it last saw that.
    pub(super) heard: bool,
    pub(super) last_heard: Instant,
    /// Since when a PING is unanswered and there is no other sign of life either.
    pub(super) silent_since: Option<Instant>,
    /// For how long the peer has been silent, if that is news, and whether it was told already.
    pub(super) silence: Option<Duration>,
    pub(super) silence_told: bool,
    /// The kernel was told to ask whether the peer's host is there.
    pub(super) kernel_asks: bool,
    /// What the kernel said of the peer when the heartbeat last looked, and when it meant to look again.
    pub(super) delivery: Delivery,
    pub(super) look_due: Instant,
    /// When connecting, handshaking or draining must be over.
    pub deadline: Instant,
}

impl Session {
    pub fn new(
        stream: Stream,
        connected: bool,
        handshake: Option<Handshake>,
        limits: SessionLimits,
        shares: SessionShares,
        deadline: Instant,
        now: Instant,
    ) -> Session {
        Session {
            stream,
            phase: if connected { Phase::Handshaking } else { Phase::Connecting },
            limits,
            handshake: handshake.map(Box::new),
            cipher: None,
            gather_count_max: if limits.is_plain { 0 } else { limits.send_count_max },
            shared_wish: None,
            sharing: None,
            readable: false,
            writable: connected,
            write_failed: false,
            peer_ended: false,
            buffer: ReadBuffer::new(&shares.pool),
            body: None,
            partial: Vec::new(),
            partial_size: 0,
            arriving: Arriving::new(shares.arriving),
            in_step: limits.message_size_max >= READ_SIZE,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            decoded_bytes: 0,
            read_bytes: 0,
            read_bytes_before: 0,
            last_read: None,
            read_count: 0,
            ended: false,
            outgoing: OutgoingBuffer::new(&shares.pool),
            busy_until: None,
            gather_bytes_max: SEGMENT_SIZE,
            settling: None,
            handed: 0,
            minor: 0,
            has_sent: false,
            end_sent: false,
            heard: false,
            last_heard: now,
            silent_since: None,
            silence: None,
            silence_told: false,
            kernel_asks: false,
            delivery: Delivery::default(),
            look_due: now,
            deadline,
            pool: shares.pool,
        }
    }

    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The poller had an event.
    pub fn on_event(&mut self, event: &Readiness) {
        // In shared memory an event is the doorbell: for both ways.
        let is_shared = self.stream.is_shared();
        self.readable |= event.readable || is_shared;
        self.writable |= event.writable || is_shared;
        if event.ended {
            self.peer_ended = true;
            self.stream.on_peer_ended();
        }
    }

    /// Whether a read would find something in shared memory.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.stream.has_news()
    }

    /// The caller looks by itself from here on, until [`Session::leave_event`].
    pub fn forgo_event(&mut self) {
        if self.phase == Phase::Ready {
            self.stream.forgo_event();
        }
    }

    /// The caller looks no more. Returns whether it did: the stream is to be read again then, for no event tells of what
    /// comes until a read has found nothing.
    pub fn leave_event(&mut self) -> bool {
        let looked = self.stream.leave_event();
        self.readable |= looked;
        looked
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
