//! `Session`: what is spoken with one broker, as a state machine that does no I/O.
//!
//! ```text
//! unknown --- a peer that speaks HSN1 ---> greeting --- WELCOME: READY goes out ---> hsn1
//!    ^  \                                                                              |
//!    |   `--- any other peer: READY goes out ---> plain                                |
//!    +--- the peer is gone, or another has come in its place --------------------------+
//! ```

use std::time::{Duration, Instant};

use hairstreak_base::Bytes;
use hairstreak_socket::monitor::ConnectionId;
use hairstreak_wire::hsn1::{BodyPlace, FromBroker, Header, Refusal, RequestId, parse_from_broker};
use hairstreak_wire::mdp::{self, ToWorker};

use super::link::Connection;

/// Heartbeats of plain MDP after which a silent broker is gone.
const LIVENESS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Unknown,
    Greeting,
    Hsn1,
    Plain,
}

/// What a message of the broker wants.
#[derive(Debug)]
pub(super) enum Wanted {
    Nothing,
    /// READY is to be sent. What was sent to another broker waits so long there for whoever has it.
    Ready {
        patience: Duration,
    },
    /// A request is to be done.
    Request {
        origin: Origin,
        body: BodyPlace,
    },
    /// Nobody wants that request any more.
    Cancel(RequestId),
    /// The worker is to begin again on a new connection.
    Reconnect,
    /// The worker may not serve its service, in the broker's words.
    Leave {
        reason: String,
    },
}

/// Where a request came from, and so where its reply goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Hsn1 { request: RequestId, first: u64, deliveries: u16, is_repeated: bool, takes_runs: bool },
    Plain { address: Bytes },
}

#[derive(Debug)]
pub(super) struct Session {
    pub mode: Mode,
    /// The broker has nothing more on the way.
    pub is_drained: bool,
    /// How many requests the worker had ended when it greeted this broker: of those the broker has had no reply.
    pub ended_before: u64,
    /// The connection that the broker was told on what the worker has.
    pub greeted: Option<Connection>,
    /// The connection that it was plain on.
    connection: Option<ConnectionId>,
    /// When the broker was heard of.
    heard: Instant,
    /// When it was sent a heartbeat.
    told: Instant,
}

impl Session {
    pub fn new(now: Instant) -> Session {
        Session {
            mode: Mode::Unknown,
            is_drained: false,
            ended_before: 0,
            greeted: None,
            connection: None,
            heard: now,
            told: now,
        }
    }

    /// A message came.
    pub fn take(&mut self, now: Instant, frames: &[Bytes]) -> Wanted {
        self.heard = now;
        if frames.first().is_some_and(|first| Header::is_one(first.as_bytes())) {
            return match parse_from_broker(frames) {
                Ok(command) => self.take_hsn1(command),
                Err(_) => Wanted::Nothing,
            };
        }
        match mdp::parse_to_worker(frames) {
            Ok(ToWorker::Request { address, body_index }) if self.mode == Mode::Plain => {
                let body = BodyPlace { index: body_index, start: 0 };
                Wanted::Request { origin: Origin::Plain { address: Bytes::copy_of(address) }, body }
            }
            Ok(ToWorker::Disconnect) => Wanted::Reconnect,
            Ok(_) | Err(_) => Wanted::Nothing,
        }
    }

    fn take_hsn1(&mut self, command: FromBroker<'_>) -> Wanted {
        match command {
            FromBroker::Welcome { heartbeat_ms, .. } => {
                (self.mode, self.is_drained) = (Mode::Hsn1, false);
                Wanted::Ready { patience: Duration::from_millis(heartbeat_ms.into()) }
            }
            FromBroker::Request { request, first, deliveries, is_repeated, takes_runs, body } => {
                let origin = Origin::Hsn1 { request, first, deliveries, is_repeated, takes_runs };
                Wanted::Request { origin, body }
            }
            FromBroker::Cancel(request) => Wanted::Cancel(request),
            FromBroker::Disconnect { .. } => Wanted::Reconnect,
            FromBroker::Drained => {
                self.is_drained = true;
                Wanted::Nothing
            }
            // Number 0 is no request's.
            FromBroker::Refused { request, refusal: Refusal::AccessRefused, text } if request.number == 0 => {
                Wanted::Leave { reason: String::from_utf8_lossy(text).into_owned() }
            }
            FromBroker::Reply(_) | FromBroker::Refused { .. } => Wanted::Nothing,
        }
    }

    /// There is a peer on that connection, which says that it numbers requests or does not; or none. Returns whether READY of plain
    /// MDP is to be sent. WELCOME may have come before the connection was seen.
    pub fn see_peer(&mut self, now: Instant, peer: Option<(ConnectionId, bool)>) -> bool {
        match (peer, self.mode) {
            (None, _) => (self.mode, self.is_drained) = (Mode::Unknown, false),
            (Some((_, true)), Mode::Unknown | Mode::Plain) => self.mode = Mode::Greeting,
            (Some((_, true)), Mode::Greeting | Mode::Hsn1) => {}
            (Some((connection, false)), Mode::Plain) if self.connection == Some(connection) => {}
            (Some((connection, false)), _) => {
                (self.mode, self.connection) = (Mode::Plain, Some(connection));
                (self.heard, self.told) = (now, now);
                return true;
            }
        }
        false
    }

    /// Whether a heartbeat of plain MDP is due, and whether the broker has been silent for too long.
    pub fn look(&mut self, now: Instant, interval: Duration) -> (bool, bool) {
        if self.mode != Mode::Plain {
            return (false, false);
        }
        let is_due = now.saturating_duration_since(self.told) >= interval;
        if is_due {
            self.told = now;
        }
        (is_due, now.saturating_duration_since(self.heard) >= interval * LIVENESS)
    }
}
