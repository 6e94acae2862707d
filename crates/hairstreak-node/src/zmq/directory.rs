//! `DirectoryMachine`: the directory behind its ROUTER, with the origins of its peers.
//!
//! A peer is looked up with its first message: a silent peer costs nothing here. The ROUTER reports only the departure of peers.
//! A peer whose departure is not reported yet holds its names. So the order of notices and messages ([`Machine`]) decides which
//! requests are refused: a request that is received after the socket knows of a holder's end never finds that holder.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hairstreak_base::{Bytes, Message};
use hairstreak_services::names::{Change, Directory, DirectoryOutbox, Options, Origin, Peer};
use hairstreak_services::{Gate, Outbox, Sent};
use hairstreak_socket::monitor::ConnectionId;
use hairstreak_socket::{Options as SocketOptions, PeerInfo, Router, RouterNotify};
use hairstreak_wire::directory;

use super::driver::Machine;
use super::outbox::{IDLE_HEARTBEAT, SocketOutbox};

/// Maximum number of frames of a message: the routing id, then the directory's frames.
const FRAME_COUNT_MAX: usize = 1 + directory::FRAME_COUNT_MAX;

/// Callback for every change of a name.
type OnChange = Box<dyn FnMut(&Change) + Send>;

pub(crate) struct DirectoryMachine {
    directory: Directory,
    on_change: OnChange,
    /// Peers that have sent a message and whose departure is not reported yet, by routing id.
    known: HashMap<Arc<[u8]>, Known>,
}

/// A peer as its first message found it.
struct Known {
    /// `None`: the peer had left already.
    connection: Option<ConnectionId>,
    peer: Peer,
}

impl DirectoryMachine {
    pub(crate) fn new(options: Options, gate: Box<dyn Gate>, on_change: OnChange) -> DirectoryMachine {
        DirectoryMachine { directory: Directory::new(options, gate), on_change, known: HashMap::new() }
    }

    fn handle_frames(&mut self, now: Duration, routing_id: &[u8], frames: &[&[u8]], out: &mut SocketOutbox) {
        let known = self.known.entry(routing_id.into());
        let known = known.or_insert_with(|| Known::look_up(routing_id, out.router()));
        let mut out = Lent { out, on_change: &mut self.on_change };
        self.directory.handle_message(now, &known.peer, frames, &mut out);
    }
}

impl Machine for DirectoryMachine {
    fn handle_message(&mut self, now: Duration, message: Message, out: &mut SocketOutbox) {
        let frames: Vec<&[u8]> = message.frames().collect();
        if let Some((routing_id, frames)) = frames.split_first() {
            self.handle_frames(now, routing_id, frames, out);
        }
    }

    fn handle_peer(&mut self, now: Duration, routing_id: &[u8], peer: &PeerInfo, out: &mut SocketOutbox) {
        match self.known.get(routing_id) {
            // The previous peer has left. The present peer gets its own notice when it leaves.
            Some(known) if known.connection != Some(peer.connection) => {
                self.handle_gone(now, routing_id, out)
            }
            // An empty message of the peer's own, which is no request.
            _ => self.handle_frames(now, routing_id, &[b""], out),
        }
    }

    fn handle_gone(&mut self, now: Duration, routing_id: &[u8], _out: &mut SocketOutbox) {
        if let Some(known) = self.known.remove(routing_id) {
            self.directory.handle_gone(now, &known.peer);
        }
    }

    fn handle_timeout(&mut self, now: Duration, out: &mut SocketOutbox) {
        self.directory.handle_timeout(now, &mut Lent { out, on_change: &mut self.on_change });
    }

    fn next_timeout(&self, _now: Duration) -> Option<Duration> {
        self.directory.next_timeout()
    }
}

impl Known {
    fn look_up(routing_id: &[u8], router: &Router) -> Known {
        let found = router.peer(routing_id);
        let address = found.as_ref().and_then(|peer| peer.remote).map(|address| address.ip());
        // A peer that has left already leaves no lasting state, so its origin does not matter.
        let peer = Peer { routing_id: routing_id.into(), origin: Origin::from(address) };
        Known { connection: found.map(|peer| peer.connection), peer }
    }
}

/// The directory's access to the peers and to the listener for changes.
struct Lent<'a> {
    out: &'a mut SocketOutbox,
    on_change: &'a mut OnChange,
}

impl Outbox for Lent<'_> {
    fn send(&mut self, peer: &[u8], head: &[&[u8]], body: &[Bytes]) -> Sent {
        self.out.send(peer, head, body)
    }
}

impl DirectoryOutbox for Lent<'_> {
    fn changed(&mut self, change: &Change) {
        (self.on_change)(change);
    }
}

/// Marks that hold a stalled client to a small share of memory. The longest message there is, a full
/// page of a list, is below 200 KiB.
pub(crate) fn socket_options() -> SocketOptions {
    SocketOptions {
        message_size_max: 256 << 10,
        frame_count_max: FRAME_COUNT_MAX,
        send_count_max: 1024,
        send_bytes_max: 64 << 10,
        receive_count_max: 64,
        receive_bytes_max: 64 << 10,
        router_mandatory: true,
        router_notify: RouterNotify { connect: false, disconnect: true },
        linger_ms: 1_000,
        handshake_timeout_ms: 10_000,
        heartbeat_ms: IDLE_HEARTBEAT.as_millis() as u64,
        ..SocketOptions::default()
    }
}
