//! `Server`: a running node. Starting binds every endpoint or fails; stopping waits for its threads.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;

use hairstreak_broker::service::Broker;
use hairstreak_socket::monitor::EventKind;
use hairstreak_socket::security::fill_random;
use hairstreak_socket::{BindError, Context, Endpoint, Router};
use hairstreak_transport::event_loop::{OnAcceptFailure, OnFailure};
use hairstreak_transport::tls::TlsServer;

use crate::amqp::{AmqpServer, Forgotten, Hooks};
use crate::listen::{listen, listen_tls};
use crate::node::AmqpOptions;
use crate::operator;
use crate::options::{ServeOptions, TellFailure};
use crate::start_error::{ReloadError, StartError};
use crate::tls::AmqpTlsOptions;
use crate::zmq::{self, Desk, DirectoryMachine, SocketOutbox};

/// A running node. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    endpoints: Vec<Endpoint>,
    service_endpoints: Vec<Endpoint>,
    desks: Vec<Running>,
    amqp: Option<AmqpServer>,
    /// How many endpoints of AMQP are without TLS. The others follow.
    amqp_plain_count: usize,
    tls: Option<TlsServer>,
    /// The process that its threads run in: there are none to wait for in a forked child.
    process: u32,
}

/// A thread, and the socket whose end is the thread's.
#[derive(Debug)]
struct Running {
    router: Router,
    thread: JoinHandle<()>,
}

impl Server {
    /// Binds every endpoint, then serves in threads of its own.
    pub fn start(options: ServeOptions) -> Result<Server, StartError> {
        let ServeOptions { bind, directory, services_bind, services, amqp_bind, amqp, .. } = options;
        let ServeOptions { amqp_tls, data, on_change, on_end, on_accept_failure, .. } = options;
        let on_accept_failure: Arc<TellFailure> = Arc::from(on_accept_failure);
        let has_amqp = !amqp_bind.is_empty() || amqp_tls.is_some();
        if bind.is_empty() && services_bind.is_empty() && !has_amqp {
            return Err(StartError::NoEndpoint);
        }
        let on_end = Arc::new(on_end);
        let context = Context::new();
        let mut server = Server {
            endpoints: Vec::new(),
            service_endpoints: Vec::new(),
            desks: Vec::new(),
            amqp: None,
            amqp_plain_count: amqp_bind.len(),
            tls: None,
            process: std::process::id(),
        };
        if has_amqp {
            let listeners = amqp_bind.iter().map(|endpoint| listen(endpoint)).collect::<Result<_, _>>();
            let mut listeners: Vec<_> = listeners?;
            if let Some((secured, tls)) = amqp_tls.as_ref().map(listen_tls).transpose()? {
                listeners.extend(secured);
                server.tls = Some(tls);
            }
            let mut node = operator::open(&amqp, data.as_ref())?;
            node.login_from = amqp_tls.map(|tls| tls.login_from).unwrap_or_default();
            let node = Arc::new(node);
            let on_end = Arc::clone(&on_end);
            let tell = Arc::clone(&on_accept_failure);
            let hooks = Hooks {
                on_failure: OnFailure::new(move || on_end()),
                on_accept_failure: OnAcceptFailure::new(move |endpoint, error| {
                    tell(endpoint, &error.to_string())
                }),
            };
            let amqp = AmqpServer::start(amqp, node, listeners, hooks);
            server.amqp = Some(amqp.map_err(StartError::Thread)?);
        }
        if !bind.is_empty() {
            let router = Router::with_options(&context, zmq::directory_socket_options())?;
            tell_of_failures(&router, &on_accept_failure)?;
            server.endpoints = bind_all(&router, &bind)?;
            let outbox = SocketOutbox::new(router.clone());
            let desk = Desk::new(DirectoryMachine::new(directory, on_change), outbox);
            server.desks.push(Running::start("directory", router, move || desk.run(), Arc::clone(&on_end))?);
        }
        if !services_bind.is_empty() {
            let services_context = Context::new();
            let mut id = [0; 16];
            fill_random(&mut id).map_err(StartError::Random)?;
            let router = Router::with_options(&services_context, zmq::services_socket_options(&services))?;
            tell_of_failures(&router, &on_accept_failure)?;
            server.service_endpoints = bind_all(&router, &services_bind)?;
            let outbox = SocketOutbox::new(router.clone())
                .with_bound(zmq::queued_bytes_tight(&services))
                .with_idle_heartbeat(zmq::IDLE_HEARTBEAT);
            let desk = Desk::new(Broker::new(id, services), outbox);
            server.desks.push(Running::start("services", router, move || desk.run(), on_end)?);
        }
        Ok(server)
    }

