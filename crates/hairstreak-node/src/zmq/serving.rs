//! `RouterServer`: opens the ROUTERs of the directory and of services, and serves each in a thread of its own.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::JoinHandle;

use hairstreak_services::broker::Broker;
use hairstreak_services::names::Change;
use hairstreak_socket::monitor::EventKind;
use hairstreak_socket::security::{KeyPair, fill_random};
use hairstreak_socket::{BindError, Context, Endpoint, Options as SocketOptions, Router};

use super::directory::{self, DirectoryMachine};
use super::driver::{Driver, Machine};
use super::outbox::{IDLE_HEARTBEAT, SocketOutbox};
use super::services;
use super::users::{UserGate, Users};
use crate::callbacks::TellFailure;
use crate::config::NodeConfig;
use crate::start_error::StartError;

/// The common parts of the ROUTERs of a node.
pub(crate) struct RouterServer {
    pub users: Arc<Users>,
    /// The node's keys for CURVE, if peers may use it.
    pub keys: Option<KeyPair>,
    /// Called with the reason when no connection can be accepted.
    pub on_accept_failure: Arc<TellFailure>,
    /// Called when a thread panics.
    pub on_end: Arc<Box<dyn Fn() + Send + Sync>>,
}

/// A ROUTER, and the thread that ends with it.
#[derive(Debug)]
pub(crate) struct ServingRouter {
    router: Router,
    endpoints: Vec<Endpoint>,
    thread: JoinHandle<()>,
}

impl RouterServer {
    /// Serves the directory.
    pub fn serve_directory(
        &self,
        config: &NodeConfig,
        on_change: Box<dyn FnMut(&Change) + Send>,
    ) -> Result<ServingRouter, StartError> {
        let (router, endpoints) = self.open(&config.directory_bind, directory::socket_options())?;
        let outbox = SocketOutbox::new(router.clone());
        let machine = DirectoryMachine::new(config.directory.clone(), self.gate(), on_change);
        self.start("directory", router, endpoints, Driver::new(machine, outbox))
    }

    /// Serves the broker of services.
    pub fn serve_services(&self, config: &NodeConfig) -> Result<ServingRouter, StartError> {
        let options = config.services.clone();
        let mut id = [0; 16];
        fill_random(&mut id).map_err(StartError::Random)?;
        let (router, endpoints) = self.open(&config.services_bind, services::socket_options(&options))?;
        let outbox = SocketOutbox::new(router.clone())
            .with_bound(services::queued_bytes_tight(&options))
            .with_idle_heartbeat(IDLE_HEARTBEAT);
        let broker = Broker::new(id, options, self.gate());
        self.start("services", router, endpoints, Driver::new(broker, outbox))
    }

    fn gate(&self) -> Box<UserGate> {
        Box::new(UserGate(Arc::clone(&self.users)))
    }

    /// In a context of its own: each ROUTER is driven by its own thread.
    fn open(
        &self,
        endpoints: &[String],
        options: SocketOptions,
    ) -> Result<(Router, Vec<Endpoint>), StartError> {
        let security = self.users.security(self.keys.clone());
        let router = Router::with_options(&Context::new(), SocketOptions { security, ..options })?;
        tell_of_failures(&router, &self.on_accept_failure)?;
        let bound: Result<_, BindError> = endpoints.iter().map(|endpoint| router.bind(endpoint)).collect();
        Ok((router, bound?))
    }

    fn start<M: Machine + Send + 'static>(
        &self,
        name: &str,
        router: Router,
        endpoints: Vec<Endpoint>,
        driver: Driver<M>,
    ) -> Result<ServingRouter, StartError> {
        let on_end = Arc::clone(&self.on_end);
        let run = move || {
            if panic::catch_unwind(AssertUnwindSafe(|| driver.run())).is_err() {
                on_end();
            }
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(run).map_err(StartError::Thread)?;
        Ok(ServingRouter { router, endpoints, thread })
    }
}

impl ServingRouter {
    /// Returns the endpoints of the ROUTER, with the real ports.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Closes the ROUTER; its thread ends soon.
    pub fn close(&self) {
        self.router.clone().close();
    }

    /// Waits for the end of the thread.
    pub fn join(self) {
        // A panic of the thread has been reported by itself.
        let _ = self.thread.join();
    }
}

/// Starts a thread that reports failures to accept connections, until the socket is closed.
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
