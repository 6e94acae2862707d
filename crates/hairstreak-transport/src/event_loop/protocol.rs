//! `Protocol`: what is spoken on one connection, and `Context`: what a protocol is given.
//!
//! ```text
//!   handle_start --> handle_bytes, handle_mail, handle_written, handle_timeout --> handle_end
//! ```

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;

use super::address::Address;
use super::mailbox::{Letter, Post};
use crate::connection::Connection;
use crate::stream::Stream;

/// What is spoken on one connection. Every method is called in the turn of the loop that owns the connection; no method
/// blocks or waits for a lock for long. An error ends the connection at once: what was put out before is written as far
/// as the stream takes it. A protocol that has to say why first puts that out and closes.
pub trait Protocol: Sized + Send + 'static {
    /// What connections hand to each other, whichever loops they are on. A protocol bounds what it has under way, for
    /// example by credit: a mailbox has no bound of its own.
    type Mail: Send + 'static;
    /// Why the protocol ends a connection.
    type Error: Error + Send + 'static;

    /// The connection is established.
    fn handle_start(&mut self, context: &mut Context<'_, Self>) -> Result<(), Self::Error>;

    /// Bytes are in `context.connection.input`. The protocol takes what it can use and leaves the rest, to which more is added. While the
    /// buffer is full nothing is read.
    fn handle_bytes(&mut self, context: &mut Context<'_, Self>) -> Result<(), Self::Error>;

    /// The peer sends nothing more; `input` holds what the protocol left. By default the connection is closed.
    fn handle_input_end(&mut self, context: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        context.close();
        Ok(())
    }

    /// Mail came from another connection, or from a thread that is no loop.
    fn handle_mail(&mut self, mail: Self::Mail, context: &mut Context<'_, Self>) -> Result<(), Self::Error>;

    /// Bytes left `context.connection.output` since the last call.
    fn handle_written(&mut self, _context: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The time of [`Protocol::poll_timeout`] has come.
    fn handle_timeout(&mut self, _context: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// When [`Protocol::handle_timeout`] is wanted next. The loop asks after each turn of the connection.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The loops are stopping. By default the connection is closed.
    fn handle_stop(&mut self, context: &mut Context<'_, Self>) -> Result<(), Self::Error> {
        context.close();
        Ok(())
    }

    /// The connection is over. Mail can still be sent.
    fn handle_end(&mut self, _end: End<Self::Error>, _context: &mut Context<'_, Self>) {}
}

/// Why a connection is over.
#[derive(Debug, Error)]
pub enum End<E: Error> {
    /// This side closed it, and the peer has everything.
    #[error("this side closed the connection")]
    Closed,
    /// The stream broke.
    #[error("the connection failed: {0}")]
    Failed(#[from] io::Error),
    /// The protocol ended it.
    #[error("{0}")]
    Protocol(E),
    /// It was not established in time.
    #[error("the connection was not established in time")]
    NotEstablished,
    /// The peer did not take in time what was left when this side closed.
    #[error("the peer did not take in time what was left")]
    NotDrained,
}

/// What a protocol is given in its turn.
pub struct Context<'a, P: Protocol> {
    /// The bytes of the peer. Whatever is put into `output` is written at the end of the turn.
    pub connection: &'a mut Connection,
    /// The time of this turn.
    pub now: Instant,
    pub(super) address: Address,
    pub(super) post: &'a mut Post<P>,
    pub(super) wish: &'a mut Wish,
}

/// What a protocol wants done with its connection after the call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub closes: bool,
    pub resumes: bool,
}

impl<P: Protocol> Context<'_, P> {
    /// Where mail to this connection goes.
    pub fn address(&self) -> Address {
        self.address
    }

    /// Hands mail to a connection of any loop. Mail of one connection to another arrives in order.
    pub fn send(&mut self, to: Address, mail: P::Mail) {
        self.post.put(to.loop_index(), Letter::Mail { index: to.index, serial: to.serial, mail });
    }

    /// Adds a connection to a loop: `loop_index`, or the loop with the fewest connections. The protocol learns
    /// its address in [`Protocol::handle_start`].
    pub fn add(&mut self, loop_index: Option<usize>, stream: Stream, protocol: P) {
        let shared = Arc::clone(self.post.shared());
        let loop_index = shared.place(loop_index);
        self.post.put(loop_index, Letter::Adopt { stream, protocol: Box::new(protocol) });
    }

    /// How many loops there are.
    pub fn loop_count(&self) -> usize {
        self.post.shared().loop_count()
    }

    /// Reads no more until [`Context::resume`]; the peer is slowed.
    pub fn pause(&mut self) {
        self.connection.pause();
        self.wish.resumes = false;
    }

    /// Reads again. [`Protocol::handle_bytes`] is called for what is in `input` already.
    pub fn resume(&mut self) {
        self.connection.resume();
        self.wish.resumes = true;
    }

    /// Says that this side writes nothing more, once `output` is written. The peer may go on.
    pub fn end_output(&mut self) {
        self.connection.end_output();
    }

    /// Closes the connection once the peer has everything: nothing more is read.
    pub fn close(&mut self) {
        self.wish.closes = true;
    }
}
