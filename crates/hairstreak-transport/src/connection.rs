//! `Connection`: the bytes of one peer, for every protocol and every transport.
//!
//! A protocol takes bytes from `input` and puts bytes into `output`. The driver of the connection (an engine, an event
//! loop) hands in the poller's events and calls [`Connection::read`] and [`Connection::flush`].
//!
//! ```text
//!   poller --on_event--> edges      stream --read--> input --> protocol
//!                                   stream <--flush-- output <-- protocol
//! ```
//!
//! - `writing`: gathering, vectored writes, writes past the buffer
//! - `gathering`: the time and the bytes for which a busy connection gathers
//! - `liveness`: whether the peer's host and the peer are there
//!
//! Invariants: edges are remembered; `readable` and `writable` are true until a read or a write says otherwise, so that
//! no byte waits for an event that does not come. A connection at rest ([`Connection::rest`]) owns neither a read block nor a
//! segment. Nothing here waits, locks or knows other connections.

mod gathering;
mod liveness;
mod writing;

use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hairstreak_base::{BlockPool, BodyBuffer, OutgoingBuffer, ReadBuffer};

pub use self::gathering::GATHER_TIME;
use self::gathering::Gathering;
use self::liveness::{Liveness, Signs};
pub use self::liveness::{Look, Silent};
use crate::poller::{Interest, Poller, Readiness};
use crate::stream::{Established, Stream};

/// Reads of one turn while draining; [`Connection::drain`] is called again as long as there is more.
const DISCARDED_READS_MAX: u32 = 64;
/// Bytes discarded by one read while draining.
const DISCARD_SIZE: usize = 4096;

/// One peer's bytes; see the module's description.
pub struct Connection {
    stream: Stream,
    /// Bytes that came and that the protocol has not taken.
    pub input: ReadBuffer,
    /// Bytes that the protocol put in and that are not written.
    pub output: OutgoingBuffer,
    /// A read may find something.
    readable: bool,
    /// A write may be taken.
    writable: bool,
    /// The peer has ended its side: no further event comes, so reading continues to the end.
    peer_ended: bool,
    /// The end of the stream was read.
    input_over: bool,
    /// The peer takes nothing more; the connection is read to its end.
    write_failed: bool,
    /// Reading is paused.
    paused: bool,
    output_end: OutputEnd,
    gathering: Gathering,
    liveness: Liveness,
    read_bytes: u64,
    read_count: u32,
    /// Deadline of the connect, the handshake or the draining.
    pub deadline: Instant,
}

impl Connection {
    /// A connection on `stream`, which is established or still on its way.
    pub fn new(stream: Stream, pool: &Arc<BlockPool>, deadline: Instant, now: Instant) -> Connection {
        Connection {
            writable: stream.is_established(),
            stream,
            input: ReadBuffer::new(pool),
            output: OutgoingBuffer::new(pool),
            readable: false,
            peer_ended: false,
            input_over: false,
            write_failed: false,
            paused: false,
            output_end: OutputEnd::Open,
            gathering: Gathering::default(),
            liveness: Liveness::new(now),
            read_bytes: 0,
            read_count: 0,
            deadline,
        }
    }

    /// The stream that carries the bytes.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The stream, for an agreement on the carrier of the bytes.
    pub fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Continues towards the first byte. Call it on every event until it returns `true`.
    ///
    /// Errors: the connect failed, or the two sides did not agree on the carrier of the bytes.
    pub fn establish(&mut self) -> io::Result<bool> {
        let is_done = self.stream.establish()? == Established::Done;
        if is_done {
            // Bytes may be here that make no further event.
            (self.readable, self.writable) = (true, true);
        }
        Ok(is_done)
    }

    /// Has the poller watch the stream, with events that carry `token`. A stream without a descriptor of its own is not
    /// watched: its carrier tells of events.
    ///
    /// Errors: the system has no room for one more.
    pub fn watch(&self, poller: &Poller, token: u64) -> io::Result<()> {
        match self.stream.readiness_source() {
            Some(source) => poller.add(source, token, Interest::Edges),
            None => Ok(()),
        }
    }

    /// Removes the stream from the poller.
    pub fn unwatch(&self, poller: &Poller) {
        if let Some(source) = self.stream.readiness_source() {
            poller.remove(source);
        }
    }

    /// The poller had an event for this connection.
    pub fn on_event(&mut self, event: &Readiness) {
        // In shared memory an event is the doorbell: for both ways.
        let is_shared = self.stream.is_shared();
        self.readable |= event.readable || is_shared;
        self.writable |= event.writable || is_shared;
        if event.ended {
            self.peer_ended = true;
            self.stream.on_peer_ended();
        }
    }

    /// Returns `true` if a read may find bytes.
    #[inline]
    pub fn is_readable(&self) -> bool {
        self.readable
    }

    /// Returns `true` if the stream may take a write.
    #[inline]
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// Returns `true` if the peer has ended its side.
    pub fn has_peer_ended(&self) -> bool {
        self.peer_ended
    }

    /// Returns `true` if the end of the stream was read.
    #[inline]
    pub fn is_input_over(&self) -> bool {
        self.input_over
    }

    /// Returns `true` if the peer takes no more bytes.
    #[inline]
    pub fn has_write_failed(&self) -> bool {
        self.write_failed
    }

