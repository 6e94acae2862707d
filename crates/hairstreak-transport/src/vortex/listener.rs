//! `VortexListener`: a port of a rank, whose connections the fabric passes on as descriptors.
//!
//! ```text
//!   attached --the fabric ends--> away --every RETRY_TIME--> attaching --answer--> attached
//! ```
//!
//! A fabric that is gone is one error; when a fabric of that name is there again, the listener is, too. The owner watches one descriptor all the
//! time: that of a poller, which watches the socket to the fabric and a timer.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::address::VortexAddress;
use super::attaching::{AttachProgress, Attaching, reach};
use super::error::VortexError;
use crate::poller::{Interest, Poller, Timer};
use crate::shm;
use crate::stream::Stream;

/// The interval of a listener's looks for a fabric that is gone.
const RETRY_TIME: Duration = Duration::from_millis(250);
/// The time limit for the first answer of a fabric.
const ANSWER_TIME: Duration = Duration::from_secs(5);
const SOCKET_TOKEN: u64 = 0;
const TIMER_TOKEN: u64 = 1;

/// A listening port of a fabric.
#[derive(Debug)]
pub(crate) struct VortexListener {
    poller: Poller,
    timer: Timer,
    state: Mutex<State>,
    /// With the rank and the port that the fabric gave.
    address: VortexAddress,
}

#[derive(Debug)]
enum State {
    Attached(OwnedFd),
    Away,
    Attaching(OwnedFd, Attaching),
}

impl VortexListener {
    /// Attaches to a fabric. Waits for its answer.
    pub fn bind(address: &VortexAddress) -> io::Result<VortexListener> {
        if address.from.is_some() {
            return Err(VortexError::Source(address.clone()).into());
        }
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        poller.add(&timer, TIMER_TOKEN, Interest::Readable)?;
        let (socket, mut attaching) = begin(address)?;
        poller.add(&socket, SOCKET_TOKEN, Interest::Readable)?;
        let deadline = Instant::now() + ANSWER_TIME;
        let attached = loop {
            if let AttachProgress::Done(attached) = attaching.advance(socket.as_fd())? {
                break attached;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(VortexError::NoAnswer(address.fabric.clone()).into());
            }
            poller.wait(Some(left), |_| {})?;
        };
        let (rank, port) = (Some(attached.rank), attached.port);
        let address = VortexAddress { fabric: address.fabric.clone(), from: None, rank, port };
        Ok(VortexListener { poller, timer, state: Mutex::new(State::Attached(socket)), address })
    }

    pub fn address(&self) -> &VortexAddress {
        &self.address
    }

    /// The next connection; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The fabric is gone (reported once), or it is back and has given the port to another listener (reported at every
    /// attempt).
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.timer.acknowledge();
        let accepted = self.advance(&mut state);
        if accepted.is_err() && !matches!(*state, State::Attached(_)) {
            self.look_again(&mut state);
        }
        accepted
    }

    fn advance(&self, state: &mut State) -> io::Result<Option<Stream>> {
        if matches!(state, State::Away) {
            match begin(&self.address) {
                Ok((socket, attaching)) => {
                    self.poller.add(&socket, SOCKET_TOKEN, Interest::Readable)?;
                    *state = State::Attaching(socket, attaching);
                }
                // The fabric is still gone, which was reported before.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    self.look_again(state);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
        if let State::Attaching(socket, attaching) = state {
            let AttachProgress::Done(_) = attaching.advance(socket.as_fd())? else { return Ok(None) };
            let State::Attaching(socket, _) = std::mem::replace(state, State::Away) else { return Ok(None) };
            *state = State::Attached(socket);
        }
        let State::Attached(socket) = state else { return Ok(None) };
        let (mut room, mut descriptor) = ([MaybeUninit::uninit()], None);
        match shm::receive(&*socket, &mut room, &mut descriptor) {
            Ok([_, ..]) => match descriptor {
                Some(descriptor) => Ok(Some(Stream::from_unix(descriptor))),
                None => Err(VortexError::NoDescriptor(self.address.fabric.clone()).into()),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Ok([]) | Err(_) => {
                self.look_again(state);
                Err(VortexError::Gone(self.address.fabric.clone()).into())
            }
        }
    }

    /// Nothing is known of a fabric: the timer makes the next event.
    fn look_again(&self, state: &mut State) {
        if let State::Attached(socket) | State::Attaching(socket, _) = std::mem::replace(state, State::Away) {
            self.poller.remove(&socket);
        }
        self.timer.arm(RETRY_TIME);
    }
}

/// A socket that is connected to the fabric, and a wish to listen.
fn begin(address: &VortexAddress) -> io::Result<(OwnedFd, Attaching)> {
    let (socket, _) = reach(&address.fabric)?;
    Ok((socket, Attaching::to_listen(address)))
}

impl AsFd for VortexListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.poller.as_fd()
    }
}
