//! The handshake of one connection, from the first byte to the end of the peer's last handshake
//! command.
//!
//! ```text
//!              64 bytes, ZMTP 3,            the mechanism has
//!              our mechanism                the peer's properties
//!  [Greeting] -----------------> [Commands] ---------------------> [Ready] --> traffic
//!      |      our first command     | |  ^  ^                         (not our business)
//!      |                            | |  |  | accepted
//!      |                            | +--+  +----- [Asking] a server was shown credentials
//!      | not ZMTP 3,                | a command,      | refused: ERROR 400 or 300 is sent
//!      | another mechanism          | an answer       |
//!      |                            | bad frame, command, box or property,
//!      |                            | unfit socket type: ERROR is sent;
//!      v                            v ERROR received  v
//!  [Failed] <-----------------------+-----------------+
//! ```
//!
//! Both sides act alike: the handshake has no client and no server (a mechanism may have them).
//!
//! Use: write the output of [`Handshake::poll_transmit`], at the start and after every [`Handshake::handle_bytes`],
//! even after a failure (the ERROR). A server is asked by [`Handshake::poll_credentials`] and answers with
//! [`Handshake::handle_verdict`]; until then no bytes are consumed. Then call [`Handshake::poll_ready`], and
//! [`Handshake::take_cipher`] for the cipher of the traffic. The owner, which has a clock, limits the time of a
//! handshake.
//!
//! Invariants:
//! - no byte behind the peer's last handshake command is consumed;
//! - `received` holds a part of one greeting or of one command, at most
//!   [`HandshakeLimits::command_size_max`] and a header; with the properties parsed from it, what a
//!   peer can make us hold is twice that limit (64 KiB by default) and some bytes per property;
//! - a failed handshake stays failed, with the same error.

use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::command::{self, Command};
use super::frame;
use super::greeting::{self, GREETING_SIZE, Greeting, START_SIZE};
use super::mechanism::Mechanism;
use super::mechanism::curve::CurveCipher;
use super::peer::{LocalPeer, RemotePeer};
use super::progress::{HandshakeError, Progress};
use super::role::{Acceptance, Credentials, Entropy, Role, Verdict};
use crate::blame::escaped;

/// Limits of the memory that a peer can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandshakeLimits {
    /// Largest body of a command, in bytes. [`frame::COMMAND_SIZE_MAX`] applies as well.
    pub command_size_max: usize,
}

impl Default for HandshakeLimits {
    fn default() -> HandshakeLimits {
        HandshakeLimits { command_size_max: 32 * 1024 }
    }
}

#[derive(Clone, Debug)]
enum State {
    Greeting,
    Commands { minor: u8 },
    Asking { minor: u8 },
    Ready,
    Failed(HandshakeError),
}

/// A server's choice of mechanisms, until the client has chosen one.
#[derive(Clone, Debug)]
struct Choice {
    acceptance: Arc<Acceptance>,
    metadata: Vec<u8>,
    entropy: Entropy,
}

/// A handshake in progress.
#[derive(Clone, Debug)]
pub struct Handshake {
    local: LocalPeer,
    limits: HandshakeLimits,
    /// Set once the mechanism is known; before that there is a choice.
    mechanism: Option<Mechanism>,
    choice: Option<Box<Choice>>,
    state: State,
    received: Vec<u8>,
    outbox: Vec<u8>,
    credentials: Option<Credentials>,
    user_id: Option<String>,
    remote: Option<RemotePeer>,
}

impl Handshake {
    /// Creates a handshake with the NULL mechanism. Its greeting is ready to be sent.
    ///
    /// Panics when `local` has a routing id over 255 bytes or an invalid property name.
    pub fn new(local: LocalPeer, limits: HandshakeLimits) -> Handshake {
        let none = Entropy::new(Zeroizing::new([0; Entropy::SIZE]));
        Handshake::secured(local, limits, &Role::Peer, none, Duration::ZERO)
    }

