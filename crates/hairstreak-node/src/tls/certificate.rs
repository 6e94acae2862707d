//! `PeerCertificate`: the names in a client's certificate.
//!
//! - The text of a string in a certificate, whichever of ASN.1's types it has.
//! - `CertificateFiles`: when the certificates of a listener end, for operators who renew certificates in time.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hairstreak_transport::tls::Pem;
use serde::Deserialize;
use thiserror::Error;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use super::distinguished_name::{self, text_of};

/// The type of a common name.
const COMMON_NAME: &str = "2.5.4.3";

/// A certificate whose names cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the client's certificate cannot be read: {0}")]
pub struct CertificateError(String);

/// The names in a client's certificate, which the handshake has verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerCertificate {
    /// The distinguished name of the client, such as `CN=shop,O=Example`; may be empty.
    pub subject: String,
    /// The distinguished name of the CA.
    pub issuer: String,
    /// From when until when the certificate is valid: `2024-01-01T00:00:00Z - 2124-01-01T00:00:00Z`.
    pub validity: String,
    common_name: Option<String>,
    alternative_names: Vec<(AlternativeNameKind, String)>,
}

impl PeerCertificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    ///
    /// The certificate is malformed.
    pub fn from_der(der: &[u8]) -> Result<PeerCertificate, CertificateError> {
        let wrong = |error: x509_cert::der::Error| CertificateError(error.to_string());
        let certificate = Certificate::from_der(der).map_err(wrong)?;
        let certificate = certificate.tbs_certificate();
        let (subject, validity) = (certificate.subject(), certificate.validity());
        let common_names: Vec<_> = subject
            .iter()
            .filter(|attribute| attribute.oid.to_string() == COMMON_NAME)
            .filter_map(|attribute| text_of(&attribute.value))
            .collect();
        let alternatives = certificate.get_extension::<SubjectAltName>().map_err(wrong)?;
        let alternatives = alternatives.into_iter().flat_map(|(_, SubjectAltName(names))| names);
        Ok(PeerCertificate {
            subject: distinguished_name::to_text(subject),
            issuer: distinguished_name::to_text(certificate.issuer()),
            validity: format!("{} - {}", validity.not_before, validity.not_after),
            common_name: (!common_names.is_empty()).then(|| common_names.join(",")),
            alternative_names: alternatives.filter_map(alternative_name).collect(),
        })
    }

    /// The name of the user whom the certificate lets in by EXTERNAL. `None`: it has no such name.
    pub fn login_name(&self, from: LoginFrom) -> Option<&str> {
        let name = match from {
            LoginFrom::CommonName => self.common_name.as_deref(),
            LoginFrom::DistinguishedName => Some(&*self.subject),
            LoginFrom::SubjectAlternativeName { kind, index } => {
                let mut names = self.alternative_names.iter().filter(|(of, _)| *of == kind);
                names.nth(index).map(|(_, name)| &**name)
            }
        };
        name.filter(|name| !name.is_empty())
    }
}

fn alternative_name(name: GeneralName) -> Option<(AlternativeNameKind, String)> {
    match name {
        GeneralName::DnsName(name) => Some((AlternativeNameKind::Dns, name.as_str().to_owned())),
        GeneralName::Rfc822Name(name) => Some((AlternativeNameKind::Email, name.as_str().to_owned())),
        GeneralName::UniformResourceIdentifier(name) => {
            Some((AlternativeNameKind::Uri, name.as_str().to_owned()))
        }
        GeneralName::IpAddress(address) => {
            let bytes = address.as_bytes();
            let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()?;
            Some((AlternativeNameKind::Ip, address.to_string()))
        }
        _ => None,
    }
}

/// The files of a listener with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// The node's certificate, and the certificates between it and a CA root.
    pub certificate: PathBuf,
    /// The CA roots of clients; `None`: clients are not asked.
    pub authority: Option<PathBuf>,
}

/// The ends of a file's certificates that come before a time. The file is read now, so that a certificate that was renewed counts.
///
/// # Errors
///
/// The file cannot be read, or a certificate cannot.
pub fn ends_before(file: &Path, time: SystemTime) -> Result<Vec<Duration>, String> {
    let certificates = Pem::file(file).certificates().map_err(|error| error.to_string())?;
    let mut ends = Vec::new();
    for der in certificates {
        let certificate = Certificate::from_der(&der).map_err(|error| error.to_string())?;
        let end = certificate.tbs_certificate().validity().not_after.to_unix_duration();
        if SystemTime::UNIX_EPOCH + end < time {
            ends.push(end);
        }
    }
    Ok(ends)
}

