//! `Options`: every limit and interval of a socket, with its default.

use std::time::Duration;

use hairstreak_transport::shm::{RING_SIZE_MAX, RING_SIZE_MIN};
use hairstreak_wire::zmtp::SocketType;
use thiserror::Error;

use crate::properties::{self, PropertiesError};
use crate::security::{AddressRules, Security};
use crate::settlement::Settlement;

/// What a socket that sends does with a message when several peers could have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Each message to one peer, in turn, skipping peers without room.
    #[default]
    RoundRobin,
    /// Each message to every peer; without a peer it is dropped and counted. Waits for all to have room.
    All,
}

/// What becomes of a message for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The send waits until there is.
    Block,
    /// The send fails at once, with [`SendError::WouldBlock`](crate::SendError::WouldBlock).
    Error,
    /// The message is dropped and counted.
    DropNewest,
    /// It takes the place of the oldest that has not begun to be sent, which is dropped and counted.
    DropOldest,
}

/// Which comings and goings of peers a ROUTER receives as messages of two frames: the peer's name, and an empty one.
///
/// Both look alike, and so does an empty message of the peer: who wants both counts them. They are in order with the
/// messages of all peers that have the name one after the other: a coming stands before the first message, a going behind
/// the last, whether or not the next is there already. While 4096 wait to be received no more peers are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RouterNotify {
    /// When a peer is ready. (ZMQ_NOTIFY_CONNECT)
    pub connect: bool,
    /// When a peer is gone and all its messages have been received, or dropped. (ZMQ_NOTIFY_DISCONNECT)
    pub disconnect: bool,
}

