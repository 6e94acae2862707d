//! Between READY and traffic: two Hairstreak peers on a unix socket agree to go on in shared memory.
//!
//! ```text
//!   giver   --GIVEN + descriptor-->   taker        giver   --NONE-->   taker
//!           <--------TAKEN--------                 both stay on the socket
//!   both go on in the rings
//! ```
//!
//! A taker that cannot use what it was given (a relay loses descriptors) answers NONE, and both stay. Neither says
//! anything else before it is decided, so that every byte goes one way or the other. Who insists on shared memory
//! (`shm://`) and does not get it says so in an ERROR and closes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use hairstreak_transport::shm::{Segment, Side};
use hairstreak_wire::zmtp::{Command, RemotePeer, SharedDeal, SharedStep, SharedTerms, command, frame};

use super::error::SessionError;
use super::zmtp::Session;

/// Whether and how a connection may go on in shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedWish {
    pub terms: SharedTerms,
    /// Rather no connection than one without.
    pub insists: bool,
}

/// An agreement under way.
pub(super) struct Sharing {
    peer: RemotePeer,
    ring_size: usize,
    step: Step,
}

enum Step {
    /// Our segment is to be sent, with the descriptor.
    Giving(Segment, OwnedFd),
    /// It was sent.
    Given(Segment),
    /// The peer's segment is to come.
    Awaiting,
    /// It came and the answer is on its way.
    Taking(Segment),
    /// The answer, or the offer, is that there is none.
    Declining,
}

impl Session {
    /// Call before anything is read.
    pub fn set_shared_wish(&mut self, wish: SharedWish) {
        self.shared_wish = Some(wish);
        self.connection.stream_mut().expect_segment();
    }

    /// The handshake is over: what follows for shared memory. Returns the peer if nothing does.
    pub(super) fn start_sharing(&mut self, peer: RemotePeer) -> Result<Option<RemotePeer>, SessionError> {
        let Some(wish) = self.shared_wish else { return Ok(Some(peer)) };
        let theirs = SharedTerms::of(&peer.properties);
        let Some(SharedDeal { gives, ring_size }) = theirs.and_then(|theirs| wish.terms.agree(theirs)) else {
            self.stay_on_socket()?;
            return Ok(Some(peer));
        };
        let ring_size = ring_size as usize;
        let step = match gives {
            false => Step::Awaiting,
            true => match Segment::create(ring_size) {
                Ok((segment, file)) => Step::Giving(segment, file),
                Err(_) => self.decline(),
            },
        };
        self.sharing = Some(Box::new(Sharing { peer, ring_size, step }));
        self.advance_sharing()
    }

    /// Goes on as far as the peer's bytes allow. Returns the peer once it is decided which way the bytes go.
    pub(super) fn advance_sharing(&mut self) -> Result<Option<RemotePeer>, SessionError> {
        let Some(mut sharing) = self.sharing.take() else { return Ok(None) };
        loop {
            self.flush()?;
            let is_flushed = self.connection.output.is_empty();
            sharing.step = match sharing.step {
                Step::Giving(segment, file) if is_flushed && self.connection.is_writable() => {
                    self.give(segment, file)?
                }
                Step::Taking(segment) if is_flushed => {
                    self.go_on_in(segment, Side::Taker);
                    return Ok(Some(sharing.peer));
                }
                Step::Declining if is_flushed => {
                    self.stay_on_socket()?;
                    return Ok(Some(sharing.peer));
                }
                Step::Awaiting => match self.next_step()? {
                    Some(SharedStep::Given) => self.take(sharing.ring_size),
                    Some(SharedStep::None) => Step::Declining,
                    Some(SharedStep::Taken) => return Err(SessionError::Sharing),
                    None => Step::Awaiting,
                },
                Step::Given(segment) if is_flushed => match self.next_step()? {
                    Some(SharedStep::Taken) => {
                        // Behind it there are doorbells only.
                        self.connection.input.consume(self.connection.input.unread().len());
                        self.go_on_in(segment, Side::Giver);
                        return Ok(Some(sharing.peer));
                    }
                    Some(SharedStep::None) => Step::Declining,
                    Some(SharedStep::Given) => return Err(SessionError::Sharing),
                    None => Step::Given(segment),
                },
                step => step,
            };
            let waits_to_write =
                !self.connection.output.is_empty() || matches!(sharing.step, Step::Giving(..));
            let waits_to_write = waits_to_write || matches!(sharing.step, Step::Taking(_) | Step::Declining);
            let may_go_on =
                if waits_to_write { self.connection.is_writable() } else { self.connection.is_readable() };
            if !may_go_on {
                self.sharing = Some(sharing);
                return Ok(None);
            }
        }
    }

    /// One write with the descriptor; what it did not take follows without.
    fn give(&mut self, segment: Segment, file: OwnedFd) -> Result<Step, SessionError> {
        let offer = SharedStep::Given.to_frame();
        match self.connection.stream_mut().write_with(&offer, file.as_fd()) {
            Ok(count) => {
                self.connection.output.push_copy(&offer[count..], &[], false);
                Ok(Step::Given(segment))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.connection.mark_unwritable();
                Ok(Step::Giving(segment, file))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn take(&mut self, ring_size: usize) -> Step {
        match self.connection.stream_mut().take_segment(ring_size) {
            Ok(segment) => {
                self.connection.output.push_copy(&SharedStep::Taken.to_frame(), &[], false);
                Step::Taking(segment)
            }
            Err(_) => self.decline(),
        }
    }

    fn decline(&mut self) -> Step {
        self.connection.output.push_copy(&SharedStep::None.to_frame(), &[], false);
        Step::Declining
    }

    fn go_on_in(&mut self, segment: Segment, side: Side) {
        self.connection.stream_mut().go_on_in(segment, side);
        self.connection.has_moved_to_shared_memory();
    }

    fn stay_on_socket(&mut self) -> Result<(), SessionError> {
        self.connection.stream_mut().stay_on_socket();
        if !self.shared_wish.is_some_and(|wish| wish.insists) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let error = SessionError::NotShared;
        command::encode_error(&mut bytes, error.to_string().as_bytes());
        self.push_command(&bytes);
        // As far as the socket takes it; the connection is over either way.
        self.flush()?;
        Err(error)
    }

    /// The peer's next step, when it is here whole.
    fn next_step(&mut self) -> Result<Option<SharedStep>, SessionError> {
        loop {
            let unread = self.connection.input.unread();
            if let Some(header) = frame::decode_header(unread, frame::COMMAND_SIZE_MAX)? {
                let (start, end) = (header.header_size, header.header_size + header.body_size);
                if !header.command || end > 2 * frame::SHORT_BODY_SIZE_MAX {
                    return Err(SessionError::Sharing);
                }
                if unread.len() >= end {
                    let command = command::parse_traffic(&unread[start..end])?;
                    if let Command::Error { reason } = command {
                        return Err(SessionError::peer_error(reason));
                    }
                    let step = SharedStep::of(&command).ok_or(SessionError::Sharing)?;
                    self.connection.input.consume(end);
                    return Ok(Some(step));
                }
            }
            if !self.connection.is_readable() || !self.read_some()? {
                return Ok(None);
            }
        }
    }
}
