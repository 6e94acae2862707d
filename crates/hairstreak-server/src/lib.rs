//! The node, `hairstreak serve`: the directory, the broker of services, and AMQP's queues.
//!
//! Here are listeners, threads and clocks; what is decided is decided in the broker crate, what is
//! read and written in the wire crate. Reading order: [`Server`], then zmq/.

pub mod access;
mod amqp;
mod config;
mod curve_keys;
mod definitions;
mod http;
mod listen;
mod metrics;
mod node;
mod operator;
mod options;
mod process;
mod server;
mod start_error;
mod tls;
mod zmq;

pub use amqp::Forgotten;
#[doc(hidden)]
pub use amqp::{AmqpHarness, HostFigures};
pub use config::{
    AmqpConfig, ClientCertificatesConfig, Config, ConfigError, CurveConfig, Environment, HttpConfig,
    HttpTlsConfig, LogConfig, LogFormat, LogLevel, LoginFromConfig, MetricsConfig, TlsConfig, UserConfig,
};
pub use definitions::JsonText;
pub use hairstreak_broker::directory::{Change, Options as DirectoryOptions};
pub use hairstreak_broker::service::{Limits as ServiceLimits, Options as ServiceOptions};
#[doc(hidden)]
pub use http::HttpHarness;
pub use node::{AmqpOptions, FirstUser};
pub use operator::{BootError, DataPlace, OperatorError};
pub use options::{
    AMQP_PORT, DEFAULT_PORT, DISK_FREE_LIMIT, HTTP_PORT, METRICS_PORT, SERVICES_PORT, ServeOptions,
    TellFailure,
};
pub use server::Server;
pub use start_error::{ReloadError, StartError};
pub use tls::{
    AMQPS_PORT, AlternativeNameKind, AmqpTlsOptions, AsksClients, CertificateError, HTTPS_PORT,
    HttpTlsOptions, LoginFrom, PeerCertificate, PeerTls,
};
