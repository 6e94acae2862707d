//! `Session`: ZMTP on a connection, what it holds from its first byte to its last.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use hairstreak_base::{BlockPool, BodyBuffer, Bytes, Message, READ_SIZE};
use hairstreak_transport::{Connection, Stream};
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
    pub connection: Connection,
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

    pub(super) pool: Arc<BlockPool>,
    /// A large body on its way into its own allocation, and whether more frames follow it.
    pub(super) body: Option<(BodyBuffer, bool)>,
    /// The first frames of a message whose last has not come.
    pub(super) partial: Vec<Bytes>,
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
    /// Bytes read that count no more.
    pub(super) read_bytes_before: u64,
    /// The connection is gone; only `ahead` is left.
    pub(super) ended: bool,

    /// What is kept of messages that are settled, if they are.
    pub(super) settling: Option<Settling>,
    /// Messages handed to the application, as the engine last said.
    pub(super) handed: u64,
    /// ZMTP minor version shared with the peer; PING needs 1.
    pub minor: u8,
    /// Whether any message was sent.
    pub(super) has_sent: bool,
}

impl Session {
    pub fn new(
        stream: Stream,
        handshake: Option<Handshake>,
        limits: SessionLimits,
        shares: SessionShares,
        deadline: Instant,
        now: Instant,
    ) -> Session {
        let connected = stream.is_established();
        Session {
            connection: Connection::new(stream, &shares.pool, deadline, now),
            phase: if connected { Phase::Handshaking } else { Phase::Connecting },
            limits,
            handshake: handshake.map(Box::new),
            cipher: None,
            gather_count_max: if limits.is_plain { 0 } else { limits.send_count_max },
            shared_wish: None,
            sharing: None,
            body: None,
            partial: Vec::new(),
            partial_size: 0,
            arriving: Arriving::new(shares.arriving),
            in_step: limits.message_size_max >= READ_SIZE,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            decoded_bytes: 0,
            read_bytes_before: 0,
            ended: false,
            settling: None,
            handed: 0,
            minor: 0,
            has_sent: false,
            pool: shares.pool,
        }
    }

    /// The caller looks by itself from here on, until it leaves the event to the poller again.
    pub fn forgo_event(&mut self) {
        if self.phase == Phase::Ready {
            self.connection.stream_mut().forgo_event();
        }
    }
}
