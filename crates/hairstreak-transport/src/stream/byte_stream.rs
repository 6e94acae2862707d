//! `Stream`: a non-blocking byte stream between two processes, over any transport.
//!
//! A stream is established first ([`Stream::establish`], on every event until it is done), then read and written.
//! Its owner watches [`Stream::readiness_source`] edge-triggered, and keeps three rules for every kind of stream:
//!
//! - **Reading** continues until a read fails with `WouldBlock`, or is short while [`Stream::reads_short`] holds: only
//!   then an event reports more bytes.
//! - **A write** that takes fewer bytes than it was offered has found no room: an event reports new room.
//! - **Bytes left behind** ([`Stream::has_unsent`]) leave by [`Stream::flush`] when there is room, whether there is
//!   more to write or not. A read may leave some too.
//!
//! A stream changes from its socket to shared memory by an agreement in the bytes of its protocol:
//!
//! ```text
//!   socket --expect_segment--> socket, descriptors kept --go_on_in--> rings; the socket is the doorbell
//!                                                       --stay_on_socket--> socket
//! ```

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::{self, sockopt};

use super::establish::{ClientLayer, Established, Establishing, Next, Outcome, ServerLayer};
use super::socket;
use super::tls::{Handshake, Tls, TlsSession};
use crate::delivery::Delivery;
use crate::endpoint::IpcAddress;
use crate::shm::{self, Giving, Rings, Segment, SegmentError, Side, Taking};
#[cfg(doc)]
use crate::vortex::VortexError;
use crate::vortex::{self, Attaching, VortexAddress};

/// A byte stream, and the socket under it.
#[derive(Debug)]
pub struct Stream {
    socket: OwnedFd,
    way: Way,
}

/// The way of the bytes.
#[derive(Debug)]
enum Way {
    Socket,
    /// Through the socket; a descriptor that comes along is kept.
    Handover(Option<OwnedFd>),
    Rings(Box<Rings>),
    /// Through the socket, in records of TLS.
    Tls(Box<Tls>),
    /// None yet.
    Establishing(Box<Establishing>),
}

impl Stream {
    /// Starts to connect to a tcp address.
    pub fn connect_tcp(address: SocketAddr) -> io::Result<Stream> {
        let (socket, is_connected) = socket::connect_tcp(address)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok(Stream::connecting(socket, is_connected))
    }

    /// Connects to a unix socket.
    pub fn connect_ipc(address: &IpcAddress) -> io::Result<Stream> {
        let (socket, is_connected) = socket::connect_unix(address)?;
        Ok(Stream::connecting(socket, is_connected))
    }

    /// Connects through a fabric.
    ///
    /// # Errors
    ///
    /// No fabric of that name runs, or `address` has a wildcard ([`VortexError`]). All else is an error of [`Stream::establish`].
    pub fn connect_vortex(address: &VortexAddress) -> io::Result<Stream> {
        let (socket, is_connected) = vortex::connect(address)?;
        let next = Next::Attaching(Attaching::to_connect(address));
        let mut stream = Stream::from_unix(socket).before(is_connected, next);
        // The fabric hears of the wish at once.
        stream.establish()?;
        Ok(stream)
    }

    /// Two ends of one connection, within this process.
    pub fn pair() -> io::Result<(Stream, Stream)> {
        let (one, other) = socket::pair()?;
        Ok((Stream::from_unix(one), Stream::from_unix(other)))
    }

    fn connecting(socket: OwnedFd, is_connected: bool) -> Stream {
        let stream = Stream::from_unix(socket);
        if is_connected { stream } else { stream.before(false, Next::Plain) }
    }

    /// The connecting side of a stream on which nothing has been read or written: `layer` comes between its socket and its bytes. A stream
    /// through a fabric has its own.
    pub fn with_client_layer(self, layer: &ClientLayer) -> Stream {
        match layer {
            ClientLayer::Plain => self,
            ClientLayer::Rings { ring_size } => self.before(true, Next::Giving(Giving::new(*ring_size))),
            ClientLayer::Tls(client) => self.before(true, Next::Securing(Handshake::Client(client.clone()))),
        }
    }

