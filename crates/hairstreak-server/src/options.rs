//! `ServeOptions`: what a node listens on and with which limits.

use std::fmt;
use std::path::PathBuf;

use hairstreak_broker::directory::{Change, Options};
use hairstreak_broker::service;
use hairstreak_socket::Endpoint;
use hairstreak_socket::security::KeyPair;

use crate::config::{HttpConfig, MetricsConfig};
use crate::node::AmqpOptions;
use crate::operator::DataPlace;
use crate::tls::{AmqpTlsOptions, HttpTlsOptions};

/// The port of the directory.
pub const DEFAULT_PORT: u16 = 5682;

/// The port of services: Majordomo's.
pub const SERVICES_PORT: u16 = 5555;

/// The port of AMQP.
pub const AMQP_PORT: u16 = 5672;

/// The port of operators' HTTP.
pub const HTTP_PORT: u16 = 15672;

/// The port of metrics.
pub const METRICS_PORT: u16 = 15692;

/// The free bytes below which a disk counts as full, as in RabbitMQ.
pub const DISK_FREE_LIMIT: u64 = 50_000_000;

/// What a node listens on and with which limits.
pub struct ServeOptions {
    /// Endpoints of the directory.
    pub bind: Vec<String>,
    /// Limits of the directory.
    pub directory: Options,
    /// Endpoints of the broker of services. Without any there is none.
    pub services_bind: Vec<String>,
    /// Limits of services.
    pub services: service::Options,
    /// Endpoints of AMQP. Without any there is none.
    pub amqp_bind: Vec<String>,
    /// Where AMQP is served with TLS, and with which certificates. None: nowhere.
    pub amqp_tls: Option<AmqpTlsOptions>,
    /// Users and limits of AMQP.
    pub amqp: AmqpOptions,
    /// Whether clients of this host need credentials for the directory, services and metrics, as other clients do. Health checks
    /// need credentials then, too.
    pub require_login: bool,
    /// The node's keys for CURVE, for the directory and services. None: its own, in its data directory; without one there is no
    /// CURVE.
    pub curve: Option<KeyPair>,
    /// Where definitions of AMQP are kept. None: in memory only.
    pub data: Option<DataPlace>,
    /// Free bytes below which the disk of the definitions counts as full, for operators.
    pub disk_free_limit: u64,
    /// The file that these options were read from, for operators.
    pub config_file: Option<PathBuf>,
    /// Endpoints of tcp for operators' HTTP.
    pub http_bind: Vec<String>,
    /// The endpoints and the certificates of operators' HTTP with TLS; `None`: no HTTP with TLS.
    pub http_tls: Option<HttpTlsOptions>,
    /// How HTTP is served.
    pub http: HttpConfig,
    /// Endpoints of tcp for metrics.
    pub metrics_bind: Vec<String>,
    /// How metrics are served.
    pub metrics: MetricsConfig,
    /// Called, in the server's thread, with everything that happens to a name.
    pub on_change: Box<dyn FnMut(&Change) + Send>,
    /// Called when a thread of the node ends though nobody stopped it, as by a panic of `on_change`. What it served is not served then.
    pub on_end: Box<dyn Fn() + Send + Sync>,
    /// Called whenever nothing can be accepted at an endpoint, with the reason: descriptors are short, or the fabric is gone. The node tries again by
    /// itself.
    pub on_accept_failure: Box<TellFailure>,
}

/// Hears of an endpoint, and of the reason for which nothing can be accepted there.
pub type TellFailure = dyn Fn(&Endpoint, &str) + Send + Sync;

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            bind: vec![format!("tcp://127.0.0.1:{DEFAULT_PORT}")],
            directory: Options::default(),
            services_bind: Vec::new(),
            services: service::Options::default(),
            amqp_bind: Vec::new(),
            amqp_tls: None,
            amqp: AmqpOptions::default(),
            require_login: false,
            curve: None,
            data: None,
            disk_free_limit: DISK_FREE_LIMIT,
            config_file: None,
            http_bind: Vec::new(),
            http_tls: None,
            http: HttpConfig::default(),
            metrics_bind: Vec::new(),
            metrics: MetricsConfig::default(),
            on_change: Box::new(|_| {}),
            on_end: Box::new(|| {}),
            on_accept_failure: Box::new(|_, _| {}),
        }
    }
}

impl fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServeOptions")
            .field("bind", &self.bind)
            .field("directory", &self.directory)
            .field("services_bind", &self.services_bind)
            .field("services", &self.services)
            .field("amqp_bind", &self.amqp_bind)
            .field("amqp_tls", &self.amqp_tls)
            .field("amqp", &self.amqp)
            .field("require_login", &self.require_login)
            .field("curve", &self.curve.as_ref().map(KeyPair::public))
            .field("data", &self.data)
            .field("http_bind", &self.http_bind)
            .field("http_tls", &self.http_tls)
            .field("metrics_bind", &self.metrics_bind)
            .finish_non_exhaustive()
    }
}