    /// Creates a handshake in any role. `now` counts from any moment that is the same for all handshakes of a server.
    ///
    /// Panics as [`Handshake::new`] does.
    pub fn secured(
        local: LocalPeer,
        limits: HandshakeLimits,
        role: &Role,
        entropy: Entropy,
        now: Duration,
    ) -> Handshake {
        let metadata = local.encode_metadata();
        let mechanism = Mechanism::of_role(role, &metadata, &entropy);
        let outbox = match &mechanism {
            Some(mechanism) => Greeting::encode(mechanism.name(), mechanism.as_server()).to_vec(),
            None => Greeting::encode("", true)[..START_SIZE].to_vec(),
        };
        let choice = match role {
            Role::Server(acceptance) => {
                acceptance.renew_cookies(now, &entropy);
                let acceptance = Arc::clone(acceptance);
                mechanism.is_none().then(|| Box::new(Choice { acceptance, metadata, entropy }))
            }
            _ => None,
        };
        let (state, received) = (State::Greeting, Vec::new());
        Handshake {
            local,
            limits,
            mechanism,
            choice,
            state,
            received,
            outbox,
            credentials: None,
            user_id: None,
            remote: None,
        }
    }

    /// Takes bytes from the peer and returns the number of consumed ones. All are consumed, unless the handshake ends
    /// before: then the rest is traffic.
    pub fn handle_bytes(&mut self, bytes: &[u8]) -> Result<usize, HandshakeError> {
        let mut rest = bytes;
        loop {
            let step = match self.state {
                State::Greeting => self.handle_greeting(&mut rest),
                State::Commands { minor } => self.handle_command(minor, &mut rest),
                State::Asking { .. } | State::Ready => break,
                State::Failed(ref error) => return Err(error.clone()),
            };
            match step {
                Ok(Step::Next) => {}
                Ok(Step::NeedsBytes) => break,
                Err(error) => {
                    self.fail(&error);
                    return Err(error);
                }
            }
        }
        Ok(bytes.len() - rest.len())
    }

