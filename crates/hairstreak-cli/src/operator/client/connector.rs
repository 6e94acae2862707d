//! `ApiConnector`: connections to the API. They are the streams of the AMQP client, so that names, zones of addresses and certificates mean the
//! same for both.

use std::fmt;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::time::Instant;

use hairstreak_amqp::{Place, Stream};
use hairstreak_transport::tls::TlsClient;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Error, Timeout};

/// Connects to one fixed place; the URL of the request is ignored.
#[derive(Debug)]
pub struct ApiConnector {
    pub place: Place,
    /// None: without TLS.
    pub tls: Option<TlsClient>,
}

impl Connector<()> for ApiConnector {
    type Out = ApiTransport;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<ApiTransport>, Error> {
        let now = Instant::now();
        let deadline = now.checked_add(*details.timeout.after).unwrap_or(now);
        let stream = Stream::connect(&self.place, self.tls.as_ref(), deadline);
        let stream = stream.map_err(|error| Error::Other(Box::new(error)))?;
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        Ok(Some(ApiTransport { stream, buffers: LazyBuffers::new(input, output) }))
    }
}

/// Leaves names to the connector.
#[derive(Debug)]
pub struct Unresolved;

impl Resolver for Unresolved {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        // At least one is expected; the connector does not read it.
        let mut addresses = self.empty();
        addresses.push(([0, 0, 0, 0], 0).into());
        Ok(addresses)
    }
}

/// A connection.
pub struct ApiTransport {
    stream: Stream,
    buffers: LazyBuffers,
}

impl Transport for ApiTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let limit = Limit::of(timeout.for_write());
        let mut rest = &self.buffers.output()[..amount];
        while !rest.is_empty() || self.stream.has_unsent() {
            let written =
                if rest.is_empty() { self.stream.flush().map(|()| 0) } else { self.stream.write(rest) };
            match written {
                Ok(count) if count > 0 || !self.stream.has_unsent() => rest = &rest[count..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
                _ => limit.wait(&self.stream, PollFlags::OUT)?,
            }
        }
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let limit = Limit::of(timeout.for_read());
        loop {
            match self.stream.read(self.buffers.input_append_buf()) {
                Ok(count) => {
                    self.buffers.input_appended(count);
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error.into()),
                Err(_) => limit.wait(&self.stream, PollFlags::IN)?,
            }
        }
    }

    /// A server that sends more than its answer is about to end the connection.
    fn is_open(&mut self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let is_readable = poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], Some(&now));
        !self.stream.has_news() && is_readable == Ok(0)
    }

    fn is_tls(&self) -> bool {
        matches!(self.stream, Stream::Secured(_))
    }
}

impl fmt::Debug for ApiTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiTransport").finish_non_exhaustive()
    }
}

/// The end of a wait, and its reason.
struct Limit {
    /// None: no end.
    at: Option<Instant>,
    reason: Timeout,
}

impl Limit {
    fn of(timeout: NextTimeout) -> Limit {
        Limit { at: Instant::now().checked_add(*timeout.after), reason: timeout.reason }
    }

    fn wait(&self, stream: &impl AsFd, wanted: PollFlags) -> Result<(), Error> {
        let left = self.at.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Error::Timeout(self.reason));
        }
        let left = left.map(|left| Timespec {
            tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        });
        match poll(&mut [PollFd::new(stream, wanted)], left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }
}
