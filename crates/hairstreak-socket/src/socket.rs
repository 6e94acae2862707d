//! `Socket`: the handle. What every pattern has: binding, connecting, peers, statistics, closing.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_transport::Endpoint;

use crate::context::Context;
use crate::engine::{Engine, LinkKind, Origin};
use crate::errors::{BindError, ConnectError, OpenError};
use crate::options::Options;
use crate::pattern::Pattern;
use crate::peer::PeerInfo;
use crate::stats::Stats;

/// A socket of pattern `P`. Clones share it; the last one dropped closes it. `Send + Sync`.
pub struct Socket<P: Pattern> {
    pub(crate) handle: Arc<Handle>,
    pattern: PhantomData<P>,
}

/// The socket's place in its engine; closes it when dropped.
pub(crate) struct Handle {
    pub engine: Arc<Engine>,
    pub index: usize,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.engine.abandon(self.index);
    }
}

impl<P: Pattern> Clone for Socket<P> {
    fn clone(&self) -> Self {
        Socket { handle: Arc::clone(&self.handle), pattern: PhantomData }
    }
}

impl<P: Pattern> fmt::Debug for Socket<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Socket({})", P::SOCKET_TYPE.as_str())
    }
}

impl<P: Pattern> Socket<P> {
    /// A socket with the default options, in this thread's engine of the context.
    pub fn new(context: &Context) -> Result<Self, OpenError> {
        Self::with_options(context, Options::default())
    }

    /// A socket with these options, in this thread's engine of the context.
    pub fn with_options(context: &Context, options: Options) -> Result<Self, OpenError> {
        options.check()?;
        let engine = context.engine()?;
        let index = engine.open(P::SOCKET_TYPE, options);
        Ok(Socket { handle: Arc::new(Handle { engine, index }), pattern: PhantomData })
    }

    /// Listens. Returns what was bound: with the real port where `*` or 0 was given.
    pub fn bind(&self, endpoint: &str) -> Result<Endpoint, BindError> {
        self.handle.engine.bind(self.handle.index, &endpoint.parse()?)
    }

    /// Stops listening; connections stay. Returns whether the endpoint was bound.
    pub fn unbind(&self, endpoint: &Endpoint) -> bool {
        self.handle.engine.unbind(self.handle.index, endpoint)
    }

    /// Connects, and connects again whenever the connection is lost. Returns at once; the peer may
    /// come later.
    pub fn connect(&self, endpoint: &str) -> Result<(), ConnectError> {
        self.handle.engine.connect(self.handle.index, endpoint.parse()?)
    }

    /// Gives up a connected endpoint; what was accepted for it is still sent. Returns whether it was
    /// connected.
    pub fn disconnect(&self, endpoint: &str) -> bool {
        let Ok(endpoint) = endpoint.parse() else { return false };
        self.handle.engine.disconnect(self.handle.index, &endpoint)
    }

    /// The peers that are ready now.
    pub fn peers(&self) -> Vec<PeerInfo> {
        let mut state = self.handle.engine.lock();
        state.look_at_rings(&self.handle.engine);
        let state = &mut *state;
        let Some(socket) = state.sockets.get(self.handle.index) else { return Vec::new() };
        let mut peers = Vec::with_capacity(socket.links.len());
        for &index in &socket.links {
            let link = &mut state.links[index];
            let endpoint = match &link.origin {
                Origin::Connector(connector) => state.connectors.get(*connector).map(|c| &c.endpoint),
                Origin::Listener(endpoint) => Some(endpoint),
                Origin::Ended => continue,
            };
            let endpoint = endpoint.map(Endpoint::to_string).unwrap_or_default();
            let (queued_count, queued_bytes) = link.queued();
            let (local, remote) = match &link.kind {
                LinkKind::Stream(session) => {
                    (session.stream().local_address(), session.stream().remote_address())
                }
                LinkKind::Ring(_) => (None, None),
            };
            peers.push(PeerInfo {
                endpoint,
                local,
                remote,
                routing_id: link.routing_id.as_bytes().to_vec(),
                queued_count,
                queued_bytes,
                sent: link.kind.accepted_count() as u64,
                received: link.received,
                drops: link.drops,
                subscription_count: socket.publisher.index.prefix_count(index),
                properties: link.peer.as_ref().map(|peer| peer.properties.clone()).unwrap_or_default(),
            });
        }
        peers
    }

    /// Waits until at least `count` peers are ready, or the socket is closed. Returns whether they are.
    pub fn wait_for_peers(&self, count: usize, timeout: Duration) -> bool {
        let index = self.handle.index;
        let deadline = Instant::now().checked_add(timeout);
        let state = self.handle.engine.lock();
        let found = self.handle.engine.wait(state, index, false, deadline, |state| {
            let socket = state.sockets.get(index)?;
            (socket.links.len() >= count).then_some(true).or(socket.closed.then_some(false))
        });
        found.unwrap_or(false)
    }

    /// The socket's counters and depth.
    pub fn stats(&self) -> Stats {
        let mut state = self.handle.engine.lock();
        state.look_at_rings(&self.handle.engine);
        let state = &mut *state;
        let Some(socket) = state.sockets.get(self.handle.index) else { return Stats::default() };
        let mut stats = Stats {
            sent: socket.sent,
            received: socket.received,
            drops: socket.drops,
            peer_count: socket.links.len(),
            failed_connections: socket.failed_connections,
            refused_connections: socket.refused_connections,
            ..Stats::default()
        };
        for &index in &socket.links {
            let (count, bytes) = state.links[index].queued();
            stats.received += state.links[index].received;
            stats.queued_count += count;
            stats.queued_bytes += bytes;
        }
        stats
    }

    /// Closes the socket for all its clones. Never blocks: what was accepted is sent by the background
    /// thread, and process exit waits for it up to `linger_ms`.
    pub fn close(self) {
        self.handle.engine.close(self.handle.index);
    }
}