    /// What the directory listens on, with the real ports.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// What the broker of services listens on, with the real ports.
    pub fn service_endpoints(&self) -> &[Endpoint] {
        &self.service_endpoints
    }

    /// The AMQP endpoints without TLS, with the real ports.
    pub fn amqp_endpoints(&self) -> &[Endpoint] {
        self.amqp.as_ref().map_or(&[], |amqp| &amqp.endpoints()[..self.amqp_plain_count])
    }

    /// The AMQP endpoints with TLS, with the real ports.
    pub fn amqp_tls_endpoints(&self) -> &[Endpoint] {
        self.amqp.as_ref().map_or(&[], |amqp| &amqp.endpoints()[self.amqp_plain_count..])
    }

    /// Has users, limits and certificates that were configured anew take effect: users with their passwords and tags, who may log in from where, the
    /// memory watermark, the size of messages, and for connections that come from here on the certificates of TLS. All else stays as it is.
    ///
    /// # Errors
    ///
    /// A value makes no sense, or a file cannot be used.
    pub fn reload(&self, amqp: &AmqpOptions, tls: Option<&AmqpTlsOptions>) -> Result<(), ReloadError> {
        if let (Some(server), Some(options)) = (&self.tls, tls) {
            server.reload(&options.server_options())?;
        }
        let node = self.amqp.as_ref().map(AmqpServer::node);
        node.map_or(Ok(()), |node| Ok(operator::reload(node, amqp)?))
    }

    /// Closes every connection and waits until the threads have ended. Returns what is forgotten with the node.
    pub fn stop(mut self) -> Forgotten {
        self.end()
    }

    fn end(&mut self) -> Forgotten {
        let forgotten = self.amqp.take().map_or_else(Forgotten::default, |mut amqp| amqp.stop());
        for desk in &self.desks {
            desk.router.clone().close();
        }
        for desk in self.desks.drain(..) {
            if self.process == std::process::id() {
                // A panic of the thread has been reported by itself.
                let _ = desk.thread.join();
            }
        }
        forgotten
    }
}

impl Running {
    fn start(
        name: &str,
        router: Router,
        serve: impl FnOnce() + Send + 'static,
        on_end: Arc<Box<dyn Fn() + Send + Sync>>,
    ) -> Result<Running, StartError> {
        let run = move || {
            if panic::catch_unwind(AssertUnwindSafe(serve)).is_err() {
                on_end();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(run).map_err(StartError::Thread)?;
        Ok(Running { router, thread })
    }
}

/// Has a thread tell when the socket cannot accept, until the socket is closed.
fn tell_of_failures(router: &Router, tell: &Arc<TellFailure>) -> Result<(), StartError> {
    let (monitor, tell) = (router.monitor()?, Arc::clone(tell));
    let watch = move || {
        while let Ok(event) = monitor.recv() {
            if let (EventKind::AcceptFailed { reason }, Some(endpoint)) = (event.kind, event.endpoint) {
                tell(&endpoint, &reason);
            }
        }
    };
    let thread = std::thread::Builder::new().name("listeners".into()).spawn(watch);
    thread.map(drop).map_err(StartError::Thread)
}

fn bind_all(router: &Router, endpoints: &[String]) -> Result<Vec<Endpoint>, BindError> {
    endpoints.iter().map(|endpoint| router.bind(endpoint)).collect()
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
        let endpoint = format!("shm://hairstreak-server-test-{}", std::process::id());
        let options = ServeOptions { bind: Vec::new(), amqp_bind: vec![endpoint], ..ServeOptions::default() };
        let server = Server::start(options).unwrap();
        let endpoint = &server.amqp_endpoints()[0];
        connect(endpoint, SHARED_RING_SIZE_MAX).unwrap();
        let error = connect(endpoint, 2 * SHARED_RING_SIZE_MAX).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused, "{error}");
    }
}
