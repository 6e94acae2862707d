//! TLS by rustls between a socket and its bytes: configuration from PEM, the handshake, records.
//!
//! ```text
//!   connected --Handshake::advance, on each event--> Tls: read, write, flush, end
//!                       |
//!                       +-- refused, not TLS, too long, ended: one clear error, and an alert for the peer
//! ```
//!
//! - rustls encrypts and decrypts. The socket is read and written here.
//! - Sessions are not resumed. Connections live long; and when a client closes while a session ticket lies unread, the
//!   kernel resets the connection and destroys the bytes that the server has not read.
//! - Lists of revoked certificates are not read.
//!
//! Reading order: `pem`, `configuration` (of the two sides), `handshake` (and the peer), `records`,
//! `trust`, `error`.

mod configuration;
mod error;
mod handshake;
mod pem;
mod records;
mod trust;

pub use configuration::{
    ClientCertificates, TlsClient, TlsClientOptions, TlsIdentity, TlsServer, TlsServerOptions,
};
pub use error::TlsError;
pub use handshake::TlsSession;
pub(super) use handshake::{Handshake, Progress};
pub use pem::{Pem, TlsConfigError};
pub(super) use records::Tls;
