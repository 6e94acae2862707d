//! `Server`: a running node. Starting binds every endpoint or fails; stopping waits for its threads.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use hairstreak_socket::Endpoint;
use hairstreak_socket::security::PublicKey;
use hairstreak_transport::event_loop::{OnAcceptFailure, OnFailure};
use hairstreak_transport::resolve_bind;
use hairstreak_transport::tls::TlsServer;

use crate::amqp::{AmqpServer, Forgotten, Hooks};
use crate::callbacks::{Callbacks, TellFailure};
use crate::config::NodeConfig;
use crate::curve_keys::own_keys;
use crate::listen::{listen, listen_tls};
use crate::node::Node;
use crate::operator;
use crate::start_error::{ReloadError, StartError};
use crate::zmq::{RouterServer, ServingRouter, Users};

/// A running node. Dropping it stops it.
pub struct Server {
    node: Arc<Node>,
    config: NodeConfig,
    directory: Option<ServingRouter>,
    services: Option<ServingRouter>,
    amqp: Option<AmqpServer>,
    /// Number of AMQP endpoints without TLS. The endpoints with TLS follow them.
    amqp_plain_count: usize,
    tls: Option<TlsServer>,
    curve_key: Option<PublicKey>,
    /// The process that the threads run in. A forked child has no threads to wait for.
    process: u32,
}

impl Server {
    /// Binds every endpoint, then serves in threads of its own.
    pub fn start(config: NodeConfig) -> Result<Server, StartError> {
        Server::start_with(config, Callbacks::default())
    }

    /// As [`Server::start`], and calls functions of the program.
    pub fn start_with(mut config: NodeConfig, callbacks: Callbacks) -> Result<Server, StartError> {
        config.read_curve_keys()?;
        let Callbacks { on_change, on_end, on_accept_failure } = callbacks;
        let (on_end, tell_failure) = (Arc::new(on_end), Arc::<TellFailure>::from(on_accept_failure));
        let has_hosts = config.has_virtual_hosts();
        let has_routers = !config.directory_bind.is_empty() || !config.services_bind.is_empty();
        if !has_routers && !has_hosts {
            return Err(StartError::NoEndpoint);
        }
        let plain = config.amqp.bind.iter().flatten();
        let mut listeners = plain.map(|endpoint| listen(endpoint)).collect::<Result<Vec<_>, _>>()?;
        let amqp_plain_count = listeners.len();
        let tls = config.amqp.tls.as_ref().map(listen_tls).transpose()?.map(|(secured, tls)| {
            listeners.extend(secured);
            tls
        });
        let node = Arc::new(operator::open(&config)?);
        operator::take_back_what_fails(&node);
        let keys = match (&config.curve.keys, &config.data_dir) {
            (None, Some(directory)) if has_routers => {
                let failed = |source| StartError::CurveKey { directory: directory.clone(), source };
                Some(own_keys(directory).map_err(failed)?)
            }
            (given, _) => given.clone(),
        };
        let mut server = Server {
            node: Arc::clone(&node),
            config,
            directory: None,
            services: None,
            amqp: None,
            amqp_plain_count,
            tls,
            curve_key: keys.as_ref().map(|keys| *keys.public()),
            process: std::process::id(),
        };
        let config = &server.config;
        let routers = RouterServer {
            users: Users::new(Arc::clone(&node), !config.require_login),
            keys,
            on_accept_failure: Arc::clone(&tell_failure),
            on_end: Arc::clone(&on_end),
        };
        if has_hosts {
            let hooks = Hooks {
                on_failure: OnFailure::new(move || on_end()),
                on_accept_failure: OnAcceptFailure::new(move |endpoint, error| {
                    tell_failure(endpoint, &error.to_string())
                }),
            };
            let started = AmqpServer::start(config.amqp.loops, node, listeners, hooks);
            server.amqp = Some(started.map_err(StartError::Thread)?);
        }
        if !config.directory_bind.is_empty() {
            server.directory = Some(routers.serve_directory(config, on_change)?);
        }
        if !config.services_bind.is_empty() {
            server.services = Some(routers.serve_services(config)?);
        }
        Ok(server)
    }

    /// The settings that the node was started with.
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Returns the endpoints of the directory, with the real ports.
    pub fn endpoints(&self) -> &[Endpoint] {
        self.directory.as_ref().map_or(&[], ServingRouter::endpoints)
    }

    /// Returns the endpoints of the broker of services, with the real ports.
    pub fn service_endpoints(&self) -> &[Endpoint] {
        self.services.as_ref().map_or(&[], ServingRouter::endpoints)
    }

