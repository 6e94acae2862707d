//! `Protocol`: the protocol of one connection.
//!
//! ```text
//!   handle_start --> handle_bytes, handle_mail, handle_released, handle_written, handle_timeout, handle_deferred --> handle_end
//! ```
//!
//! - `End`: the reason of a connection's end.

use std::error::Error;
use std::io;
use std::time::Instant;

use hairstreak_base::BodyBuffer;
use thiserror::Error;

use super::context::Context;

/// The protocol of one connection. Every method is called in the turn of the loop that owns the connection. No method
/// blocks, or waits for a lock longer than [`Context::patience`]: the protocol defers instead. An error ends the
/// connection at once. Output that was put out before the error and is not held is written as far as the stream takes
/// it. To send a reason first, a protocol puts the reason out and closes.
pub trait Protocol: Sized + Send + 'static {
    /// Mail between connections of the same loop or of different loops. A protocol bounds its mail under way, for
    /// example by credit: a mailbox has no bound of its own.
    type Mail: Send + 'static;
    /// The reason for which the protocol ends a connection.
    type Error: Error + Send + 'static;

    /// The connection is established.
    fn handle_start(&mut self, context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error>;

    /// Bytes are in `context.connection.input`. The protocol takes the bytes that it can use and leaves the rest. Later
    /// bytes are added to the rest. A full buffer stops reading.
    fn handle_bytes(&mut self, context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error>;

    /// Memory for the bytes that come next, in place of `input`, and the most bytes to read into it. The loop asks while `input` is empty, so
    /// that a large body is read straight into its own memory. By default there is none.
    fn body_to_read(&mut self) -> Option<(&mut BodyBuffer, usize)> {
        None
    }

    /// `size` bytes were read into [`Protocol::body_to_read`].
    fn handle_body_bytes(
        &mut self,
        _size: usize,
        _context: &mut Context<'_, Self, Self::Mail>,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The peer sends no more bytes; `input` holds the bytes that the protocol left. By default the connection is
    /// closed.
    fn handle_input_end(&mut self, context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        context.close();
        Ok(())
    }

    /// The peer has ended its side, or the connection is broken, while reading is paused: earlier bytes of the peer are
    /// not read yet. By default nothing happens until reading is resumed.
    fn handle_peer_end(&mut self, _context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Mail came from another connection, or from a thread that is no loop.
    fn handle_mail(
        &mut self,
        mail: Self::Mail,
        context: &mut Context<'_, Self, Self::Mail>,
    ) -> Result<(), Self::Error>;

    /// Held output may leave. None of it has left yet, and none leaves while the peer reads nothing.
    fn handle_released(&mut self, _context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Bytes left `context.connection.output` since the last call. Held bytes have not left.
    fn handle_written(&mut self, _context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The protocol had deferred ([`Context::defer`]). It now continues its work.
    fn handle_deferred(&mut self, _context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The time of [`Protocol::poll_timeout`] has come.
    fn handle_timeout(&mut self, _context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns the time of the next [`Protocol::handle_timeout`]. The loop asks after each turn of the connection.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The loops are stopping. By default the connection is closed.
    fn handle_stop(&mut self, context: &mut Context<'_, Self, Self::Mail>) -> Result<(), Self::Error> {
        context.close();
        Ok(())
    }

    /// The connection is over. Mail can still be sent.
    fn handle_end(&mut self, _end: End<Self::Error>, _context: &mut Context<'_, Self, Self::Mail>) {}
}

/// The reason of a connection's end.
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
    /// This side closed, and the peer did not take the rest of the output in time.
    #[error("the peer did not take in time what was left")]
    NotDrained,
}
