//! `Secured`: a connection with TLS to the broker, by the transport's stream.

use std::io::{self, ErrorKind, IoSlice};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use hairstreak_transport::tls::TlsClient;
use hairstreak_transport::{ClientLayer, Established, Stream};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Bytes that one read takes.
const READ_SIZE: usize = 64 * 1024;

/// An established connection with TLS.
#[derive(Debug)]
pub struct Secured {
    stream: Stream,
    room: Box<[MaybeUninit<u8>]>,
}

/// The TLS settings of a client.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The roots that the client trusts, and its certificate.
    pub client: TlsClient,
    /// True if the client has a certificate of its own.
    pub shows_certificate: bool,
}

/// A failure to connect.
#[derive(Debug)]
pub enum SecureError {
    /// The TCP connection could not be made.
    Connect(io::Error),
    /// The TCP connection was made, and the TLS handshake failed.
    Handshake(io::Error),
}

impl Secured {
    /// Connects, and waits for the end of the handshake.
    pub fn connect(
        address: SocketAddr,
        client: &TlsClient,
        deadline: Instant,
        (idle, timeout): (Duration, Duration),
    ) -> Result<Secured, SecureError> {
        let mut stream = Stream::connect_tcp(address).map_err(SecureError::Connect)?;
        // The outcome of the connect, before the handshake.
        establish(&mut stream, deadline).map_err(SecureError::Connect)?;
        stream.keep_alive(idle, timeout).map_err(SecureError::Connect)?;
        let mut stream = stream.with_client_layer(&ClientLayer::Tls(client.clone()));
        establish(&mut stream, deadline).map_err(SecureError::Handshake)?;
        let room = vec![MaybeUninit::uninit(); READ_SIZE].into_boxed_slice();
        Ok(Secured { stream, room })
    }

    /// Reads the available bytes, like a socket that does not block.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = into.len().min(self.room.len());
        let read = self.stream.read(&mut self.room[..size])?;
        into[..read.len()].copy_from_slice(read);
        Ok(read.len())
    }

    /// Writes the bytes that there is room for, like a socket that does not block.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.flush()?;
        self.stream.write(&[IoSlice::new(bytes)])
    }

    /// Sends the accepted bytes that had no room before.
    pub fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }

    /// Returns true if accepted bytes wait for room.
    pub fn has_unsent(&self) -> bool {
        self.stream.has_unsent()
    }

    /// Returns true if decrypted bytes are ready. The socket does not report them.
    pub fn has_news(&self) -> bool {
        self.stream.has_news()
    }
}

impl AsFd for Secured {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // INVARIANT: a stream of tcp has a socket.
        self.stream.readiness_source().expect("a socket")
    }
}

/// Continues until the stream is established.
fn establish(stream: &mut Stream, deadline: Instant) -> io::Result<()> {
    loop {
        let wanted = match stream.establish()? {
            Established::Done => return Ok(()),
            Established::WaitsToRead => PollFlags::IN,
            Established::WaitsToWrite => PollFlags::OUT,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let Some(source) = stream.readiness_source() else { continue };
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::from_borrowed_fd(source, wanted)], Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
