//! The limit of tcp and ipc: bare framing over a stream, with one lock exchange per call at each end.
//!
//! The sender frames into one buffer and writes it when the next message does not fit; the receiver reads into one
//! buffer and parses in place. Large bodies skip both buffers. The framing is ZMTP's (a flag byte, one or eight bytes
//! of size), the lock is what a handle that may be shared costs at least. No handshake, no queue, no second thread.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};

use super::contract::{
    Component, Contender, ContenderError, Opening, Receiving, Sending, abstract_name, wrong_size,
};
use crate::sockets::plan::Transport;

const BUFFER_SIZE: usize = 64 * 1024;
/// Bodies from this size on go between the application's memory and the kernel directly.
const DIRECT_SIZE_MIN: usize = 32 * 1024;
const FLAG_LONG: u8 = 0x02;
const HEADER_SIZE_SHORT: usize = 2;
const HEADER_SIZE_LONG: usize = 9;

/// Nothing but the transport.
pub struct StreamLimit {
    transport: Transport,
}

impl Contender for StreamLimit {
    type Component = StreamComponent;

    fn open(opening: Opening<'_>) -> Result<Self, ContenderError> {
        Ok(Self { transport: opening.transport })
    }

    fn component(&self) -> Result<StreamComponent, ContenderError> {
        Ok(StreamComponent { transport: self.transport })
    }
}

/// The transport as one thread sees it.
pub struct StreamComponent {
    transport: Transport,
}

impl StreamComponent {
    fn bind(&self, number: usize) -> Result<(Link, String), ContenderError> {
        let failed = |error| ContenderError::call("bind", error);
        match self.transport {
            Transport::Ipc | Transport::Shm | Transport::Inproc => {
                let name = abstract_name(number);
                let address = SocketAddr::from_abstract_name(&name).map_err(failed)?;
                Ok((Link::Unix(UnixListener::bind_addr(&address).map_err(failed)?), name))
            }
            Transport::Tcp => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
                let address = listener.local_addr().map_err(failed)?;
                Ok((Link::Tcp(listener), address.to_string()))
            }
        }
    }

    fn connect(&self, endpoint: &str) -> Result<Link, ContenderError> {
        let failed = |error| ContenderError::call("connect", error);
        let descriptor = match self.transport {
            Transport::Ipc | Transport::Shm | Transport::Inproc => {
                let address = SocketAddr::from_abstract_name(endpoint).map_err(failed)?;
                OwnedFd::from(UnixStream::connect_addr(&address).map_err(failed)?)
            }
            Transport::Tcp => {
                let stream = TcpStream::connect(endpoint).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                OwnedFd::from(stream)
            }
        };
        Ok(Link::Open(File::from(descriptor)))
    }
}

impl Component for StreamComponent {
    type Sender = StreamSender;
    type Receiver = StreamReceiver;

    fn bind_receiver(&self, number: usize) -> Result<(StreamReceiver, String), ContenderError> {
        let (link, endpoint) = self.bind(number)?;
        Ok((StreamReceiver::new(link), endpoint))
    }

