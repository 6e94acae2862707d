//! `TlsError`: why a TLS connection fails.

use std::{fmt, io};

use rustls::{AlertDescription, CertificateError, InvalidMessage};
use thiserror::Error;

/// The reason for which a TLS connection fails. Streams return it inside an [`io::Error`].
#[derive(Debug, Error)]
pub enum TlsError {
    /// The two sides did not agree, or one of them does not accept the other.
    #[error("TLS handshake: {}", describe(.0))]
    Handshake(rustls::Error),
    /// The peer's bytes behind the handshake are not TLS, were changed on the way, or are an alert.
    #[error("TLS: {}", describe(.0))]
    Records(rustls::Error),
    /// The handshake of the peer, a stranger, has more than this number of bytes.
    #[error("TLS handshake: longer than {0} bytes")]
    HandshakeSize(usize),
    /// The peer sent more than this number of bytes in a row without data in them.
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

/// The error in plain words, on one line.
pub(super) fn describe(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the peer does not speak TLS".to_owned()
        }
        rustls::Error::InvalidMessage(reason) => {
            format!("the peer's bytes are not TLS: {}", words(reason, ' '))
        }
        rustls::Error::InvalidCertificate(reason) => describe_certificate(reason),
        rustls::Error::NoCertificatesPresented => "the client shows no certificate".to_owned(),
        rustls::Error::PeerIncompatible(reason) => {
            format!("the peer's TLS has nothing in common with this one: {}", words(reason, ' '))
        }
        rustls::Error::PeerMisbehaved(reason) => {
            format!("the peer breaks a rule of TLS: {}", words(reason, ' '))
        }
        rustls::Error::AlertReceived(AlertDescription::HandshakeFailure) => {
            format!(
                "the peer refuses with the alert handshake_failure: the sides have no cipher or kind of key in common; {SUPPORTED}"
            )
        }
        rustls::Error::AlertReceived(alert) => {
            format!("the peer refuses with the alert {}", words(alert, '_'))
        }
        other => other.to_string(),
    }
}

/// The keys of certificates that can be verified.
const SUPPORTED: &str =
    "here these are TLS 1.3 and 1.2 with keys of RSA (2048 to 8192 bits), P-256, P-384 and Ed25519";

fn describe_certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => {
            "none of the CA roots given here has signed the peer's certificate".to_owned()
        }
        CertificateError::BadEncoding => "the certificate is malformed".to_owned(),
        CertificateError::BadSignature => "a signature in the peer's certificates is wrong".to_owned(),
        CertificateError::UnhandledCriticalExtension => {
            "the peer's certificate has a critical extension that is not known here".to_owned()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            format!("the key or the signature of a certificate of the peer is of a kind that is not supported; {SUPPORTED}")
        }
        CertificateError::InvalidPurpose => {
            "the peer's certificate is not for this side of TLS (extendedKeyUsage)".to_owned()
        }
        CertificateError::Other(reason) => match &*words(reason.0.as_ref(), ' ') {
            "unsupported cert version" => {
                "the certificate is of X.509 version 1, and TLS needs version 3: make it anew, as openssl req -x509 does".to_owned()
            }
            "ca used as end entity" => {
                "the peer's certificate is that of a CA (CA:TRUE); it is accepted where it is itself among those given here".to_owned()
            }
            "end entity used as ca" => {
                "a certificate has signed the peer's certificate that is not that of a CA".to_owned()
            }
            words => format!("the certificate is not accepted: {words}"),
        },
        CertificateError::NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| plain(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!("the peer's certificate is not for {}: it is for {names}", expected.to_str())
        }
        CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYetContext { .. }
        | CertificateError::InvalidPurposeContext { .. } => format!("invalid peer certificate: {error}"),
        other => format!("the certificate is not accepted: {}", words(other, ' ')),
    }
}

/// A name in the words of webpki, such as `DnsName("localhost")`.
fn plain(name: &str) -> &str {
    let inside = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inside.unwrap_or(name).trim_matches('"')
}

/// The name of a variant as words: `CertificateRequired` is `certificate_required`.
fn words(name: &(impl fmt::Debug + ?Sized), between: char) -> String {
    let name = format!("{name:?}");
    let mut words = String::new();
    let mut was_small = false;
    for letter in name.chars().take_while(char::is_ascii_alphanumeric) {
        if was_small && letter.is_ascii_uppercase() {
            words.push(between);
        }
        was_small = !letter.is_ascii_uppercase();
        words.push(letter.to_ascii_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_alerts_are_those_of_the_specification() {
        for (alert, name) in [
            (AlertDescription::CertificateRequired, "certificate_required"),
            (AlertDescription::UnknownCA, "unknown_ca"),
            (AlertDescription::BadRecordMac, "bad_record_mac"),
        ] {
            assert_eq!(
                describe(&rustls::Error::AlertReceived(alert)),
                format!("the peer refuses with the alert {name}")
            );
        }
    }
}
