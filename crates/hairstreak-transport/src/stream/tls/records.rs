//! `Tls`: a socket's bytes in records of TLS, both ways.
//!
//! ```text
//!   read:   socket --> ciphertext (18 KiB at most) --decrypted, copied--> plaintext --copied--> the caller's room
//!   write:  the caller's slices --copied, encrypted--> ciphertext (UNSENT_BYTES_MAX at most) --> socket
//! ```
//!
//! Invariants:
//!
//! - A read fails with `WouldBlock` only when the socket did and no plaintext is left.
//! - A write takes less than was offered only when the socket had no room. In both cases an event follows.
//! - The end of the socket is the end of the bytes only behind a `close_notify`.

use std::io::{self, BufRead, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;

use rustls::{Connection, SupportedCipherSuite};

use super::super::socket;
use super::error::TlsError;

/// Ciphertext that waits for room in the socket, in bytes. The header and the tag of each record come on top.
pub(super) const UNSENT_BYTES_MAX: usize = 64 * 1024;
/// Bytes that a peer may send until its handshake is over: a few times the size of a long certificate chain. rustls keeps
/// the bytes of a message until it is whole, with room for 4 KiB more in a buffer that doubles, and a parsed copy then.
pub(super) const HANDSHAKE_BYTES_MAX: usize = 28 * 1024;
/// Bytes that a peer may send in a row without data in them: session tickets, requests for new keys.
pub(super) const FRUITLESS_BYTES_MAX: usize = 256 * 1024;
/// The plaintext of a record, in bytes (RFC 8446, 5.1).
const RECORD_SIZE_MAX: usize = 16 * 1024;
/// Records of TLS 1.2 that are kept for the end of the handshake and for alerts.
const RECORDS_RESERVED: u64 = 64;

/// State of this side's end: the announcement that it writes nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OwnEnd {
    Open,
    /// The `close_notify` waits for room behind the ciphertext, and the end of the socket behind the `close_notify`.
    Waits,
    Said,
    /// The connection was gone when all data was sent, and needs no farewell.
    Unheard,
}

/// A TLS connection on a socket.
#[derive(Debug)]
pub(in super::super) struct Tls {
    rustls: Connection,
    own_end: OwnEnd,
    /// Bytes that the peer may send until data comes, or until the handshake is over.
    fruitless_left: usize,
    /// Records that the keys may still encrypt. rustls changes the keys of TLS 1.3 by itself.
    records_left: u64,
    /// The reason for which the peer's bytes ended, for every further read.
    failure: Option<rustls::Error>,
}

impl Tls {
    pub fn new(mut rustls: Connection) -> Tls {
        rustls.set_buffer_limit(Some(UNSENT_BYTES_MAX));
        Tls {
            rustls,
            own_end: OwnEnd::Open,
            fruitless_left: HANDSHAKE_BYTES_MAX,
            records_left: u64::MAX,
            failure: None,
        }
    }

    pub fn rustls(&self) -> &Connection {
        &self.rustls
    }

    /// The handshake is over: data has its own bounds.
    pub fn begin_data(&mut self) {
        self.fruitless_left = FRUITLESS_BYTES_MAX;
        if let Some(SupportedCipherSuite::Tls12(suite)) = self.rustls.negotiated_cipher_suite() {
            // rustls would discard bytes written after the last record, and the peer would see a clean end.
            self.records_left = suite.common.confidentiality_limit.saturating_sub(RECORDS_RESERVED);
        }
    }

