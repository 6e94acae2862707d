//! The commands that clients and workers send to a broker, in both versions.

use super::error::{MdpError, is_service_name};
use super::version::{Version, WorkerCommand};

/// A command to the broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromPeer<'a> {
    /// A command of a client.
    Client(FromClient<'a>),
    /// A command of a worker.
    Worker(Version, FromWorker<'a>),
}

/// A client's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FromClient<'a> {
    /// Version of the request, and so of its reply.
    pub version: Version,
    /// Name of the service.
    pub service: &'a [u8],
    /// Index of the first frame of the body.
    pub body_index: usize,
}

/// A worker's command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromWorker<'a> {
    /// The worker serves a service.
    Ready {
        /// The service's name.
        service: &'a [u8],
    },
    /// A part of a reply, or its last part.
    Reply {
        /// True for the last part.
        is_final: bool,
        /// The client-address frame of the request.
        address: &'a [u8],
        /// Index of the first frame of the body.
        body_index: usize,
    },
    /// The worker is alive.
    Heartbeat,
    /// The worker disconnects.
    Disconnect,
}

/// Parses the frames behind the routing id, for a broker.
pub fn parse<F: AsRef<[u8]>>(frames: &[F]) -> Result<FromPeer<'_>, MdpError> {
    let opened = Opened::new(frames)?;
    let at = |index: usize| frames.get(index).map(AsRef::as_ref);
    let Opened { version, is_worker, mut next } = opened;
    if !is_worker {
        if version == Version::V02 {
            match at(next).ok_or(MdpError::Missing("command"))? {
                [1] => next += 1,
                other => return Err(MdpError::unknown_command(other)),
            }
        }
        let service = service_at(at(next))?;
        let body_index = body_at(frames, next + 1)?;
        return Ok(FromPeer::Client(FromClient { version, service, body_index }));
    }
    let byte = at(next).ok_or(MdpError::Missing("command"))?;
    let command = version.command_of(byte).ok_or_else(|| MdpError::unknown_command(byte))?;
    next += 1;
    let command = match command {
        WorkerCommand::Ready => {
            let service = service_at(at(next))?;
            ends(frames, next + 1)?;
            FromWorker::Ready { service }
        }
        WorkerCommand::Partial | WorkerCommand::Final => {
            let (address, body_index) = addressed(frames, next)?;
            FromWorker::Reply { is_final: command == WorkerCommand::Final, address, body_index }
        }
        WorkerCommand::Heartbeat => {
            ends(frames, next)?;
            FromWorker::Heartbeat
        }
        WorkerCommand::Disconnect => {
            ends(frames, next)?;
            FromWorker::Disconnect
        }
        WorkerCommand::Request => return Err(MdpError::unknown_command(byte)),
    };
    Ok(FromPeer::Worker(version, command))
}

/// A message with a parsed header.
pub(super) struct Opened {
    pub version: Version,
    pub is_worker: bool,
    /// Index of the frame behind the header.
    pub next: usize,
}

impl Opened {
    pub fn new<F: AsRef<[u8]>>(frames: &[F]) -> Result<Opened, MdpError> {
        let at = |index: usize| frames.get(index).map(AsRef::as_ref);
        let first = at(0).ok_or(MdpError::Missing("header"))?;
        let (version, header, next) = match first {
            b"" => (Version::V01, at(1).ok_or(MdpError::Missing("header"))?, 2),
            other => (Version::V02, other, 1),
        };
        if header == version.client_header() {
            Ok(Opened { version, is_worker: false, next })
        } else if header == version.worker_header() {
            Ok(Opened { version, is_worker: true, next })
        } else {
            Err(MdpError::other_protocol(header))
        }
    }
}

fn service_at(frame: Option<&[u8]>) -> Result<&[u8], MdpError> {
    let service = frame.ok_or(MdpError::Missing("service"))?;
    if is_service_name(service) { Ok(service) } else { Err(MdpError::ServiceName { size: service.len() }) }
}

pub(super) fn body_at<F>(frames: &[F], index: usize) -> Result<usize, MdpError> {
    if index < frames.len() { Ok(index) } else { Err(MdpError::Missing("body")) }
}

pub(super) fn ends<F>(frames: &[F], index: usize) -> Result<(), MdpError> {
    match frames.len().saturating_sub(index) {
        0 => Ok(()),
        count => Err(MdpError::Surplus { count }),
    }
}

/// Returns the client's address and the start of the body, and checks the empty frame between them.
pub(super) fn addressed<F: AsRef<[u8]>>(frames: &[F], index: usize) -> Result<(&[u8], usize), MdpError> {
    let at = |index: usize| frames.get(index).map(AsRef::as_ref);
    let address = at(index).ok_or(MdpError::Missing("client's address"))?;
    match at(index + 1).ok_or(MdpError::Missing("empty frame behind the client's address"))? {
        b"" => Ok((address, body_at(frames, index + 2)?)),
        other => Err(MdpError::NoDelimiter { size: other.len() }),
    }
}
