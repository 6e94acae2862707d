//! `CertificateFiles`: when the certificates of a listener end, for operators who renew certificates in time.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hairstreak_transport::tls::Pem;
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// The files of a listener with TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CertificateFiles {
    /// The node's certificate, and those between it and a CA root.
    pub(crate) certificate: PathBuf,
    /// The CA roots of clients; `None`: clients are not asked.
    pub(crate) authority: Option<PathBuf>,
}

/// The ends of a file's certificates that come before a time. The file is read now, so that a certificate that was renewed counts.
///
/// # Errors
///
/// The file cannot be read, or a certificate cannot.
pub(crate) fn ends_before(file: &Path, time: SystemTime) -> Result<Vec<Duration>, String> {
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
