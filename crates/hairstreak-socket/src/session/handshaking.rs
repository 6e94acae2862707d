//! A session up to READY: the connect's outcome, then the handshake's bytes both ways.

use std::io;
use std::mem::MaybeUninit;

use hairstreak_wire::zmtp::RemotePeer;

use super::connection::{Phase, Session};
use super::error::SessionError;

/// Bytes taken by one read of a handshake.
const HANDSHAKE_READ_SIZE: usize = 4096;

impl Session {
    /// Goes on as far as the peer's bytes allow. Returns the peer once, when it is ready; what it
    /// sent behind its READY is in the read buffer then.
    pub fn advance_handshake(&mut self) -> Result<Option<RemotePeer>, SessionError> {
        if self.phase == Phase::Connecting {
            if !self.writable {
                return Ok(None);
            }
            if let Some(error) = self.stream.connect_error() {
                return Err(error.into());
            }
            self.phase = Phase::Handshaking;
        }
        // INVARIANT: the handshake is taken only below, when the phase becomes Ready.
        let mut handshake = self.handshake.take().expect("a session before READY has a handshake");
        let result = self.exchange(&mut handshake);
        self.handshake = Some(handshake);
        if let Ok(Some(peer)) = &result {
            self.handshake = None;
            self.phase = Phase::Ready;
            self.minor = peer.minor;
        }
        result
    }

    fn exchange(
        &mut self,
        handshake: &mut hairstreak_wire::zmtp::Handshake,
    ) -> Result<Option<RemotePeer>, SessionError> {
        loop {
            self.send_of(handshake)?;
            if let Some(peer) = handshake.poll_ready() {
                return Ok(Some(peer));
            }
            if !self.readable {
                return Ok(None);
            }
            let mut room = [MaybeUninit::uninit(); HANDSHAKE_READ_SIZE];
            let bytes = match self.stream.read(&mut room) {
                Ok([]) => return Err(SessionError::Closed),
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.readable = false;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match handshake.handle_bytes(bytes) {
                Ok(consumed) => self.buffer.append(&bytes[consumed..]),
                Err(error) => {
                    // The protocol's own answer, if it has one, before the connection goes.
                    self.send_of(handshake)?;
                    return Err(error.into());
                }
            }
        }
    }

    fn send_of(&mut self, handshake: &mut hairstreak_wire::zmtp::Handshake) -> Result<(), SessionError> {
        while let Some(bytes) = handshake.poll_transmit() {
            self.outgoing.push_copy(&bytes, &[], false);
        }
        self.flush()
    }
}
