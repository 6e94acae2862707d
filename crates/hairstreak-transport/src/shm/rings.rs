//! `Rings`: both rings of a segment as one byte stream, and the doorbell.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use hairstreak_base::byte_ring::{RingError, RingReader, RingWriter};
use rustix::io::Errno;
use rustix::net;

use super::segment::{RingView, Segment, Side};

/// Bytes that are made visible at once: the reader begins with the first while the rest is copied.
const PUBLISH_SIZE: usize = 64 * 1024;
/// Waits after which the doorbell's bytes are taken off the socket. Each new byte makes a new edge for the poller
/// anyway, and there is at most one for each wait.
const WAITS_MAX: u32 = 32;
/// Bytes taken off the socket at once.
const BELLS_SIZE: usize = 2 * WAITS_MAX as usize;

/// A connection's bytes, both ways.
#[derive(Debug)]
pub(crate) struct Rings {
    writer: RingWriter<RingView>,
    reader: RingReader<RingView>,
    /// The peer's end of the socket is closed: the peer reads nothing, and the ring gets no more bytes.
    peer_gone: bool,
    /// Waits since the socket was last read.
    waits: u32,
    /// The owner looks by itself: a read that finds nothing need not ask to be rung.
    owner_looks: bool,
}

impl Rings {
    pub fn new(segment: Segment, side: Side) -> Rings {
        let (written, read) = segment.rings(side);
        let (writer, reader) = (RingWriter::new(written), RingReader::new(read));
        Rings { writer, reader, peer_gone: false, waits: 0, owner_looks: false }
    }

    /// Reads the bytes of the ring. When it is empty, the peer rings at the next byte, unless the owner looks by
    /// itself.
    #[inline]
    pub fn read<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        room: &'a mut [MaybeUninit<u8>],
    ) -> io::Result<&'a mut [u8]> {
        let mut count = self.reader.take(room).map_err(invalid)?;
        if count == 0 && !room.is_empty() {
            let is_over = self.peer_gone || self.reader.is_over().map_err(invalid)?;
            if !is_over && (self.owner_looks || self.await_bytes(socket).map_err(invalid)?) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            // These bytes came in between, or before the end.
            count = self.reader.take(room).map_err(invalid)?;
        }
        if count > 0 && self.reader.release() {
            self.ring_unless_gone(socket)?;
        }
        // SAFETY: the ring has filled the first `count` bytes.
        Ok(unsafe { room[..count].assume_init_mut() })
    }

    /// Writes as many bytes as there is room for. When some were left, the peer rings as soon as there is room. Bytes
    /// that the peer could read before it went count as written: only the next write fails.
    pub fn write(&mut self, socket: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.peer_gone {
            return Err(Errno::PIPE.into());
        }
        let mut written = 0;
        for chunk in slices.iter().flat_map(|slice| slice.chunks(PUBLISH_SIZE)) {
            let count = self.write_chunk(socket, chunk)?;
            written += count;
            if count < chunk.len() {
                break;
            }
        }
        if self.writer.publish() {
            self.ring_unless_gone(socket)?;
        }
        if written == 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(written) }
    }

    fn write_chunk(&mut self, socket: BorrowedFd<'_>, chunk: &[u8]) -> io::Result<usize> {
        let mut count = self.writer.put(chunk).map_err(invalid)?;
        while count < chunk.len() {
            if self.writer.publish() {
                self.ring_unless_gone(socket)?;
            }
            self.count_wait(socket);
            if self.writer.await_room().map_err(invalid)? {
                break;
            }
            // At least half of the ring is free here, so each turn puts that much: the size of the chunk bounds the
            // number of turns.
            count += self.writer.put(&chunk[count..]).map_err(invalid)?;
        }
        if chunk.len() == PUBLISH_SIZE && self.writer.publish() {
            self.ring_unless_gone(socket)?;
        }
        Ok(count)
    }

    /// Ends this side: no more bytes are written.
    pub fn end(&mut self, socket: BorrowedFd<'_>) {
        self.writer.end();
        // A peer that is gone already needs no farewell.
        let _ = self.ring(socket);
    }

    /// The peer's end of the socket is closed.
    pub fn on_peer_gone(&mut self) {
        self.peer_gone = true;
    }

    /// Returns `true` if a read would find bytes.
    #[inline]
    pub fn has_news(&self) -> bool {
        self.reader.has_news()
    }

    /// Returns the number of bytes that the peer has not read, as far as its position can be believed.
    pub fn unread_by_peer(&self) -> u64 {
        self.writer.unread()
    }

    /// The owner looks by itself for a while: the peer need not ring.
    pub fn forgo_bell(&mut self) {
        self.owner_looks = true;
        self.reader.forgo();
    }

    /// The owner stops looking, and the peer does not know that yet: the next empty read asks the peer to ring. Returns `true`
    /// if the owner was looking.
    pub fn leave_bell(&mut self) -> bool {
        std::mem::take(&mut self.owner_looks)
    }

    fn await_bytes(&mut self, socket: BorrowedFd<'_>) -> Result<bool, RingError> {
        self.count_wait(socket);
        self.reader.await_bytes()
    }

    /// This side is about to wait, which the peer answers by a bell. Takes the earlier bells off the socket if there may be many: a side
    /// that always finds something in the other direction never sleeps, and would be sent ever more of them.
    fn count_wait(&mut self, socket: BorrowedFd<'_>) {
        self.waits += 1;
        if self.waits >= WAITS_MAX {
            self.waits = 0;
            // Before asking, so that no byte is taken which answers. One that tells of the other direction has made its edge.
            let mut bells = [MaybeUninit::<u8>::uninit(); BELLS_SIZE];
            // No byte is there, or the end, which the poller reports: no action either way.
            let _ = net::recv(socket, &mut bells, net::RecvFlags::DONTWAIT);
        }
    }

    fn ring(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        loop {
            match net::send(socket, &[0], net::SendFlags::NOSIGNAL | net::SendFlags::DONTWAIT) {
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => {}
                // A peer that takes its doorbells never has that many.
                Err(Errno::AGAIN) => return Err(io::Error::other("the peer takes no more doorbells")),
                Err(error) => {
                    self.peer_gone = true;
                    return Err(error.into());
                }
            }
        }
    }

    /// A writer that is gone does not want the room, and its bytes are still to be read; a reader that is gone may
    /// have read the bytes without being told.
    fn ring_unless_gone(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        match self.ring(socket) {
            Err(_) if self.peer_gone => Ok(()),
            other => other,
        }
    }
}

fn invalid(error: RingError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
