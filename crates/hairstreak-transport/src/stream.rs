//! `Stream`: a connected byte stream, tcp or unix, never blocking.
//!
//! A unix stream can go on in shared memory, from any point that both sides agree on:
//!
//! ```text
//!   socket --expect_segment--> socket, descriptors kept --go_on_in--> rings; the socket is the doorbell
//! ```

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::endpoint::IpcAddress;
use crate::shm::{self, Rings, Segment, SegmentError, Side};

/// A connected (or connecting) stream socket.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
    way: Way,
}

/// Which way the bytes go.
#[derive(Debug)]
enum Way {
    Socket,
    /// Through the socket; a descriptor that comes along is kept.
    Handover(Option<OwnedFd>),
    Rings(Box<Rings>),
}

/// How a connect went.
#[derive(Debug)]
pub enum Connecting {
    /// Connected at once.
    Done(Stream),
    /// Under way: writable when decided, then ask [`Stream::connect_error`].
    Pending(Stream),
}

/// More of them in a row Linux does not ask for.
const MOST_KEEPALIVES: u64 = 127;
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

impl Stream {
    /// Starts to connect to a tcp address.
    pub fn connect_tcp(address: SocketAddr) -> io::Result<Connecting> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let fd = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
        let result = net::connect(&fd, &address);
        Stream::connecting(Stream::from_tcp(fd)?, result)
    }

    /// Connects to a unix socket.
    pub fn connect_ipc(address: &IpcAddress) -> io::Result<Connecting> {
        let fd = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        let result = net::connect(&fd, &unix_address(address)?);
        Stream::connecting(Stream::from_unix(fd), result)
    }

    /// Two ends of one connection, within this process.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        let (one, other) = net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
        Ok((Stream::from_unix(one), Stream::from_unix(other)))
    }

    fn connecting(stream: Stream, result: rustix::io::Result<()>) -> io::Result<Connecting> {
        match result {
            Ok(()) => Ok(Connecting::Done(stream)),
            Err(Errno::INPROGRESS) => Ok(Connecting::Pending(stream)),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn from_tcp(fd: OwnedFd) -> io::Result<Stream> {
        sockopt::set_tcp_nodelay(&fd, true)?;
        Ok(Stream { fd, way: Way::Socket })
    }

    /// Has the kernel ask a silent peer's host every `interval` whether it is there, and end the connection when
    /// there was no answer for `timeout`; both in seconds, at least one. An error on a unix socket, which needs none.
    pub fn keep_alive(&self, interval: Duration, timeout: Duration) -> io::Result<()> {
        let second = Duration::from_secs(1);
        let interval = interval.max(second);
        let count = timeout.as_secs().div_ceil(interval.as_secs()).clamp(1, MOST_KEEPALIVES);
        sockopt::set_tcp_keepidle(&self.fd, interval)?;
        sockopt::set_tcp_keepintvl(&self.fd, interval)?;
        sockopt::set_tcp_keepcnt(&self.fd, count as u32)?;
        Ok(sockopt::set_socket_keepalive(&self.fd, true)?)
    }

    pub(crate) fn from_unix(fd: OwnedFd) -> Stream {
        Stream { fd, way: Way::Socket }
    }

    /// Why a pending connect failed; `None` if it did not.
    pub fn connect_error(&self) -> Option<io::Error> {
        match sockopt::socket_error(&self.fd) {
            Ok(Ok(())) => None,
            Ok(Err(error)) | Err(error) => Some(error.into()),
        }
    }

    /// Reads once; an empty slice is the end of the stream.
    #[inline]
    pub fn read<'a>(&mut self, room: &'a mut [MaybeUninit<u8>]) -> io::Result<&'a mut [u8]> {
        match &mut self.way {
            Way::Socket => {}
            Way::Handover(descriptor) => return shm::receive(&self.fd, room, descriptor),
            Way::Rings(rings) => return rings.read(self.fd.as_fd(), room),
        }
        loop {
            // The buffer is borrowed anew on every turn, which the borrow checker sees only so.
            match rustix::io::read(&self.fd, &mut *room) {
                Ok((filled, _)) => {
                    let count = filled.len();
                    // SAFETY: read(2) initialised the first `count` bytes.
                    return Ok(unsafe { room[..count].assume_init_mut() });
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes once.
    #[inline]
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if let Way::Rings(rings) = &mut self.way {
            return rings.write(self.fd.as_fd(), slices);
        }
        loop {
            let result = match slices {
                [one] => net::send(&self.fd, one, net::SendFlags::NOSIGNAL),
                many => {
                    let mut control = net::SendAncillaryBuffer::default();
                    net::sendmsg(&self.fd, many, &mut control, net::SendFlags::NOSIGNAL)
                }
            };
            match result {
                Err(Errno::INTR) => continue,
                other => return other.map_err(io::Error::from),
            }
        }
    }

    /// Says that nothing more will be written.
    pub fn shutdown_write(&mut self) {
        match &mut self.way {
            // The doorbell is still wanted.
            Way::Rings(rings) => rings.end(self.fd.as_fd()),
            // A connection that is gone already needs no farewell.
            _ => drop(net::shutdown(&self.fd, net::Shutdown::Write)),
        }
    }

    /// Ends both directions, as closing does, while the descriptor stays.
    pub fn shutdown(&self) {
        // As above.
        let _ = net::shutdown(&self.fd, net::Shutdown::Both);
    }

    /// A segment may be passed from here on, beside the bytes that are read.
    pub fn expect_segment(&mut self) {
        self.way = Way::Handover(None);
    }

    /// Writes once, through the socket, and passes a descriptor with the first byte.
    pub fn write_with(&mut self, bytes: &[u8], descriptor: BorrowedFd<'_>) -> io::Result<usize> {
        shm::send_with(&self.fd, bytes, descriptor)
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

    /// Whether the bytes go through shared memory. Then only a read or a write that would block has asked for an
    /// event, whatever a short one says; and any event means both.
    #[inline]
    pub fn is_shared(&self) -> bool {
        matches!(self.way, Way::Rings(_))
    }

    /// Whether there is something to read in shared memory; false for a socket, which has to be read to know.
    #[inline]
    pub fn has_news(&self) -> bool {
        matches!(&self.way, Way::Rings(rings) if rings.has_news())
    }

    /// What the peer has not read in shared memory, in bytes, if that is where they are.
    pub(crate) fn unread_in_shared(&self) -> Option<u64> {
        match &self.way {
            Way::Rings(rings) => Some(rings.unread_by_peer()),
            _ => None,
        }
    }

    /// Somebody looks into shared memory by himself for a while: the peer need not make an event.
    pub fn forgo_event(&mut self) {
        if let Way::Rings(rings) = &mut self.way {
            rings.forgo_bell();
        }
    }

    /// Nobody looks any more, and no event will tell: the stream is to be read until a read finds nothing. Returns
    /// whether somebody did look.
    pub fn leave_event(&mut self) -> bool {
        match &mut self.way {
            Way::Rings(rings) => rings.leave_bell(),
            _ => false,
        }
    }

    /// The poller says that the peer has ended its side of the socket.
    pub fn on_peer_ended(&mut self) {
        if let Way::Rings(rings) = &mut self.way {
            rings.on_peer_gone();
        }
    }

    /// This end's address; `None` for unix sockets.
    pub fn local_address(&self) -> Option<SocketAddr> {
        net::getsockname(&self.fd).ok().and_then(|address| SocketAddr::try_from(address).ok())
    }

    /// The peer's address; `None` for unix sockets.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        net::getpeername(&self.fd).ok().flatten().and_then(|address| SocketAddr::try_from(address).ok())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

pub(crate) fn unix_address(address: &IpcAddress) -> io::Result<SocketAddrUnix> {
    Ok(match address {
        IpcAddress::Path(path) => SocketAddrUnix::new(path)?,
        IpcAddress::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    })
}