/// Limits and intervals of one socket. Marks hold per peer; a mark of 0 is taken as 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// High-water mark by messages accepted and not yet written to a peer. (ZMQ_SNDHWM)
    pub send_count_max: usize,
    /// High-water mark by bytes accepted and not yet written to a peer. One message may pass it.
    pub send_bytes_max: usize,
    /// Low-water mark: a peer that was full gets messages again when its count falls to this. `None`: half of
    /// `send_count_max`.
    pub send_count_low: Option<usize>,
    /// Low-water mark by bytes. `None`: half of `send_bytes_max`.
    pub send_bytes_low: Option<usize>,
    /// Messages read ahead of the application, per peer, while it is not receiving. (ZMQ_RCVHWM)
    pub receive_count_max: usize,
    /// Bytes read ahead of the application, per peer, while it is not receiving.
    pub receive_bytes_max: usize,
    /// The largest message accepted or sent, all frames together, in bytes. (ZMQ_MAXMSGSIZE)
    pub message_size_max: usize,
    /// Bytes that have arrived of messages that are not whole, of all connections together and beyond the first
    /// 64 KiB of each. Further ones wait; one message may pass it.
    pub arriving_bytes_max: usize,
    /// How long a message may take to arrive while others wait for its room; a 16th of it where next to nothing
    /// comes.
    pub arriving_timeout_ms: u64,
    /// Frames of one message.
    pub frame_count_max: usize,
    /// Connections of this socket at one time; further ones are closed as they come.
    pub connections_max: usize,
    /// How long unsent bytes are kept after close, and process exit waits for them. (ZMQ_LINGER)
    pub linger_ms: u64,
    /// The first wait before connecting again; it doubles up to the next field, with jitter. (ZMQ_RECONNECT_IVL)
    pub reconnect_min_ms: u64,
    /// The longest wait before connecting again. (ZMQ_RECONNECT_IVL_MAX)
    pub reconnect_max_ms: u64,
    /// A peer that has been silent this long is sent a PING; 0 never. (ZMQ_HEARTBEAT_IVL)
    pub heartbeat_ms: u64,
    /// How long a PING may stay unanswered by a peer that reads nothing meanwhile, though it has room. It is then
    /// given up, alive or not; what it was sent, it may still read. An application that is busy for longer than
    /// this at a time, with messages unread, wants a longer one. (ZMQ_HEARTBEAT_TIMEOUT)
    pub heartbeat_timeout_ms: u64,
    /// How long connecting and the handshake may take. (ZMQ_HANDSHAKE_IVL)
    pub handshake_timeout_ms: u64,
    /// Whether a connection over ipc goes on in shared memory when the peer can too.
    pub shared_memory: bool,
    /// Bytes that fit a ring of shared memory, each way; the peer may want fewer. A power of two from 4 KiB to 64 MiB.
    /// Memory is used as it is touched.
    pub shared_ring_bytes: usize,
    /// How long a caller that waits for a message looks before it sleeps, in microseconds: into shared memory, for
    /// round trips of a microsecond, into rings between threads, and by reads that do not wait into tcp and ipc. The
    /// price is a busy processor, so each end needs one of its own. Where it looks in vain it looks less. 0: it
    /// sleeps at once.
    pub spin_us: u64,
    /// How long a caller that waits, for messages or for room, yields the processor and looks again before it sleeps, in
    /// microseconds; the longest of all sockets that one thread opens in a context. It does so only if its last sleep was
    /// shorter, and not for a while where another made it wait. The price is that a processor without other work does not
    /// rest between messages that follow each other so soon. 0: it sleeps at once.
    pub yield_us: u64,
    /// How long what was sent without being written at once may gather while its thread does something else than to send and
    /// to wait, in microseconds; the shortest of all sockets that one thread opens in a context. Each time it is reached a
    /// thread is woken: one that sends again or waits soon may want more.
    pub gather_us: u64,
    /// Events that each monitor holds until it is read; of more the oldest are lost, and counted.
    pub monitor_event_count_max: usize,
    /// Who gets a message.
    pub distribution: Distribution,
    /// What becomes of a message without room. `None`, the pattern's own: PUB, XPUB, REP and a ROUTER that is
    /// not mandatory drop the newest, the others block. REQ, STREAM and what settles may not drop; where nothing is
    /// sent, in PULL and SUB, it means nothing.
    pub overflow: Option<Overflow>,
    /// The routing id told to ROUTER peers: 1 to 255 bytes, the first not 0. (ZMQ_ROUTING_ID)
    pub routing_id: Option<Vec<u8>>,
    /// Own properties, told to every peer in the handshake, which has them in
    /// [`PeerInfo::properties`](crate::PeerInfo::properties); over inproc too. A name begins with `X-`, goes on with letters,
    /// digits and `-_.+`, has at most 255 bytes, and is none that this library uses itself (`X-Hairstreak-Settlement`,
    /// `X-Hairstreak-Shm`); no two are alike but for case. At most 60, and 30 KiB with 5 bytes for each. A STREAM socket
    /// has none. (ZMQ_METADATA)
    pub properties: Vec<(String, Vec<u8>)>,
    /// ROUTER: a message for an unknown peer is refused, one for a peer without room waits. Else they are
    /// dropped and counted. (ZMQ_ROUTER_MANDATORY)
    pub router_mandatory: bool,
    /// ROUTER: a new peer takes the place of the one that has its routing id. Else it is refused. What had come of the
    /// one that goes is still received. (ZMQ_ROUTER_HANDOVER)
    pub router_handover: bool,
    /// ROUTER: it is told of peers that come and go. (ZMQ_ROUTER_NOTIFY)
    pub router_notify: RouterNotify,
    /// REQ: a request may be sent before the last one was answered. (ZMQ_REQ_RELAXED)
    pub req_relaxed: bool,
    /// REQ: requests are numbered, so that a late reply is not taken for that of another request.
    /// (ZMQ_REQ_CORRELATE)
    pub req_correlate: bool,
    /// XPUB: every subscription is shown to the application, not only the first to a prefix.
    /// (ZMQ_XPUB_VERBOSE)
    pub xpub_verbose: bool,
    /// Different prefixes that one peer, or this socket itself, may subscribe to.
    pub subscription_count_max: usize,
    /// Bytes of one prefix.
    pub subscription_size_max: usize,
    /// Bytes of all prefixes of one peer, or of this socket.
    pub subscription_bytes_max: usize,
    /// PUSH, PULL: messages are kept until they are settled, and sent again if they are not; where the peer does
    /// too. See [`settlement`](crate::settlement).
    pub settlement: Option<Settlement>,
    /// How connections are secured. (ZMQ_PLAIN_..., ZMQ_CURVE_..., ZAP)
    pub security: Security,
    /// Which addresses may connect to what this socket binds. (ZMQ_TCP_ACCEPT_FILTER, ZAP)
    pub address_rules: AddressRules,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            send_count_max: 4096,
            send_bytes_max: 8 << 20,
            send_count_low: None,
            send_bytes_low: None,
            receive_count_max: 4096,
            receive_bytes_max: 1 << 20,
            message_size_max: 128 << 20,
            arriving_bytes_max: 256 << 20,
            arriving_timeout_ms: 30_000,
            frame_count_max: 1024,
            connections_max: 4096,
            linger_ms: 30_000,
            reconnect_min_ms: 10,
            reconnect_max_ms: 2_000,
            heartbeat_ms: 10_000,
            heartbeat_timeout_ms: 30_000,
            handshake_timeout_ms: 30_000,
            shared_memory: true,
            shared_ring_bytes: 1 << 20,
            spin_us: 0,
            yield_us: 0,
            gather_us: 50,
            monitor_event_count_max: 1024,
            distribution: Distribution::RoundRobin,
            overflow: None,
            routing_id: None,
            properties: Vec::new(),
            router_mandatory: false,
            router_handover: false,
            router_notify: RouterNotify::default(),
            req_relaxed: false,
            req_correlate: false,
            xpub_verbose: false,
            subscription_count_max: 131_072,
            subscription_size_max: 4096,
            subscription_bytes_max: 8 << 20,
            settlement: None,
            security: Security::Null,
            address_rules: AddressRules::new(),
        }
    }
}

