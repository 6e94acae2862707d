//! `BlockingStream`: a stream of any transport whose reads and writes wait.
//!
//! The streams themselves never wait. This type adds a poller and patience: a peer that neither sends nor takes anything
//! for [`PATIENCE`] is an error, so that no run hangs.

use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hairstreak_transport::{
    ClientLayer, Endpoint, Established, Interest, Listener, Poller, ServerLayer, Stream, resolve_bind,
    resolve_connect,
};

/// Patience with a peer. A broker that stops publishers is given up after this time.
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
pub fn listen(endpoint: &str) -> Result<Listener> {
    Ok(match endpoint.parse()? {
        Endpoint::Tcp(address) => Listener::bind_tcp(resolve_bind(&address)?, address.host == "*")?,
        Endpoint::Shm(address) => {
            Listener::bind_shm(&address)?.with_layer(ServerLayer::Rings { ring_size_max: RING_SIZE })
        }
        Endpoint::Vortex(address) => Listener::bind_vortex(&address)?,
        _ => bail!("{endpoint} does not lead to another process"),
    })
}

impl BlockingStream {
    /// Connects to `endpoint`.
    pub fn connect(endpoint: &str) -> Result<BlockingStream> {
        BlockingStream::over(match endpoint.parse()? {
            Endpoint::Tcp(address) => {
                let address = resolve_connect(&address, 0, true)?;
                Stream::connect_tcp(address.context("the host has no address")?)?
            }
            Endpoint::Shm(address) => {
                Stream::connect_ipc(&address)?.with_client_layer(&ClientLayer::Rings { ring_size: RING_SIZE })
            }
            Endpoint::Vortex(address) => Stream::connect_vortex(&address)?,
            _ => bail!("{endpoint} does not lead to another process"),
        })
    }

    /// Waits for the next stream of `listener`.
    pub fn accept(listener: &Listener) -> Result<BlockingStream> {
        let poller = Poller::new()?;
        poller.add(listener, 0, Interest::Readable)?;
        loop {
            if let Some(stream) = listener.accept()? {
                return BlockingStream::over(stream);
            }
            ensure!(poller.wait(Some(PATIENCE), |_| ())?, "nobody has connected");
        }
    }

    fn over(stream: Stream) -> Result<BlockingStream> {
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

    /// Waits for an event that lets a read or a write go on. `TimedOut`: there was none in time.
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

    /// Announces the end of the writes, and waits until the peer has ended its side, too: the peer has read everything then.
    pub fn finish(mut self) -> io::Result<()> {
        self.stream.shutdown_write();
        while self.read(&mut [0; 64])? > 0 {}
        Ok(())
    }

    #[inline]
    fn patiently(&mut self, mut attempt: impl FnMut(&mut Self) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match attempt(self) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.wait()?,
                other => return other,
            }
        }
    }
}

impl Read for BlockingStream {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.try_read(room))
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(|stream| stream.try_write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{Clock, Digester, Generator, HEADER_SIZE, Store, Windows, push_frame};
    use super::*;

    /// Returns endpoints that only this test process has.
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
            let windows = Windows::open(Clock::default(), 1_000_000);
            let received = store.receive(&mut stream, windows).unwrap();
            assert_eq!(received.count, COUNT as u64, "{endpoint}");
            drop(stream);
            sender.join().unwrap();
            let (mut generator, mut sent) = (Generator::new(SIZE, 3), Digester::new(77));
            for _ in 0..COUNT {
                let mut message = Vec::new();
                generator.append_next(&mut message);
                sent.add(&message);
            }
            assert_eq!(store.tally(77).unwrap(), sent.tally, "{endpoint}");
        }
    }

    /// Sends `bytes` and receives them into a store of `size` bytes.
    fn receive(endpoint: &str, size: usize, bytes: Vec<u8>) -> Result<u64> {
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
        let received = store.receive(&mut stream, Windows::open(Clock::default(), 1));
        drop(stream);
        sender.join().unwrap();
        Ok(received?.count)
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
