//! `AmqpServer`: the loops, listeners and timers of AMQP.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use hairstreak_transport::event_loop::{
    Address, EventLoops, Handle, LoopOptions, OnAcceptFailure, OnFailure,
};
use hairstreak_transport::{Endpoint, Listener, Stream};

use super::connection::{AmqpConnection, Mail};
use crate::access::LoginResult;
use crate::node::{JournalError, Node, Peer, Post};

/// Time for a client to take the rest of its output when its connection ends. Container tools kill a node ten seconds after
/// SIGTERM.
pub(super) const DRAIN_TIME: Duration = Duration::from_secs(5);

/// Time for the TLS handshake of a client, as in RabbitMQ, and for an agreement about shared memory.
const ESTABLISH_TIME: Duration = Duration::from_secs(5);

/// AMQP on event loops. Dropping it stops it.
pub(crate) struct AmqpServer {
    node: Arc<Node>,
    loops: Option<EventLoops<AmqpConnection>>,
    endpoints: Vec<Endpoint>,
}

/// The messages that a node held when it stopped, and changes that it could not write. A message counts in each of its queues.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// All messages.
    pub count: u64,
    /// Persistent messages in durable queues.
    pub persistent_count: u64,
    /// Reason for the loss of changes of definitions, if any were lost. No client received a promise for these changes.
    pub unwritten: Option<String>,
}

/// Called by the loops.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    /// A loop ends although no call stopped it.
    pub on_failure: OnFailure,
    /// A listener cannot accept.
    pub on_accept_failure: OnAcceptFailure,
}

impl AmqpServer {
    /// Serves the connections that the listeners accept. Without a number of loops there is one for each core.
    ///
    /// Errors: the system has no thread or descriptor to give.
    pub fn start(
        loop_count: Option<usize>,
        node: Arc<Node>,
        listeners: Vec<Listener>,
        hooks: Hooks,
    ) -> io::Result<AmqpServer> {
        let defaults = LoopOptions::default();
        let loop_count = loop_count.unwrap_or(defaults.loop_count);
        let connections_max = node.settings.connections_max();
        let loop_options = LoopOptions {
            name: "amqp".into(),
            loop_count,
            connections_max,
            on_failure: hooks.on_failure,
            on_accept_failure: hooks.on_accept_failure,
            establish_timeout: ESTABLISH_TIME,
            drain_timeout: DRAIN_TIME,
            ..defaults
        };
        let loops = EventLoops::start(loop_options)?;
        let (weak, handle) = (Arc::downgrade(&node), loops.handle());
        node.account.timekeeper.start(move |clears| {
            let node = weak.upgrade()?;
            let next = node.fire(clears, Instant::now, |address| handle.send(address, Mail::Outlet));
            Some((node.clock, next))
        })?;
        node.set_post(Box::new(LoopPost(loops.handle())));
        if let Some(messages) = &node.messages {
            let handle = loops.handle();
            messages.set_wake(Box::new(move |address| handle.send(address, Mail::Synced)));
        }
        let endpoints = listeners.iter().map(|listener| listener.endpoint().clone()).collect();
        for listener in listeners {
            let node = Arc::clone(&node);
            loops.listen(listener, move |stream| {
                Some(AmqpConnection::new(Arc::clone(&node), peer(stream), Instant::now()))
            });
        }
        Ok(AmqpServer { node, loops: Some(loops), endpoints })
    }

    /// Changes the maximum number of connections. Connections beyond the bound stay, and no further one is accepted.
    pub fn set_connections_max(&self, connections_max: usize) {
        if let Some(loops) = &self.loops {
            loops.handle().set_connections_max(connections_max);
        }
    }

    /// The endpoints, with the real ports.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// Closes every connection after its pending output is sent, and stops. Returns the forgotten messages and changes.
    pub fn stop(&mut self) -> Forgotten {
        let mut forgotten = Forgotten::default();
        if let Some(loops) = self.loops.take() {
            // A loop that failed has nothing more to say.
            let _ = loops.stop();
            self.node.account.timekeeper.stop();
            let mut leases = Vec::new();
            for host in self.node.hosts.all() {
                let mut state = host.lock();
                leases.extend(state.host.last_leases());
                self.node.hand_over(&host, &mut state);
                let counts = state.host.message_counts();
                let kept_count = state.host.logged_message_count();
                forgotten.count += (counts.ready + counts.unacknowledged).saturating_sub(kept_count);
                forgotten.persistent_count += state.host.unlogged_message_count();
            }
            if let Some(messages) = &self.node.messages {
                messages.end_leases(leases);
                if let Err(error) = messages.close() {
                    log::error!("messages: {error}");
                }
            }
            forgotten.unwritten = self.node.journal.close().err().map(|error| error.to_string());
        }
        forgotten
    }
}

impl fmt::Debug for AmqpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmqpServer").field("endpoints", &self.endpoints).finish_non_exhaustive()
    }
}

impl Drop for AmqpServer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Word to connections on the loops.
struct LoopPost(Handle<AmqpConnection>);

impl Post for LoopPost {
    fn wake(&self, to: Address) {
        self.0.send(to, Mail::Outlet);
    }

    fn close(&self, to: Address, reason: &str) {
        self.0.send(to, Mail::Close(reason.into()));
    }

    fn logged_in(&self, to: Address, result: LoginResult) {
        self.0.send(to, Mail::LoggedIn(result));
    }

    fn committed(&self, to: Address, ticket: u64, result: Result<(), JournalError>) {
        match result {
            Ok(()) => self.0.release(to, ticket),
            Err(error) => self.0.send(to, Mail::Uncommitted(error)),
        }
    }
}

fn peer(stream: &Stream) -> Peer {
    Peer { local: stream.local_address(), remote: stream.remote_address(), tls: None }
}
