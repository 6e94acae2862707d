//! The agreement about a segment on a fresh unix socket, below any protocol (`preamble.rs` has its bytes).
//!
//! ```text
//!   connecting side: Giving                        accepting side: Taking
//!     makes a segment
//!     preamble and descriptor  ---------------->   checks the preamble, then maps the segment
//!                              <----------------   answer
//!     both go on in the rings, or the connection ends with an error on each side
//! ```
//!
//! The connecting side makes the segment. So a stranger that connects and sends no valid preamble costs the listener's
//! process a socket and no memory. No stranger makes the listener map more than it allows.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use thiserror::Error;

use super::memory::SegmentError;
use super::passing;
use super::preamble::{self, PREAMBLE_SIZE, Refusal, TAKEN};
use super::segment::Segment;

/// The reason for which two processes did not agree on shared memory.
#[derive(Debug, Error)]
pub enum HandoverError {
    /// The peer, a stranger, began with other bytes.
    #[error("the peer does not begin as one that shares memory")]
    Stranger,
    /// The peer left in the middle of the agreement.
    #[error("the peer ended the connection before it agreed to share memory")]
    Ended,
    /// The peer answered in a way that has no meaning.
    #[error("the peer's answer {0} to shared memory is unknown")]
    Answer(u8),
    /// This side does not take the peer's segment.
    #[error("the peer's shared memory is not taken: {0}")]
    Refuses(Refusal),
    /// The peer did not take this side's segment.
    #[error("the peer did not take the shared memory: {0}")]
    Refused(Refusal),
    /// There is no segment to give.
    #[error(transparent)]
    Segment(#[from] SegmentError),
}

impl From<HandoverError> for io::Error {
    fn from(error: HandoverError) -> io::Error {
        let kind = match error {
            HandoverError::Ended => io::ErrorKind::UnexpectedEof,
            HandoverError::Refused(_) => io::ErrorKind::ConnectionRefused,
            HandoverError::Segment(SegmentError::RingSize(_)) => io::ErrorKind::InvalidInput,
            HandoverError::Segment(_) => io::ErrorKind::OutOfMemory,
            HandoverError::Stranger | HandoverError::Answer(_) | HandoverError::Refuses(_) => {
                io::ErrorKind::InvalidData
            }
        };
        io::Error::new(kind, error)
    }
}

/// Progress of an agreement.
pub(crate) enum Handover {
    /// Both sides go on in this.
    Agreed(Segment),
    WaitsToRead,
    WaitsToWrite,
}

/// The side that makes the segment.
#[derive(Debug)]
pub(crate) struct Giving {
    ring_size: usize,
    segment: Option<Segment>,
    /// Until its first byte is sent.
    file: Option<OwnedFd>,
    sent: usize,
}

impl Giving {
    /// Gives two rings of `ring_size` bytes each.
    pub fn new(ring_size: usize) -> Giving {
        Giving { ring_size, segment: None, file: None, sent: 0 }
    }

    /// Goes as far as the socket lets it.
    pub fn advance(&mut self, socket: BorrowedFd<'_>) -> io::Result<Handover> {
        if self.segment.is_none() {
            let (segment, file) = Segment::create(self.ring_size).map_err(HandoverError::from)?;
            (self.segment, self.file) = (Some(segment), Some(file));
        }
        let preamble = preamble::encode(self.ring_size);
        while self.sent < PREAMBLE_SIZE {
            let rest = &preamble[self.sent..];
            let result = match &self.file {
                Some(file) => passing::send_with(socket, rest, file.as_fd()),
                None => passing::send(socket, rest),
            };
            match unless_blocked(result)? {
                Some(count) => (self.sent, self.file) = (self.sent + count, None),
                None => return Ok(Handover::WaitsToWrite),
            }
        }
        let mut answer = [MaybeUninit::uninit()];
        // A descriptor beside the answer is closed right away.
        match unless_blocked(passing::receive(socket, &mut answer, &mut None))? {
            None => Ok(Handover::WaitsToRead),
            Some([]) => Err(HandoverError::Ended.into()),
            Some([TAKEN, ..]) => Ok(match self.segment.take() {
                Some(segment) => Handover::Agreed(segment),
                None => Handover::WaitsToRead,
            }),
            Some([answer, ..]) => Err(match Refusal::of_answer(*answer) {
                Some(refusal) => HandoverError::Refused(refusal).into(),
                None => HandoverError::Answer(*answer).into(),
            }),
        }
    }
}

/// The side that is given the segment.
#[derive(Debug)]
pub(crate) struct Taking {
    ring_size_max: usize,
    preamble: [u8; PREAMBLE_SIZE],
    received: usize,
    descriptor: Option<OwnedFd>,
}

impl Taking {
    /// Takes rings of at most `ring_size_max` bytes each.
    pub fn new(ring_size_max: usize) -> Taking {
        Taking { ring_size_max, preamble: [0; PREAMBLE_SIZE], received: 0, descriptor: None }
    }

    /// Goes as far as the socket lets it.
    pub fn advance(&mut self, socket: BorrowedFd<'_>) -> io::Result<Handover> {
        while self.received < PREAMBLE_SIZE {
            // No byte more than the preamble: behind it come doorbells.
            let mut room = [MaybeUninit::uninit(); PREAMBLE_SIZE];
            let room = &mut room[self.received..];
            let bytes = match unless_blocked(passing::receive(socket, room, &mut self.descriptor))? {
                None => return Ok(Handover::WaitsToRead),
                Some([]) => return Err(HandoverError::Ended.into()),
                Some(bytes) => bytes,
            };
            self.preamble[self.received..][..bytes.len()].copy_from_slice(bytes);
            self.received += bytes.len();
            if !preamble::may_begin(&self.preamble[..self.received]) {
                return Err(HandoverError::Stranger.into());
            }
        }
        let segment = self.take();
        let answer = segment.as_ref().err().map_or(TAKEN, |refusal| refusal.to_answer());
        // A segment that was mapped for nothing is mapped again when there is room for one byte.
        match (unless_blocked(passing::send(socket, &[answer]))?, segment) {
            (None, _) => Ok(Handover::WaitsToWrite),
            (Some(_), Ok(segment)) => Ok(Handover::Agreed(segment)),
            (Some(_), Err(refusal)) => Err(HandoverError::Refuses(refusal).into()),
        }
    }

    fn take(&self) -> Result<Segment, Refusal> {
        let ring_size = preamble::decode(&self.preamble, self.ring_size_max)?;
        let descriptor = self.descriptor.as_ref().ok_or(Refusal::Descriptor)?;
        Segment::open(descriptor.as_fd(), ring_size).map_err(|error| match error {
            SegmentError::RingSize(_) => Refusal::RingSize,
            SegmentError::Unfit => Refusal::Descriptor,
            SegmentError::System(_) | SegmentError::Strict | SegmentError::FileSize => Refusal::Memory,
        })
    }
}

/// `None` where it would block.
fn unless_blocked<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        other => other.map(Some),
    }
}
