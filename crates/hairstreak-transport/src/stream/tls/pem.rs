//! `Pem`: certificates and private keys in PEM, from a file, from memory or from the system.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls_native_certs::load_native_certs;
use thiserror::Error;
use zeroize::Zeroizing;

use super::error::describe;

/// Bytes of one PEM text. The CA roots of a whole system have about 200 KiB.
const PEM_SIZE_MAX: usize = 4 << 20;
/// The name of the system's CA roots in errors.
const SYSTEM_ROOTS: &str = "the CA roots of the system";

/// The reason for which there is no TLS configuration. Each message is one line, and names the file.
#[derive(Debug, Error)]
pub enum TlsConfigError {
    /// The file cannot be read.
    #[error("{0}: {1}")]
    Unreadable(String, io::Error),
    /// The text is too long.
    #[error("{0}: larger than {PEM_SIZE_MAX} bytes")]
    Size(String),
    /// A section of the text is broken.
    #[error("{0}: not PEM: {1}")]
    Syntax(String, String),
    /// There is no certificate in the text.
    #[error("{0}: no certificate in PEM in it")]
    NoCertificate(String),
    /// The system has no CA roots, or none can be read. The text is the reason.
    #[error("{SYSTEM_ROOTS}: no certificates{0}; give a file of CA roots")]
    NoSystemRoots(String),
    /// There is no private key in the text.
    #[error("{0}: no private key in PEM in it")]
    NoKey(String),
    /// The private key is protected by a passphrase.
    #[error("{0}: the private key is encrypted: give one without a passphrase")]
    EncryptedKey(String),
    /// The certificate is malformed or of an unknown kind.
    #[error("{0}: the certificate cannot be used: {1}")]
    Certificate(String, String),
    /// The private key is malformed or of an unknown kind.
    #[error("{0}: the private key cannot be used: {1}")]
    Key(String, String),
    /// Key and certificate are not a pair.
    #[error("{0}: the private key does not belong to the first certificate in {1}")]
    Pair(String, String),
    /// The text is neither a DNS name nor an IP address.
    #[error("\"{0}\": neither a DNS name nor an IP address of a TLS server")]
    ServerName(String),
    /// The text is no protocol of ALPN.
    #[error("\"{0}\": a protocol of ALPN has between 1 and 255 bytes")]
    Protocol(String),
}

/// Certificates or a private key in PEM. Other sections of the text are skipped.
#[derive(Clone)]
pub enum Pem {
    /// A file, read when a configuration is loaded.
    File(PathBuf),
    /// A text in memory.
    Bytes {
        /// The name of the text in errors.
        name: String,
        /// The text.
        bytes: Vec<u8>,
    },
    /// The CA roots in the variables `SSL_CERT_FILE` and `SSL_CERT_DIR`, else the system's roots.
    System,
}

impl Pem {
    /// A file.
    pub fn file(path: impl Into<PathBuf>) -> Pem {
        Pem::File(path.into())
    }

    /// A text in memory, which errors call `name`.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Pem {
        Pem::Bytes { name: name.into(), bytes: bytes.into() }
    }

    /// Returns the name of the text in errors.
    pub(super) fn name(&self) -> String {
        match self {
            Pem::File(path) => path.display().to_string(),
            Pem::Bytes { name, .. } => name.clone(),
            Pem::System => SYSTEM_ROOTS.to_owned(),
        }
    }

    /// The certificates, at least one, in order.
    ///
    /// Errors: the text cannot be read, is malformed, or has no certificate.
    pub fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, TlsConfigError> {
        if let Pem::System = self {
            let found = load_native_certs();
            let reason = found.errors.first().map(|error| format!(": {error}")).unwrap_or_default();
            return if found.certs.is_empty() {
                Err(TlsConfigError::NoSystemRoots(reason))
            } else {
                Ok(found.certs)
            };
        }
        let text = self.read()?;
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let certificates =
            certificates.map_err(|error| TlsConfigError::Syntax(self.name(), error.to_string()))?;
        if certificates.is_empty() {
            return Err(TlsConfigError::NoCertificate(self.name()));
        }
        Ok(certificates)
    }

    /// The certificates, and the same as CA roots.
    ///
    /// Errors: as [`Pem::certificates`]; a certificate is malformed. A malformed certificate of the system is skipped.
    pub(super) fn roots(&self) -> Result<(Vec<CertificateDer<'static>>, RootCertStore), TlsConfigError> {
        let certificates = self.certificates()?;
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            match roots.add(certificate.clone()) {
                Err(error) if !matches!(self, Pem::System) => {
                    return Err(TlsConfigError::Certificate(self.name(), describe(&error)));
                }
                _ => {}
            }
        }
        Ok((certificates, roots))
    }

    /// The first private key.
    ///
    /// Errors: the text cannot be read, is malformed, or has no private key that is not encrypted.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, TlsConfigError> {
        let text = self.read()?;
        match PrivateKeyDer::pem_slice_iter(&text).next() {
            Some(Ok(key)) => Ok(key),
            Some(Err(error)) => Err(TlsConfigError::Syntax(self.name(), error.to_string())),
            None if contains(&text, b"-----BEGIN ENCRYPTED PRIVATE KEY-----") => {
                Err(TlsConfigError::EncryptedKey(self.name()))
            }
            None => Err(TlsConfigError::NoKey(self.name())),
        }
    }

    /// The text, which is wiped when it is dropped.
    fn read(&self) -> Result<Zeroizing<Vec<u8>>, TlsConfigError> {
        let text = match self {
            Pem::Bytes { bytes, .. } => Zeroizing::new(bytes.clone()),
            Pem::System => return Err(TlsConfigError::NoKey(self.name())),
            Pem::File(path) => {
                let unreadable = |error| TlsConfigError::Unreadable(self.name(), error);
                let file = File::open(path).map_err(unreadable)?;
                // Room for all of it at once: a buffer that grows would leave copies of the key behind.
                let size = file.metadata().map_err(unreadable)?.len().min(PEM_SIZE_MAX as u64) as usize;
                let mut text = Zeroizing::new(Vec::with_capacity(size + 1));
                file.take(PEM_SIZE_MAX as u64 + 1).read_to_end(&mut text).map_err(unreadable)?;
                text
            }
        };
        if text.len() > PEM_SIZE_MAX { Err(TlsConfigError::Size(self.name())) } else { Ok(text) }
    }
}

/// Names the text; it may be a private key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pem").field(&self.name()).finish()
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