/// An option out of its range.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum OptionsError {
    /// The routing id breaks ZeroMQ's rules.
    #[error("routing id of {0} bytes: it must have 1 to 255 bytes, the first not 0")]
    RoutingId(usize),
    /// A property that cannot be told.
    #[error(transparent)]
    Properties(#[from] PropertiesError),
    /// STREAM peers have no handshake.
    #[error("a STREAM socket speaks no ZMTP, and so has no properties")]
    PlainProperties,
    /// A server that accepts no mechanism at all.
    #[error("a server has to accept one of the mechanisms NULL, PLAIN and CURVE")]
    NoMechanism,
    /// No ring can have that size.
    #[error(
        "ring of {0} bytes (shared_ring_bytes): it must be a power of two from {RING_SIZE_MIN} to {RING_SIZE_MAX}"
    )]
    RingSize(usize),
    /// STREAM peers have no handshake.
    #[error("a STREAM socket speaks no ZMTP, and so has no security mechanism")]
    PlainSecurity,
    /// Bytes in the middle of a stream cannot be missing.
    #[error("a STREAM socket cannot drop messages (overflow)")]
    PlainOverflow,
    /// Who asks waits for the answer to what was dropped.
    #[error("a REQ socket cannot drop requests (overflow): it would wait for their replies")]
    RequestOverflow,
    /// Only messages from PUSH to PULL are settled.
    #[error("a {0} socket cannot settle (settlement): PUSH and PULL can")]
    Unsettled(&'static str),
    /// A message that goes to several peers, or may be dropped, cannot be settled.
    #[error(
        "a PUSH that wants settlement cannot drop messages (overflow) or give each to all (distribution)"
    )]
    SettledDrops,
    /// The low-water mark stands above the high one.
    #[error("low-water mark {low} stands above the high-water mark {high}")]
    Marks {
        /// As given.
        low: usize,
        /// As given.
        high: usize,
    },
}

impl Options {
    pub(crate) fn check(&self, socket_type: SocketType) -> Result<(), OptionsError> {
        let drops = matches!(self.overflow, Some(Overflow::DropNewest | Overflow::DropOldest));
        if socket_type == SocketType::Stream {
            if self.security != Security::Null {
                return Err(OptionsError::PlainSecurity);
            }
            if drops {
                return Err(OptionsError::PlainOverflow);
            }
            if !self.properties.is_empty() {
                return Err(OptionsError::PlainProperties);
            }
        }
        if drops && socket_type == SocketType::Req {
            return Err(OptionsError::RequestOverflow);
        }
        if self.settlement.is_some() {
            if !matches!(socket_type, SocketType::Push | SocketType::Pull) {
                return Err(OptionsError::Unsettled(socket_type.as_str()));
            }
            if drops || self.distribution == Distribution::All {
                return Err(OptionsError::SettledDrops);
            }
        }
        if let Some(id) = &self.routing_id
            && (id.is_empty() || id.len() > 255 || id[0] == 0)
        {
            return Err(OptionsError::RoutingId(id.len()));
        }
        properties::check(&self.properties)?;
        if let Security::Server(server) = &self.security
            && server.accepts_nothing()
        {
            return Err(OptionsError::NoMechanism);
        }
        let ring_size = self.shared_ring_bytes;
        if !ring_size.is_power_of_two() || !(RING_SIZE_MIN..=RING_SIZE_MAX).contains(&ring_size) {
            return Err(OptionsError::RingSize(ring_size));
        }
        for (low, high) in
            [(self.send_count_low, self.send_count_max), (self.send_bytes_low, self.send_bytes_max)]
        {
            if let Some(low) = low
                && low > high.max(1)
            {
                return Err(OptionsError::Marks { low, high });
            }
        }
        Ok(())
    }

