//! `Link`: a stream of tcp or of a unix socket, or the listener that will accept it.

use std::fs::File;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

use anyhow::Result;

use crate::sample::Transport;
use crate::sample::contender::contract::{abstract_name, failed};

/// A stream, or the listener that will accept it.
pub(super) enum Link {
    Tcp(TcpListener),
    Unix(UnixListener),
    Open(File),
}

impl Link {
    /// Returns a listener, and its endpoint.
    pub fn bind(transport: Transport, number: usize) -> io::Result<(Link, String)> {
        if transport == Transport::Tcp {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let endpoint = listener.local_addr()?.to_string();
            return Ok((Link::Tcp(listener), endpoint));
        }
        let name = abstract_name(number);
        let address = SocketAddr::from_abstract_name(&name)?;
        Ok((Link::Unix(UnixListener::bind_addr(&address)?), name))
    }

    /// Returns a stream.
    pub fn connect(transport: Transport, endpoint: &str) -> io::Result<Link> {
        if transport == Transport::Tcp {
            return Link::tcp(TcpStream::connect(endpoint)?);
        }
        let address = SocketAddr::from_abstract_name(endpoint)?;
        Ok(Link::Open(OwnedFd::from(UnixStream::connect_addr(&address)?).into()))
    }

    fn tcp(stream: TcpStream) -> io::Result<Link> {
        stream.set_nodelay(true)?;
        Ok(Link::Open(OwnedFd::from(stream).into()))
    }

    /// Accepts the stream, if it is not there yet.
    pub fn open(&mut self) -> io::Result<()> {
        match self {
            Self::Open(_) => {}
            Self::Unix(listener) => *self = Self::Open(OwnedFd::from(listener.accept()?.0).into()),
            Self::Tcp(listener) => *self = Self::tcp(listener.accept()?.0)?,
        }
        Ok(())
    }

    /// Returns the stream.
    pub fn stream(&mut self) -> Result<&mut File> {
        match self {
            Self::Open(stream) => Ok(stream),
            _ => Err(failed("stream")("used before the other end was there")),
        }
    }
}
