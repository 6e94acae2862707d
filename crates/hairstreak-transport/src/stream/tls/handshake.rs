//! `Handshake`: a TLS connection before its first byte.
//!
//! - `TlsSession`: the peer of an established TLS connection, as the handshake showed it.

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

/// Progress of a handshake.
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

/// The peer of an established TLS connection, as the handshake showed it.
#[derive(Clone, Copy, Debug)]
pub struct TlsSession<'a> {
    tls: &'a Tls,
}

impl<'a> TlsSession<'a> {
    pub(in super::super) fn new(tls: &'a Tls) -> TlsSession<'a> {
        TlsSession { tls }
    }

    /// The peer's own certificate in DER, which was verified. `None`: the client showed no certificate.
    pub fn peer_certificate(self) -> Option<&'a [u8]> {
        Some(self.tls.rustls().peer_certificates()?.first()?.as_ref())
    }

    /// The protocol that the two sides agreed on by ALPN, if they did.
    pub fn protocol(self) -> Option<&'a [u8]> {
        self.tls.rustls().alpn_protocol()
    }

    /// On the accepting side, the DNS name of the server that the client asked for (SNI). `None` for an IP address.
    pub fn server_name(self) -> Option<&'a str> {
        match self.tls.rustls() {
            rustls::Connection::Server(connection) => connection.server_name(),
            rustls::Connection::Client(_) => None,
        }
    }

    /// `TLSv1_3` or `TLSv1_2`.
    pub fn version(self) -> &'static str {
        self.tls.rustls().protocol_version().and_then(|version| version.as_str()).unwrap_or_default()
    }

    /// The cipher suite, such as `TLS13_AES_256_GCM_SHA384` or `TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384`.
    pub fn cipher_suite(self) -> &'static str {
        let suite = self.tls.rustls().negotiated_cipher_suite();
        suite.and_then(|suite| suite.suite().as_str()).unwrap_or_default()
    }
}
