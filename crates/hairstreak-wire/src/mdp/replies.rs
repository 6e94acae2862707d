//! The commands that a broker of plain MDP sends to clients and workers.

use super::error::MdpError;
use super::incoming::{Opened, addressed, body_at, ends};
use super::version::{Version, WorkerCommand};

/// A reply, or a part of one, as received by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The version of the broker.
    pub version: Version,
    /// Name of the service that replies.
    pub service: &'a [u8],
    /// True for the last part.
    pub is_final: bool,
    /// Index of the first frame of the body.
    pub body_index: usize,
}

/// Parses the frames that a broker sent, for a client.
pub fn parse_reply<F: AsRef<[u8]>>(frames: &[F]) -> Result<Reply<'_>, MdpError> {
    let Opened { version, is_worker, mut next } = Opened::new(frames)?;
    let at = |index: usize| frames.get(index).map(AsRef::as_ref);
    if is_worker {
        return Err(MdpError::other_protocol(version.worker_header()));
    }
    let mut is_final = true;
    if version == Version::V02 {
        is_final = match at(next).ok_or(MdpError::Missing("command"))? {
            [2] => false,
            [3] => true,
            other => return Err(MdpError::unknown_command(other)),
        };
        next += 1;
    }
    let service = at(next).ok_or(MdpError::Missing("service"))?;
    Ok(Reply { version, service, is_final, body_index: body_at(frames, next + 1)? })
}

/// A command as received by a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToWorker<'a> {
    /// A request.
    Request {
        /// The client's address. The reply repeats it unchanged.
        address: &'a [u8],
        /// Index of the first frame of the body.
        body_index: usize,
    },
    /// The broker is alive.
    Heartbeat,
    /// The worker has to start again, on a new connection.
    Disconnect,
}

/// Parses the frames that a broker sent, for a worker.
pub fn parse_to_worker<F: AsRef<[u8]>>(frames: &[F]) -> Result<ToWorker<'_>, MdpError> {
    let Opened { version, is_worker, next } = Opened::new(frames)?;
    if !is_worker {
        return Err(MdpError::other_protocol(version.client_header()));
    }
    let byte = frames.get(next).map(AsRef::as_ref).ok_or(MdpError::Missing("command"))?;
    match version.command_of(byte) {
        Some(WorkerCommand::Request) => {
            let (address, body_index) = addressed(frames, next + 1)?;
            Ok(ToWorker::Request { address, body_index })
        }
        Some(WorkerCommand::Heartbeat) => ends(frames, next + 1).map(|()| ToWorker::Heartbeat),
        Some(WorkerCommand::Disconnect) => ends(frames, next + 1).map(|()| ToWorker::Disconnect),
        _ => Err(MdpError::unknown_command(byte)),
    }
}