    fn bind_sender(&self, number: usize) -> Result<(StreamSender, String), ContenderError> {
        let (link, endpoint) = self.bind(number)?;
        Ok((StreamSender::new(link), endpoint))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<StreamReceiver, ContenderError> {
        Ok(StreamReceiver::new(self.connect(endpoint)?))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<StreamSender, ContenderError> {
        Ok(StreamSender::new(self.connect(endpoint)?))
    }
}

/// A stream, or what it will be accepted from.
enum Link {
    Tcp(TcpListener),
    Unix(UnixListener),
    Open(File),
}

impl Link {
    fn open(&mut self) -> Result<(), ContenderError> {
        let failed = |error| ContenderError::call("accept", error);
        let descriptor = match self {
            Self::Open(_) => return Ok(()),
            Self::Unix(listener) => OwnedFd::from(listener.accept().map_err(failed)?.0),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                OwnedFd::from(stream)
            }
        };
        *self = Self::Open(File::from(descriptor));
        Ok(())
    }

    fn stream(&mut self) -> Result<&mut File, ContenderError> {
        match self {
            Self::Open(stream) => Ok(stream),
            _ => Err(ContenderError::call("stream", "used before the other end was there")),
        }
    }
}

/// What a handle that may be shared needs: one atomic exchange to take it, one store to give it back.
struct Lock(AtomicBool);

impl Lock {
    #[inline]
    fn with<T>(&self, work: impl FnOnce() -> T) -> T {
        while self.0.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        let result = work();
        self.0.store(false, Ordering::Release);
        result
    }
}

/// The sending end.
pub struct StreamSender {
    lock: Lock,
    output: Output,
}

struct Output {
    link: Link,
    buffer: Vec<u8>,
}

impl StreamSender {
    fn new(link: Link) -> Self {
        let output = Output { link, buffer: Vec::with_capacity(BUFFER_SIZE) };
        Self { lock: Lock(AtomicBool::new(false)), output }
    }
}

impl Output {
    #[inline]
    fn append(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        if self.buffer.len() + HEADER_SIZE_LONG + body.len() > BUFFER_SIZE {
            self.flush()?;
        }
        match u8::try_from(body.len()) {
            Ok(size) => self.buffer.extend_from_slice(&[0, size]),
            Err(_) => {
                self.buffer.push(FLAG_LONG);
                self.buffer.extend_from_slice(&(body.len() as u64).to_be_bytes());
            }
        }
        if body.len() >= DIRECT_SIZE_MIN {
            return self.write_with(body);
        }
        self.buffer.extend_from_slice(body);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        let stream = self.link.stream()?;
        stream.write_all(&self.buffer).map_err(|error| ContenderError::call("write", error))?;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what has gathered and `body` behind it, without copying it.
    fn write_with(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        let stream = self.link.stream()?;
        let mut slices = [IoSlice::new(&self.buffer), IoSlice::new(body)];
        let mut rest = &mut slices[..];
        while rest.iter().any(|slice| !slice.is_empty()) {
            match stream.write_vectored(rest) {
                Ok(count) => IoSlice::advance_slices(&mut rest, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ContenderError::call("writev", error)),
            }
        }
        self.buffer.clear();
        Ok(())
    }
}

impl Sending for StreamSender {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.output.link.open()
    }

    #[inline]
    fn send(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.append(body))
    }

    fn send_batch(&mut self, body: &[u8], count: usize) -> Result<(), ContenderError> {
        self.lock.with(|| (0..count).try_for_each(|_| self.output.append(body)))
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.flush())
    }
}

/// The receiving end.
pub struct StreamReceiver {
    lock: Lock,
    input: Input,
}

/// Bytes read and not yet parsed are `buffer[start..end]`.
struct Input {
    link: Link,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Where large bodies go, and behind them the header of the next message.
    direct: Vec<u8>,
    received_count: u64,
}

impl StreamReceiver {
    fn new(link: Link) -> Self {
        let buffer = vec![0; BUFFER_SIZE].into_boxed_slice();
        let input = Input { link, buffer, start: 0, end: 0, direct: Vec::new(), received_count: 0 };
        Self { lock: Lock(AtomicBool::new(false)), input }
    }
}

