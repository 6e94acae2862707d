//! `Stream`: a connected byte stream, tcp or unix, never blocking.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::endpoint::IpcAddress;

/// A connected (or connecting) stream socket.
#[derive(Debug)]
pub struct Stream {
    fd: OwnedFd,
}

/// How a connect went.
#[derive(Debug)]
pub enum Connecting {
    /// Connected at once.
    Done(Stream),
    /// Under way: writable when decided, then ask [`Stream::connect_error`].
    Pending(Stream),
}

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

    fn connecting(stream: Stream, result: rustix::io::Result<()>) -> io::Result<Connecting> {
        match result {
            Ok(()) => Ok(Connecting::Done(stream)),
            Err(Errno::INPROGRESS) => Ok(Connecting::Pending(stream)),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn from_tcp(fd: OwnedFd) -> io::Result<Stream> {
        sockopt::set_tcp_nodelay(&fd, true)?;
        Ok(Stream { fd })
    }

    pub(crate) fn from_unix(fd: OwnedFd) -> Stream {
        Stream { fd }
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
    pub fn read<'a>(&self, room: &'a mut [MaybeUninit<u8>]) -> io::Result<&'a mut [u8]> {
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
    pub fn write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
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
    pub fn shutdown_write(&self) {
        // A connection that is gone already needs no farewell.
        let _ = net::shutdown(&self.fd, net::Shutdown::Write);
    }

    /// Ends both directions, as closing does, while the descriptor stays.
    pub fn shutdown(&self) {
        // As above.
        let _ = net::shutdown(&self.fd, net::Shutdown::Both);
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
