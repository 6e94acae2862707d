//! `HttpServer`: listeners, a thread named `http`, and the connections on it.
//!
//! - `HttpListener`: a place where the server accepts connections, with TLS or without.

use std::io;
use std::net::{self, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hairstreak_transport::tls::TlsServer;
use rustix::io::Errno;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::{JoinSet, LocalSet};

use super::connection::{self, Accepted, First, Keeping, Service, Serving, race};
use crate::http::options::HttpOptions;
use crate::http::request::Bounds;

/// The time that requests in progress have to end when the server stops.
const STOP_TIME_MAX: Duration = Duration::from_secs(5);
/// The pause after a failure to accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The pause in which an idle connection closes, so that a new connection has its descriptor.
const GIVE_WAY_PAUSE: Duration = Duration::from_millis(1);
/// The time that a connection that gives way has to close.
const GIVE_WAY_TIME_MAX: Duration = Duration::from_secs(1);

/// A running HTTP server. Dropping it stops it.
#[derive(Debug)]
pub(crate) struct HttpServer {
    addresses: Vec<SocketAddr>,
    stops: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    /// The process that the thread runs in: there is none to wait for in a forked child.
    process: u32,
}

impl HttpServer {
    /// Serves the listeners in a thread of its own.
    ///
    /// # Errors
    ///
    /// A listener cannot be used, or the thread cannot be started.
    pub(crate) fn start<S: Service>(
        listeners: Vec<HttpListener>,
        options: HttpOptions,
        service: S,
    ) -> io::Result<HttpServer> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let mut addresses = Vec::with_capacity(listeners.len());
        for listener in &listeners {
            listener.socket.set_nonblocking(true)?;
            addresses.push(listener.address()?);
        }
        let listeners = {
            let _entered = runtime.enter();
            let open = |HttpListener { socket, tls }| Ok((TcpListener::from_std(socket)?, tls));
            listeners.into_iter().map(open).collect::<io::Result<Vec<_>>>()?
        };
        let (stops, stopped) = oneshot::channel();
        let run = move || run(&runtime, listeners, options, service, stopped);
        let thread = std::thread::Builder::new().name("http".into()).spawn(run)?;
        Ok(HttpServer { addresses, stops: Some(stops), thread: Some(thread), process: std::process::id() })
    }

    /// The addresses that the server listens on, with the real ports.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }
}

impl Drop for HttpServer {
    /// Accepts nothing more, lets requests in progress end, and waits until the thread has ended.
    fn drop(&mut self) {
        drop(self.stops.take());
        if let Some(thread) = self.thread.take().filter(|_| self.process == std::process::id()) {
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Runs until `stopped` comes, or its sender is gone.
fn run<S: Service>(
    runtime: &Runtime,
    listeners: Vec<(TcpListener, Option<TlsServer>)>,
    options: HttpOptions,
    service: S,
    stopped: oneshot::Receiver<()>,
) {
    let bounds = Bounds::new(&options);
    let places = Arc::new(Semaphore::new(options.connections_max));
    let serving = Rc::new(Serving { service, options, bounds, idle: Rc::default() });
    let tasks = LocalSet::new();
    tasks.block_on(runtime, async move {
        let (tell_stop, stops) = watch::channel(false);
        let mut running = JoinSet::new();
        for listener in listeners {
            let (serving, places, stops) = (Rc::clone(&serving), Arc::clone(&places), stops.clone());
            running.spawn_local(accept(serving, listener, places, stops));
        }
        let besides = Rc::clone(&serving);
        running.spawn_local(async move { besides.service.run().await });
        // The sender sends no value; its end is the message.
        let _ = stopped.await;
        running.shutdown().await;
        tell_stop.send_replace(true);
        drop(stops);
        // Each connection has a receiver until its end.
        let _ = tokio::time::timeout(STOP_TIME_MAX, tell_stop.closed()).await;
    });
}

/// Accepts connections of one listener.
async fn accept<S: Service>(
    serving: Rc<Serving<S>>,
    (listener, tls): (TcpListener, Option<TlsServer>),
    places: Arc<Semaphore>,
    stops: watch::Receiver<bool>,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (serving, stops) = (Rc::clone(&serving), stops.clone());
                let accepted = Accepted { stream, peer, tls: tls.clone() };
                let place = Arc::clone(&places).try_acquire_owned().ok();
                // Without a place the stream is dropped, and so closed.
                if place.is_none() && !serving.idle.close_one() {
                    continue;
                }
                // A connection that waits for a place may give way, too. The newest client is served.
                let keeping = Keeping::new(&serving.idle);
                let places = Arc::clone(&places);
                tokio::task::spawn_local(async move {
                    let place = match place {
                        Some(place) => Some(place),
                        None => next_place(places, &keeping).await,
                    };
                    if let Some(place) = place {
                        connection::serve(serving, accepted, stops, keeping, place).await;
                    }
                });
            }
            Err(error) => {
                let gives_way = is_short_of_descriptors(&error) && serving.idle.close_one();
                tokio::time::sleep(if gives_way { GIVE_WAY_PAUSE } else { ACCEPT_PAUSE }).await;
            }
        }
    }
}

/// The place of a connection that closes. `None`: there is none, or the waiting connection has to give way itself.
async fn next_place(places: Arc<Semaphore>, keeping: &Keeping) -> Option<OwnedSemaphorePermit> {
    let place = tokio::time::timeout(GIVE_WAY_TIME_MAX, places.acquire_owned());
    match race(place, keeping.gives_way()).await {
        First::Left(place) => place.ok()?.ok(),
        First::Right(()) => None,
    }
}

fn is_short_of_descriptors(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(number, Some(Errno::MFILE | Errno::NFILE))
}

/// A bound socket, and the certificates of connections that have TLS.
#[derive(Debug)]
pub(crate) struct HttpListener {
    pub(super) socket: net::TcpListener,
    pub(super) tls: Option<TlsServer>,
}

impl HttpListener {
    /// Has the connections speak TLS.
    pub(crate) fn with_tls(self, tls: TlsServer) -> HttpListener {
        HttpListener { tls: Some(tls), ..self }
    }

    /// The address, with the real port.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// RabbitMQ's word for the protocol.
    pub(crate) fn protocol(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

impl From<net::TcpListener> for HttpListener {
    fn from(socket: net::TcpListener) -> HttpListener {
        HttpListener { socket, tls: None }
    }
}
