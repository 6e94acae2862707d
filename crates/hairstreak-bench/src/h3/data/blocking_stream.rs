//! `BlockingStream`: a stream of any transport whose reads and writes wait.
//!
//! The streams themselves never wait. This type adds a poller and patience: a peer that neither sends nor takes anything
//! for [`PATIENCE`] is an error, so that no run hangs.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::time::Duration;

use hairstreak_transport::{
    ClientLayer, Endpoint, Established, Interest, Listener, Poller, ServerLayer, Stream, resolve_bind,
    resolve_connect,
};

/// How long a stream waits for its peer. A broker that stops publishers is given up after this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of shared memory in each direction, as sockets have by default.
const RING_SIZE: usize = 1 << 20;

/// A stream that waits.
#[derive(Debug)]
pub struct BlockingStream {
    stream: Stream,
    poller: Poller,
}

/// Listens on `endpoint`; the listener's endpoint has the real port.
///
/// Errors: the endpoint cannot be bound.
pub fn listen(endpoint: &str) -> io::Result<Listener> {
    match parse(endpoint)? {
        Endpoint::Tcp(address) => {
            Listener::bind_tcp(resolve_bind(&address).map_err(io::Error::other)?, address.host == "*")
        }
        Endpoint::Ipc(address) => Listener::bind_ipc(&address),
        Endpoint::Shm(address) => {
            Ok(Listener::bind_shm(&address)?.with_layer(ServerLayer::Rings { ring_size_max: RING_SIZE }))
        }
        Endpoint::Vortex(address) => Listener::bind_vortex(&address),
        Endpoint::Inproc(_) => Err(unsuited(endpoint)),
    }
}

impl BlockingStream {
    /// Connects to `endpoint`.
    ///
    /// Errors: nobody listens there, or this process cannot reach that place.
    pub fn connect(endpoint: &str) -> io::Result<BlockingStream> {
        let stream = match parse(endpoint)? {
            Endpoint::Tcp(address) => {
                let address = resolve_connect(&address, 0, true).map_err(io::Error::other)?;
                Stream::connect_tcp(address.ok_or(io::ErrorKind::NotFound)?)?
            }
            Endpoint::Ipc(address) => Stream::connect_ipc(&address)?,
            Endpoint::Shm(address) => {
                Stream::connect_ipc(&address)?.with_client_layer(&ClientLayer::Rings { ring_size: RING_SIZE })
            }
            Endpoint::Vortex(address) => Stream::connect_vortex(&address)?,
            Endpoint::Inproc(_) => return Err(unsuited(endpoint)),
        };
        BlockingStream::over(stream)
    }

    /// Waits for the next stream of `listener`.
    ///
    /// Errors: none comes in time.
    pub fn accept(listener: &Listener) -> io::Result<BlockingStream> {
        let poller = Poller::new()?;
        poller.add(listener, 0, Interest::Readable)?;
        loop {
            if let Some(stream) = listener.accept()? {
                return BlockingStream::over(stream);
            }
            if !poller.wait(Some(PATIENCE), |_| ())? {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody has connected"));
            }
        }
    }

    fn over(stream: Stream) -> io::Result<BlockingStream> {
        let poller = Poller::new()?;
        if let Some(source) = stream.readiness_source() {
            poller.add(source, 0, Interest::Edges)?;
        }
        let mut stream = BlockingStream { stream, poller };
        while stream.stream.establish()? != Established::Done {
            stream.wait()?;
        }
        Ok(stream)
    }

    /// Waits until an event says that a read or a write may go on.
    ///
    /// Errors: there is none in time.
    pub fn wait(&mut self) -> io::Result<()> {
        let mut has_ended = false;
        if !self.poller.wait(Some(PATIENCE), |event| has_ended |= event.ended)? {
            let reason = format!("the peer has neither sent nor taken anything for {} s", PATIENCE.as_secs());
            return Err(io::Error::new(io::ErrorKind::TimedOut, reason));
        }
        if has_ended {
            self.stream.on_peer_ended();
        }
        Ok(())
    }

    /// Reads once. 0 is the end of the stream, `WouldBlock` that nothing is there.
    #[inline]
    pub fn try_read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        // SAFETY: both types have the same layout, and `Stream::read` leaves no byte uninitialized: it only writes bytes that came.
        let room = unsafe { &mut *(std::ptr::from_mut(room) as *mut [MaybeUninit<u8>]) };
        Ok(self.stream.read(room)?.len())
    }

    /// Writes once. `WouldBlock`: there is no room.
    #[inline]
    pub fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(&[IoSlice::new(bytes)])
    }

    /// Reads once as soon as something is there. 0 is the end of the stream.
    pub fn read_some(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.try_read(room) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                other => return other,
            }
        }
    }

    /// Says that nothing more will be written, and waits until the peer has ended its side, too: it has read everything then.
    pub fn finish(mut self) -> io::Result<()> {
        self.stream.shutdown_write();
        while self.read_some(&mut [0; 64])? > 0 {}
        Ok(())
    }
}