/// The part of a client's certificate that is the user's name, as `ssl_cert_login_from` of RabbitMQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoginFrom {
    /// The common names, with a comma between them. The first choice of most.
    #[default]
    CommonName,
    /// The whole distinguished name, such as `CN=shop,O=Example`.
    DistinguishedName,
    /// An alternative name of the subject.
    SubjectAlternativeName {
        /// The kind of name.
        kind: AlternativeNameKind,
        /// The index among the names of that kind, from 0.
        index: usize,
    },
}

/// A kind of alternative name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlternativeNameKind {
    /// A DNS name.
    #[default]
    Dns,
    /// A mail address.
    Email,
    /// A URI.
    Uri,
    /// An IP address.
    Ip,
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    /// A certificate of the transport's tests, in DER.
    fn der(name: &str) -> Vec<u8> {
        let folder =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../hairstreak-transport/tests/streams/certificates");
        let pem = std::fs::read_to_string(format!("{folder}/{name}.pem")).unwrap();
        let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
        STANDARD.decode(body).unwrap()
    }

    fn certificate(name: &str) -> PeerCertificate {
        PeerCertificate::from_der(&der(name)).unwrap()
    }

    fn alternative(kind: AlternativeNameKind, index: usize) -> LoginFrom {
        LoginFrom::SubjectAlternativeName { kind, index }
    }

    #[test]
    fn a_usual_certificate_has_the_names_that_rabbitmq_shows() {
        let client = certificate("client");
        assert_eq!(client.subject, "CN=tester");
        assert_eq!(client.issuer, "CN=Hairstreak tests: ca");
        assert_eq!(client.validity, "2024-01-01T00:00:00Z - 2124-01-01T00:00:00Z");
        assert_eq!(client.login_name(LoginFrom::CommonName), Some("tester"));
        assert_eq!(client.login_name(LoginFrom::DistinguishedName), Some("CN=tester"));
        assert_eq!(client.login_name(alternative(AlternativeNameKind::Dns, 0)), None);
    }

    #[test]
    fn names_with_odd_characters_are_written_as_rabbitmq_writes_them() {
        let names = certificate("names");
        let subject = concat!(
            "UID=u1,2.5.4.9=road,EMAILADDRESS=a@b.example,CN=\\ second\\ ,",
            "CN=\\#M\\\\\\C3\\BCller\\+a=b\\7Ec,OU=one+OU=two,O=Ex\\, \\\"Inc\\\" \\<a\\>\\; #1,C=DE"
        );
        assert_eq!(names.subject, subject);
        assert_eq!(names.login_name(LoginFrom::CommonName), Some("#M\\\u{fc}ller+a=b~c, second "));
    }

    #[test]
    fn alternative_names_are_found_by_kind_and_place() {
        let names = certificate("names");
        for (kind, expected) in [
            (AlternativeNameKind::Dns, &["one.example", "two.example"][..]),
            (AlternativeNameKind::Email, &["who@b.example"]),
            (AlternativeNameKind::Uri, &["urn:x:y"]),
            (AlternativeNameKind::Ip, &["10.0.0.1", "2001:db8::1"]),
        ] {
            let found: Vec<_> =
                (0..=expected.len()).map(|index| names.login_name(alternative(kind, index))).collect();
            let expected: Vec<_> = expected.iter().copied().map(Some).chain([None]).collect();
            assert_eq!(found, expected, "{kind:?}");
        }
    }

    #[test]
    fn a_certificate_without_a_name_lets_nobody_in() {
        let nameless = certificate("nameless");
        assert_eq!(nameless.subject, "");
        assert_eq!(nameless.login_name(LoginFrom::CommonName), None);
        assert_eq!(nameless.login_name(LoginFrom::DistinguishedName), None);
        assert_eq!(nameless.login_name(alternative(AlternativeNameKind::Dns, 0)), Some("only.example"));
    }

    #[test]
    fn damaged_certificates_are_errors_or_other_names_and_nothing_worse() {
        let good = der("names");
        for size in 0..good.len() {
            assert!(PeerCertificate::from_der(&good[..size]).is_err(), "{size}");
        }
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let mut bytes = good.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = random.u8(..);
            }
            if let Ok(certificate) = PeerCertificate::from_der(&bytes) {
                assert!(certificate.subject.len() <= 4 * bytes.len());
            }
        }
    }
}
