//! The node behind `hairstreak serve`: AMQP 0-9-1, the directory and the broker of services.
//!
//! This crate has the listeners, the threads and the clocks. The state machines are in `hairstreak-broker`, the codecs in
//! `hairstreak-wire`; HTTP is in `hairstreak-management`, which uses [`operator`]. Reading order: [`Server`], [`node`], `amqp`, `zmq`.

pub mod access;
mod amqp;
mod callbacks;
mod config;
mod curve_keys;
pub mod definitions;
mod listen;
pub mod node;
pub mod operator;
pub mod process;
mod server;
mod start_error;
mod tls;
mod zmq;

#[doc(hidden)]
pub use amqp::{AmqpHarness, HostFigures};
pub use amqp::{Forgotten, NotPublished, OneMessage, publish_once};
pub use callbacks::{Callbacks, TellFailure};
pub use config::{
    AmqpConfig, ClientCertificatesConfig, ConfigError, CurveConfig, Environment, FirstUser, HttpConfig,
    LogConfig, LogFormat, LogLevel, LoginFromConfig, MetricsConfig, NodeConfig, TlsConfig,
};
pub use hairstreak_services::broker::{Limits as ServiceLimits, Options as ServiceOptions};
pub use hairstreak_services::names::{Change, Options as DirectoryOptions};
pub use operator::{BootError, OperatorError};
pub use server::Server;
pub use start_error::{ReloadError, StartError};
pub use tls::{
    AlternativeNameKind, CertificateError, CertificateFiles, LoginFrom, PeerCertificate, PeerTls, ends_before,
};