    /// A read may find bytes without an event.
    pub fn mark_readable(&mut self) {
        self.readable = true;
    }

    /// The bytes move to shared memory from here on. Both ways are open: earlier events mean nothing.
    pub fn has_moved_to_shared_memory(&mut self) {
        if self.peer_ended {
            // The socket's end came along with the peer's last step, and no further event reports it.
            self.stream.on_peer_ended();
        }
        (self.readable, self.writable) = (true, true);
    }

    /// Gives the memory back that the connection does not need while nothing comes. Returns whether it has none: bytes
    /// that were taken and still live keep the memory here until a later call.
    #[inline]
    pub fn rest(&mut self) -> bool {
        self.input.rest()
    }

    /// Looks for signs of life of a peer that has been silent for `interval` (or up to twice that). The result asks the
    /// protocol to question the peer, at first and while there is no answer. `is_backlogged`: bytes of the peer wait
    /// because the application does not receive. `owes`: the peer waits for the application, so that its host must
    /// acknowledge.
    ///
    /// A peer whose application is busy reads neither messages nor the questions behind them. The peer is kept for
    /// any sign that it is at work or merely behind:
    /// - bytes of the peer that this side has not read;
    /// - the peer reads: its window grows, or a unix socket's bytes get fewer. A kernel may tell of a window only
    ///   when half a megabyte was read;
    /// - the buffers on the way are full. The peer is given nothing new then, and a close would certainly lose the
    ///   bytes queued here. A host that sends no acknowledgements is still given up.
    ///
    /// While bytes of the peer lie unread, the kernel is asked whether the host is there, because a peer whose bytes
    /// are not read cannot answer.
    ///
    /// Without any sign the peer is given up although it may be alive, as libzmq does. Otherwise messages in turn would
    /// still go to a peer that hangs. A busy peer loses a connection this way, but no message: all written bytes are in
    /// its host's buffers, and the peer reads them to the end and connects again.
    ///
    /// Errors: there was no sign of life for `timeout`.
    pub fn look_for_life(
        &mut self,
        now: Instant,
        interval: Duration,
        timeout: Duration,
        is_backlogged: bool,
        owes: bool,
    ) -> Result<Look, Silent> {
        self.rest();
        let signs = Signs { is_backlogged, owes, is_writable: self.writable };
        self.liveness.look(&self.stream, now, interval, timeout, signs)
    }

    /// Returns the length of the peer's silence, once for each time that the peer falls silent.
    pub fn take_silence(&mut self) -> Option<Duration> {
        self.liveness.take_silence()
    }

    /// The caller stops polling shared memory. Returns whether it did poll ([`Stream::forgo_event`]). In that case read
    /// the stream again: no event comes until a read has found nothing.
    pub fn leave_event(&mut self) -> bool {
        let looked = self.stream.leave_event();
        self.readable |= looked;
        looked
    }

    /// Reads once into `input`, 64 KiB at most.
    ///
    /// Errors: the connection broke.
    pub fn read(&mut self) -> io::Result<Read> {
        let stream = &mut self.stream;
        let result = self.input.fill(|room| stream.read(room));
        self.note_read(result)
    }

    /// Reads once into the missing part of `body`, `size_max` bytes at most.
    ///
    /// Errors: the connection broke.
    pub fn read_body(&mut self, body: &mut BodyBuffer, size_max: usize) -> io::Result<Read> {
        let stream = &mut self.stream;
        let size = body.missing().min(size_max);
        let result = body.fill(|room| stream.read(&mut room[..size]));
        self.note_read(result.map(|(count, _)| (count, count == size)))
    }

    /// Notes the result of a read: the number of bytes, and whether the room was full.
    pub(crate) fn note_read(&mut self, result: io::Result<(usize, bool)>) -> io::Result<Read> {
        self.read_count += 1;
        match result {
            Ok((0, _)) => {
                self.input_over = true;
                Ok(Read::End)
            }
            Ok((count, filled)) => {
                self.read_bytes += count as u64;
                self.gathering.has_read(Instant::now());
                self.liveness.has_heard();
                // A short read emptied the socket: the next bytes make a new event.
                self.readable = filled || self.peer_ended || !self.stream.reads_short();
                Ok(Read::Bytes(count))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                Ok(Read::Nothing)
            }
            Err(error) => Err(error),
        }
    }

    /// Bytes read so far.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Returns the number of bytes read since the last call.
    pub fn take_read_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.read_bytes)
    }

    /// Returns the number of reads since the last call.
    pub fn take_read_count(&mut self) -> u32 {
        std::mem::take(&mut self.read_count)
    }

    /// Reads no more until [`Connection::resume`]: the peer's bytes stay in the buffers on the way, and the peer is slowed.
    pub fn pause(&mut self) {
        self.paused = true;
    }

    /// Reads again. Returns whether a read may find something.
    pub fn resume(&mut self) -> bool {
        self.paused = false;
        self.readable
    }

    /// Returns `true` if reading is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

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

/// Result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// The number of bytes that came.
    Bytes(usize),
    /// Nothing is there now.
    Nothing,
    /// The peer has ended the stream, and all its bytes were read.
    End,
}

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

/// State of this side's end of the stream: the announcement that it writes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputEnd {
    Open,
    /// The end is announced when all bytes are written.
    Wanted,
    Said,
}
