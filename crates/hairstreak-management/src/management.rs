//! `Management`: the HTTP API and the metrics of a running node, on listeners that are bound before the node starts.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use hairstreak_node::{HttpConfig, HttpTlsOptions, MetricsConfig, ReloadError, Server, StartError};
use hairstreak_transport::tls::TlsServer;
use hairstreak_transport::{Endpoint, resolve_bind};

use crate::http::{self, About, HttpListener, HttpOptions, HttpServer, ListenerInfo};
use crate::metrics::{self, Readers};

/// The port of the HTTP API.
pub const HTTP_PORT: u16 = 15672;

/// The port of metrics.
pub const METRICS_PORT: u16 = 15692;

/// The free bytes below which a disk counts as full, as in RabbitMQ.
pub const DISK_FREE_LIMIT: u64 = 50_000_000;

/// The name of a node without a data directory.
const NODE_NAME: &str = "hairstreak@localhost";

/// Endpoints and limits of the HTTP API and of metrics.
#[derive(Clone, Debug)]
pub struct ManagementOptions {
    /// Endpoints of tcp for the HTTP API.
    pub http_bind: Vec<String>,
    /// The endpoints and the certificates of the HTTP API with TLS. `None`: no HTTP with TLS.
    pub http_tls: Option<HttpTlsOptions>,
    /// Settings of the HTTP API.
    pub http: HttpConfig,
    /// Endpoints of tcp for metrics.
    pub metrics_bind: Vec<String>,
    /// Settings of metrics.
    pub metrics: MetricsConfig,
    /// Clients of this host need credentials for health checks and metrics, as other clients do.
    pub require_login: bool,
    /// Free bytes below which the disk of the definitions counts as full.
    pub disk_free_limit: u64,
    /// The configuration file of the node.
    pub config_file: Option<PathBuf>,
}

impl Default for ManagementOptions {
    fn default() -> ManagementOptions {
        ManagementOptions {
            http_bind: Vec::new(),
            http_tls: None,
            http: HttpConfig::default(),
            metrics_bind: Vec::new(),
            metrics: MetricsConfig::default(),
            require_login: false,
            disk_free_limit: DISK_FREE_LIMIT,
            config_file: None,
        }
    }
}

impl ManagementOptions {
    /// Returns `true` if the HTTP API has an endpoint.
    pub fn has_http(&self) -> bool {
        !self.http_bind.is_empty() || self.http_tls.as_ref().is_some_and(|tls| !tls.bind.is_empty())
    }

    /// Returns `true` if the HTTP API or metrics have an endpoint.
    pub fn has_endpoints(&self) -> bool {
        self.has_http() || !self.metrics_bind.is_empty()
    }
}

/// The bound listeners of a node that does not run yet.
#[derive(Debug)]
pub struct ManagementListeners {
    options: ManagementOptions,
    http: Vec<HttpListener>,
    /// Number of HTTP listeners without TLS. The listeners with TLS follow them.
    http_plain_count: usize,
    tls: Option<TlsServer>,
    metrics: Vec<HttpListener>,
}

impl ManagementListeners {
    /// Binds every endpoint.
    ///
    /// # Errors
    ///
    /// An endpoint is malformed or not of tcp, or the system refuses it. A certificate or a key cannot be used.
    pub fn bind(options: ManagementOptions) -> Result<ManagementListeners, StartError> {
        let mut http = bind(&options.http_bind)?;
        let http_plain_count = http.len();
        let tls = options.http_tls.as_ref().filter(|tls| !tls.bind.is_empty());
        let tls = tls.map(|tls| {
            let server = TlsServer::load(&tls.server_options())?;
            http.extend(bind(&tls.bind)?.into_iter().map(|listener| listener.with_tls(server.clone())));
            Ok::<_, StartError>(server)
        });
        let (tls, metrics) = (tls.transpose()?, bind(&options.metrics_bind)?);
        Ok(ManagementListeners { options, http, http_plain_count, tls, metrics })
    }

