//! A session up to READY: the connect's outcome, then the handshake's bytes both ways.

use hairstreak_transport::Read;
use hairstreak_wire::zmtp::{Credentials, Handshake, HandshakeError, RemotePeer, Verdict};

use super::error::SessionError;
use super::zmtp::{Phase, Session};

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
            if !self.connection.is_writable() {
                return Ok(Advance::Waits);
            }
            if !self.connection.establish()? {
                return Ok(Advance::Waits);
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
            if handshake.is_asking() || (self.connection.input.unread().is_empty() && !self.read_some()?) {
                self.connection.rest();
                return Ok(Advance::Waits);
            }
            match handshake.handle_bytes(self.connection.input.unread()) {
                Ok(consumed) => self.connection.input.consume(consumed),
                Err(error) => return Err(self.send_last(handshake, error)),
            }
        }
    }

    /// One read. Returns false when there is nothing now.
    pub(super) fn read_some(&mut self) -> Result<bool, SessionError> {
        if !self.connection.is_readable() {
            return Ok(false);
        }
        match self.connection.read()? {
            Read::Bytes(_) => Ok(true),
            Read::Nothing => Ok(false),
            Read::End => Err(SessionError::Closed),
        }
    }

    /// Sends the protocol's own answer, if it has one, before the connection goes.
    fn send_last(&mut self, handshake: &mut Handshake, error: HandshakeError) -> SessionError {
        self.send_of(handshake).err().unwrap_or(error.into())
    }

    fn send_of(&mut self, handshake: &mut Handshake) -> Result<(), SessionError> {
        while let Some(bytes) = handshake.poll_transmit() {
            self.connection.output.push_copy(&bytes, &[], false);
        }
        self.flush()
    }
}