    /// The AMQP endpoints without TLS, with the real ports.
    pub fn amqp_endpoints(&self) -> &[Endpoint] {
        self.amqp.as_ref().map_or(&[], |amqp| &amqp.endpoints()[..self.amqp_plain_count])
    }

    /// The AMQP endpoints with TLS, with the real ports.
    pub fn amqp_tls_endpoints(&self) -> &[Endpoint] {
        self.amqp.as_ref().map_or(&[], |amqp| &amqp.endpoints()[self.amqp_plain_count..])
    }

    /// The listeners of AMQP with RabbitMQ's name for the protocol: `amqp` or `amqp/ssl`.
    pub fn amqp_listeners(&self) -> impl Iterator<Item = (&'static str, SocketAddr)> {
        let plain = self.amqp_endpoints().iter().map(|endpoint| ("amqp", endpoint));
        let secured = self.amqp_tls_endpoints().iter().map(|endpoint| ("amqp/ssl", endpoint));
        plain.chain(secured).filter_map(|(protocol, endpoint)| Some((protocol, socket_address(endpoint)?)))
    }

    /// The state that all connections share, for the crate that serves operators.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Returns the node's public key for CURVE. Clients of the directory and of services identify the node by this key. `None`:
    /// there is no CURVE.
    pub fn curve_key(&self) -> Option<&PublicKey> {
        self.curve_key.as_ref()
    }

    /// Applies a changed configuration. Users change with their passwords, their tags, and the hosts from which they may log in.
    /// The memory watermark, the size of messages, and the maximum number of connections change. New connections use the new TLS
    /// certificates. All other settings stay.
    ///
    /// # Errors
    ///
    /// A value is invalid, or a file cannot be used.
    pub fn reload(&self, config: &NodeConfig) -> Result<(), ReloadError> {
        if let (Some(server), Some(tls)) = (&self.tls, &config.amqp.tls) {
            server.reload(&tls.server_options())?;
        }
        operator::reload(&self.node, config)?;
        if let Some(server) = &self.amqp {
            server.set_connections_max(self.node.settings.connections_max());
        }
        Ok(())
    }

    /// Closes every connection and waits until the threads have ended. Returns the messages and changes that the node forgets.
    pub fn stop(mut self) -> Forgotten {
        self.end()
    }

    fn end(&mut self) -> Forgotten {
        let is_own = self.process == std::process::id();
        let forgotten = match self.amqp.take() {
            Some(mut amqp) => amqp.stop(),
            // A node without AMQP has no loops that close the journal.
            None if is_own => {
                let unwritten = self.node.journal.close().err().map(|error| error.to_string());
                Forgotten { unwritten, ..Forgotten::default() }
            }
            None => Forgotten::default(),
        };
        let routers = [self.directory.take(), self.services.take()];
        routers.iter().flatten().for_each(ServingRouter::close);
        for router in routers.into_iter().flatten() {
            if is_own {
                router.join();
            }
        }
        forgotten
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("directory", &self.endpoints())
            .field("services", &self.service_endpoints())
            .field("amqp", &self.amqp)
            .finish_non_exhaustive()
    }
}

/// The address of an endpoint that is listened on.
fn socket_address(endpoint: &Endpoint) -> Option<SocketAddr> {
    match endpoint {
        Endpoint::Tcp(address) => resolve_bind(address).ok(),
        _ => None,
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};
    use std::time::{Duration, Instant};

    use hairstreak_transport::{ClientLayer, Established, Stream};

    use super::*;
    use crate::config::AmqpConfig;
    use crate::listen::SHARED_RING_SIZE_MAX;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Connects to a node's shared memory with rings of that size.
    fn connect(endpoint: &Endpoint, ring_size: usize) -> Result<(), Error> {
        let Endpoint::Shm(address) = endpoint else { panic!("{endpoint}") };
        let mut stream = Stream::connect_ipc(address)?.with_client_layer(&ClientLayer::Rings { ring_size });
        let since = Instant::now();
        while stream.establish()? != Established::Done {
            assert!(since.elapsed() < PATIENCE, "the node does not answer");
            std::thread::yield_now();
        }
        Ok(())
    }

    #[test]
    fn a_client_shares_rings_of_the_largest_size_and_no_larger_ones() {
        let endpoint = format!("shm://hairstreak-node-test-{}", std::process::id());
        let amqp = AmqpConfig { bind: Some(vec![endpoint]), ..AmqpConfig::default() };
        let server = Server::start(NodeConfig { amqp, ..NodeConfig::default() }).unwrap();
        let endpoint = &server.amqp_endpoints()[0];
        connect(endpoint, SHARED_RING_SIZE_MAX).unwrap();
        let error = connect(endpoint, 2 * SHARED_RING_SIZE_MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    }
}