    /// The low-water marks in force, by messages and by bytes.
    #[inline]
    pub(crate) fn low_marks(&self) -> (usize, usize) {
        let count_low = low_mark(self.send_count_low, self.send_count_max);
        (count_low, low_mark(self.send_bytes_low, self.send_bytes_max))
    }

    pub(crate) fn handshake_timeout(&self) -> Duration {
        Duration::from_millis(self.handshake_timeout_ms.max(1))
    }

    /// How long to wait before attempt `attempt` (from 0): doubling, between half and all of it.
    pub(crate) fn reconnect_delay(&self, attempt: u32) -> Duration {
        let min = self.reconnect_min_ms.max(1);
        let delay = min.saturating_mul(1 << attempt.min(20)).min(self.reconnect_max_ms.max(min));
        Duration::from_micros(fastrand::u64(delay * 500..=delay * 1000))
    }
}

/// The low-water mark that goes with a high one: what is full is not low, too.
#[inline]
pub(crate) fn low_mark(given: Option<usize>, high: usize) -> usize {
    given.unwrap_or(high / 2).min(high.max(1) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(socket_type: SocketType, options: Options) -> Result<(), OptionsError> {
        options.check(socket_type)
    }

    #[test]
    fn a_low_mark_that_is_not_given_is_half_of_the_high_one() {
        let lower = Options { send_count_max: 1000, send_bytes_max: 1 << 20, ..Options::default() };
        assert_eq!(lower.low_marks(), (500, 1 << 19));
        assert_eq!(check(SocketType::Push, lower.clone()), Ok(()));
        let given = Options { send_count_low: Some(1000), send_bytes_low: Some(0), ..lower };
        assert_eq!(given.low_marks(), (999, 0), "what is full is not low");
        assert_eq!(check(SocketType::Push, given), Ok(()));
        let least = Options { send_count_max: 0, ..Options::default() };
        assert_eq!((check(SocketType::Push, least.clone()), least.low_marks().0), (Ok(()), 0));
    }

    #[test]
    fn requests_and_parts_of_a_stream_are_not_dropped() {
        for (socket_type, error) in [
            (SocketType::Req, OptionsError::RequestOverflow),
            (SocketType::Stream, OptionsError::PlainOverflow),
        ] {
            let with = |overflow| Options { overflow: Some(overflow), ..Options::default() };
            assert_eq!(check(socket_type, with(Overflow::DropNewest)), Err(error.clone()));
            assert_eq!(check(socket_type, with(Overflow::DropOldest)), Err(error));
            assert_eq!(check(socket_type, with(Overflow::Block)), Ok(()));
            assert_eq!(check(socket_type, with(Overflow::Error)), Ok(()));
            assert_eq!(check(SocketType::Dealer, with(Overflow::DropNewest)), Ok(()));
        }
    }

    #[test]
    fn a_low_mark_above_the_high_one_is_refused() {
        let count = Options { send_count_max: 10, send_count_low: Some(11), ..Options::default() };
        assert_eq!(check(SocketType::Push, count), Err(OptionsError::Marks { low: 11, high: 10 }));
        let bytes = Options { send_bytes_max: 10, send_bytes_low: Some(11), ..Options::default() };
        assert_eq!(check(SocketType::Push, bytes), Err(OptionsError::Marks { low: 11, high: 10 }));
    }
}
