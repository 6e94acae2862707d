//! `Desk`: takes messages from a ROUTER to a state machine, and lends it the socket for what it has to say.
//!
//! One thread, which never waits for a peer: what a peer has no room for the machine keeps or drops. Everything that is here is
//! taken before the thread sleeps, so that what goes to one peer goes in one write.

use std::time::{Duration, Instant};

use hairstreak_broker::Outbox;
use hairstreak_socket::{Message, RecvError};

use super::machine::Machine;
use super::outbox::SocketOutbox;

/// Messages that are taken before time is looked at.
const BATCH_COUNT_MAX: usize = 1024;

/// A machine, and the socket of its peers.
pub(crate) struct Desk<M> {
    machine: M,
    outbox: SocketOutbox,
    started: Instant,
}

impl<M: Machine> Desk<M> {
    pub(crate) fn new(machine: M, outbox: SocketOutbox) -> Desk<M> {
        Desk { machine, outbox, started: Instant::now() }
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

    /// Waits for messages until the machine's next timeout; false: the socket is closed.
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

/// The routing id of a notice, which is an empty message.
fn notice(message: &Message) -> Option<&[u8]> {
    match message.as_frames() {
        [routing_id, empty] if empty.size() == 0 => Some(routing_id.as_bytes()),
        _ => None,
    }
}
