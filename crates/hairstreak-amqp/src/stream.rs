//! `Stream`: a connection over TCP, TLS or a unix socket that never blocks once it is established.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{self, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak_transport::tls::TlsClient;
use hairstreak_transport::{TcpAddress, resolve_each};
use rustix::net::sockopt;

use super::address::Place;
use super::error::ClientError;
use super::secured::{SecureError, Secured};

/// Silence before the first keepalive probe to the broker's host, then the interval and the number of probes.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_COUNT: u32 = 3;

/// A connection that never blocks.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A unix socket.
    Unix(UnixStream),
    /// TCP with TLS.
    Secured(Box<Secured>),
}

impl Stream {
    /// Connects. Tries each address of a name until the deadline.
    ///
    /// # Errors
    ///
    /// No address answers, or the two sides do not agree on TLS.
    pub fn connect(place: &Place, tls: Option<&TlsClient>, deadline: Instant) -> Result<Stream, ClientError> {
        let refused = |error| ClientError::Connect(place.to_string(), error);
        match place {
            Place::Tcp { host, port } => match tls {
                None => connect_tcp(host, *port, deadline).map(Stream::Tcp),
                Some(tls) => connect_tls(host, *port, tls, deadline),
            },
            Place::Unix { path } => connect_unix(path).map(Stream::Unix).map_err(refused),
        }
    }

    /// Reads the bytes that have come.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there are none, or the error of the connection.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
            Stream::Secured(stream) => stream.read(into),
        }
    }

    /// Writes the bytes that there is room for, and returns their number.
    ///
    /// # Errors
    ///
    /// `WouldBlock` if there is no room, or the error of the connection.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Secured(stream) => stream.write(bytes),
        }
    }

    /// Sends bytes that were accepted and had no room.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(_) | Stream::Unix(_) => Ok(()),
            Stream::Secured(stream) => stream.flush(),
        }
    }

    /// Returns true if accepted bytes wait for room.
    pub fn has_unsent(&self) -> bool {
        matches!(self, Stream::Secured(stream) if stream.has_unsent())
    }

    /// Returns true if TLS has decrypted bytes that were not read: the socket does not report them.
    pub fn has_news(&self) -> bool {
        matches!(self, Stream::Secured(stream) if stream.has_news())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Secured(stream) => stream.as_fd(),
        }
    }
}

fn connect_tcp(host: &str, port: u16, deadline: Instant) -> Result<TcpStream, ClientError> {
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in resolve(host, port, deadline)? {
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
    Err(ClientError::Connect(named(host, port), last))
}

/// As [`connect_tcp`]. A server that answers and is not trusted is the last that is asked.
fn connect_tls(host: &str, port: u16, tls: &TlsClient, deadline: Instant) -> Result<Stream, ClientError> {
    let keepalive = (KEEPALIVE_IDLE, KEEPALIVE_INTERVAL * KEEPALIVE_COUNT);
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in resolve(host, port, deadline)? {
        match Secured::connect(address, tls, deadline, keepalive) {
            Ok(secured) => return Ok(Stream::Secured(Box::new(secured))),
            Err(SecureError::Connect(error)) => last = error,
            Err(SecureError::Handshake(error)) => {
                return Err(ClientError::Tls { place: named(host, port), error });
            }
        }
    }
    Err(ClientError::Connect(named(host, port), last))
}

/// Returns the addresses of a host. A look-up that takes longer is abandoned.
fn resolve(host: &str, port: u16, deadline: Instant) -> Result<Vec<net::SocketAddr>, ClientError> {
    let failed = |error| ClientError::Connect(named(host, port), error);
    let address = TcpAddress { host: host.to_owned(), port };
    let (found, finding) = mpsc::channel();
    let look_up = move || drop(found.send(resolve_each(&address)));
    thread::Builder::new().name("dns".into()).spawn(look_up).map_err(failed)?;
    let left = deadline.saturating_duration_since(Instant::now());
    Ok(finding.recv_timeout(left).map_err(|_| failed(ErrorKind::TimedOut.into()))??)
}

fn named(host: &str, port: u16) -> String {
    Place::Tcp { host: host.to_owned(), port }.to_string()
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
