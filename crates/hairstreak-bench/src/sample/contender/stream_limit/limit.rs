//! `StreamLimit`: the settings. `Link`: a stream, or the listener that will accept it.

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use anyhow::Result;

use super::end::StreamEnd;
use crate::sample::contender::contract::{Opening, abstract_name, failed};
use crate::sample::contender::{Component, Contender};
use crate::sample::{Calls, CaseName, Transport};

pub(super) const BUFFER_SIZE: usize = 64 * 1024;
/// Bodies from this size on go between the application's memory and the kernel directly.
pub(super) const DIRECT_SIZE_MIN: usize = 32 * 1024;
/// Reads without a result after which a spinning thread yields its core: about 100 us.
pub(super) const LOOK_COUNT_MAX: u32 = 300;
pub(super) const FLAG_LONG: u8 = 0x02;
pub(super) const HEADER_SIZE_SHORT: usize = 2;
pub(super) const HEADER_SIZE_LONG: usize = 9;

/// Only the settings.
#[derive(Clone, Copy)]
pub struct StreamLimit {
    transport: Transport,
    pub(super) is_sealed: bool,
    pub(super) is_spinning: bool,
}

impl Contender for StreamLimit {
    type Component = StreamComponent;

    fn open(opening: Opening<'_>) -> Result<Self> {
        Ok(Self {
            transport: opening.transport,
            is_sealed: opening.case == CaseName::Curve,
            is_spinning: opening.calls == Calls::Spin,
        })
    }

    fn component(&self) -> Result<StreamComponent> {
        Ok(StreamComponent { settings: *self })
    }
}

/// The transport as one thread sees it.
pub struct StreamComponent {
    settings: StreamLimit,
}

impl StreamComponent {
    fn bind(&self, number: usize) -> Result<(Link, String)> {
        let failed = failed("bind");
        match self.settings.transport {
            Transport::Ipc | Transport::Shm | Transport::Inproc => {
                let name = abstract_name(number);
                let address = SocketAddr::from_abstract_name(&name).map_err(&failed)?;
                Ok((Link::Unix(UnixListener::bind_addr(&address).map_err(&failed)?), name))
            }
            Transport::Tcp => {
                let listener = TcpListener::bind("127.0.0.1:0").map_err(&failed)?;
                let address = listener.local_addr().map_err(&failed)?;
                Ok((Link::Tcp(listener), address.to_string()))
            }
        }
    }

    fn connect(&self, endpoint: &str) -> Result<Link> {
        let failed = failed("connect");
        let descriptor = match self.settings.transport {
            Transport::Ipc | Transport::Shm | Transport::Inproc => {
                let address = SocketAddr::from_abstract_name(endpoint).map_err(&failed)?;
                OwnedFd::from(UnixStream::connect_addr(&address).map_err(&failed)?)
            }
            Transport::Tcp => {
                let stream = TcpStream::connect(endpoint).map_err(&failed)?;
                stream.set_nodelay(true).map_err(&failed)?;
                OwnedFd::from(stream)
            }
        };
        Ok(Link::Open(File::from(descriptor)))
    }

    fn end(&self, links: Vec<Link>) -> StreamEnd {
        StreamEnd::new(links, self.settings)
    }
}

impl Component for StreamComponent {
    type Sender = StreamEnd;
    type Receiver = StreamEnd;
    type Subscriber = StreamEnd;
    type Publisher = StreamEnd;
    type Client = StreamEnd;
    type Server = StreamEnd;

    fn bind_receiver(&self, number: usize) -> Result<(StreamEnd, String)> {
        let (link, endpoint) = self.bind(number)?;
        Ok((self.end(vec![link]), endpoint))
    }

    fn bind_sender(&self, number: usize) -> Result<(StreamEnd, String)> {
        let (link, endpoint) = self.bind(number)?;
        Ok((self.end(vec![link]), endpoint))
    }

    fn connect_receiver(&self, endpoint: &str) -> Result<StreamEnd> {
        Ok(self.end(vec![self.connect(endpoint)?]))
    }

    fn connect_sender(&self, endpoint: &str) -> Result<StreamEnd> {
        Ok(self.end(vec![self.connect(endpoint)?]))
    }

    fn bind_subscriber(&self, number: usize) -> Result<(StreamEnd, String)> {
        self.bind_receiver(number)
    }

    /// Frames once and writes the same bytes to each.
    fn connect_publisher(&self, endpoints: &[String]) -> Result<StreamEnd> {
        let links: Result<_, _> = endpoints.iter().map(|endpoint| self.connect(endpoint)).collect();
        Ok(self.end(links?))
    }

    fn bind_client(&self, number: usize) -> Result<(StreamEnd, String)> {
        let (link, endpoint) = self.bind(number)?;
        Ok((self.end(vec![link]), endpoint))
    }

    fn connect_server(&self, endpoint: &str) -> Result<StreamEnd> {
        Ok(self.end(vec![self.connect(endpoint)?]))
    }
}

/// A stream, or the listener that will accept it.
pub(super) enum Link {
    Tcp(TcpListener),
    Unix(UnixListener),
    Open(File),
}

impl Link {
    pub fn open(&mut self) -> Result<()> {
        let failed = failed("accept");
        let descriptor = match self {
            Self::Open(_) => return Ok(()),
            Self::Unix(listener) => OwnedFd::from(listener.accept().map_err(&failed)?.0),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept().map_err(&failed)?;
                stream.set_nodelay(true).map_err(&failed)?;
                OwnedFd::from(stream)
            }
        };
        *self = Self::Open(File::from(descriptor));
        Ok(())
    }

    pub fn stream(&mut self) -> Result<&mut File> {
        match self {
            Self::Open(stream) => Ok(stream),
            _ => Err(failed("stream")("used before the other end was there")),
        }
    }

    /// Returns a second link to the same stream.
    pub fn share(&mut self) -> Result<Link> {
        let share = self.stream()?.try_clone();
        Ok(Link::Open(share.map_err(failed("dup"))?))
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
            Receiving::wait_ready(&mut receiver).unwrap();
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
