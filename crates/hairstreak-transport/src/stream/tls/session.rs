//! `TlsSession`: the peer of an established TLS connection, as the handshake showed it.

use super::records::Tls;

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
