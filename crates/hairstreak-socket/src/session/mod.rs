//! `Session`: one connection of a byte-stream transport (tcp, ipc), from connecting to its end.
//! The one driver for all stream transports; who calls it when is the engine's business.
//!
//! ```text
//!   Connecting --writable--> Handshaking --READY both ways--> Ready --close--> Draining --> gone
//!        \________________________\_______ error, timeout ______\__________________/
//! ```
//!
//! `readable` and `writable` remember the poller's edges: they are true until a read or a write
//! comes back short. Nothing here waits, locks or knows other connections.

mod handshaking;
mod incoming;
mod outgoing;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hairstreak_base::{BodyBuffer, Frame, INLINE_SIZE_MAX, Message, OutgoingBuffer, ReadBuffer};
use hairstreak_transport::Stream;
use hairstreak_wire::zmtp::{
    Command, CommandError, FrameError, Handshake, HandshakeError, LocalPeer, command,
};
use thiserror::Error;

/// A link with bytes gathered longer ago than this counts as idle: the next send writes at once.
pub(crate) const GATHER_TIME: Duration = Duration::from_micros(50);
/// Answers queued for a peer that sends commands and does not read; further ones are not sent.
const CONTROL_BYTES_MAX: usize = 64 * 1024;

/// Why a connection ended.
#[derive(Debug, Error)]
pub(crate) enum SessionError {
    #[error("the peer closed the connection")]
    Closed,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the handshake failed: {0}")]
    Handshake(#[from] HandshakeError),
    #[error("the peer sent a bad frame: {0}")]
    Frame(#[from] FrameError),
    #[error("the peer sent a bad command: {0}")]
    Command(#[from] CommandError),
    #[error("the peer sent a message of more than {0} bytes (message_size_max)")]
    TooLarge(usize),
    #[error("the peer sent a message of more than {0} frames (frame_count_max)")]
    TooManyFrames(usize),
    #[error("the peer sent a message to a socket that receives none")]
    Unexpected,
    #[error("no handshake in time")]
    HandshakeTimeout,
    #[error("the peer answered no PING in time")]
    Silent,
    #[error("what remained to be sent was not taken in time")]
    Linger,
}

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
    pub receive_count_max: usize,
    pub receive_bytes_max: usize,
    pub receives: bool,
}

pub(crate) struct Session {
    stream: Stream,
    pub phase: Phase,
    limits: SessionLimits,
    /// Until READY.
    handshake: Option<Box<Handshake>>,
    pub readable: bool,
    pub writable: bool,
    /// The peer has ended its side: no further edge will come, so reading goes on to the end.
    pub peer_ended: bool,

    buffer: ReadBuffer,
    /// A large body on its way into its own allocation, and whether more frames follow it.
    body: Option<(BodyBuffer, bool)>,
    /// The first frames of a message whose last has not come.
    partial: Vec<Frame>,
    partial_size: usize,
    /// Nothing is in `body`, `partial` or `ahead`: what the buffer holds comes next, and is within the
    /// limits if it is short.
    in_step: bool,
    /// Messages read while the application was not receiving.
    ahead: VecDeque<Message>,
    ahead_bytes: usize,

    /// Reads since the engine last asked.
    read_count: u32,
    /// The connection is gone; only `ahead` is left.
    ended: bool,

    pub outgoing: OutgoingBuffer,
    last_write: Option<Instant>,

    /// ZMTP minor version shared with the peer; PING needs 1.
    pub minor: u8,
    /// Whether any message was sent, and the end of the stream after the last.
    has_sent: bool,
    end_sent: bool,
    /// Whether anything came since the heartbeat last looked, and when it last saw that.
    heard: bool,
    last_heard: Instant,
    ping_sent: Option<Instant>,
    /// Whether messages were sent since the peer was last heard: its PONG may be behind them.
    sent_since_heard: bool,
    /// When connecting, handshaking or draining must be over.
    pub deadline: Instant,
}

impl Session {
    pub fn new(
        stream: Stream,
        connected: bool,
        local: LocalPeer,
        limits: SessionLimits,
        deadline: Instant,
        now: Instant,
    ) -> Session {
        Session {
            stream,
            phase: if connected { Phase::Handshaking } else { Phase::Connecting },
            limits,
            handshake: Some(Box::new(Handshake::new(local, Default::default()))),
            readable: false,
            writable: connected,
            peer_ended: false,
            buffer: ReadBuffer::new(),
            body: None,
            partial: Vec::new(),
            partial_size: 0,
            in_step: limits.message_size_max >= INLINE_SIZE_MAX,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            read_count: 0,
            ended: false,
            outgoing: OutgoingBuffer::new(),
            last_write: None,
            minor: 0,
            has_sent: false,
            end_sent: false,
            heard: false,
            last_heard: now,
            ping_sent: None,
            sent_since_heard: false,
            deadline,
        }
    }

    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Answers a command; what it says about the connection's health is kept.
    fn on_command(&mut self, body: &[u8]) -> Result<(), SessionError> {
        match command::parse_traffic(body)? {
            Command::Ping { context, .. } if self.outgoing.queued_bytes() < CONTROL_BYTES_MAX => {
                let mut pong = Vec::new();
                command::encode_pong(&mut pong, context);
                self.outgoing.push_copy(&pong, &[], false);
            }
            Command::Error { .. } => return Err(SessionError::Closed),
            _ => {}
        }
        Ok(())
    }

    /// Asks the peer for a sign of life.
    fn send_ping(&mut self, ttl: Duration, now: Instant) {
        let mut ping = Vec::new();
        let tenths = u16::try_from(ttl.as_millis().div_ceil(100)).unwrap_or(u16::MAX);
        command::encode_ping(&mut ping, tenths, &[]);
        self.outgoing.push_copy(&ping, &[], false);
        self.ping_sent = Some(now);
    }

    /// Sends a PING when the peer has been silent for `interval` (or up to twice that); fails when one
    /// has been unanswered for `timeout`. Returns when to look again. The time-out does not run while
    /// this side does not read, nor while messages were sent that the peer may not have read: its
    /// PONG is behind them.
    pub fn run_heartbeat(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
    ) -> Result<Instant, SessionError> {
        const NEVER: Duration = Duration::from_secs(3600);
        if interval.is_zero() || self.minor == 0 {
            return Ok(now + NEVER);
        }
        if std::mem::take(&mut self.heard) {
            self.last_heard = now;
            self.ping_sent = None;
        }
        let excused = self.is_backlogged() || self.sent_since_heard || !self.outgoing.is_empty();
        match self.ping_sent {
            Some(sent) if now < sent + timeout => Ok((sent + timeout).min(now + interval)),
            Some(_) if excused => Ok(now + interval),
            Some(_) => Err(SessionError::Silent),
            None if now < self.last_heard + interval => Ok(self.last_heard + interval),
            None => {
                // The next one leaves within two intervals.
                self.send_ping(interval * 3 + timeout, now);
                Ok(now + timeout.min(interval))
            }
        }
    }

    fn on_bytes(&mut self) {
        self.heard = true;
        self.sent_since_heard = false;
    }

    /// The connection is gone. Returns whether messages are left to be taken.
    pub fn end(&mut self) -> bool {
        self.ended = true;
        (self.readable, self.writable) = (false, false);
        self.outgoing = OutgoingBuffer::new();
        self.stream.shutdown();
        !self.ahead.is_empty()
    }

    /// Nothing more will be sent: the peer may see the end once it has read the rest.
    pub fn start_draining(&mut self, deadline: Instant) {
        self.phase = Phase::Draining;
        self.deadline = deadline;
        self.partial.clear();
        self.body = None;
        self.ahead.clear();
    }

    /// Goes on draining. Returns whether the peer has everything, or will not take it. What the kernel
    /// took is not enough: a peer that is behind and writes to a closed connection loses what it has
    /// not read. The peer has everything when it closes its side after ours.
    pub fn drain(&mut self) -> bool {
        if self.flush().is_err() {
            return true;
        }
        if self.outgoing.is_empty() && !std::mem::replace(&mut self.end_sent, true) {
            self.stream.shutdown_write();
        }
        let mut scrap = [std::mem::MaybeUninit::<u8>::uninit(); 4096];
        while self.readable {
            match self.stream.read(&mut scrap) {
                Ok([]) => return true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(_) => return true,
            }
        }
        self.outgoing.is_empty() && !self.has_sent
    }

    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
