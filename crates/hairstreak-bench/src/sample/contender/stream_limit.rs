//! The limit of tcp and ipc: bare framing over a stream, or both ways over one, with one lock exchange per call at each
//! end.
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

use super::cipher_limit::Cipher;
use super::contract::{
    Component, Contender, ContenderError, Echoing, Opening, Receiving, Sending, abstract_name, wrong_size,
};
use crate::sample::{Calls, CaseName, Transport};

const BUFFER_SIZE: usize = 64 * 1024;
/// Bodies from this size on go between the application's memory and the kernel directly.
const DIRECT_SIZE_MIN: usize = 32 * 1024;
/// Reads in vain after which who looks without sleeping lets another thread have the core: about 100 us.
const LOOK_COUNT_MAX: u32 = 300;
const FLAG_LONG: u8 = 0x02;
const HEADER_SIZE_SHORT: usize = 2;
const HEADER_SIZE_LONG: usize = 9;

/// Nothing but the settings.
#[derive(Clone, Copy)]
pub struct StreamLimit {
    transport: Transport,
    is_sealed: bool,
    is_spinning: bool,
}

impl Contender for StreamLimit {
    type Component = StreamComponent;

    fn open(opening: Opening<'_>) -> Result<Self, ContenderError> {
        Ok(Self {
            transport: opening.transport,
            is_sealed: opening.case == CaseName::Curve,
            is_spinning: opening.calls == Calls::Spin,
        })
    }

    fn component(&self) -> Result<StreamComponent, ContenderError> {
        Ok(StreamComponent { settings: *self })
    }
}

/// The transport as one thread sees it.
pub struct StreamComponent {
    settings: StreamLimit,
}

