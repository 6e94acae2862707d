//! Stream sockets, tcp and unix: connecting, one read, one write. Nothing here blocks.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::endpoint::IpcAddress;

/// More keepalives in a row Linux does not send.
const MOST_KEEPALIVES: u64 = 127;
/// Fewer in a row are sent to no peer: a network loses a packet now and then, and a host many at once when thousands of connections ask in
/// the same millisecond.
const FEWEST_KEEPALIVES: u64 = 3;
/// Keepalives within the timeout, if there are seconds enough.
const KEEPALIVES_WANTED: u64 = 4;
const FLAGS: SocketFlags = SocketFlags::NONBLOCK.union(SocketFlags::CLOEXEC);

/// Starts to connect to a tcp address. Returns the socket and whether it is connected already.
pub(super) fn connect_tcp(address: SocketAddr) -> io::Result<(OwnedFd, bool)> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = net::socket_with(family, SocketType::STREAM, FLAGS, None)?;
    let is_connected = started(net::connect(&socket, &address))?;
    Ok((socket, is_connected))
}

/// Connects to a unix socket. Returns the socket and whether it is connected already.
pub(crate) fn connect_unix(address: &IpcAddress) -> io::Result<(OwnedFd, bool)> {
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
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?)
}

/// Returns `true` if a connect is over, `false` while it is under way, an error if it failed.
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

/// Ends this side: no more bytes are written.
pub(super) fn shutdown_write(socket: BorrowedFd<'_>) {
    // A connection that is gone already needs no farewell.
    let _ = net::shutdown(socket, net::Shutdown::Write);
}

/// See [`Stream::keep_alive`](super::byte_stream::Stream::keep_alive).
pub(super) fn keep_alive(socket: BorrowedFd<'_>, interval: Duration, timeout: Duration) -> io::Result<()> {
    // The kernel counts in seconds.
    let idle = interval.as_secs().max(1);
    let between = (timeout.as_secs() / KEEPALIVES_WANTED).clamp(1, idle);
    let count = timeout.as_secs().div_ceil(between).clamp(FEWEST_KEEPALIVES, MOST_KEEPALIVES);
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(idle))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(between))?;
    sockopt::set_tcp_keepcnt(socket, count as u32)?;
    Ok(sockopt::set_socket_keepalive(socket, true)?)
}

pub(crate) fn unix_address(address: &IpcAddress) -> io::Result<SocketAddrUnix> {
    Ok(match address {
        IpcAddress::Any => return Err(io::ErrorKind::InvalidInput.into()),
        IpcAddress::Path(path) => SocketAddrUnix::new(path)?,
        IpcAddress::Abstract(name) => SocketAddrUnix::new_abstract_name(name.as_bytes())?,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn the_kernel_asks_several_times_before_a_host_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let asked = |interval_ms, timeout_ms| {
            let (interval, timeout) = (Duration::from_millis(interval_ms), Duration::from_millis(timeout_ms));
            keep_alive(stream.as_fd(), interval, timeout).unwrap();
            let idle = sockopt::tcp_keepidle(&stream).unwrap().as_secs();
            let between = sockopt::tcp_keepintvl(&stream).unwrap().as_secs();
            (idle, between, sockopt::tcp_keepcnt(&stream).unwrap())
        };
        assert_eq!(asked(15_000, 10_000), (15, 2, 5));
        assert_eq!(asked(10_000, 30_000), (10, 7, 5));
        assert_eq!(asked(1_000, 3_000), (1, 1, 3));
        assert_eq!(asked(100, 300), (1, 1, 3));
        assert_eq!(asked(2_000, 600_000), (2, 2, 127));
    }
}