    /// Sends the waiting ciphertext. Returns whether all of it is sent; otherwise an event reports new room.
    pub fn send(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        while self.rustls.wants_write() && self.own_end != OwnEnd::Unheard {
            match self.rustls.write_tls(&mut Outgoing(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        if self.own_end == OwnEnd::Waits {
            self.own_end = OwnEnd::Said;
            socket::shutdown_write(socket);
        }
        Ok(true)
    }

    /// Returns `true` if bytes wait for room.
    pub fn has_unsent(&self) -> bool {
        match self.own_end {
            OwnEnd::Open => self.rustls.wants_write(),
            OwnEnd::Waits => true,
            OwnEnd::Said | OwnEnd::Unheard => false,
        }
    }

    /// Reads the socket once, and decrypts the records that are whole now. Returns whether the socket is empty.
    ///
    /// Errors: `WouldBlock`; the socket failed or ended; the peer does not keep to TLS, and was sent an alert.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> io::Result<bool> {
        let is_handshaking = self.rustls.is_handshaking();
        let told = if is_handshaking { TlsError::Handshake } else { TlsError::Records };
        if let Some(failure) = &self.failure {
            return Err(told(failure.clone()).into());
        }
        if self.fruitless_left == 0 {
            let error = match is_handshaking {
                true => TlsError::HandshakeSize(HANDSHAKE_BYTES_MAX),
                false => TlsError::Fruitless(FRUITLESS_BYTES_MAX),
            };
            return Err(error.into());
        }
        let mut incoming = Incoming { socket, size_max: self.fruitless_left, is_short: false };
        let count = self.rustls.read_tls(&mut incoming)?;
        if count == 0 {
            return Err(if is_handshaking { TlsError::Ended } else { TlsError::Truncated }.into());
        }
        self.fruitless_left -= count;
        let is_short = incoming.is_short;
        match self.rustls.process_new_packets() {
            Ok(state) if state.plaintext_bytes_to_read() > 0 => self.fruitless_left = FRUITLESS_BYTES_MAX,
            Ok(_) => {}
            Err(error) => {
                self.failure = Some(error.clone());
                // This sends the alert with the reason. The connection has failed anyway.
                let _ = self.send(socket);
                return Err(told(error).into());
            }
        }
        Ok(is_short)
    }

    /// Reads as much as there is and `room` takes; an empty slice is the end.
    pub fn read<'a>(
        &mut self,
        socket: BorrowedFd<'_>,
        room: &'a mut [MaybeUninit<u8>],
    ) -> io::Result<&'a mut [u8]> {
        let mut count = self.take_plaintext(room);
        while count < room.len() && !self.is_input_over() {
            let result = self.receive(socket);
            count += self.take_plaintext(&mut room[count..]);
            match result {
                // Data of an earlier record comes before the error, which the next read finds again.
                Err(_) if count > 0 => break,
                Err(error) => return Err(error),
                Ok(is_short) if is_short && count > 0 => break,
                Ok(_) => {}
            }
        }
        // SAFETY: `take_plaintext` has filled the first `count` bytes.
        Ok(unsafe { room[..count].assume_init_mut() })
    }

    /// Moves decrypted bytes to `room`. Returns their number.
    fn take_plaintext(&mut self, room: &mut [MaybeUninit<u8>]) -> usize {
        let mut count = 0;
        while count < room.len() {
            let mut reader = self.rustls.reader();
            // An error means that no plaintext is there; the socket gives the reason.
            let plaintext = reader.fill_buf().unwrap_or_default();
            if plaintext.is_empty() {
                break;
            }
            let size = plaintext.len().min(room.len() - count);
            room[count..count + size].write_copy_of_slice(&plaintext[..size]);
            reader.consume(size);
            count += size;
        }
        count
    }

    /// Returns `true` if the peer has announced that it sends nothing more, and all plaintext is taken.
    fn is_input_over(&mut self) -> bool {
        matches!(self.rustls.reader().fill_buf(), Ok([]))
    }

    /// Returns `true` if a read finds bytes without the socket.
    pub fn has_news(&self) -> bool {
        !self.rustls.wants_read()
    }

    /// Writes as much as there is room for.
    pub fn write(&mut self, socket: BorrowedFd<'_>, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.own_end != OwnEnd::Open {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let size: usize = slices.iter().map(|slice| slice.len()).sum();
        let mut taken = 0;
        while self.send(socket)? && taken < size {
            taken += self.encrypt(slices, taken)?;
        }
        if taken == 0 && size > 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(taken) }
    }

    /// Encrypts the bytes of `slices` after the first `skipped` bytes, [`UNSENT_BYTES_MAX`] at most. Nothing waits to
    /// be sent. Returns the number of bytes taken.
    fn encrypt(&mut self, slices: &[IoSlice<'_>], skipped: usize) -> io::Result<usize> {
        if self.records_left < UNSENT_BYTES_MAX.div_ceil(RECORD_SIZE_MAX) as u64 {
            return Err(TlsError::KeysUsedUp.into());
        }
        let taken = if skipped == 0 {
            self.rustls.writer().write_vectored(slices)?
        } else {
            let mut rest = slices.to_vec();
            let mut rest = &mut rest[..];
            IoSlice::advance_slices(&mut rest, skipped);
            self.rustls.writer().write_vectored(rest)?
        };
        if taken == 0 {
            return Err(TlsError::KeysUsedUp.into());
        }
        self.records_left -= taken.div_ceil(RECORD_SIZE_MAX) as u64;
        Ok(taken)
    }

    /// Ends this side after the waiting bytes: no more bytes are written.
    pub fn end(&mut self, socket: BorrowedFd<'_>) {
        if self.own_end == OwnEnd::Open {
            let is_last = !self.rustls.wants_write();
            self.own_end = OwnEnd::Waits;
            self.rustls.send_close_notify();
            // A failure with data before the end is found again by the next flush.
            if self.send(socket).is_err() && is_last {
                self.own_end = OwnEnd::Unheard;
            }
        }
    }
}

