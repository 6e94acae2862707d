//! `Desk`: takes requests from the socket to the state machine and its replies back.
//!
//! One thread, which never waits for a client: a reply for which a client has no room is dropped,
//! and the client asks again. A ROUTER does not say when a peer goes, so the desk looks round: every
//! [`SWEEP`], and when a request is about to be refused because of peers who may be gone. Where a peer comes
//! from it looks up once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_broker::directory::{Change, Directory, Effect, Options, Origin, Peer};
use hairstreak_socket::{Message, PeerInfo, RecvError, Router};
use hairstreak_wire::directory::{Envelope, Reply, Request};

/// How often the desk looks which peers are still there.
const SWEEP: Duration = Duration::from_secs(1);
/// It never looks more often than this, whatever is asked of it.
const SWEEP_PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Desk {
    router: Router,
    directory: Directory,
    on_change: Box<dyn FnMut(&Change) + Send>,
    /// Where peers come from; those that were there when it looked last, by their routing ids.
    origins: HashMap<Arc<[u8]>, Origin>,
    started: Instant,
    /// When it looked last, since `started`.
    swept: Duration,
}

impl Desk {
    pub(crate) fn new(router: Router, options: Options, on_change: Box<dyn FnMut(&Change) + Send>) -> Desk {
        let directory = Directory::new(options);
        let origins = HashMap::new();
        Desk { router, directory, on_change, origins, started: Instant::now(), swept: Duration::ZERO }
    }

    /// Serves until the socket is closed.
    pub(crate) fn run(mut self) {
        loop {
            let message = match self.next_due() {
                Some(due) => self.router.recv_timeout(due.saturating_sub(self.started.elapsed())),
                None => self.router.recv(),
            };
            let now = self.started.elapsed();
            match message {
                Ok(message) => self.handle_message(now, &message),
                Err(RecvError::Closed | RecvError::Forked) => return,
                Err(_) => self.directory.handle_timeout(now),
            }
            if now >= self.swept + SWEEP {
                self.sweep(now);
            }
            self.act();
        }
    }

    /// When there is something to do even if no message comes.
    fn next_due(&self) -> Option<Duration> {
        let timeout = self.directory.poll_timeout()?;
        Some(timeout.min(self.swept + SWEEP))
    }

    fn handle_message(&mut self, now: Duration, message: &Message) {
        let frames: Vec<&[u8]> = message.frames().collect();
        let Some((routing_id, frames)) = frames.split_first() else { return };
        let peer = self.peer(routing_id);
        match Request::decode(frames) {
            Ok((envelope, request)) => {
                if now >= self.swept + SWEEP_PAUSE && self.directory.is_refused(&peer, &request) {
                    self.sweep(now);
                }
                self.directory.handle_request(now, &peer, envelope, request);
            }
            Err(refused) => self.send(&peer, &refused.envelope, &refused.reply()),
        }
    }

    fn peer(&mut self, routing_id: &[u8]) -> Peer {
        if let Some((routing_id, origin)) = self.origins.get_key_value(routing_id) {
            return Peer { routing_id: routing_id.clone(), origin: *origin };
        }
        let routing_id = Arc::from(routing_id);
        match self.router.peer(&routing_id) {
            Some(peer) => {
                let origin = origin(&peer);
                self.origins.insert(Arc::clone(&routing_id), origin);
                Peer { routing_id, origin }
            }
            // One that is gone already leaves nothing that lasts, wherever it is counted.
            None => Peer { routing_id, origin: Origin::Local },
        }
    }

    fn look_round(&mut self) {
        let peers = self.router.peers().into_iter();
        self.origins = peers.map(|peer| (peer.routing_id.as_slice().into(), origin(&peer))).collect();
    }

    /// Tells the state machine which peers are gone.
    fn sweep(&mut self, now: Duration) {
        self.swept = now;
        self.look_round();
        for peer in self.directory.peers() {
            if !self.is_here(&peer) {
                self.directory.handle_peer_gone(now, &peer);
            }
        }
    }

    /// Whether it was when the desk looked last: a routing id may be another's by now.
    fn is_here(&self, peer: &Peer) -> bool {
        self.origins.get(&peer.routing_id) == Some(&peer.origin)
    }

    fn act(&mut self) {
        while let Some(effect) = self.directory.poll_effect() {
            match effect {
                Effect::Reply { peer, envelope, reply } => self.send(&peer, &envelope, &reply),
                Effect::Changed(change) => (self.on_change)(&change),
            }
        }
    }

    fn send(&self, peer: &Peer, envelope: &Envelope, reply: &Reply) {
        let frames = reply.encode(envelope);
        let frames: Vec<&[u8]> =
            [&*peer.routing_id].into_iter().chain(frames.iter().map(Vec::as_slice)).collect();
        // Refused when the peer is gone or stalled: it asks again if it still cares.
        let _ = self.router.try_send(frames.as_slice());
    }
}

fn origin(peer: &PeerInfo) -> Origin {
    Origin::from(peer.remote.map(|address| address.ip()))
}
