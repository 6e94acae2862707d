//! `ServeOptions`: the endpoints and limits of a node.

use std::fmt;

use hairstreak_services::broker::Options as ServiceOptions;
use hairstreak_services::names::{Change, Options};
use hairstreak_socket::Endpoint;
use hairstreak_socket::security::KeyPair;

use crate::node::AmqpOptions;
use crate::operator::DataPlace;
use crate::tls::AmqpTlsOptions;

/// The port of the directory.
pub const DEFAULT_PORT: u16 = 5682;

/// The port of services: Majordomo's.
pub const SERVICES_PORT: u16 = 5555;

/// The port of AMQP.
pub const AMQP_PORT: u16 = 5672;

/// The endpoints and limits of a node.
pub struct ServeOptions {
    /// Endpoints of the directory.
    pub bind: Vec<String>,
    /// Limits of the directory.
    pub directory: Options,
    /// Endpoints of the broker of services. Without any there is none.
    pub services_bind: Vec<String>,
    /// Limits of services.
    pub services: ServiceOptions,
    /// Endpoints of AMQP. Without any there is none.
    pub amqp_bind: Vec<String>,
    /// Endpoints and certificates of AMQP with TLS. `None`: AMQP is not served with TLS.
    pub amqp_tls: Option<AmqpTlsOptions>,
    /// Users and limits of AMQP.
    pub amqp: AmqpOptions,
    /// True if clients of this host need credentials for the directory, services and metrics, as other clients do. Health checks
    /// need credentials then, too.
    pub require_login: bool,
    /// The node's keys for CURVE, for the directory and services. None: its own, in its data directory; without one there is no
    /// CURVE.
    pub curve: Option<KeyPair>,
    /// Place of AMQP's definitions. `None`: in memory only.
    pub data: Option<DataPlace>,
    /// True if operators are served. Virtual hosts exist then even if AMQP has no endpoint.
    pub is_managed: bool,
    /// Called, in the server's thread, with everything that happens to a name.
    pub on_change: Box<dyn FnMut(&Change) + Send>,
    /// Called when a thread of the node ends before a stop, for example by a panic of `on_change`. Its service has ended then.
    pub on_end: Box<dyn Fn() + Send + Sync>,
    /// Called with the reason whenever an endpoint cannot accept connections: descriptors are short, or the fabric has failed.
    /// The node retries by itself.
    pub on_accept_failure: Box<TellFailure>,
}

/// Callback for an endpoint and the reason for which it cannot accept connections.
pub type TellFailure = dyn Fn(&Endpoint, &str) + Send + Sync;

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            bind: vec![format!("tcp://127.0.0.1:{DEFAULT_PORT}")],
            directory: Options::default(),
            services_bind: Vec::new(),
            services: ServiceOptions::default(),
            amqp_bind: Vec::new(),
            amqp_tls: None,
            amqp: AmqpOptions::default(),
            require_login: false,
            curve: None,
            data: None,
            is_managed: false,
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
            .finish_non_exhaustive()
    }
}