    /// Serves the operators of a node that was started with [`is_managed`](hairstreak_node::ServeOptions::is_managed).
    ///
    /// # Errors
    ///
    /// A thread could not be started.
    pub fn serve(self, server: &Server) -> Result<Management, StartError> {
        let ManagementListeners { options, http, http_plain_count, tls, metrics } = self;
        let amqp = server.amqp_listeners().map(|(protocol, address)| ListenerInfo { protocol, address });
        let own = http.iter().map(|listener| (listener.protocol(), listener.address()));
        let scraped = metrics.iter().map(|listener| ("http/prometheus", listener.address()));
        let own = own.chain(scraped);
        let own =
            own.filter_map(|(protocol, address)| Some(ListenerInfo { protocol, address: address.ok()? }));
        let data = server.data_place();
        let about = About {
            node_name: data.map_or(NODE_NAME, |data| &data.node_name).into(),
            listeners: amqp.chain(own).collect(),
            disk_free_limit: options.disk_free_limit,
            data_directory: data.map(|data| data.path.clone()),
            config_files: options.config_file.into_iter().collect(),
            amqp_certificates: server.amqp_certificates().cloned(),
            http_certificates: options.http_tls.as_ref().filter(|_| tls.is_some()).map(HttpTlsOptions::files),
        };
        let readers = Readers::new(options.require_login, options.metrics.anonymous);
        let http_options = HttpOptions {
            path_prefix: options.http.path_prefix,
            require_login: options.require_login,
            allowed_origins: options.http.cors_origins,
            ..HttpOptions::default()
        };
        let start_metrics =
            |listeners| metrics::start(listeners, Arc::clone(server.node()), about.clone(), readers);
        let metrics = Some(metrics).filter(|listeners| !listeners.is_empty()).map(start_metrics);
        let metrics = metrics.transpose().map_err(StartError::Thread)?;
        let start_http =
            |listeners| http::start(listeners, http_options, Arc::clone(server.node()), about.clone());
        let http = Some(http).filter(|listeners| !listeners.is_empty()).map(start_http);
        Ok(Management { http: http.transpose().map_err(StartError::Thread)?, http_plain_count, tls, metrics })
    }
}

/// Binds endpoints of tcp.
fn bind(endpoints: &[String]) -> Result<Vec<HttpListener>, StartError> {
    let bind = |endpoint: &String| {
        let failed = |reason: String| StartError::Listen { endpoint: endpoint.clone(), reason };
        match endpoint.parse::<Endpoint>().map_err(|error| failed(error.to_string()))? {
            Endpoint::Tcp(address) => {
                let address = resolve_bind(&address).map_err(|error| failed(error.to_string()))?;
                let socket = TcpListener::bind(address).map_err(|error| failed(error.to_string()))?;
                Ok(socket.into())
            }
            _ => Err(failed("HTTP is served on tcp:// only".into())),
        }
    };
    endpoints.iter().map(bind).collect()
}

/// The HTTP API and the metrics of a node. Dropping it closes their connections; stop the node itself afterwards.
pub struct Management {
    http: Option<HttpServer>,
    /// Number of HTTP addresses without TLS. The addresses with TLS follow them.
    http_plain_count: usize,
    tls: Option<TlsServer>,
    metrics: Option<HttpServer>,
}

impl Management {
    /// The addresses of the HTTP API without TLS, with the real ports.
    pub fn http_addresses(&self) -> &[SocketAddr] {
        self.http.as_ref().map_or(&[], |http| &http.addresses()[..self.http_plain_count])
    }

    /// The addresses of the HTTP API with TLS, with the real ports.
    pub fn https_addresses(&self) -> &[SocketAddr] {
        self.http.as_ref().map_or(&[], |http| &http.addresses()[self.http_plain_count..])
    }

    /// The addresses of metrics, with the real ports.
    pub fn metrics_addresses(&self) -> &[SocketAddr] {
        self.metrics.as_ref().map_or(&[], HttpServer::addresses)
    }

    /// Uses new certificates for connections that are accepted from now on.
    ///
    /// # Errors
    ///
    /// A file cannot be used. The certificates stay as they are.
    pub fn reload(&self, tls: Option<&HttpTlsOptions>) -> Result<(), ReloadError> {
        if let (Some(server), Some(options)) = (&self.tls, tls) {
            server.reload(&options.server_options())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Management {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Management")
            .field("http", &self.http_addresses())
            .field("https", &self.https_addresses())
            .field("metrics", &self.metrics_addresses())
            .finish_non_exhaustive()
    }
}
