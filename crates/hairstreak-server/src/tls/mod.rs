//! TLS of AMQP and of operators' HTTP: which certificates a node shows and asks for, and what the peer's certificate says.
//!
//! ```text
//!   node.toml [amqp.tls] --AmqpTlsOptions--> TlsServer of the transport --handshake--> stream
//!   stream --PeerTls::of--> version and cipher in RabbitMQ's words, PeerCertificate --login_name--> the user of EXTERNAL
//! ```
//!
//! The transport has verified a certificate before anything here reads it.
//!
//! Reading order: `options`, `login_from`, `peer`, `certificate`, `distinguished_name`, `text`, `validity`.

mod certificate;
mod distinguished_name;
mod login_from;
mod options;
mod peer;
mod text;
mod validity;

pub use certificate::{CertificateError, PeerCertificate};
pub use login_from::{AlternativeNameKind, LoginFrom};
pub use options::{AMQPS_PORT, AmqpTlsOptions, AsksClients, HTTPS_PORT, HttpTlsOptions};
pub use peer::PeerTls;
pub(crate) use validity::{CertificateFiles, ends_before};
