//! `Stream`: the bytes between this process and the broker, over tcp or a unix socket. It never blocks once it is there.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::time::{Duration, Instant};

use rustix::net::sockopt;

use super::address::Place;
use super::error::ClientError;

/// After so much silence the system asks the broker's host whether it is there, then this often, so many times.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;

#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    /// Connects, trying each address of a name.
    pub fn connect(place: &Place, deadline: Instant) -> Result<Stream, ClientError> {
        let refused = |error| ClientError::Connect(place.to_string(), error);
        match place {
            Place::Tcp { host, port } => connect_tcp(host, *port, deadline).map(Stream::Tcp),
            Place::Unix { path } => connect_unix(path).map(Stream::Unix).map_err(refused),
        }
    }

    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(into),
            Stream::Unix(stream) => (&*stream).read(into),
        }
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).write(bytes),
            Stream::Unix(stream) => (&*stream).write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> Result<TcpStream, ClientError> {
    let resolve = |error| ClientError::Resolve(host.to_owned(), error);
    let place = Place::Tcp { host: host.to_owned(), port }.to_string();
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in (host, port).to_socket_addrs().map_err(resolve)? {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            last = ErrorKind::TimedOut.into();
            break;
        }
        match TcpStream::connect_timeout(&address, left).and_then(prepare) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(ClientError::Connect(place, last))
}

fn prepare(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    sockopt::set_socket_keepalive(&stream, true)?;
    sockopt::set_tcp_keepidle(&stream, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(&stream, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(&stream, KEEPALIVE_COUNT)?;
    Ok(stream)
}

fn connect_unix(path: &str) -> io::Result<UnixStream> {
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(path)?,
    };
    let stream = UnixStream::connect_addr(&address)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}
