//! `Server`: a running node. Starting binds every endpoint or fails; stopping waits for its thread.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread::JoinHandle;

use hairstreak_socket::{BindError, Context, Endpoint, OpenError, Options, Router};
use thiserror::Error;

use crate::directory::Desk;
use crate::options::ServeOptions;

/// A running node. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    endpoints: Vec<Endpoint>,
    router: Router,
    thread: Option<JoinHandle<()>>,
    /// The process that its thread runs in: there is none to wait for in a forked child.
    process: u32,
}

/// Why a node could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// There is no endpoint to listen on.
    #[error("no endpoint to listen on was given")]
    NoEndpoint,
    /// An endpoint could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// A socket could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A thread could not be started.
    #[error("cannot start the directory's thread: {0}")]
    Thread(io::Error),
}

impl Server {
    /// Binds every endpoint, then serves in a thread of its own.
    pub fn start(options: ServeOptions) -> Result<Server, StartError> {
        let ServeOptions { bind, directory, on_change, on_end } = options;
        if bind.is_empty() {
            return Err(StartError::NoEndpoint);
        }
        let router = Router::with_options(&Context::new(), socket_options())?;
        let endpoints = bind.iter().map(|endpoint| router.bind(endpoint)).collect::<Result<_, _>>()?;
        let desk = Desk::new(router.clone(), directory, on_change);
        let thread = std::thread::Builder::new().name("directory".into()).spawn(move || {
            if panic::catch_unwind(AssertUnwindSafe(|| desk.run())).is_err() {
                on_end();
            }
        });
        let thread = Some(thread.map_err(StartError::Thread)?);
        Ok(Server { endpoints, router, thread, process: std::process::id() })
    }

    /// What is listened on, with the real ports.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Closes every connection and waits until the thread has ended.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        self.router.clone().close();
        if let Some(thread) = self.thread.take()
            && self.process == std::process::id()
        {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Marks that hold a stalled client to a small share of memory. The longest message there is, a full
/// page of a list, is below 200 KiB.
fn socket_options() -> Options {
    Options {
        message_size_max: 256 << 10,
        send_count_max: 1024,
        send_bytes_max: 64 << 10,
        receive_count_max: 64,
        receive_bytes_max: 64 << 10,
        linger_ms: 1_000,
        handshake_timeout_ms: 10_000,
        ..Options::default()
    }
}
