//! A session up to READY: the connect's outcome, then the handshake's bytes both ways.

use std::io;

use hairstreak_wire::zmtp::{Credentials, Handshake, HandshakeError, RemotePeer, Verdict};

use super::connection::{Phase, Session};
use super::error::SessionError;

/// How far a handshake got.
#[derive(Debug)]
pub(crate) enum Advance {
    /// It waits for the peer, or for a verdict that was asked for before.
    Waits,
    /// It waits for the verdict on these.
    Asks(Credentials),
    /// It is over; what the peer sent behind its READY is in the read buffer.
    Ready(RemotePeer),
}

impl Session {
    /// Goes on as far as the peer's bytes allow.
    pub fn advance_handshake(&mut self) -> Result<Advance, SessionError> {
        if self.phase == Phase::Connecting {
            if !self.writable {
                return Ok(Advance::Waits);
            }
            if let Some(error) = self.stream.connect_error() {
                return Err(error.into());
            }
            self.phase = Phase::Handshaking;
        }
        if self.limits.is_plain {
            return Ok(self.finish(Some(Session::plain_peer())));
        }
        let Some(mut handshake) = self.handshake.take() else {
            let decided = self.advance_sharing()?;
            return Ok(self.finish(decided));
        };
        let result = self.exchange(&mut handshake);
        self.keep_or_finish(handshake, result)
    }

    /// Goes on with the verdict that was asked for.
    pub fn deliver_verdict(&mut self, verdict: Verdict) -> Result<Advance, SessionError> {
        let Some(mut handshake) = self.handshake.take() else { return Ok(Advance::Waits) };
        let result = match handshake.handle_verdict(verdict) {
            Ok(()) => self.exchange(&mut handshake),
            Err(error) => Err(self.send_last(&mut handshake, error)),
        };
        self.keep_or_finish(handshake, result)
    }

    fn keep_or_finish(
        &mut self,
        mut handshake: Box<Handshake>,
        result: Result<Advance, SessionError>,
    ) -> Result<Advance, SessionError> {
        let Ok(Advance::Ready(peer)) = result else {
            self.handshake = Some(handshake);
            return result;
        };
        self.cipher = handshake.take_cipher();
        if self.cipher.is_some() {
            self.gather_count_max = 0;
            self.keep_step();
        }
        let decided = self.start_sharing(peer)?;
        Ok(self.finish(decided))
    }

    /// The handshake is over, and so may be the agreement about shared memory behind it.
    fn finish(&mut self, decided: Option<RemotePeer>) -> Advance {
        let Some(peer) = decided else { return Advance::Waits };
        self.phase = Phase::Ready;
        self.minor = peer.minor;
        Advance::Ready(peer)
    }

    fn exchange(&mut self, handshake: &mut Handshake) -> Result<Advance, SessionError> {
        loop {
            self.send_of(handshake)?;
            if let Some(credentials) = handshake.poll_credentials() {
                return Ok(Advance::Asks(credentials));
            }
            if let Some(peer) = handshake.poll_ready() {
                return Ok(Advance::Ready(peer));
            }
            if handshake.is_asking() || (self.buffer.unread().is_empty() && !self.read_some()?) {
                return Ok(Advance::Waits);
            }
            match handshake.handle_bytes(self.buffer.unread()) {
                Ok(consumed) => self.buffer.consume(consumed),
                Err(error) => return Err(self.send_last(handshake, error)),
            }
        }
    }

    /// One read. Returns false when there is nothing now.
    pub(super) fn read_some(&mut self) -> Result<bool, SessionError> {
        if !self.readable {
            return Ok(false);
        }
        let stream = &mut self.stream;
        match self.buffer.fill(|room| stream.read(room)) {
            Ok((0, _)) => Err(SessionError::Closed),
            Ok((count, _)) => {
                self.read_bytes += count as u64;
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends the protocol's own answer, if it has one, before the connection goes.
    fn send_last(&mut self, handshake: &mut Handshake, error: HandshakeError) -> SessionError {
        self.send_of(handshake).err().unwrap_or(error.into())
    }

    fn send_of(&mut self, handshake: &mut Handshake) -> Result<(), SessionError> {
        while let Some(bytes) = handshake.poll_transmit() {
            self.outgoing.push_copy(&bytes, &[], false);
        }
        self.flush()
    }
}