    /// Adds a layer on the accepting side, as [`Stream::with_client_layer`] does on the connecting side.
    pub fn with_server_layer(self, layer: &ServerLayer) -> Stream {
        match layer {
            ServerLayer::Plain => self,
            ServerLayer::Rings { ring_size_max } => {
                self.before(true, Next::Taking(Taking::new(*ring_size_max)))
            }
            ServerLayer::Tls(server) => self.before(true, Next::Securing(Handshake::Server(server.clone()))),
        }
    }

    /// Runs `next` before the first byte, after the outcome of the connect unless that is known.
    fn before(mut self, is_connected: bool, next: Next) -> Stream {
        match &mut self.way {
            Way::Establishing(establishing) => establishing.set_next(next),
            way => *way = Way::Establishing(Box::new(Establishing::new(is_connected, next))),
        }
        self
    }

    pub(crate) fn from_tcp(socket: OwnedFd) -> io::Result<Stream> {
        sockopt::set_tcp_nodelay(&socket, true)?;
        Ok(Stream::from_unix(socket))
    }

    pub(crate) fn from_unix(socket: OwnedFd) -> Stream {
        Stream { socket, way: Way::Socket }
    }

    /// Continues towards the first byte, as far as possible now. Call it on every event until it is done; further calls
    /// are harmless. An error ends the stream: the connect failed, or the two sides did not agree.
    pub fn establish(&mut self) -> io::Result<Established> {
        let Way::Establishing(establishing) = &mut self.way else { return Ok(Established::Done) };
        self.way = match establishing.advance(self.socket.as_fd())? {
            Outcome::Waits(established) => return Ok(established),
            Outcome::Plain => Way::Socket,
            Outcome::Rings(rings) => Way::Rings(rings),
            Outcome::Tls(tls) => Way::Tls(tls),
        };
        Ok(Established::Done)
    }

    /// Returns `true` if the stream reads and writes already.
    pub fn is_established(&self) -> bool {
        !matches!(self.way, Way::Establishing(_))
    }

