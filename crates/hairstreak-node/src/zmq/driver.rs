//! `Driver`: one thread that drives a state machine ([`Machine`]) by the messages of a ROUTER.
//!
//! The thread never waits for a peer: the machine keeps or drops a message that a peer has no room for. The thread takes all
//! messages that have come before it sleeps, so that messages for one peer leave in one write.

use std::time::{Duration, Instant};

use hairstreak_base::Message;
use hairstreak_services::Outbox;
use hairstreak_socket::{PeerInfo, RecvError};

use super::outbox::SocketOutbox;

/// Most messages of one batch.
const BATCH_COUNT_MAX: usize = 1024;

/// A state machine that serves the peers of a ROUTER. Its effects go to the outbox that each call lends.
///
/// `now` is the time since the driver began. A ROUTER reports that a peer connected or left by a notice, an empty message, in
/// order with the messages of the same routing id:
///
/// ```text
/// connected | messages | gone | connected | messages | gone ...
/// ```
///
/// When the socket knows that a peer is gone and none of its messages is left, the notice comes before all messages that were not
/// received yet. A notice does not distinguish the two: the driver checks if a peer has the routing id.
pub(crate) trait Machine {
    /// Handles a message, whose first frame is the routing id.
    fn handle_message(&mut self, now: Duration, message: Message, out: &mut SocketOutbox);

    /// Handles a notice while a peer has the routing id. The peer connected, or its predecessor left, or the peer itself sent an
    /// empty message.
    fn handle_peer(&mut self, now: Duration, routing_id: &[u8], peer: &PeerInfo, out: &mut SocketOutbox);

    /// Handles a notice while no peer has the routing id: the peer left. Messages of the peer may follow if it sent an empty one.
    fn handle_gone(&mut self, now: Duration, routing_id: &[u8], out: &mut SocketOutbox);

    /// Handles all due timeouts.
    fn handle_timeout(&mut self, now: Duration, out: &mut SocketOutbox);

    /// Returns the time at which `handle_timeout` is due. `None`: never.
    fn next_timeout(&self, now: Duration) -> Option<Duration>;

    /// Begins a batch of events.
    fn begin_batch(&mut self) {}

    /// Ends a batch of events.
    fn end_batch(&mut self, _now: Duration, _out: &mut SocketOutbox) {}
}

/// A machine, and the socket of its peers.
pub(crate) struct Driver<M> {
    machine: M,
    outbox: SocketOutbox,
    started: Instant,
}

impl<M: Machine> Driver<M> {
    pub(crate) fn new(machine: M, outbox: SocketOutbox) -> Driver<M> {
        Driver { machine, outbox, started: Instant::now() }
    }

    /// Serves until the socket is closed.
    pub(crate) fn run(mut self) {
        let mut messages = Vec::new();
        while self.receive(&mut messages) {
            let now = self.started.elapsed();
            self.outbox.weigh(now);
            self.machine.begin_batch();
            for message in messages.drain(..) {
                self.handle(now, message);
            }
            if self.machine.next_timeout(now).is_some_and(|due| due <= now) {
                self.machine.handle_timeout(now, &mut self.outbox);
            }
            self.machine.end_batch(now, &mut self.outbox);
        }
    }

    /// Waits for messages until the machine's next timeout. Returns false if the socket is closed.
    fn receive(&self, messages: &mut Vec<Message>) -> bool {
        let router = self.outbox.router();
        let received = match self.machine.next_timeout(self.started.elapsed()) {
            Some(due) => {
                let timeout = due.saturating_sub(self.started.elapsed());
                router.recv_many_timeout(messages, BATCH_COUNT_MAX, timeout)
            }
            None => router.recv_many(messages, BATCH_COUNT_MAX),
        };
        !matches!(received, Err(RecvError::Closed | RecvError::Forked))
    }

    fn handle(&mut self, now: Duration, message: Message) {
        let Some(routing_id) = notice(&message) else {
            return self.machine.handle_message(now, message, &mut self.outbox);
        };
        match self.outbox.router().peer(routing_id) {
            Some(peer) => {
                self.outbox.attend(routing_id, false);
                self.machine.handle_peer(now, routing_id, &peer, &mut self.outbox);
            }
            None => self.machine.handle_gone(now, routing_id, &mut self.outbox),
        }
    }
}

/// Returns the routing id of a notice, which is an empty message.
fn notice(message: &Message) -> Option<&[u8]> {
    match message.as_frames() {
        [routing_id, empty] if empty.size() == 0 => Some(routing_id.as_bytes()),
        _ => None,
    }
}
