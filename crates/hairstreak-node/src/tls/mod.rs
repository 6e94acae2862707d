//! TLS of AMQP and of operators' HTTP: the node's certificates, the requests for client certificates, and the names in these.
//!
//! ```text
//!   node.toml [amqp.tls] --TlsConfig--> TlsServer of the transport --handshake--> stream
//!   stream --PeerTls::of--> version and cipher in RabbitMQ's words, PeerCertificate --login_name--> the user of EXTERNAL
//! ```
//!
//! The transport has verified a certificate before anything here reads it.
//!
//! Reading order: `peer`, `certificate`, `distinguished_name`.

mod certificate;
mod distinguished_name;
mod peer;

pub use certificate::{
    AlternativeNameKind, CertificateError, CertificateFiles, LoginFrom, PeerCertificate, ends_before,
};
pub use peer::PeerTls;
