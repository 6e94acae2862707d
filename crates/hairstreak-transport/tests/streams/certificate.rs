//! The certificates of the tests, made by `scripts/test-certificates`, and the usual configurations of both sides.

use std::path::PathBuf;
use std::sync::OnceLock;

use hairstreak_transport::tls::{
    ClientCertificates, Pem, TlsClient, TlsClientOptions, TlsIdentity, TlsServer, TlsServerOptions,
};

/// The name in the server's certificate.
pub const SERVER_NAME: &str = "localhost";

pub fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/streams/certificates")).join(name)
}

pub fn pem(name: &str) -> Pem {
    Pem::file(path(name))
}

/// A certificate and its key.
pub fn identity(certificates: &str, key: &str) -> TlsIdentity {
    TlsIdentity { certificates: pem(certificates), key: pem(key) }
}

/// The usual server, and options for others.
pub fn server() -> TlsServer {
    static SERVER: OnceLock<TlsServer> = OnceLock::new();
    SERVER.get_or_init(|| TlsServer::load(&server_options()).unwrap()).clone()
}

pub fn server_options() -> TlsServerOptions {
    TlsServerOptions::new(identity("server.pem", "server.key"))
}

/// A server that requires client certificates.
pub fn server_asking(client_certificates: ClientCertificates) -> TlsServer {
    TlsServer::load(&TlsServerOptions { client_certificates, ..server_options() }).unwrap()
}

/// The usual client, and options for others.
pub fn client() -> TlsClient {
    static CLIENT: OnceLock<TlsClient> = OnceLock::new();
    CLIENT.get_or_init(|| client_with(&client_options())).clone()
}

pub fn client_options() -> TlsClientOptions {
    TlsClientOptions::new(pem("ca.pem"))
}

pub fn client_with(options: &TlsClientOptions) -> TlsClient {
    TlsClient::load(options, SERVER_NAME).unwrap()
}
