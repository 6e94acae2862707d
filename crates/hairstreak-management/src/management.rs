//! `Management`: the HTTP API and the metrics of a running node, on listeners that are bound before the node starts.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use hairstreak_node::{NodeConfig, ReloadError, Server, StartError, TlsConfig};
use hairstreak_transport::tls::TlsServer;
use hairstreak_transport::{Endpoint, resolve_bind};

use crate::http::{self, About, HttpListener, HttpOptions, HttpServer, ListenerInfo};
use crate::metrics::{self, Readers};

/// The name of a node without a data directory.
const NODE_NAME: &str = "hairstreak@localhost";

/// The bound listeners of a node that does not run yet.
#[derive(Debug)]
pub struct ManagementListeners {
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
    pub fn bind(config: &NodeConfig) -> Result<ManagementListeners, StartError> {
        let mut http = bind(config.http.bind.as_deref().unwrap_or_default())?;
        let http_plain_count = http.len();
        let tls = config.http.tls.as_ref().map(|tls| {
            let server = TlsServer::load(&tls.server_options())?;
            http.extend(bind(&tls.bind)?.into_iter().map(|listener| listener.with_tls(server.clone())));
            Ok::<_, StartError>(server)
        });
        let (tls, metrics) = (tls.transpose()?, bind(config.metrics.bind.as_deref().unwrap_or_default())?);
        Ok(ManagementListeners { http, http_plain_count, tls, metrics })
    }

    /// Serves the operators of a node that was started with the same settings.
    ///
    /// # Errors
    ///
    /// A thread could not be started.
    pub fn serve(self, server: &Server) -> Result<Management, StartError> {
        let ManagementListeners { http, http_plain_count, tls, metrics } = self;
        let config = server.config();
        let amqp = server.amqp_listeners().map(|(protocol, address)| ListenerInfo { protocol, address });
        let own = http.iter().map(|listener| (listener.protocol(), listener.address()));
        let scraped = metrics.iter().map(|listener| ("http/prometheus", listener.address()));
        let own = own.chain(scraped);
        let own =
            own.filter_map(|(protocol, address)| Some(ListenerInfo { protocol, address: address.ok()? }));
        let about = About {
            node_name: config.data_dir.as_ref().map_or(NODE_NAME, |_| &config.node_name).into(),
            listeners: amqp.chain(own).collect(),
            disk_free_limit: config.disk_free_limit,
            data_directory: config.data_dir.clone(),
            config_files: config.file.iter().cloned().collect(),
            amqp_certificates: config.amqp.tls.as_ref().map(TlsConfig::files),
            http_certificates: config.http.tls.as_ref().map(TlsConfig::files),
        };
        let readers = Readers::new(config.require_login, config.metrics.anonymous);
        let http_options = HttpOptions {
            path_prefix: config.http.path_prefix.clone(),
            require_login: config.require_login,
            allowed_origins: config.http.cors_origins.clone(),
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
    pub fn reload(&self, config: &NodeConfig) -> Result<(), ReloadError> {
        if let (Some(server), Some(tls)) = (&self.tls, &config.http.tls) {
            server.reload(&tls.server_options())?;
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