impl Input {
    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        loop {
            if let Some((header_size, size)) = self.header() {
                let frame_size = header_size + size;
                if self.end - self.start >= frame_size {
                    self.start += frame_size;
                    self.received_count += 1;
                    return Ok(size);
                }
                if size >= DIRECT_SIZE_MIN {
                    self.start += header_size;
                    self.read_direct(size)?;
                    self.received_count += 1;
                    return Ok(size);
                }
            }
            self.fill()?;
        }
    }

    /// Whether a whole message can be taken without reading.
    fn has_message(&self) -> bool {
        self.header().is_some_and(|(header_size, size)| self.end - self.start >= header_size + size)
    }

    /// The sizes of the next message's header and body, if its header is there.
    #[inline]
    fn header(&self) -> Option<(usize, usize)> {
        match &self.buffer[self.start..self.end] {
            [FLAG_LONG, size @ ..] => {
                let size = size.first_chunk::<8>()?;
                Some((HEADER_SIZE_LONG, u64::from_be_bytes(*size) as usize))
            }
            [_, size, ..] => Some((HEADER_SIZE_SHORT, usize::from(*size))),
            _ => None,
        }
    }

    #[cold]
    fn fill(&mut self) -> Result<(), ContenderError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let stream = self.link.stream()?;
        match stream.read(&mut self.buffer[self.end..]) {
            Ok(0) => Err(ContenderError::BrokenStream(self.received_count)),
            Ok(count) => {
                self.end += count;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(ContenderError::call("read", error)),
        }
    }

    /// Reads a body whose header was taken, of which the buffer holds only a part, and the next header with it.
    fn read_direct(&mut self, size: usize) -> Result<(), ContenderError> {
        let wanted = size + HEADER_SIZE_LONG;
        if self.direct.len() < wanted {
            self.direct.resize(wanted, 0);
        }
        let mut filled = self.end - self.start;
        self.direct[..filled].copy_from_slice(&self.buffer[self.start..self.end]);
        let stream = self.link.stream()?;
        while filled < size {
            match stream.read(&mut self.direct[filled..wanted]) {
                Ok(0) => return Err(ContenderError::BrokenStream(self.received_count)),
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ContenderError::call("read", error)),
            }
        }
        self.start = 0;
        self.end = filled - size;
        self.buffer[..self.end].copy_from_slice(&self.direct[size..filled]);
        Ok(())
    }
}

impl Receiving for StreamReceiver {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.input.link.open()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        self.lock.with(|| self.input.receive())
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        let input = &mut self.input;
        self.lock.with(|| {
            let mut count = 0;
            while count == 0 || (count < max && input.has_message()) {
                match input.receive()? {
                    received if received == size => count += 1,
                    received => return Err(wrong_size(received, size)),
                }
            }
            Ok(count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, Opening, StreamLimit};
    use crate::sockets::contender::{Component, Receiving, Sending};
    use crate::sockets::plan::Transport;
    use crate::sockets::task::{Calls, CaseName};

    fn check(transport: Transport, size: usize, message_count: usize) {
        let opening = Opening { case: CaseName::Throughput, transport, size, calls: Calls::One, libzmq: "" };
        let limit = StreamLimit::open(opening).unwrap();
        // Numbers tell the unix sockets of tests apart that run at the same time.
        let (mut receiver, endpoint) = limit.component().unwrap().bind_receiver(size).unwrap();
        std::thread::scope(|scope| {
            let component = limit.component().unwrap();
            scope.spawn(move || {
                let mut sender = component.connect_sender(&endpoint).unwrap();
                (0..message_count).for_each(|_| sender.send(&vec![7; size]).unwrap());
                sender.flush().unwrap();
            });
            receiver.wait_ready().unwrap();
            let mut count = 0;
            while count < message_count {
                count += receiver.receive_batch(size, (message_count - count).min(64)).unwrap();
            }
        });
    }

    #[test]
    fn short_frames_arrive() {
        check(Transport::Tcp, 8, 100_000);
        check(Transport::Ipc, 255, 10_000);
    }

    #[test]
    fn long_frames_arrive() {
        check(Transport::Tcp, 256, 10_000);
        check(Transport::Ipc, 8192, 1000);
    }

    #[test]
    fn bodies_larger_than_the_buffers_arrive() {
        check(Transport::Tcp, 32 * 1024, 300);
        check(Transport::Ipc, 128 * 1024, 300);
    }
}