/// The socket as rustls reads it.
struct Incoming<'a> {
    socket: BorrowedFd<'a>,
    size_max: usize,
    /// The last read found less than was asked for.
    is_short: bool,
}

impl Read for Incoming<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let size = room.len().min(self.size_max);
        let count = socket::read_bytes(self.socket, &mut room[..size])?;
        self.is_short = count < size;
        Ok(count)
    }
}

/// The socket as rustls writes it.
struct Outgoing<'a>(BorrowedFd<'a>);

impl Write for Outgoing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        socket::write(self.0, slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use rustls::crypto::ring;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::version::{TLS12, TLS13};
    use rustls::{
        ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection,
        SupportedProtocolVersion,
    };

    use super::*;

    macro_rules! certificate {
        ($name:literal) => {
            include_bytes!(concat!("../../../tests/streams/certificates/", $name))
        };
    }

    /// One side, and its socket.
    struct Side {
        tls: Tls,
        socket: OwnedFd,
    }

    impl Side {
        /// Continues as far as the socket permits.
        fn advance(&mut self) -> io::Result<()> {
            loop {
                self.tls.send(self.socket.as_fd())?;
                match self.tls.receive(self.socket.as_fd()) {
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
        }

        fn write(&mut self, size: usize) -> io::Result<usize> {
            self.tls.write(self.socket.as_fd(), &[IoSlice::new(&vec![7; size])])
        }
    }

    /// A client and a server, before their handshake.
    fn sides(version: &'static SupportedProtocolVersion, ticket_count: usize) -> (Side, Side) {
        let provider = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate!("ca.pem")).unwrap()).unwrap();
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let chain = vec![CertificateDer::from_pem_slice(certificate!("server.pem")).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(certificate!("server.key")).unwrap();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        server.send_tls13_tickets = ticket_count;
        let client = ClientConnection::new(client.into(), "localhost".try_into().unwrap()).unwrap();
        let server = ServerConnection::new(server.into()).unwrap();
        let (client_socket, server_socket) = socket::pair().unwrap();
        (
            Side { tls: Tls::new(Connection::Client(client)), socket: client_socket },
            Side { tls: Tls::new(Connection::Server(server)), socket: server_socket },
        )
    }

    #[test]
    fn a_write_beyond_the_last_record_of_tls_1_2_is_an_error_and_not_lost() {
        let (mut client, mut server) = sides(&TLS12, 0);
        while client.tls.rustls.is_handshaking() || server.tls.rustls.is_handshaking() {
            client.advance().unwrap();
            server.advance().unwrap();
        }
        client.tls.begin_data();
        assert_eq!(client.tls.records_left, (1 << 24) - RECORDS_RESERVED);
        client.tls.records_left = 7;
        assert_eq!(client.write(3 * RECORD_SIZE_MAX + 1).unwrap(), 3 * RECORD_SIZE_MAX + 1);
        assert_eq!(client.tls.records_left, 3);
        let error = client.write(1).unwrap_err();
        assert!(error.to_string().contains("connect again"), "{error}");
        // The peer has only part of its data, and sees no clean end.
        server.tls.begin_data();
        drop(client);
        let mut room = vec![MaybeUninit::uninit(); 4 * RECORD_SIZE_MAX];
        assert_eq!(server.tls.read(server.socket.as_fd(), &mut room).unwrap().len(), 3 * RECORD_SIZE_MAX + 1);
        let error = server.tls.read(server.socket.as_fd(), &mut room).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    /// The bytes of a hundred session tickets, or the client's error, where it takes `taken_max` bytes without data.
    fn tickets_taken(taken_max: usize) -> io::Result<usize> {
        let (mut client, mut server) = sides(&TLS13, 100);
        while client.tls.rustls.is_handshaking() || server.tls.rustls.is_handshaking() {
            client.advance()?;
            server.advance()?;
        }
        client.tls.begin_data();
        client.tls.fruitless_left = taken_max;
        server.advance()?;
        client.advance()?;
        Ok(taken_max - client.tls.fruitless_left)
    }

    #[test]
    fn records_without_data_are_taken_up_to_the_bound() {
        let size = tickets_taken(FRUITLESS_BYTES_MAX).unwrap();
        assert!(size > 5_000);
        // Sizes are the same each time. A read at the bound finds that the next byte would be beyond.
        let words = format!("TLS: {FRUITLESS_BYTES_MAX} bytes of the peer without data in them");
        assert_eq!(tickets_taken(size + 1).unwrap(), size);
        for taken_max in [size, size - 1] {
            assert_eq!(tickets_taken(taken_max).unwrap_err().to_string(), words);
        }
    }
}
