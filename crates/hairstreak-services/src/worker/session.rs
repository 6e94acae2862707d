//! `Session`: the protocol with one broker, as a state machine without I/O.
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

/// Action that a message of the broker requires.
#[derive(Debug)]
pub(super) enum Wanted {
    Nothing,
    /// Send READY. `patience` is the time that the broker holds a resent request for the worker that has it.
    Ready {
        patience: Duration,
    },
    /// Do a request.
    Request {
        origin: Origin,
        body: BodyPlace,
    },
    /// Cancel a request that is no longer wanted.
    Cancel(RequestId),
    /// Reconnect on a new connection.
    Reconnect,
    /// End: the worker may not serve its service, for the broker's reason.
    Leave {
        reason: String,
    },
}

/// Origin of a request, and therefore the destination of its reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Hsn1 { request: RequestId, first: u64, deliveries: u16, is_repeated: bool, takes_runs: bool },
    Plain { address: Bytes },
}

#[derive(Debug)]
pub(super) struct Session {
    pub mode: Mode,
    /// Set if the broker has sent everything.
    pub is_drained: bool,
    /// Requests that the worker had ended when it greeted this broker. The broker has had none of their replies.
    pub ended_before: u64,
    /// Connection on which the broker was told the worker's requests.
    pub greeted: Option<Connection>,
    /// Connection on which the broker spoke plain MDP.
    connection: Option<ConnectionId>,
    /// Time of the last message of the broker.
    heard: Instant,
    /// Time of the last heartbeat to the broker.
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

    /// Takes a message.
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
            // Number 0 belongs to no request.
            FromBroker::Refused { request, refusal: Refusal::AccessRefused, text } if request.number == 0 => {
                Wanted::Leave { reason: String::from_utf8_lossy(text).into_owned() }
            }
            FromBroker::Reply(_) | FromBroker::Refused { .. } => Wanted::Nothing,
        }
    }

    /// Notes the current peer: its connection, and whether it numbers requests. Returns whether READY of plain MDP is
    /// to be sent. WELCOME may have come before the connection was noticed.
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

    /// Returns whether a heartbeat of plain MDP is due, and whether the broker has been silent for too long.
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
