//! `PeerTls`: the other end of an AMQP connection with TLS, in RabbitMQ's words.

use hairstreak_transport::Stream;
use hairstreak_transport::tls::TlsSession;

use super::certificate::{CertificateError, PeerCertificate};

/// The other end of a connection with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerTls {
    /// `tlsv1.3` or `tlsv1.2`: RabbitMQ's `ssl_protocol`.
    pub protocol: &'static str,
    /// Such as `aes_256_gcm`: RabbitMQ's `ssl_cipher`.
    pub cipher: &'static str,
    /// RabbitMQ's `ssl_key_exchange`: `any` in TLS 1.3, such as `ecdhe_ecdsa` in TLS 1.2.
    pub key_exchange: &'static str,
    /// RabbitMQ's `ssl_hash`: every cipher here authenticates by itself.
    pub hash: &'static str,
    /// The client's certificate, if the client showed one. An error: the certificate cannot be read, and no user can log in with
    /// it.
    pub certificate: Option<Result<PeerCertificate, CertificateError>>,
}

impl PeerTls {
    /// The other end of an established stream. `None`: there is no TLS.
    pub fn of(stream: &Stream) -> Option<PeerTls> {
        let session: TlsSession<'_> = stream.tls()?;
        let certificate = session.peer_certificate().map(PeerCertificate::from_der);
        Some(PeerTls::new(session.version(), session.cipher_suite(), certificate))
    }

    fn new(
        version: &str,
        suite: &str,
        certificate: Option<Result<PeerCertificate, CertificateError>>,
    ) -> PeerTls {
        PeerTls {
            protocol: if version == "TLSv1_2" { "tlsv1.2" } else { "tlsv1.3" },
            cipher: [
                ("AES_128_GCM", "aes_128_gcm"),
                ("AES_256_GCM", "aes_256_gcm"),
                ("CHACHA20", "chacha20_poly1305"),
            ]
            .into_iter()
            .find(|(part, _)| suite.contains(part))
            .map_or("unknown", |(_, cipher)| cipher),
            key_exchange: match suite {
                suite if suite.contains("ECDHE_ECDSA") => "ecdhe_ecdsa",
                suite if suite.contains("ECDHE_RSA") => "ecdhe_rsa",
                _ => "any",
            },
            hash: "aead",
            certificate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_ciphers_have_the_names_that_rabbitmq_gives_them() {
        for (version, suite, words) in [
            ("TLSv1_3", "TLS13_AES_256_GCM_SHA384", ("tlsv1.3", "aes_256_gcm", "any")),
            ("TLSv1_3", "TLS13_AES_128_GCM_SHA256", ("tlsv1.3", "aes_128_gcm", "any")),
            ("TLSv1_3", "TLS13_CHACHA20_POLY1305_SHA256", ("tlsv1.3", "chacha20_poly1305", "any")),
            ("TLSv1_2", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", ("tlsv1.2", "aes_256_gcm", "ecdhe_ecdsa")),
            ("TLSv1_2", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", ("tlsv1.2", "aes_128_gcm", "ecdhe_rsa")),
        ] {
            let peer = PeerTls::new(version, suite, None);
            assert_eq!((peer.protocol, peer.cipher, peer.key_exchange), words, "{suite}");
            assert_eq!(peer.hash, "aead");
        }
    }

    #[test]
    fn a_stream_without_tls_has_no_such_end() {
        let (stream, _other) = Stream::pair().unwrap();
        assert_eq!(PeerTls::of(&stream), None);
    }
}
