//! The end of a connection: the rest of the output is written and input is discarded, until the peer has everything.

use std::io;
use std::mem::MaybeUninit;

use super::{Connection, OutputEnd};

/// Reads of one turn while draining; [`Connection::drain`] is called again as long as there is more.
const DISCARDED_READS_MAX: u32 = 64;
/// Bytes discarded by one read while draining.
const DISCARD_SIZE: usize = 4096;

/// Progress of draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drained {
    /// The peer ended its side after this one, or the connection broke.
    Over,
    /// All is written; whether the peer has read everything is not known.
    Written,
    /// Something is still to be written.
    Waits,
}

impl Connection {
    /// Ends this side once all output is written: by this flush or a later one. The peer may continue.
    pub fn end_output(&mut self) {
        if self.output_end == OutputEnd::Open {
            self.output_end = OutputEnd::Wanted;
        }
    }

    /// Continues draining: writes the rest of the output, ends this side, and discards input. A write into the kernel
    /// is not enough: a slow peer that writes to a closed connection loses the bytes that it has not read. The peer has
    /// everything when it ends its side after this one ([`Drained::Over`]).
    pub fn drain(&mut self) -> Drained {
        self.end_output();
        if self.write_failed || self.flush().is_err() {
            return Drained::Over;
        }
        let mut room = [MaybeUninit::<u8>::uninit(); DISCARD_SIZE];
        for _ in 0..DISCARDED_READS_MAX {
            if !self.readable {
                break;
            }
            match self.stream.read(&mut room) {
                Ok([]) => (self.input_over, self.readable) = (true, false),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.readable = false,
                Err(_) => return Drained::Over,
            }
        }
        match self.has_unwritten() {
            // A peer that has ended its side may still read.
            true => Drained::Waits,
            false if self.input_over => Drained::Over,
            false => Drained::Written,
        }
    }

    /// Ends both directions at once. Unwritten bytes are lost.
    pub fn end(&mut self) {
        (self.readable, self.writable) = (false, false);
        self.output.clear();
        self.stream.shutdown();
    }
}