impl Read for BlockingStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.read_some(room)
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                other => return other,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The endpoint of a text, with an error that streams have.
pub fn parse(endpoint: &str) -> io::Result<Endpoint> {
    endpoint.parse().map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

fn unsuited(endpoint: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("{endpoint} does not lead to another process"))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{Clock, Digester, Generator, HEADER_SIZE, Store, Windows, push_frame};
    use super::*;

    /// Endpoints of this test process that nobody else has.
    fn endpoints(name: &str) -> [String; 2] {
        ["tcp://127.0.0.1:*".to_owned(), format!("shm://h3-{name}-{}", std::process::id())]
    }

    #[test]
    fn messages_arrive_as_they_were_sent_over_each_transport() {
        const COUNT: usize = 3000;
        const SIZE: usize = 1000;
        for endpoint in endpoints("arrive") {
            let listener = listen(&endpoint).unwrap();
            let bound = listener.endpoint().to_string();
            let sender = thread::spawn(move || {
                let mut stream = BlockingStream::connect(&bound).unwrap();
                let mut generator = Generator::new(SIZE, 3);
                let mut out = Vec::new();
                for _ in 0..COUNT {
                    out.clear();
                    push_frame(&mut out, SIZE);
                    generator.append_next(&mut out);
                    stream.write_all(&out).unwrap();
                }
                stream.finish().unwrap();
            });
            let mut stream = BlockingStream::accept(&listener).unwrap();
            let mut store = Store::default();
            store.reset(COUNT * (SIZE + HEADER_SIZE));
            let mut windows = Windows::open(Clock::Wall, 1_000_000);
            assert_eq!(store.receive(&mut stream, &mut windows).unwrap(), COUNT as u64, "{endpoint}");
            drop(stream);
            sender.join().unwrap();
            let (mut generator, mut sent) = (Generator::new(SIZE, 3), Digester::new(77));
            for _ in 0..COUNT {
                let mut message = Vec::new();
                generator.append_next(&mut message);
                sent.add(&message);
            }
            assert_eq!(store.tally(77).unwrap(), sent.tally(), "{endpoint}");
        }
    }

    /// Sends `bytes` and receives them into a store of `size` bytes.
    fn receive(endpoint: &str, size: usize, bytes: Vec<u8>) -> io::Result<u64> {
        let listener = listen(endpoint).unwrap();
        let bound = listener.endpoint().to_string();
        let sender = thread::spawn(move || {
            let mut stream = BlockingStream::connect(&bound).unwrap();
            stream.write_all(&bytes).unwrap();
            // The receiver may have gone.
            let _ = stream.finish();
        });
        let mut stream = BlockingStream::accept(&listener).unwrap();
        let mut store = Store::default();
        store.reset(size);
        let received = store.receive(&mut stream, &mut Windows::open(Clock::Wall, 1));
        drop(stream);
        sender.join().unwrap();
        received
    }

    #[test]
    fn a_store_takes_what_was_agreed_and_not_a_byte_more_and_no_half_of_a_message() {
        let mut bytes = Vec::new();
        push_frame(&mut bytes, 20);
        bytes.extend_from_slice(&[5; 20]);
        // Each case has a name of its own: a process that another test starts keeps a listener for a moment.
        for endpoint in endpoints("agreed") {
            assert_eq!(receive(&endpoint, 24, bytes.clone()).unwrap(), 1);
        }
        for endpoint in endpoints("more") {
            let error = receive(&endpoint, 23, bytes.clone()).unwrap_err().to_string();
            assert_eq!(error, "more than the 23 bytes that were agreed came");
        }
        for endpoint in endpoints("half") {
            let error = receive(&endpoint, 24, bytes[..23].to_vec()).unwrap_err().to_string();
            assert_eq!(error, "the stream ended within a message");
        }
    }

    #[test]
    fn an_endpoint_that_leads_nowhere_is_named() {
        for (endpoint, reason) in [
            ("inproc://here", "inproc://here does not lead to another process"),
            ("udp://here", "endpoint \"udp://here\": it must start with"),
        ] {
            let error = BlockingStream::connect(endpoint).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
            let error = listen(endpoint).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }
}
