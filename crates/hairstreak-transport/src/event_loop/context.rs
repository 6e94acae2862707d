//! `Context`: the interface of a protocol in its turn.

use std::time::{Duration, Instant};

use super::loop_set::{LoopSet, Post};
use super::mailbox::{Address, Letter};
use crate::connection::Connection;
use crate::stream::Stream;

/// The view that a protocol gets in its turn. `P` is the type of the protocols, `M` the type of their mail.
pub struct Context<'a, P, M> {
    /// The bytes of the peer. Bytes put into `output` are written at the end of the turn, unless they are held.
    pub connection: &'a mut Connection,
    /// The time of this turn.
    pub now: Instant,
    /// The time that protocols of this loop may still wait for locks in this turn, all together. A protocol that waits subtracts its wait.
    pub patience: &'a mut Duration,
    pub(super) address: Address,
    pub(super) post: &'a mut Post<Letter<P, M>>,
    pub(super) loops: &'a LoopSet<Letter<P, M>>,
    pub(super) wish: &'a mut Wish,
}

/// A protocol's wishes for its connection after the call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub closes: bool,
    pub resumes: bool,
    pub yields: bool,
    pub defers: bool,
}

impl<P, M> Context<'_, P, M> {
    /// Returns the address for mail to this connection.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Hands mail to a connection of any loop. Mail of one connection to another arrives in order.
    pub fn send(&mut self, to: Address, mail: M) {
        self.post.put(to.loop_index(), Letter::Mail { to, mail });
    }

    /// Releases held output of a connection of any loop, as [`Handle::release`](super::Handle::release) does.
    pub fn release(&mut self, to: Address, ticket: u64) {
        self.post.put(to.loop_index(), Letter::Release { to, ticket });
    }

    /// Adds a connection to a loop: `loop_index`, or the loop with the fewest connections. The protocol learns
    /// its address in `Protocol::handle_start`.
    pub fn add(&mut self, loop_index: Option<usize>, stream: Stream, protocol: P) {
        let loop_index = self.loops.place(loop_index);
        self.post.put(loop_index, Letter::Adopt { stream, protocol: Box::new(protocol) });
    }

    /// Returns the number of loops.
    pub fn loop_count(&self) -> usize {
        self.loops.loop_count()
    }

    /// Stops reading until [`Context::resume`]. The peer is slowed.
    pub fn pause(&mut self) {
        self.connection.pause();
        self.wish.resumes = false;
    }

    /// Reads again. `Protocol::handle_bytes` is called for the bytes that are already in `input`.
    pub fn resume(&mut self) {
        self.connection.resume();
        self.wish.resumes = true;
    }

    /// Ends the turn early: the rest of `input` is for the connection's next turn, which comes when the others of the loop have had
    /// theirs. Nothing is read before. `Protocol::handle_bytes` is called then, too.
    pub fn yield_turn(&mut self) {
        self.wish.yields = true;
    }

    /// Ends the turn because a lock is taken: `Protocol::handle_deferred` is called in the loop's next turn, when the other connections have had
    /// theirs, whether or not reading is paused. Nothing is read before.
    pub fn defer(&mut self) {
        self.wish.defers = true;
    }

    /// Ends this side once `output` is written. The peer may continue.
    pub fn end_output(&mut self) {
        self.connection.end_output();
    }

    /// Closes the connection once the peer has everything: nothing more is read. Held output is written when it is released, within the time for
    /// draining.
    pub fn close(&mut self) {
        self.wish.closes = true;
    }
}