    /// Returns the bytes to write to the peer now. `None` if there are none.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        (!self.outbox.is_empty()).then(|| std::mem::take(&mut self.outbox))
    }

    /// Returns the peer, once, when the handshake is complete and all of it has been transmitted.
    pub fn poll_ready(&mut self) -> Option<RemotePeer> {
        if self.outbox.is_empty() { self.remote.take() } else { None }
    }

    /// Returns the credentials that a client showed, once. The handshake pauses until the verdict on them.
    pub fn poll_credentials(&mut self) -> Option<Credentials> {
        self.credentials.take()
    }

    /// Returns whether the handshake waits for a verdict.
    pub fn is_asking(&self) -> bool {
        matches!(self.state, State::Asking { .. })
    }

    /// Handles the verdict on the credentials. Without a pending question, it has no effect.
    pub fn handle_verdict(&mut self, verdict: Verdict) -> Result<(), HandshakeError> {
        let (State::Asking { minor }, Some(mechanism)) = (&self.state, &mut self.mechanism) else {
            return Ok(());
        };
        let minor = *minor;
        let result = match verdict {
            Verdict::Accept { user_id } => {
                self.user_id = user_id;
                self.state = State::Commands { minor };
                let progress = mechanism.accept(&mut self.outbox);
                self.follow(minor, progress)
            }
            Verdict::Refuse => Err(HandshakeError::Unauthorized { status: "400" }),
            Verdict::TryLater => Err(HandshakeError::Unauthorized { status: "300" }),
        };
        result.inspect_err(|error| self.fail(error))
    }

    /// Returns the cipher of the traffic, once, after [`Handshake::poll_ready`] returned the peer. `None` if the
    /// traffic is not encrypted.
    pub fn take_cipher(&mut self) -> Option<Box<CurveCipher>> {
        self.mechanism.as_mut().and_then(Mechanism::take_cipher)
    }

    fn handle_greeting(&mut self, bytes: &mut &[u8]) -> Result<Step, HandshakeError> {
        self.receive_until(GREETING_SIZE, bytes);
        let Ok(greeting) = self.received.as_slice().try_into() else {
            Greeting::check_start(&self.received)?;
            return Ok(Step::NeedsBytes);
        };
        let greeting = Greeting::decode(greeting)?;
        self.received = Vec::new();
        if let Some(choice) = self.choice.take() {
            self.mechanism = self.choose(&greeting, &choice)?;
        } else if let Some(mechanism) = &self.mechanism {
            greeting.check_mechanism(&[mechanism.name()])?;
        }
        let Some(mechanism) = &mut self.mechanism else { return Ok(Step::NeedsBytes) };
        let minor = greeting.shared_minor();
        self.state = State::Commands { minor };
        let progress = mechanism.start(&mut self.outbox)?;
        self.follow(minor, progress)?;
        Ok(Step::Next)
    }

    /// Handles the client's choice of mechanism. The rest of our greeting names the same one, or else our strongest
    /// mechanism, so that the client sees why it is rejected.
    fn choose(&mut self, greeting: &Greeting, choice: &Choice) -> Result<Option<Mechanism>, HandshakeError> {
        let names = choice.acceptance.names();
        let chosen = greeting.check_mechanism(&names);
        let ours = chosen.as_ref().ok().or(names.first()).copied().unwrap_or(greeting::NULL);
        let as_server = ours != greeting::NULL;
        self.outbox.extend_from_slice(&Greeting::encode(ours, as_server)[START_SIZE..]);
        let metadata = choice.metadata.clone();
        Ok(Mechanism::of_server(&choice.acceptance, chosen?, metadata, &choice.entropy))
    }

    fn follow(&mut self, minor: u8, progress: Progress) -> Result<(), HandshakeError> {
        match progress {
            Progress::Waits => {}
            Progress::Asks(credentials) => {
                self.credentials = Some(credentials);
                self.state = State::Asking { minor };
            }
            Progress::Done(properties) => {
                let remote = RemotePeer::new(self.local.socket_type, minor, properties)?;
                self.remote = Some(RemotePeer { user_id: self.user_id.take(), ..remote });
                self.state = State::Ready;
            }
        }
        Ok(())
    }

    fn handle_command(&mut self, minor: u8, bytes: &mut &[u8]) -> Result<Step, HandshakeError> {
        let header = loop {
            match frame::decode_header(&self.received, usize::MAX)? {
                Some(header) => break header,
                None if bytes.is_empty() => return Ok(Step::NeedsBytes),
                None => self.receive_until(self.received.len() + 1, bytes),
            }
        };
        let (size, limit) = (header.body_size, self.limits.command_size_max);
        if !header.command {
            return Err(HandshakeError::MessageBeforeReady { size });
        }
        if size > limit {
            return Err(HandshakeError::CommandTooLarge { size, limit });
        }
        self.receive_until(header.header_size + size, bytes);
        if self.received.len() < header.header_size + size {
            return Ok(Step::NeedsBytes);
        }
        let received = std::mem::take(&mut self.received);
        let Some(mechanism) = &mut self.mechanism else { return Ok(Step::NeedsBytes) };
        let body = &received[header.header_size..];
        let command = match mechanism.odd_refusal(body) {
            Some(reason) => Command::Error { reason },
            None => command::parse(body)?,
        };
        if let Command::Error { reason } = command {
            return Err(HandshakeError::Refused { reason: escaped(reason) });
        }
        let progress = mechanism.handle_command(&command, &mut self.outbox)?;
        self.follow(minor, progress)?;
        Ok(Step::Next)
    }

    /// Moves bytes to `received` until it has `size`. Its capacity doubles, but never beyond `size`, and never
    /// because of an announced size alone.
    fn receive_until(&mut self, size: usize, bytes: &mut &[u8]) {
        let (taken, rest) = bytes.split_at(bytes.len().min(size - self.received.len()));
        let (needed, capacity) = (self.received.len() + taken.len(), self.received.capacity());
        if needed > capacity {
            self.received.reserve_exact(needed.max(size.min(2 * capacity)) - self.received.len());
        }
        self.received.extend_from_slice(taken);
        *bytes = rest;
    }

    fn fail(&mut self, error: &HandshakeError) {
        let in_commands = !matches!(self.state, State::Greeting | State::Failed(_));
        match error {
            HandshakeError::Unauthorized { status } => {
                command::encode_error(&mut self.outbox, status.as_bytes());
            }
            HandshakeError::Refused { .. } => {}
            error if in_commands => command::encode_error(&mut self.outbox, error.to_string().as_bytes()),
            _ => {}
        }
        self.credentials = None;
        self.mechanism = None;
        self.received = Vec::new();
        self.state = State::Failed(error.clone());
    }
}

