//! `AmqpTlsOptions` and `HttpTlsOptions`: where a node listens with TLS, and with which certificates.

use std::path::{Path, PathBuf};

use hairstreak_transport::tls::{ClientCertificates, Pem, TlsIdentity, TlsServerOptions};

use super::certificate::{CertificateFiles, LoginFrom};

/// The port of AMQP with TLS.
pub const AMQPS_PORT: u16 = 5671;

/// The port of operators' HTTP with TLS.
pub const HTTPS_PORT: u16 = 15671;

/// The endpoints and the certificates of AMQP with TLS. Files are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmqpTlsOptions {
    /// Endpoints of tcp or ipc.
    pub bind: Vec<String>,
    /// The node's certificate first, then the certificates between it and a CA root.
    pub certificate: PathBuf,
    /// The private key of the node's certificate.
    pub key: PathBuf,
    /// Client certificates that the node asks for.
    pub client_certificates: AsksClients,
    /// The part of a client's certificate that is the user's name for EXTERNAL.
    pub login_from: LoginFrom,
}

/// The endpoints and the certificates of operators' HTTP with TLS. Files are PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTlsOptions {
    /// Endpoints of tcp.
    pub bind: Vec<String>,
    /// The node's certificate first, then the certificates between it and a CA root.
    pub certificate: PathBuf,
    /// The private key of the node's certificate.
    pub key: PathBuf,
    /// Client certificates that the node asks for. A client with a certificate still gives a name and a password.
    pub client_certificates: AsksClients,
}

/// Client certificates that a node asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AsksClients {
    /// None. Clients log in by name and password.
    #[default]
    None,
    /// A client may show a certificate. A CA of this file must have signed it.
    Optional(PathBuf),
    /// A client must show a certificate that a CA of this file has signed.
    Required(PathBuf),
}

impl AmqpTlsOptions {
    /// The options for the transport.
    pub fn server_options(&self) -> TlsServerOptions {
        server_options(&self.certificate, &self.key, &self.client_certificates)
    }

    /// Returns the files whose certificates expire.
    pub fn files(&self) -> CertificateFiles {
        files(&self.certificate, &self.client_certificates)
    }
}

impl HttpTlsOptions {
    /// The options for the transport.
    pub fn server_options(&self) -> TlsServerOptions {
        server_options(&self.certificate, &self.key, &self.client_certificates)
    }

    /// Returns the files whose certificates expire.
    pub fn files(&self) -> CertificateFiles {
        files(&self.certificate, &self.client_certificates)
    }
}

fn server_options(certificate: &Path, key: &Path, client_certificates: &AsksClients) -> TlsServerOptions {
    let identity = TlsIdentity { certificates: Pem::file(certificate), key: Pem::file(key) };
    let client_certificates = match client_certificates {
        AsksClients::None => ClientCertificates::NotAsked,
        AsksClients::Optional(ca) => ClientCertificates::Optional(Pem::file(ca)),
        AsksClients::Required(ca) => ClientCertificates::Required(Pem::file(ca)),
    };
    TlsServerOptions { client_certificates, ..TlsServerOptions::new(identity) }
}

fn files(certificate: &Path, client_certificates: &AsksClients) -> CertificateFiles {
    let authority = match client_certificates {
        AsksClients::None => None,
        AsksClients::Optional(ca) | AsksClients::Required(ca) => Some(ca.clone()),
    };
    CertificateFiles { certificate: certificate.into(), authority }
}
