//! `TlsServer` and `TlsClient`: the configurations of the two sides, loaded from PEM once and shared by all connections.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::ServerName;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use super::error::describe;
use super::pem::{Pem, TlsConfigError};
use super::trust::{ClientTrust, ServerTrust, key_reason};

/// The bytes of a protocol's name in ALPN (RFC 7301).
const PROTOCOL_SIZE_MAX: usize = 255;

/// The proof of a side's identity: a certificate chain and its private key.
#[derive(Clone, Debug)]
pub struct TlsIdentity {
    /// The side's own certificate first, then those between it and a CA root.
    pub certificates: Pem,
    /// The private key of the first certificate. Ed25519 and ECDSA keys sign handshakes much faster than RSA keys do.
    pub key: Pem,
}

/// The certificates that a server wants of its clients.
#[derive(Clone, Debug)]
pub enum ClientCertificates {
    /// No certificates.
    NotAsked,
    /// A client may show a certificate. The server refuses a certificate that no CA root of these has signed and that is none of them.
    Optional(Pem),
    /// A client has to show a certificate that a CA root of these has signed, or that is one of them.
    Required(Pem),
}

/// The configuration of a server.
#[derive(Clone, Debug)]
pub struct TlsServerOptions {
    /// The server's certificates and key.
    pub identity: TlsIdentity,
    /// The certificates that the server wants of clients; none by default.
    pub client_certificates: ClientCertificates,
    /// The protocols of ALPN that the server speaks, in the order of preference. A client that offers only other protocols is
    /// refused; a client that offers no protocol is not. Empty by default: the server takes no notice of ALPN.
    pub protocols: Vec<String>,
}

impl TlsServerOptions {
    /// The server's identity, and defaults for the rest.
    pub fn new(identity: TlsIdentity) -> TlsServerOptions {
        TlsServerOptions {
            identity,
            client_certificates: ClientCertificates::NotAsked,
            protocols: Vec::new(),
        }
    }
}

/// The configuration of a client.
#[derive(Clone, Debug)]
pub struct TlsClientOptions {
    /// The CA roots. The server's certificate has to lead to a root of these, or to be one of them.
    pub roots: Pem,
    /// The client's own certificates and key, for servers that ask; absent by default.
    pub identity: Option<TlsIdentity>,
    /// The protocols of ALPN that the client offers, in the order of preference; empty by default.
    pub protocols: Vec<String>,
}

impl TlsClientOptions {
    /// The CA roots, and defaults for the rest.
    pub fn new(roots: Pem) -> TlsClientOptions {
        TlsClientOptions { roots, identity: None, protocols: Vec::new() }
    }
}

/// The accepting side of TLS connections. Clones share the configuration and its later changes.
#[derive(Clone)]
pub struct TlsServer {
    config: Arc<Mutex<Arc<ServerConfig>>>,
}

impl TlsServer {
    /// Reads the files.
    ///
    /// Errors: a file cannot be read or used, or key and certificate are not a pair.
    pub fn load(options: &TlsServerOptions) -> Result<TlsServer, TlsConfigError> {
        Ok(TlsServer { config: Arc::new(Mutex::new(TlsServer::read(options)?)) })
    }

    /// Reads the files anew, or other files, for the connections that come from here on. Handshakes that have begun, and connections, go on as they are.
    ///
    /// Errors: as [`TlsServer::load`]; the configuration stays as it is.
    pub fn reload(&self, options: &TlsServerOptions) -> Result<(), TlsConfigError> {
        let config = TlsServer::read(options)?;
        *self.config.lock().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    fn read(options: &TlsServerOptions) -> Result<Arc<ServerConfig>, TlsConfigError> {
        let provider = provider();
        // INVARIANT: ring's cipher suites serve both default versions.
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("cipher suites for each version");
        let verifier = match &options.client_certificates {
            ClientCertificates::NotAsked => WebPkiClientVerifier::no_client_auth(),
            ClientCertificates::Optional(roots) => ClientTrust::new(roots, false, provider)?,
            ClientCertificates::Required(roots) => ClientTrust::new(roots, true, provider)?,
        };
        let TlsIdentity { certificates, key } = &options.identity;
        let mut config = builder
            .with_client_cert_verifier(verifier)
            .with_single_cert(certificates.certificates()?, key.key()?)
            .map_err(|error| identity_error(&options.identity, &error))?;
        config.alpn_protocols = alpn(&options.protocols)?;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }

    /// The configuration of the next connection, for a server with loops of its own.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A connection before its handshake.
    pub(super) fn connection(&self) -> Result<Connection, rustls::Error> {
        ServerConnection::new(self.config()).map(Connection::Server)
    }
}

impl fmt::Debug for TlsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsServer").finish_non_exhaustive()
    }
}

/// The connecting side of TLS connections to one server. A clone shares the configuration.
#[derive(Clone, Debug)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl TlsClient {
    /// Reads the files. The server has to prove that it is `server_name`, a DNS name or an IP address.
    ///
    /// Errors: a file cannot be read or used, key and certificate are not a pair, or the name is neither a
    /// DNS name nor an IP address.
    pub fn load(options: &TlsClientOptions, server_name: &str) -> Result<TlsClient, TlsConfigError> {
        let provider = provider();
        // INVARIANT: ring's cipher suites serve both default versions.
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("cipher suites for each version")
            .dangerous()
            .with_custom_certificate_verifier(ServerTrust::new(&options.roots, provider)?);
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => builder
                .with_client_auth_cert(identity.certificates.certificates()?, identity.key.key()?)
                .map_err(|error| identity_error(identity, &error))?,
        };
        config.alpn_protocols = alpn(&options.protocols)?;
        config.resumption = Resumption::disabled();
        Ok(TlsClient { config: Arc::new(config), server_name: parse_name(server_name)? })
    }

    /// Returns this configuration for another server.
    ///
    /// Errors: the name is neither a DNS name nor an IP address.
    pub fn for_server(&self, server_name: &str) -> Result<TlsClient, TlsConfigError> {
        Ok(TlsClient { config: Arc::clone(&self.config), server_name: parse_name(server_name)? })
    }

    /// A connection before its handshake.
    pub(super) fn connection(&self) -> Result<Connection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.server_name.clone()).map(Connection::Client)
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn parse_name(name: &str) -> Result<ServerName<'static>, TlsConfigError> {
    ServerName::try_from(name.to_owned())
        .map_err(|_| TlsConfigError::ServerName(name.escape_debug().to_string()))
}

fn alpn(protocols: &[String]) -> Result<Vec<Vec<u8>>, TlsConfigError> {
    let checked = protocols.iter().map(|protocol| match protocol.len() {
        1..=PROTOCOL_SIZE_MAX => Ok(protocol.as_bytes().to_vec()),
        _ => Err(TlsConfigError::Protocol(protocol.escape_debug().to_string())),
    });
    checked.collect()
}

fn identity_error(identity: &TlsIdentity, error: &rustls::Error) -> TlsConfigError {
    let (certificates, key) = (identity.certificates.name(), identity.key.name());
    match error {
        rustls::Error::InconsistentKeys(_) => TlsConfigError::Pair(key, certificates),
        rustls::Error::InvalidCertificate(_) => TlsConfigError::Certificate(certificates, describe(error)),
        _ => TlsConfigError::Key(key, key_reason(error)),
    }
}
