//! What clients and workers are sent by a broker that speaks plain MDP.

use super::error::MdpError;
use super::incoming::{Opened, addressed, body_at, ends};
use super::version::{Version, WorkerCommand};

/// A reply, or a part of one, as a client gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    /// The version of the broker.
    pub version: Version,
    /// Which service replies.
    pub service: &'a [u8],
    /// Whether nothing follows.
    pub is_final: bool,
    /// Which frame the body begins with.
    pub body_index: usize,
}

/// A client's look at what a broker sent.
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

/// A command as a worker gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToWorker<'a> {
    /// A request.
    Request {
        /// To be returned as it is.
        address: &'a [u8],
        /// Which frame the body begins with.
        body_index: usize,
    },
    /// The broker is there.
    Heartbeat,
    /// The worker is to begin again, on a new connection.
    Disconnect,
}

/// A worker's look at what a broker sent.
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
