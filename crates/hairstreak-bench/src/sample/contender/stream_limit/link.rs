//! `Link`: a stream, or what it will be accepted from.

use std::fs::File;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use crate::sample::contender::ContenderError;

/// A stream, or what it will be accepted from.
pub(super) enum Link {
    Tcp(TcpListener),
    Unix(UnixListener),
    Open(File),
}

impl Link {
    pub fn open(&mut self) -> Result<(), ContenderError> {
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

    pub fn stream(&mut self) -> Result<&mut File, ContenderError> {
        match self {
            Self::Open(stream) => Ok(stream),
            _ => Err(ContenderError::call("stream", "used before the other end was there")),
        }
    }

    /// The same stream once more.
    pub fn share(&mut self) -> Result<Link, ContenderError> {
        let share = self.stream()?.try_clone();
        Ok(Link::Open(share.map_err(|error| ContenderError::call("dup", error))?))
    }
}