impl StreamComponent {
    fn bind(&self, number: usize) -> Result<(Link, String), ContenderError> {
        let failed = |error| ContenderError::call("bind", error);
        match self.settings.transport {
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
        let descriptor = match self.settings.transport {
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

impl StreamComponent {
    fn sender(&self, links: Vec<Link>) -> StreamSender {
        StreamSender { lock: Lock(AtomicBool::new(false)), output: Output::new(links, self.settings) }
    }

    fn receiver(&self, link: Link) -> StreamReceiver {
        StreamReceiver { lock: Lock(AtomicBool::new(false)), input: Input::new(link, self.settings) }
    }
}

impl Component for StreamComponent {
    type Sender = StreamSender;
    type Receiver = StreamReceiver;
    type Subscriber = StreamReceiver;
    type Publisher = StreamSender;
    type Client = StreamDuplex;
    type Server = StreamDuplex;

    fn bind_receiver(&self, number: usize) -> Result<(StreamReceiver, String), ContenderError> {
        let (link, endpoint) = self.bind(number)?;
        Ok((self.receiver(link), endpoint))
    }

    fn bind_sender(&self, number: usize) -> Result<(StreamSender, String), ContenderError> {
        let (link, endpoint) = self.bind(number)?;
        Ok((self.sender(vec![link]), endpoint))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<StreamReceiver, ContenderError> {
        Ok(self.receiver(self.connect(endpoint)?))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<StreamSender, ContenderError> {
        Ok(self.sender(vec![self.connect(endpoint)?]))
    }

    fn bind_subscriber(&self, number: usize) -> Result<(StreamReceiver, String), ContenderError> {
        self.bind_receiver(number)
    }

    /// Frames once and writes the same bytes to each.
    fn connect_publisher(&self, endpoints: &[String]) -> Result<StreamSender, ContenderError> {
        let links: Result<_, _> = endpoints.iter().map(|endpoint| self.connect(endpoint)).collect();
        Ok(self.sender(links?))
    }

    fn bind_client(&self, number: usize) -> Result<(StreamDuplex, String), ContenderError> {
        let (link, endpoint) = self.bind(number)?;
        Ok((StreamDuplex::new(link, self.settings), endpoint))
    }

    fn connect_server(&self, endpoint: &str) -> Result<StreamDuplex, ContenderError> {
        Ok(StreamDuplex::new(self.connect(endpoint)?, self.settings))
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
    /// Each gets all.
    links: Vec<Link>,
    buffer: Vec<u8>,
    cipher: Option<Cipher>,
}

impl Output {
    fn new(links: Vec<Link>, settings: StreamLimit) -> Self {
        let cipher = settings.is_sealed.then(Cipher::default);
        Self { links, buffer: Vec::with_capacity(BUFFER_SIZE), cipher }
    }

    #[inline]
    fn append(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        let size = body.len() + if self.cipher.is_some() { Cipher::OVERHEAD } else { 0 };
        if self.buffer.len() + HEADER_SIZE_LONG + size > BUFFER_SIZE {
            self.flush()?;
        }
        match u8::try_from(size) {
            Ok(size) => self.buffer.extend_from_slice(&[0, size]),
            Err(_) => {
                self.buffer.push(FLAG_LONG);
                self.buffer.extend_from_slice(&(size as u64).to_be_bytes());
            }
        }
        if let Some(cipher) = &mut self.cipher {
            cipher.seal(body, &mut self.buffer);
            return Ok(());
        }
        if body.len() >= DIRECT_SIZE_MIN {
            return self.write_with(body);
        }
        self.buffer.extend_from_slice(body);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        self.write_with(&[])
    }

    /// Writes what has gathered and `body` behind it, without copying it.
    fn write_with(&mut self, body: &[u8]) -> Result<(), ContenderError> {
        for link in &mut self.links {
            let stream = link.stream()?;
            let mut slices = [IoSlice::new(&self.buffer), IoSlice::new(body)];
            let mut rest = &mut slices[..];
            while rest.iter().any(|slice| !slice.is_empty()) {
                match stream.write_vectored(rest) {
                    Ok(count) => IoSlice::advance_slices(&mut rest, count),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // Only where somebody spins.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                    Err(error) => return Err(ContenderError::call("writev", error)),
                }
            }
        }
        self.buffer.clear();
        Ok(())
    }
}

impl Sending for StreamSender {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.output.links.iter_mut().try_for_each(Link::open)
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
    cipher: Option<Cipher>,
    is_spinning: bool,
    /// Reads in vain, in a row.
    look_count: u32,
}

impl Input {
    fn new(link: Link, settings: StreamLimit) -> Self {
        Self {
            link,
            buffer: vec![0; BUFFER_SIZE].into_boxed_slice(),
            start: 0,
            end: 0,
            direct: Vec::new(),
            received_count: 0,
            cipher: settings.is_sealed.then(Cipher::default),
            is_spinning: settings.is_spinning,
            look_count: 0,
        }
    }

    /// The peer may be waiting for this very core.
    fn look_again(&mut self) {
        self.look_count += 1;
        if self.look_count >= LOOK_COUNT_MAX {
            self.look_count = 0;
            std::thread::yield_now();
        }
    }

    fn open(&mut self) -> Result<(), ContenderError> {
        self.link.open()?;
        if self.is_spinning {
            let stream = self.link.stream()?;
            rustix::io::ioctl_fionbio(stream, true).map_err(|error| ContenderError::call("ioctl", error))?;
        }
        Ok(())
    }

    /// The body that was received last, of `size` bytes.
    fn last_body(&self, size: usize) -> &[u8] {
        // A large one lies apart, and the buffer begins behind it.
        if size >= DIRECT_SIZE_MIN && self.start == 0 {
            &self.direct[..size]
        } else {
            &self.buffer[self.start - size..self.start]
        }
    }

    /// Takes the next message; opens it if it is sealed.
    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        let size = self.take_frame()?;
        let Some(cipher) = &mut self.cipher else { return Ok(size) };
        let sealed = if size >= DIRECT_SIZE_MIN && self.start == 0 {
            &mut self.direct[..size]
        } else {
            &mut self.buffer[self.start - size..self.start]
        };
        cipher.open(sealed)
    }

    #[inline]
    fn take_frame(&mut self) -> Result<usize, ContenderError> {
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

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        let mut count = 0;
        while count == 0 || (count < max && self.has_message()) {
            match self.receive()? {
                received if received == size => count += 1,
                received => return Err(wrong_size(received, size)),
            }
        }
        Ok(count)
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
                self.look_count = 0;
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.look_again();
                Ok(())
            }
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
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
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
        self.input.open()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        self.lock.with(|| self.input.receive())
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        self.lock.with(|| self.input.receive_batch(size, max))
    }
}

/// Both ways over one stream: what has gathered is written before it waits.
pub struct StreamDuplex {
    lock: Lock,
    input: Input,
    output: Output,
}

impl StreamDuplex {
    fn new(link: Link, settings: StreamLimit) -> Self {
        // The output gets its share of the stream when it is open.
        let (input, output) = (Input::new(link, settings), Output::new(Vec::new(), settings));
        Self { lock: Lock(AtomicBool::new(false)), input, output }
    }

    fn open(&mut self) -> Result<(), ContenderError> {
        self.input.open()?;
        if self.output.links.is_empty() {
            let share = self.input.link.stream()?.try_clone();
            self.output.links.push(Link::Open(share.map_err(|error| ContenderError::call("dup", error))?));
        }
        Ok(())
    }
}

impl Sending for StreamDuplex {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open()
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

impl Receiving for StreamDuplex {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open()
    }

    #[inline]
    fn receive(&mut self) -> Result<usize, ContenderError> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive()
        })
    }

    fn receive_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        self.lock.with(|| {
            if !self.input.has_message() {
                self.output.flush()?;
            }
            self.input.receive_batch(size, max)
        })
    }
}

impl Echoing for StreamDuplex {
    fn wait_ready(&mut self) -> Result<(), ContenderError> {
        self.open()
    }

    #[inline]
    fn echo(&mut self) -> Result<usize, ContenderError> {
        let size = Receiving::receive(self)?;
        self.lock.with(|| self.output.append(self.input.last_body(size)))?;
        Ok(size)
    }

    fn echo_batch(&mut self, size: usize, max: usize) -> Result<usize, ContenderError> {
        let Self { lock, input, output } = self;
        lock.with(|| {
            if !input.has_message() {
                output.flush()?;
            }
            let mut count = 0;
            while count == 0 || (count < max && input.has_message()) {
                match input.receive()? {
                    received if received == size => output.append(input.last_body(size))?,
                    received => return Err(wrong_size(received, size)),
                }
                count += 1;
            }
            Ok(count)
        })
    }

    fn flush(&mut self) -> Result<(), ContenderError> {
        self.lock.with(|| self.output.flush())
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, Opening, StreamLimit};
    use crate::sample::Transport;
    use crate::sample::contender::{Component, Receiving, Sending};
    use crate::sample::{Calls, CaseName};

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
