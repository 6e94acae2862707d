//! `TlsConfig`: the parts `[amqp.tls]` and `[http.tls]` of a node's configuration.
//!
//! - `CurveConfig`: the part `[curve]` of a node's configuration.

use std::path::{Path, PathBuf};

use hairstreak_socket::security::KeyPair;
use hairstreak_transport::tls::{ClientCertificates, Pem, TlsIdentity, TlsServerOptions};
use serde::{Deserialize, Deserializer};

use super::values;
use crate::tls::{AlternativeNameKind, CertificateFiles, LoginFrom};

/// The port of AMQP with TLS.
const AMQPS_PORT: u16 = 5671;

/// The port of operators' HTTP with TLS.
const HTTPS_PORT: u16 = 15671;

/// The most alternative names that one of them is chosen from.
const SAN_INDEX_MAX: u64 = 255;

/// The endpoints and certificates of AMQP or operators' HTTP with TLS. Files are PEM. In a configuration file, a path that is not
/// absolute begins at the folder of that file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Endpoints of tcp, or for AMQP of ipc.
    #[serde(default = "amqps", deserialize_with = "values::tls_endpoints")]
    pub bind: Vec<String>,
    /// The node's certificate first, then the certificates between it and a CA root.
    pub certificate: PathBuf,
    /// The private key of the node's certificate.
    pub key: PathBuf,
    /// The CA roots of client certificates.
    pub ca: Option<PathBuf>,
    /// Client certificates that the node asks for. A client of HTTP with a certificate still gives a name and a password.
    #[serde(default)]
    pub client_certificates: ClientCertificatesConfig,
    /// The part of a client's certificate that is the user's name for EXTERNAL.
    #[serde(default)]
    pub login_from: LoginFromConfig,
    /// The kind of alternative name.
    pub login_san_type: Option<AlternativeNameKind>,
    /// Index of the alternative name among the names of that kind, counted from 0.
    #[serde(default, deserialize_with = "values::some_between::<_, _, 0, SAN_INDEX_MAX>")]
    pub login_san_index: Option<usize>,
}

/// The keys of `[http.tls]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpTlsConfig {
    #[serde(default = "https", deserialize_with = "values::tcp_endpoints")]
    bind: Vec<String>,
    certificate: PathBuf,
    key: PathBuf,
    ca: Option<PathBuf>,
    #[serde(default)]
    client_certificates: ClientCertificatesConfig,
}

/// The part `[http.tls]`. No user's name comes from a certificate there.
pub(super) fn http_tls<'de, D: Deserializer<'de>>(value: D) -> Result<Option<TlsConfig>, D::Error> {
    let HttpTlsConfig { bind, certificate, key, ca, client_certificates } =
        HttpTlsConfig::deserialize(value)?;
    Ok(Some(TlsConfig { bind, certificate, key, ca, client_certificates, ..TlsConfig::default() }))
}

fn amqps() -> Vec<String> {
    vec![format!("tcp://127.0.0.1:{AMQPS_PORT}")]
}

fn https() -> Vec<String> {
    vec![format!("tcp://127.0.0.1:{HTTPS_PORT}")]
}

/// Client certificates that a node asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientCertificatesConfig {
    /// None. Clients log in by name and password.
    #[default]
    None,
    /// A client may show a certificate. A CA of the configured roots must have signed it.
    Optional,
    /// A client must show a certificate that a CA of the configured roots has signed.
    Required,
}

/// The part of a client's certificate that is the user's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoginFromConfig {
    /// The common names.
    #[default]
    CommonName,
    /// The distinguished name.
    DistinguishedName,
    /// An alternative name.
    SubjectAlternativeName,
}

impl TlsConfig {
    /// Checks keys that depend on each other, and has relative paths begin at `folder`.
    ///
    /// Errors: keys of that part of the file that do not go together, in words.
    pub(super) fn complete(&mut self, part: &str, folder: &Path) -> Result<(), String> {
        match (self.client_certificates, &self.ca) {
            (ClientCertificatesConfig::None, Some(_)) => {
                let reason =
                    "is for client certificates; add client_certificates = \"optional\" or \"required\"";
                return Err(format!("{part}.ca: {reason}"));
            }
            (ClientCertificatesConfig::Optional | ClientCertificatesConfig::Required, None) => {
                let reason = format!("needs the CA roots that have signed them: {part}.ca");
                return Err(format!("{part}.client_certificates: {reason}"));
            }
            _ => {}
        }
        let has_alternative = self.login_san_type.is_some() || self.login_san_index.is_some();
        if has_alternative && self.login_from != LoginFromConfig::SubjectAlternativeName {
            let reason = "are for login_from = \"subject_alternative_name\"";
            return Err(format!("{part}.login_san_type and login_san_index {reason}"));
        }
        for file in [&mut self.certificate, &mut self.key].into_iter().chain(&mut self.ca) {
            *file = folder.join(&*file);
        }
        Ok(())
    }

    /// The part of a client's certificate that is the user's name.
    pub fn login_from(&self) -> LoginFrom {
        match self.login_from {
            LoginFromConfig::CommonName => LoginFrom::CommonName,
            LoginFromConfig::DistinguishedName => LoginFrom::DistinguishedName,
            LoginFromConfig::SubjectAlternativeName => LoginFrom::SubjectAlternativeName {
                kind: self.login_san_type.unwrap_or_default(),
                index: self.login_san_index.unwrap_or_default(),
            },
        }
    }

    /// The options for the transport.
    pub fn server_options(&self) -> TlsServerOptions {
        let identity = TlsIdentity { certificates: Pem::file(&self.certificate), key: Pem::file(&self.key) };
        // Without CA roots no file is found: a node that cannot verify client certificates does not start.
        let ca = || Pem::file(self.ca.as_deref().unwrap_or(Path::new("")));
        let client_certificates = match self.client_certificates {
            ClientCertificatesConfig::None => ClientCertificates::NotAsked,
            ClientCertificatesConfig::Optional => ClientCertificates::Optional(ca()),
            ClientCertificatesConfig::Required => ClientCertificates::Required(ca()),
        };
        TlsServerOptions { client_certificates, ..TlsServerOptions::new(identity) }
    }

    /// Returns the files whose certificates expire.
    pub fn files(&self) -> CertificateFiles {
        CertificateFiles { certificate: self.certificate.clone(), authority: self.ca.clone() }
    }
}

/// The node's keys for CURVE.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CurveConfig {
    /// The file with the secret key, as `hairstreak keygen` writes it. A path that is not absolute begins at the folder of the
    /// configuration file.
    pub secret_key_file: Option<PathBuf>,
    /// The keys. `None`: the node's own, in its data directory; without one there is no CURVE.
    #[serde(skip)]
    pub keys: Option<KeyPair>,
}
