//! `tls_config`: which certificate authorities vouch for the server. rustls is the one that the rest of the program has.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

use crate::failure::Failure;

/// The variable that names a file of certificates, as for OpenSSL and curl.
const FILE_VARIABLE: &str = "SSL_CERT_FILE";
/// Where Debian, Fedora, SUSE and Alpine have the certificates of public authorities.
const SYSTEM_FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// TLS that trusts the authorities of this file of PEM certificates, without one those of the system.
pub fn tls_config(authorities: Option<&Path>) -> Result<TlsConfig, Failure> {
    let file = match authorities {
        Some(file) => file.to_owned(),
        None => system_file().ok_or_else(|| {
            Failure::failed("this system has no certificates of authorities; --ca names a file")
        })?,
    };
    let unusable = |reason: String| {
        Failure::failed(format!("cannot use the certificates of {}: {reason}", file.display()))
    };
    let pem = fs::read(&file).map_err(|error| unusable(error.to_string()))?;
    let mut certificates = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|error| unusable(error.to_string()))? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() {
        return Err(unusable("it has none".into()));
    }
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::from(certificates))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

fn system_file() -> Option<PathBuf> {
    let named = std::env::var_os(FILE_VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from);
    named.or_else(|| SYSTEM_FILES.iter().map(PathBuf::from).find(|file| file.exists()))
}