    /// Returns the descriptor that a poller watches, with [`Interest::Edges`](crate::Interest::Edges), for this
    /// stream's events. `None`: the carrier of the stream reports them otherwise.
    pub fn readiness_source(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    /// Returns the socket under the stream, for every way of the bytes.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Has the kernel ask a silent peer's host every `interval` whether it is there, and end the connection when
    /// there was no answer for `timeout`; both in seconds, at least one. An error on a unix socket, which needs none.
    pub fn keep_alive(&self, interval: Duration, timeout: Duration) -> io::Result<()> {
        socket::keep_alive(self.socket.as_fd(), interval, timeout)
    }

    /// Reads once; an empty slice is the end of the stream. `WouldBlock`: nothing is left, and an event reports more
    /// bytes.
    #[inline]
    pub fn read<'a>(&mut self, room: &'a mut [MaybeUninit<u8>]) -> io::Result<&'a mut [u8]> {
        match &mut self.way {
            Way::Socket => socket::read(self.socket.as_fd(), room),
            Way::Rings(rings) => rings.read(self.socket.as_fd(), room),
            Way::Tls(tls) => tls.read(self.socket.as_fd(), room),
            Way::Handover(descriptor) => shm::receive(&self.socket, room, descriptor),
            Way::Establishing(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Writes once. Returns the number of bytes taken: fewer than offered only if the room is used up. `WouldBlock`:
    /// there is no room.
    #[inline]
    pub fn write(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.way {
            Way::Socket | Way::Handover(_) => socket::write(self.socket.as_fd(), slices),
            Way::Rings(rings) => rings.write(self.socket.as_fd(), slices),
            Way::Tls(tls) => tls.write(self.socket.as_fd(), slices),
            Way::Establishing(_) => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Returns `true` if a short read means that no bytes are left until the next event. Otherwise only `WouldBlock`
    /// means that.
    #[inline]
    pub fn reads_short(&self) -> bool {
        // A read that may bring a descriptor along ends before the next bytes that bring one. TLS gives the bytes of
        // whole records, whether the socket is empty or not.
        matches!(self.way, Way::Socket)
    }

    /// Returns `true` if bytes taken by the stream wait within it for room. Call [`Stream::flush`] on the next event.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        matches!(&self.way, Way::Tls(tls) if tls.has_unsent())
    }

    /// Sends the bytes that wait within the stream. `WouldBlock`: some still wait, and an event reports new room.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.way {
            Way::Tls(tls) => match tls.send(self.socket.as_fd())? {
                true => Ok(()),
                false => Err(io::ErrorKind::WouldBlock.into()),
            },
            _ => Ok(()),
        }
    }

    /// Ends this side: no more bytes are written. The bytes that announce the end may wait for room
    /// ([`Stream::has_unsent`]).
    pub fn shutdown_write(&mut self) {
        match &mut self.way {
            // The doorbell is still wanted.
            Way::Rings(rings) => rings.end(self.socket.as_fd()),
            Way::Tls(tls) => tls.end(self.socket.as_fd()),
            _ => socket::shutdown_write(self.socket.as_fd()),
        }
    }

    /// Ends both directions, as closing does, while the descriptor stays.
    pub fn shutdown(&self) {
        // A connection that is gone already needs no farewell.
        let _ = net::shutdown(&self.socket, net::Shutdown::Both);
    }

    /// Returns `true` if the bytes go through shared memory. Then only a read or a write that would block has asked for
    /// an event; a short read or write has not. Any event means both directions.
    #[inline]
    pub fn is_shared(&self) -> bool {
        matches!(self.way, Way::Rings(_))
    }

    /// Returns `true` if a read is known to find bytes. A socket returns `false`: only a read tells.
    #[inline]
    pub fn has_news(&self) -> bool {
        match &self.way {
            Way::Rings(rings) => rings.has_news(),
            Way::Tls(tls) => tls.has_news(),
            Way::Socket | Way::Handover(_) | Way::Establishing(_) => false,
        }
    }

    /// The peer as the handshake of TLS showed it, once the stream is established. `None`: the bytes do not go through
    /// TLS.
    pub fn tls(&self) -> Option<TlsSession<'_>> {
        match &self.way {
            Way::Tls(tls) => Some(TlsSession::new(tls)),
            _ => None,
        }
    }

    /// The poller has reported that the peer ended its side of the socket.
    pub fn on_peer_ended(&mut self) {
        match &mut self.way {
            Way::Rings(rings) => rings.on_peer_gone(),
            Way::Establishing(establishing) => establishing.on_peer_ended(),
            Way::Socket | Way::Handover(_) | Way::Tls(_) => {}
        }
    }

    /// This end's address; `None` for unix sockets.
    pub fn local_address(&self) -> Option<SocketAddr> {
        net::getsockname(&self.socket).ok().and_then(|address| SocketAddr::try_from(address).ok())
    }

    /// The peer's address; `None` for unix sockets.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        net::getpeername(&self.socket).ok().flatten().and_then(|address| SocketAddr::try_from(address).ok())
    }

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

    /// Returns the peer's progress with the written bytes. This takes one or two system calls.
    pub fn delivery(&self) -> Delivery {
        match &self.way {
            Way::Rings(rings) => Delivery::of_unread(rings.unread_by_peer()),
            _ => Delivery::of_socket(self.socket.as_fd()),
        }
    }

    /// Returns `true` if bytes of the peer can be read: they are in the kernel, in shared memory or decrypted.
    pub fn has_unread(&self) -> bool {
        if self.is_shared() || self.has_news() {
            return self.has_news();
        }
        rustix::io::ioctl_fionread(&self.socket).is_ok_and(|count| count > 0)
    }
}
