//! `Handshake`: a TLS connection before its first byte.

use std::io;
use std::os::fd::BorrowedFd;

use super::configuration::{TlsClient, TlsServer};
use super::error::TlsError;
use super::records::Tls;

/// A handshake, which begins when the socket is connected.
#[derive(Debug)]
pub(in super::super) enum Handshake {
    Client(TlsClient),
    Server(TlsServer),
    Running(Box<Tls>),
    /// It is over, well or not.
    Over,
}

/// How far a handshake is.
pub(in super::super) enum Progress {
    Done(Box<Tls>),
    WaitsToRead,
    WaitsToWrite,
}

impl Handshake {
    /// Goes as far as the socket lets it. Nothing is read while something of this side waits for room, so that a peer that does not read
    /// cannot have this side keep ever more.
    ///
    /// Errors: the two sides did not agree; the peer was sent an alert.
    pub fn advance(&mut self, socket: BorrowedFd<'_>) -> io::Result<Progress> {
        let connection = match std::mem::replace(self, Handshake::Over) {
            Handshake::Client(client) => client.connection().map(Tls::new).map(Box::new),
            Handshake::Server(server) => server.connection().map(Tls::new).map(Box::new),
            Handshake::Running(tls) => Ok(tls),
            Handshake::Over => return Err(io::ErrorKind::NotConnected.into()),
        };
        let mut tls = connection.map_err(TlsError::Handshake)?;
        loop {
            if !tls.send(socket)? {
                *self = Handshake::Running(tls);
                return Ok(Progress::WaitsToWrite);
            }
            if !tls.rustls().is_handshaking() {
                tls.begin_data();
                return Ok(Progress::Done(tls));
            }
            match tls.receive(socket) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    *self = Handshake::Running(tls);
                    return Ok(Progress::WaitsToRead);
                }
                Err(error) => return Err(error),
            }
        }
    }
}