enum Step {
    Next,
    NeedsBytes,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zmtp::{SocketType, metadata};

    /// Returns the number of bytes that the handshake holds for the peer: received bytes and parsed properties.
    fn held_size(handshake: &Handshake) -> usize {
        let properties = handshake.remote.iter().flat_map(|remote| &remote.properties);
        handshake.received.capacity()
            + properties.map(|(name, value)| name.capacity() + value.capacity()).sum::<usize>()
    }

    fn router() -> Handshake {
        let local =
            LocalPeer { socket_type: SocketType::Router, routing_id: Vec::new(), properties: Vec::new() };
        Handshake::new(local, HandshakeLimits::default())
    }

    /// Returns the handshake of a DEALER whose READY is exactly as large as the default limit allows.
    fn largest_handshake() -> Vec<u8> {
        let mut bytes = vec![];
        metadata::encode(&mut bytes, "Socket-Type", b"DEALER");
        let overhead = 1 + "READY".len() + bytes.len() + 1 + "X".len() + 4;
        metadata::encode(&mut bytes, "X", &vec![7; HandshakeLimits::default().command_size_max - overhead]);
        let mut stream = Greeting::encode("NULL", false).to_vec();
        command::encode_ready(&mut stream, &bytes);
        stream
    }

    #[test]
    fn the_largest_handshake_is_held_within_its_bound_however_it_is_cut() {
        let stream = largest_handshake();
        let limit = HandshakeLimits::default().command_size_max;
        for chunk_size in [1, 7, 1000, stream.len()] {
            let mut handshake = router();
            for chunk in stream.chunks(chunk_size) {
                assert_eq!(handshake.handle_bytes(chunk), Ok(chunk.len()));
                assert!(held_size(&handshake) <= limit + frame::HEADER_SIZE_MAX);
            }
            handshake.poll_transmit().expect("greeting and READY");
            assert!(handshake.poll_ready().is_some());
        }
    }

    #[test]
    fn an_announced_size_takes_no_memory_before_its_bytes_are_there() {
        let stream = largest_handshake();
        let mut handshake = router();
        for (count, chunk) in stream.chunks(1).enumerate().take(64 + 1000) {
            handshake.handle_bytes(chunk).expect("a valid handshake");
            assert!(held_size(&handshake) <= 2 * (count + 1), "after {} bytes", count + 1);
        }
    }

    #[test]
    fn a_handshake_that_ended_holds_no_received_bytes() {
        let mut failed = router();
        failed.handle_bytes(b"GET / HTTP/1.1\r\n").expect_err("not ZMTP");
        let mut ready = router();
        ready.handle_bytes(&largest_handshake()).expect("a valid handshake");
        assert_eq!((failed.received.capacity(), ready.received.capacity()), (0, 0));
    }
}
