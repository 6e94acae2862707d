//! Stream sockets, tcp and unix: connecting, one read, one write. Nothing here blocks.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::endpoint::IpcAddress;

/// More of them in a row Linux does not ask for.
const MOST_KEEPALIVES: u64 = 127;
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Starts to connect to a tcp address. Returns the socket and whether it is connected already.
pub(super) fn connect_tcp(address: SocketAddr) -> io::Result<(OwnedFd, bool)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    let is_connected = started(net::connect(&socket, &address))?;
    Ok((socket, is_connected))
}

/// Connects to a unix socket. Returns the socket and whether it is connected already.
pub(super) fn connect_unix(address: &IpcAddress) -> io::Result<(OwnedFd, bool)> {
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?;
    let is_connected = started(net::connect(&socket, &unix_address(address)?))?;
    Ok((socket, is_connected))
}

fn started(result: rustix::io::Result<()>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(Errno::INPROGRESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Two unix sockets that are connected to each other.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?)
}

/// Whether a connect is over: `false` while it is under way, an error if it failed.
pub(super) fn is_connected(socket: BorrowedFd<'_>) -> io::Result<bool> {
    sockopt::socket_error(socket)??;
    match net::getpeername(socket) {
        Ok(_) => Ok(true),
        // Under way, or failed since the error was looked at: then an event follows.
        Err(Errno::NOTCONN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Reads once; an empty slice is the end of the stream.
#[inline]
pub(super) fn read<'a>(socket: BorrowedFd<'_>, room: &'a mut [MaybeUninit<u8>]) -> io::Result<&'a mut [u8]> {
    loop {
        // The buffer is borrowed anew on every turn, which the borrow checker sees only so.
        match rustix::io::read(socket, &mut *room) {
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

/// Reads once into bytes; 0 is the end of the stream.
pub(super) fn read_bytes(socket: BorrowedFd<'_>, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::io::read(socket, &mut *room) {
            Err(Errno::INTR) => continue,
            other => return other.map_err(io::Error::from),
        }
    }
}

/// Writes once.
#[inline]
pub(super) fn write(socket: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
    loop {
        let result = match slices {
            [one] => net::send(socket, one, net::SendFlags::NOSIGNAL),
            many => {
                let mut control = net::SendAncillaryBuffer::default();
                net::sendmsg(socket, many, &mut control, net::SendFlags::NOSIGNAL)
            }
        };
        match result {
            Err(Errno::INTR) => continue,
            other => return other.map_err(io::Error::from),
        }
    }
}

/// Says that nothing more will be written.
pub(super) fn shutdown_write(socket: BorrowedFd<'_>) {
    // A connection that is gone already needs no farewell.
    let _ = net::shutdown(socket, net::Shutdown::Write);
}

/// See [`Stream::keep_alive`](super::byte_stream::Stream::keep_alive).
pub(super) fn keep_alive(socket: BorrowedFd<'_>, interval: Duration, timeout: Duration) -> io::Result<()> {
    let second = Duration::from_secs(1);
    let interval = interval.max(second);
    let count = timeout.as_secs().div_ceil(interval.as_secs()).clamp(1, MOST_KEEPALIVES);
    sockopt::set_tcp_keepidle(socket, interval)?;
    sockopt::set_tcp_keepintvl(socket, interval)?;
    sockopt::set_tcp_keepcnt(socket, count as u32)?;
    Ok(sockopt::set_socket_keepalive(socket, true)?)
}

pub(crate) fn unix_address(address: &IpcAddress) -> io::Result<SocketAddrUnix> {
    Ok(match address {
        IpcAddress::Path(path) => SocketAddrUnix::new(path)?,
        IpcAddress::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    })
}
