//! `Relay`: passes the bytes of a connection to another connection, on another loop, in both directions.
//!
//! ```text
//!   client --> loop 0: accepted --Bytes--> loop 1: onward --> server
//!                                <--Written--
//! ```
//!
//! Each side hands on at most [`WINDOW`] bytes that its partner has not written. Then it stops reading until the partner reports
//! written bytes. A server that stops reading therefore stops the client, and the memory of a pair is bounded. No bytes
//! are copied: large reads are handed on as slices of the read buffer.

use std::io;
use std::sync::Arc;

use hairstreak_base::Bytes;
use hairstreak_transport::Stream;
use hairstreak_transport::event_loop::{Address, Context, End, Protocol};
use thiserror::Error;

/// The largest number of bytes that a side has handed on and its partner has not written.
pub const WINDOW: usize = 256 * 1024;
/// The number of written bytes after which the partner is told.
const TOLD_BYTES_MIN: u64 = WINDOW as u64 / 4;
/// Shorter bytes are copied into the outgoing buffer.
const SHARE_SIZE: usize = 4096;

/// Starts the connection onward.
pub type Connect = Arc<dyn Fn() -> io::Result<Stream> + Send + Sync>;

/// A message between the two sides.
pub enum Mail {
    /// The onward side is connected. This is its connection.
    Connected(Address),
    /// Bytes to write.
    Bytes(Bytes),
    /// The number of bytes that were written.
    Written(u64),
    /// The last bytes were sent.
    End,
    /// The connection of this side has ended.
    Gone,
}

/// The reason for which a relay ends a connection.
#[derive(Debug, Error)]
pub enum RelayError {
    /// The onward connection could not be started.
    #[error("cannot connect onward: {0}")]
    Onward(io::Error),
}

/// One side of a relay.
pub struct Relay {
    partner: Option<Address>,
    /// Starts the onward connection. Only the accepted side has it.
    connect: Option<Connect>,
    /// Bytes handed on and not known to be written.
    under_way: usize,
    /// The number of written bytes that the partner was told of.
    told: u64,
    /// `true` after the last bytes of the peer, and of the partner.
    input_ended: bool,
    output_ended: bool,
}

impl Relay {
    /// The side of an accepted stream.
    pub fn accepted(connect: Connect) -> Relay {
        Relay { connect: Some(connect), ..Relay::onward(None) }
    }

    fn onward(partner: Option<Address>) -> Relay {
        Relay { partner, connect: None, under_way: 0, told: 0, input_ended: false, output_ended: false }
    }

    fn tell(&self, mail: Mail, context: &mut Context<'_, Relay, Mail>) {
        if let Some(partner) = self.partner {
            context.send(partner, mail);
        }
    }

    /// Hands on the read bytes, within the window.
    fn hand_on(&mut self, context: &mut Context<'_, Relay, Mail>) {
        let Some(partner) = self.partner else { return context.pause() };
        loop {
            let size = context.connection.input.unread().len().min(WINDOW - self.under_way);
            if size == 0 {
                break;
            }
            self.under_way += size;
            let bytes = context.connection.input.take(0, size);
            context.send(partner, Mail::Bytes(bytes));
        }
        if self.under_way == WINDOW {
            context.pause();
        }
        if self.input_ended && context.connection.input.unread().is_empty() {
            context.send(partner, Mail::End);
        }
    }

    /// Tells the partner the number of written bytes, if there are enough, or if all bytes are written.
    fn tell_written(&mut self, context: &mut Context<'_, Relay, Mail>) {
        let written = context.connection.output.written_bytes();
        let untold = written - self.told;
        if untold >= TOLD_BYTES_MIN || (untold > 0 && context.connection.output.is_empty()) {
            self.told = written;
            self.tell(Mail::Written(untold), context);
        }
    }

    /// Ends the connection after the last written byte, if both directions have ended.
    fn close_if_over(&self, context: &mut Context<'_, Relay, Mail>) {
        if self.input_ended && self.output_ended && context.connection.input.unread().is_empty() {
            context.close();
        }
    }
}

impl Protocol for Relay {
    type Mail = Mail;
    type Error = RelayError;

    fn handle_start(&mut self, context: &mut Context<'_, Relay, Mail>) -> Result<(), RelayError> {
        let here = context.address();
        let Some(connect) = self.connect.take() else {
            self.tell(Mail::Connected(here), context);
            return Ok(());
        };
        context.pause();
        let stream = connect().map_err(RelayError::Onward)?;
        context.add(Some(here.loop_index() + 1), stream, Relay::onward(Some(here)));
        Ok(())
    }

    fn handle_bytes(&mut self, context: &mut Context<'_, Relay, Mail>) -> Result<(), RelayError> {
        self.hand_on(context);
        Ok(())
    }

    fn handle_input_end(&mut self, context: &mut Context<'_, Relay, Mail>) -> Result<(), RelayError> {
        self.input_ended = true;
        self.hand_on(context);
        self.close_if_over(context);
        Ok(())
    }

    fn handle_mail(&mut self, mail: Mail, context: &mut Context<'_, Relay, Mail>) -> Result<(), RelayError> {
        match mail {
            Mail::Connected(address) => {
                self.partner = Some(address);
                context.resume();
            }
            Mail::Bytes(bytes) if bytes.size() < SHARE_SIZE => {
                context.connection.output.push_copy(&[], bytes.as_bytes(), true);
            }
            Mail::Bytes(bytes) => context.connection.output.push_shared(&[], bytes, true),
            Mail::Written(count) => {
                self.under_way -= count as usize;
                context.resume();
            }
            Mail::End => {
                self.output_ended = true;
                context.connection.end_output();
                self.close_if_over(context);
            }
            Mail::Gone => context.close(),
        }
        Ok(())
    }

    fn handle_written(&mut self, context: &mut Context<'_, Relay, Mail>) -> Result<(), RelayError> {
        self.tell_written(context);
        Ok(())
    }

    fn handle_end(&mut self, _end: End<RelayError>, context: &mut Context<'_, Relay, Mail>) {
        self.tell(Mail::Gone, context);
    }
}
