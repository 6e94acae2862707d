//! `Middle`: stands between both sockets of a connection, so that a test passes bytes on: a few at a time, changed, or not at all.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;

use hairstreak_transport::{ClientLayer, ServerLayer, Stream};

/// The middle of a connection.
pub struct Middle {
    /// From the client to the server.
    pub up: Way,
    /// From the server to the client.
    pub down: Way,
}

/// One direction.
pub struct Way {
    from: UnixStream,
    to: UnixStream,
    /// Bytes passed on so far.
    pub passed: usize,
    /// Passing ends before this byte.
    pub stop_at: usize,
    /// The changed bit: the place of its byte, and its place in the byte.
    pub flipped_bit: Option<(usize, u8)>,
}

impl Middle {
    /// A client and a server, before their handshake, with a middle between them.
    pub fn between(client: &ClientLayer, server: &ServerLayer) -> (Stream, Middle, Stream) {
        let (client_end, client_side) = halves();
        let (server_end, server_side) = halves();
        let up = Way::new(client_side.try_clone().unwrap(), server_side.try_clone().unwrap());
        let middle = Middle { up, down: Way::new(server_side, client_side) };
        (client_end.with_client_layer(client), middle, server_end.with_server_layer(server))
    }

    /// Passes on at most `max` bytes in each direction. Returns their number.
    pub fn pass(&mut self, max: usize) -> usize {
        self.up.pass(max) + self.down.pass(max)
    }

    /// Lets both sides establish, with at most `max` bytes passed on between their steps, until no byte arrives. Returns `true` if
    /// both are established then.
    ///
    /// Errors: the error of a side.
    pub fn establish(
        &mut self,
        client: &mut Stream,
        server: &mut Stream,
        max: usize,
    ) -> std::io::Result<bool> {
        loop {
            client.establish()?;
            server.establish()?;
            if self.pass(max) == 0 {
                return Ok(client.is_established() && server.is_established());
            }
        }
    }
}

impl Way {
    fn new(from: UnixStream, to: UnixStream) -> Way {
        Way { from, to, passed: 0, stop_at: usize::MAX, flipped_bit: None }
    }

    /// Passes on at most `max` bytes. Returns their number.
    pub fn pass(&mut self, max: usize) -> usize {
        let mut bytes = vec![0; max.min(self.stop_at - self.passed)];
        let count = match self.from.read(&mut bytes) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            // The receiver has closed its socket with unread bytes.
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            Err(error) => panic!("{error}"),
        };
        if let Some((at, bit)) = self.flipped_bit
            && (self.passed..self.passed + count).contains(&at)
        {
            bytes[at - self.passed] ^= 1 << bit;
        }
        match self.to.write_all(&bytes[..count]) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return 0,
            other => other.unwrap(),
        }
        self.passed += count;
        count
    }

    /// Ends the connection towards the receiver.
    pub fn cut(&self) {
        self.to.shutdown(std::net::Shutdown::Write).unwrap();
    }
}

/// A stream, and the socket at its other end.
fn halves() -> (Stream, UnixStream) {
    let (stream, other) = Stream::pair().unwrap();
    (stream, other.readiness_source().unwrap().try_clone_to_owned().unwrap().into())
}
