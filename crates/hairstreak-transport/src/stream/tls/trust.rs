//! `ServerTrust` and `ClientTrust`: the certificates that are accepted from the other side.
//!
//! A certificate leads to one of the given CA roots (RFC 5280, section 6), or is itself one of the given certificates. `openssl req -x509`
//! makes such a certificate: it is root and end in one, and webpki accepts it as neither. Its name, its dates and its purpose are checked all
//! the same, as OpenSSL does. The handshake proves that the peer has the key, so that the certificate's own signature is not checked.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::{ExtendedKeyUsage, SubjectAltName};

use super::error::describe;
use super::pem::{Pem, TlsConfigError};

/// The purposes of a certificate: TLS servers, TLS clients, any.
const SERVER: &str = "1.3.6.1.5.5.7.3.1";
const CLIENT: &str = "1.3.6.1.5.5.7.3.2";
const ANY: &str = "2.5.29.37.0";
/// The type of a common name.
const COMMON_NAME: &str = "2.5.4.3";

/// The methods of both verifiers that `by_root` answers: the certificate was given or not, its key signs alike.
macro_rules! signatures_by_root {
    () => {
        fn verify_tls12_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.by_root.verify_tls12_signature(message, certificate, signature)
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            self.by_root.verify_tls13_signature(message, certificate, signature)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            self.by_root.supported_verify_schemes()
        }
    };
}

/// The certificates of servers that a client accepts.
#[derive(Debug)]
pub(super) struct ServerTrust {
    given: Vec<CertificateDer<'static>>,
    by_root: Arc<WebPkiServerVerifier>,
}

impl ServerTrust {
    /// Errors: as [`Pem::roots`].
    pub fn new(roots: &Pem, provider: Arc<CryptoProvider>) -> Result<Arc<ServerTrust>, TlsConfigError> {
        let (given, store) = roots.roots()?;
        let by_root = WebPkiServerVerifier::builder_with_provider(store.into(), provider).build();
        let by_root =
            by_root.map_err(|error| TlsConfigError::Certificate(roots.name(), error.to_string()))?;
        Ok(Arc::new(ServerTrust { given, by_root }))
    }
}

impl ServerCertVerifier for ServerTrust {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.given.contains(certificate) {
            return self.by_root.verify_server_cert(certificate, intermediates, name, ocsp_response, now);
        }
        let parsed = ParsedCertificate::try_from(certificate)?;
        let content = check_given(certificate, SERVER, now)?;
        match verify_server_name(&parsed, name) {
            Err(_) if has_common_name(&content, name) => {}
            checked => checked?,
        }
        Ok(ServerCertVerified::assertion())
    }

    signatures_by_root!();
}

/// The certificates of clients that a server accepts.
#[derive(Debug)]
pub(super) struct ClientTrust {
    given: Vec<CertificateDer<'static>>,
    by_root: Arc<dyn ClientCertVerifier>,
}

impl ClientTrust {
    /// Errors: as [`Pem::roots`].
    pub fn new(
        roots: &Pem,
        is_required: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<ClientTrust>, TlsConfigError> {
        let (given, store) = roots.roots()?;
        let builder = WebPkiClientVerifier::builder_with_provider(store.into(), provider);
        let builder = if is_required { builder } else { builder.allow_unauthenticated() };
        let by_root =
            builder.build().map_err(|error| TlsConfigError::Certificate(roots.name(), error.to_string()))?;
        Ok(Arc::new(ClientTrust { given, by_root }))
    }
}

impl ClientCertVerifier for ClientTrust {
    fn client_auth_mandatory(&self) -> bool {
        self.by_root.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.by_root.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        if !self.given.contains(certificate) {
            return self.by_root.verify_client_cert(certificate, intermediates, now);
        }
        ParsedCertificate::try_from(certificate)?;
        check_given(certificate, CLIENT, now)?;
        Ok(ClientCertVerified::assertion())
    }

    signatures_by_root!();
}

/// Checks the dates and the purpose of a certificate that was given.
fn check_given(
    der: &CertificateDer<'_>,
    purpose: &str,
    now: UnixTime,
) -> Result<Certificate, CertificateError> {
    let certificate = Certificate::from_der(der).map_err(|_| CertificateError::BadEncoding)?;
    let content = certificate.tbs_certificate();
    let time = |at: std::time::Duration| UnixTime::since_unix_epoch(at);
    let not_before = time(content.validity().not_before.to_unix_duration());
    let not_after = time(content.validity().not_after.to_unix_duration());
    if now < not_before {
        return Err(CertificateError::NotValidYetContext { time: now, not_before });
    }
    if now > not_after {
        return Err(CertificateError::ExpiredContext { time: now, not_after });
    }
    match content.get_extension::<ExtendedKeyUsage>() {
        Ok(None) => {}
        Ok(Some((_, ExtendedKeyUsage(purposes))))
            if purposes.iter().any(|one| [purpose, ANY].contains(&&*one.to_string())) => {}
        Ok(Some(_)) => return Err(CertificateError::InvalidPurpose),
        Err(_) => return Err(CertificateError::BadEncoding),
    }
    Ok(certificate)
}

/// Returns `true` if a certificate without alternative names has `name` as its common name. OpenSSL accepts such
/// certificates, too.
fn has_common_name(certificate: &Certificate, name: &ServerName<'_>) -> bool {
    let content = certificate.tbs_certificate();
    let ServerName::DnsName(name) = name else { return false };
    matches!(content.get_extension::<SubjectAltName>(), Ok(None))
        && content
            .subject()
            .iter()
            .filter(|attribute| attribute.oid.to_string() == COMMON_NAME)
            .any(|attribute| attribute.value.value().eq_ignore_ascii_case(name.as_ref().as_bytes()))
}

/// A private key that cannot sign, in words.
pub(super) fn key_reason(error: &Error) -> String {
    match error {
        Error::General(_) => "it is none of RSA with 2048 to 8192 bits, ECDSA on P-256 or P-384, or Ed25519; such a key and its \
                              certificate can be made by openssl req -x509 -newkey ed25519"
            .to_owned(),
        error => describe(error),
    }
}
