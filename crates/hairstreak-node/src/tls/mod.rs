//! TLS of AMQP and of operators' HTTP: the node's certificates, the requests for client certificates, and the names in these.
//!
//! ```text
//!   node.toml [amqp.tls] --AmqpTlsOptions--> TlsServer of the transport --handshake--> stream
//!   stream --PeerTls::of--> version and cipher in RabbitMQ's words, PeerCertificate --login_name--> the user of EXTERNAL
//! ```
//!
//! The transport has verified a certificate before anything here reads it.
//!
//! Reading order: `options`, `peer`, `certificate`, `distinguished_name`.

mod certificate;
mod distinguished_name;
mod options;
mod peer;

pub use certificate::{
    AlternativeNameKind, CertificateError, CertificateFiles, LoginFrom, PeerCertificate, ends_before,
};
pub use options::{AMQPS_PORT, AmqpTlsOptions, AsksClients, HTTPS_PORT, HttpTlsOptions};
pub use peer::PeerTls;
