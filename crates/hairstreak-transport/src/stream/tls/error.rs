//! `TlsError`: why a TLS connection fails.

use std::io;

use rustls::{CertificateError, InvalidMessage};
use thiserror::Error;

/// Why a TLS connection fails. Streams give it inside of an [`io::Error`].
#[derive(Debug, Error)]
pub enum TlsError {
    /// The two sides did not agree, or one of them does not accept the other.
    #[error("TLS handshake: {}", describe(.0))]
    Handshake(rustls::Error),
    /// The peer's bytes behind the handshake are not TLS, were changed on the way, or are an alert.
    #[error("TLS: {}", describe(.0))]
    Records(rustls::Error),
    /// The handshake of the peer, a stranger, has more than so many bytes.
    #[error("TLS handshake: longer than {0} bytes")]
    HandshakeSize(usize),
    /// The peer sent more than so many bytes in a row without data in them.
    #[error("TLS: {0} bytes of the peer without data in them")]
    Fruitless(usize),
    /// The peer left in the middle of the handshake.
    #[error("TLS handshake: the peer ended the connection")]
    Ended,
    /// The peer's end came without its announcement, as if the connection had been cut.
    #[error("TLS: the peer ended the connection without close_notify: some of its bytes may be missing")]
    Truncated,
    /// TLS 1.2 cannot change its keys, and the keys have encrypted as many records as is safe.
    #[error("TLS 1.2: the keys of the connection are used up: connect again")]
    KeysUsedUp,
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> io::Error {
        let kind = match &error {
            TlsError::Handshake(rustls::Error::AlertReceived(_)) => io::ErrorKind::ConnectionRefused,
            TlsError::Records(rustls::Error::AlertReceived(_)) => io::ErrorKind::ConnectionReset,
            TlsError::Handshake(_)
            | TlsError::Records(_)
            | TlsError::HandshakeSize(_)
            | TlsError::Fruitless(_) => io::ErrorKind::InvalidData,
            TlsError::Ended | TlsError::Truncated => io::ErrorKind::UnexpectedEof,
            TlsError::KeysUsedUp => io::ErrorKind::ConnectionAborted,
        };
        io::Error::new(kind, error)
    }
}

/// Says frequent errors in plain words.
fn describe(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the peer does not speak TLS".to_owned()
        }
        rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "none of the CA roots given here has signed the peer's certificate".to_owned()
        }
        rustls::Error::NoCertificatesPresented => "the client shows no certificate".to_owned(),
        rustls::Error::AlertReceived(alert) => format!("the peer refuses with the alert {alert:?}"),
        other => other.to_string(),
    }
}
