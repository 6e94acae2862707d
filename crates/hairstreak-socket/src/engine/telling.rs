//! What monitors are told. A socket without one is told nothing, and nothing is made for it.

use std::sync::Arc;
use std::time::SystemTime;

use hairstreak_transport::Endpoint;

use super::link::{Link, LinkKind, Origin};
use super::state::{After, State};
use super::wait::Engine;
use crate::monitor::{Event, EventKind, MONITORS_MAX, Monitor, MonitorError, MonitorSender};
use crate::session::{Phase, SessionError};

impl Engine {
    pub fn monitor(self: &Arc<Self>, socket: usize) -> Result<Monitor, MonitorError> {
        let mut state = self.lock();
        let Some(socket) = state.sockets.get_mut(socket).filter(|socket| !socket.closed) else {
            return Err(MonitorError::Closed);
        };
        socket.monitors.retain(MonitorSender::is_wanted);
        if socket.monitors.len() >= MONITORS_MAX {
            return Err(MonitorError::TooMany);
        }
        let (sender, monitor) = MonitorSender::new(socket.options.monitor_event_count_max);
        socket.monitors.push(sender);
        Ok(monitor)
    }
}

impl State {
    /// Of the socket, or of an endpoint of it that has no connection yet.
    pub fn tell(&mut self, socket: usize, endpoint: Option<&Endpoint>, kind: impl FnOnce() -> EventKind) {
        if self.is_monitored(socket) {
            let event = Event {
                at: SystemTime::now(),
                kind: kind(),
                endpoint: endpoint.cloned(),
                connection: None,
                remote: None,
                routing_id: Vec::new(),
                lost_count: 0,
            };
            self.tell_monitors(socket, event);
        }
    }

    /// Of a connector that has no connection.
    pub fn tell_of_connector(&mut self, connector: usize, kind: impl FnOnce() -> EventKind) {
        let Some(found) = self.connectors.get(connector) else { return };
        let socket = found.socket;
        if self.is_monitored(socket) {
            let endpoint = found.endpoint.clone();
            self.tell(socket, Some(&endpoint), kind);
        }
    }

    /// Of a connection.
    pub fn tell_of_link(&mut self, index: usize, kind: impl FnOnce() -> EventKind) {
        let Some(link) = self.links.get(index) else { return };
        if self.is_monitored(link.socket) {
            let (socket, event) = (link.socket, event_of(link, kind()));
            self.tell_monitors(socket, event);
        }
    }

    /// Of a connection that ends; call it while all is as it was.
    pub fn tell_of_end(&mut self, index: usize, error: &SessionError) {
        let link = &self.links[index];
        if !self.is_monitored(link.socket) {
            return;
        }
        let kind = match &link.kind {
            // What it had sent was still to be taken.
            LinkKind::Stream(session) if session.is_ended() => return,
            LinkKind::Stream(session) => match (session.phase, &link.peer) {
                (Phase::Connecting, _) if matches!(error, SessionError::Left) => return,
                (Phase::Connecting, _) => EventKind::ConnectFailed { reason: error.to_string() },
                // It was refused for what its peer did, and that was told.
                (Phase::Draining, None) => return,
                (phase, peer) => EventKind::of_end(error, peer.is_some(), phase == Phase::Draining),
            },
            LinkKind::Ring(_) if matches!(link.origin, Origin::Ended) => return,
            LinkKind::Ring(_) => EventKind::of_end(error, link.peer.is_some(), false),
        };
        self.tell_of_link(index, || kind);
    }

    fn is_monitored(&self, socket: usize) -> bool {
        self.sockets.get(socket).is_some_and(|socket| !socket.monitors.is_empty())
    }

    #[cold]
    fn tell_monitors(&mut self, socket: usize, event: Event) {
        let monitors = &mut self.sockets[socket].monitors;
        monitors.retain(MonitorSender::is_wanted);
        for monitor in monitors {
            let wakers = monitor.push(event.clone());
            self.after.extend(wakers.into_iter().map(|(_, waker)| After::Wake(waker)));
        }
    }

    /// The socket is closed and its last connection is over.
    pub fn end_monitors(&mut self, socket: usize) {
        let monitors = self.sockets.get_mut(socket).map(|socket| std::mem::take(&mut socket.monitors));
        self.after.extend(monitors.into_iter().flatten().map(After::EndMonitor));
    }
}

fn event_of(link: &Link, kind: EventKind) -> Event {
    let remote = match &link.kind {
        LinkKind::Stream(session) => session.connection.stream().remote_address(),
        LinkKind::Ring(_) => None,
    };
    Event {
        at: SystemTime::now(),
        kind,
        endpoint: Some(link.endpoint.clone()),
        connection: Some(link.id),
        remote,
        routing_id: link.routing_id.as_bytes().to_vec(),
        lost_count: 0,
    }
}
