//! `Socket`: the handle. What every pattern has: binding, connecting, peers, statistics, closing.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::{OwnerGuard, process};
use hairstreak_transport::{Endpoint, ResolveError};

use crate::context::Context;
use crate::engine::{Engine, Link, SetAside, State};
use crate::errors::{BindError, ConnectError, OpenError};
use crate::monitor::{Monitor, MonitorError};
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
    /// The process that opened the socket.
    process: u32,
}

impl Handle {
    /// Whether this is a forked child of the process that opened the socket. A child leaves the engine alone: a
    /// thread of the parent may hold its lock, and its epoll is the parent's.
    #[inline]
    pub fn is_forked(&self) -> bool {
        !process::is_current(self.process)
    }

    /// The engine's state for a call that leaves nothing to be done behind the lock, if this thread is the one that usually
    /// calls and nothing else is in its way.
    #[inline(always)]
    pub fn lock_as_owner(&self) -> Option<OwnerGuard<'_, State>> {
        if self.is_forked() { None } else { self.engine.lock_as_owner() }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.is_forked() {
            // Descriptors and memory stay as they are until the child exits or calls exec.
            std::mem::forget(Arc::clone(&self.engine));
        } else {
            self.engine.abandon(self.index);
        }
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
        options.check(P::SOCKET_TYPE)?;
        let engine = context.engine()?;
        let index = engine.open(P::SOCKET_TYPE, options);
        let handle = Handle { engine, index, process: process::current() };
        Ok(Socket { handle: Arc::new(handle), pattern: PhantomData })
    }

    /// Listens. Returns what was bound: with the real port where `*` or 0 was given.
    pub fn bind(&self, endpoint: &str) -> Result<Endpoint, BindError> {
        let endpoint = endpoint.parse()?;
        if self.handle.is_forked() {
            return Err(BindError::Forked);
        }
        self.handle.engine.bind(self.handle.index, &endpoint)
    }

    /// Stops listening; connections stay. Returns whether the endpoint was bound.
    pub fn unbind(&self, endpoint: &Endpoint) -> bool {
        !self.handle.is_forked() && self.handle.engine.unbind(self.handle.index, endpoint)
    }

    /// Connects, and connects again whenever the connection is lost. Returns at once; the peer may
    /// come later.
    pub fn connect(&self, endpoint: &str) -> Result<(), ConnectError> {
        let endpoint = endpoint.parse()?;
        if self.handle.is_forked() {
            return Err(ConnectError::Forked);
        }
        self.handle.engine.connect(self.handle.index, endpoint)
    }

    /// Gives up a connected endpoint; what was accepted for it is still sent. What had come of it and was not received is
    /// dropped, and counted in [`Drops::unreceived`](crate::Drops::unreceived). Returns whether it was connected.
    pub fn disconnect(&self, endpoint: &str) -> bool {
        let Ok(endpoint) = endpoint.parse() else { return false };
        !self.handle.is_forked() && self.handle.engine.disconnect(self.handle.index, &endpoint)
    }

    /// The peers that are ready now.
    pub fn peers(&self) -> Vec<PeerInfo> {
        if self.handle.is_forked() {
            return Vec::new();
        }
        let mut state = self.handle.engine.lock();
        state.look_at_rings(&self.handle.engine);
        let state = &mut *state;
        let Some(socket) = state.sockets.get(self.handle.index) else { return Vec::new() };
        let links = socket.links.clone();
        links.into_iter().filter_map(|index| state.peer_info(index)).collect()
    }

    /// Why the host of a connected endpoint could not be looked up the last time, if one could not. It is looked
    /// up again and again, as long as the endpoint is connected.
    pub fn trouble(&self) -> Option<ResolveError> {
        if self.handle.is_forked() {
            return None;
        }
        let state = self.handle.engine.lock();
        let mut connectors = state.connectors.iter().filter(|(_, c)| c.socket == self.handle.index);
        connectors.find_map(|(_, connector)| connector.trouble.clone())
    }

    /// Waits until at least `count` peers are ready, or the socket is closed, or none can come: it is connected
    /// to hosts only that the resolver does not know. Returns whether they are.
    pub fn wait_for_peers(&self, count: usize, timeout: Duration) -> bool {
        if self.handle.is_forked() {
            return false;
        }
        let index = self.handle.index;
        let deadline = Instant::now().checked_add(timeout);
        let state = self.handle.engine.lock();
        let found = self.handle.engine.wait(state, index, false, deadline, |state| {
            let socket = state.sockets.get(index)?;
            let ready = socket.links.len() >= count;
            (ready || socket.closed || state.is_in_vain(index)).then_some(ready)
        });
        found.unwrap_or(false)
    }

    /// The socket's counters and depth.
    pub fn stats(&self) -> Stats {
        if self.handle.is_forked() {
            return Stats::default();
        }
        let mut state = self.handle.engine.lock();
        state.look_at_rings(&self.handle.engine);
        let state = &mut *state;
        let Some(socket) = state.sockets.get(self.handle.index) else { return Stats::default() };
        let now = Instant::now();
        let mut stats = Stats {
            uptime: now.saturating_duration_since(socket.opened),
            sent_bytes: socket.sent_bytes,
            received_bytes: socket.received_bytes,
            sent: socket.sent,
            received: socket.received,
            drops: socket.drops,
            peer_count: socket.links.len(),
            failed_connections: socket.failed_connections,
            refused_connections: socket.refused_connections,
            denied_connections: socket.denied_connections,
            waiting_age: socket.set_aside.as_ref().map_or(Duration::ZERO, |message| message.age(now)),
            ..Stats::default()
        };
        stats.waiting_age = stats.waiting_age.max(socket.notices.age(now));
        // What was set aside is counted where it was taken, and not handed over yet.
        let set_aside = u64::from(socket.set_aside.as_ref().is_some_and(SetAside::is_message));
        // Those that have ended and have messages left, or are about to, are none of the socket's links.
        let is_counted = |link: &Link| link.socket == self.handle.index && link.peer.is_some();
        for (_, link) in state.links.iter_mut().filter(|(_, link)| is_counted(link)) {
            let (count, bytes) = link.queued();
            link.note_ages(now);
            stats.queued_age = stats.queued_age.max(link.queued_age(now));
            stats.waiting_age = stats.waiting_age.max(link.waiting_age(now));
            stats.received += link.received;
            let (sent_bytes, received_bytes) = link.kind.byte_counts();
            stats.sent_bytes += sent_bytes;
            stats.received_bytes += received_bytes;
            stats.queued_count += count;
            stats.queued_bytes += bytes;
        }
        stats.received -= set_aside;
        stats
    }

    /// A stream of what happens to this socket's connections from now on. A socket may have several; see
    /// [`monitor`](crate::monitor).
    pub fn monitor(&self) -> Result<Monitor, MonitorError> {
        if self.handle.is_forked() {
            return Err(MonitorError::Forked);
        }
        self.handle.engine.monitor(self.handle.index)
    }

    /// Closes the socket for all its clones. Never blocks: what was accepted is sent by the background
    /// thread, and process exit waits for it up to `linger_ms`. What had come and was not received is dropped, as by
    /// [`disconnect`](Self::disconnect).
    pub fn close(self) {
        if self.handle.is_forked() {
            return;
        }
        self.handle.engine.close(self.handle.index);
    }
}
