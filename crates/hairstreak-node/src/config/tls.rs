//! `TlsConfig` and `HttpTlsConfig`: the parts `[amqp.tls]` and `[http.tls]` of a node's configuration file.
//!
//! - `CurveConfig`: the part `[curve]` of a node's configuration file.

use std::path::{Path, PathBuf};

use hairstreak_socket::security::KeyPair;
use serde::Deserialize;

use super::values;
use crate::curve_keys::read_keys;
use crate::tls::{
    AMQPS_PORT, AlternativeNameKind, AmqpTlsOptions, AsksClients, HTTPS_PORT, HttpTlsOptions, LoginFrom,
};

/// The most alternative names that one of them is chosen from.
const SAN_INDEX_MAX: u64 = 255;

/// AMQP with TLS, as the file has it. A path that is not absolute begins at the folder of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Endpoints to listen on; an empty list: none.
    #[serde(default, deserialize_with = "values::tls_endpoints")]
    pub bind: Option<Vec<String>>,
    /// The node's certificates, in PEM.
    pub certificate: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
    /// The CA roots of client certificates, in PEM.
    pub ca: Option<PathBuf>,
    /// Client certificates that the node asks for.
    #[serde(default)]
    pub client_certificates: ClientCertificatesConfig,
    /// The part of a client's certificate that is the user's name.
    #[serde(default)]
    pub login_from: LoginFromConfig,
    /// The kind of alternative name.
    pub login_san_type: Option<AlternativeNameKind>,
    /// Index of the alternative name among the names of that kind, counted from 0.
    #[serde(default, deserialize_with = "values::between::<_, _, 0, SAN_INDEX_MAX>")]
    pub login_san_index: Option<usize>,
}

/// Operators' HTTP with TLS, as the file has it. A path that is not absolute begins at the folder of the file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpTlsConfig {
    /// Endpoints of tcp to listen on; an empty list: none.
    #[serde(default, deserialize_with = "values::tcp_endpoints")]
    pub bind: Option<Vec<String>>,
    /// The node's certificates, in PEM.
    pub certificate: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
    /// The CA roots of client certificates, in PEM.
    pub ca: Option<PathBuf>,
    /// Client certificates that the node asks for.
    #[serde(default)]
    pub client_certificates: ClientCertificatesConfig,
}

/// Client certificates that a node asks for, as the file has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientCertificatesConfig {
    /// None.
    #[default]
    None,
    /// A certificate is optional: a client may show one.
    Optional,
    /// Each client must show a certificate.
    Required,
}

/// The part of a client's certificate that is the user's name, as the file has it.
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
    /// Returns the options. `folder` is the folder of the file.
    ///
    /// Errors: keys that do not go together, in words.
    pub(super) fn options(&self, folder: &Path) -> Result<AmqpTlsOptions, String> {
        Ok(AmqpTlsOptions {
            bind: self.bind.clone().unwrap_or_else(|| vec![format!("tcp://127.0.0.1:{AMQPS_PORT}")]),
            certificate: folder.join(&self.certificate),
            key: folder.join(&self.key),
            client_certificates: self.client_certificates.asks("amqp.tls", self.ca.as_deref(), folder)?,
            login_from: self.login_from()?,
        })
    }

    fn login_from(&self) -> Result<LoginFrom, String> {
        let (kind, index) = (self.login_san_type, self.login_san_index);
        match self.login_from {
            LoginFromConfig::SubjectAlternativeName => Ok(LoginFrom::SubjectAlternativeName {
                kind: kind.unwrap_or_default(),
                index: index.unwrap_or_default(),
            }),
            _ if kind.is_some() || index.is_some() => {
                let reason = "are for login_from = \"subject_alternative_name\"";
                Err(format!("amqp.tls.login_san_type and login_san_index {reason}"))
            }
            LoginFromConfig::CommonName => Ok(LoginFrom::CommonName),
            LoginFromConfig::DistinguishedName => Ok(LoginFrom::DistinguishedName),
        }
    }
}

impl HttpTlsConfig {
    /// Returns the options. `folder` is the folder of the file.
    ///
    /// Errors: keys that do not go together, in words.
    pub(super) fn options(&self, folder: &Path) -> Result<HttpTlsOptions, String> {
        Ok(HttpTlsOptions {
            bind: self.bind.clone().unwrap_or_else(|| vec![format!("tcp://127.0.0.1:{HTTPS_PORT}")]),
            certificate: folder.join(&self.certificate),
            key: folder.join(&self.key),
            client_certificates: self.client_certificates.asks("http.tls", self.ca.as_deref(), folder)?,
        })
    }
}

impl ClientCertificatesConfig {
    /// The certificates that are asked for, with the key `ca` of the same part of the file.
    fn asks(self, part: &str, ca: Option<&Path>, folder: &Path) -> Result<AsksClients, String> {
        match (self, ca) {
            (ClientCertificatesConfig::None, None) => Ok(AsksClients::None),
            (ClientCertificatesConfig::Optional, Some(ca)) => Ok(AsksClients::Optional(folder.join(ca))),
            (ClientCertificatesConfig::Required, Some(ca)) => Ok(AsksClients::Required(folder.join(ca))),
            (ClientCertificatesConfig::None, Some(_)) => {
                let reason =
                    "is for client certificates; add client_certificates = \"optional\" or \"required\"";
                Err(format!("{part}.ca: {reason}"))
            }
            (_, None) => {
                let reason = format!("needs the CA roots that have signed them: {part}.ca");
                Err(format!("{part}.client_certificates: {reason}"))
            }
        }
    }
}

/// The node's key for CURVE, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurveConfig {
    /// The file with the secret key, as `hairstreak keygen` writes it. A path that is not absolute begins at the folder of the
    /// configuration file. Without it the node has a key of its own in its data directory.
    pub secret_key_file: Option<PathBuf>,
}

impl CurveConfig {
    /// The keys. `folder` is that of the configuration file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no key.
    pub(super) fn keys(&self, folder: &Path) -> Result<Option<KeyPair>, String> {
        let Some(path) = &self.secret_key_file else { return Ok(None) };
        let path = folder.join(path);
        let keys = read_keys(&path);
        keys.map(Some).map_err(|error| format!("curve.secret_key_file: {}: {error}", path.display()))
    }
}
