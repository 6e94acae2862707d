//! The change of a stream from its socket to shared memory, by an agreement in the bytes of its protocol.
//!
//! ```text
//!   socket --expect_segment--> socket, descriptors kept --go_on_in--> rings; the socket is the doorbell
//!                                                       --stay_on_socket--> socket
//! ```

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::byte_stream::{Stream, Way};
use crate::shm::{self, Rings, Segment, SegmentError, Side};

impl Stream {
    /// A segment may be passed from here on, beside the bytes that are read. For an established stream.
    pub fn expect_segment(&mut self) {
        debug_assert!(self.is_established());
        self.way = Way::Handover(None);
    }

    /// Writes once, through the socket, and passes a descriptor with the first byte.
    pub fn write_with(&mut self, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
        shm::send_with(&self.socket, bytes, descriptor)
    }

    /// The segment that came along with bytes read since it was expected.
    pub fn take_segment(&mut self, ring_size: usize) -> Result<Segment, SegmentError> {
        match &mut self.way {
            Way::Handover(Some(descriptor)) => Segment::open(descriptor.as_fd(), ring_size),
            _ => Err(SegmentError::Unfit),
        }
    }

    /// No segment is expected any more: the bytes go through the socket for good.
    pub fn stay_on_socket(&mut self) {
        self.way = Way::Socket;
    }

    /// The bytes go through the segment from here on, both ways: all that comes over the socket is the doorbell.
    pub fn go_on_in(&mut self, segment: Segment, side: Side) {
        self.way = Way::Rings(Box::new(Rings::new(segment, side)));
    }

    /// The reader polls shared memory for a while: the peer need not make an event.
    pub fn forgo_event(&mut self) {
        if let Way::Rings(rings) = &mut self.way {
            rings.forgo_bell();
        }
    }

    /// The reader stops polling. No event reports earlier bytes: read the stream until a read finds nothing. Returns
    /// `true` if the reader did poll.
    pub fn leave_event(&mut self) -> bool {
        match &mut self.way {
            Way::Rings(rings) => rings.leave_bell(),
            _ => false,
        }
    }

    /// Returns the number of bytes in shared memory that the peer has not read. `None`: the bytes go another way.
    pub(crate) fn unread_in_shared(&self) -> Option<u64> {
        match &self.way {
            Way::Rings(rings) => Some(rings.unread_by_peer()),
            _ => None,
        }
    }
}
