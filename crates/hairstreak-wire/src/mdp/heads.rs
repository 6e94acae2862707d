//! Heads: the frames before a body, or the whole command, for each command and direction.
//!
//! A head is a short list of borrowed frames, so a body follows it without being copied.

use super::address::Address;
use super::version::{Version, WorkerCommand};

/// Largest number of frames before a body.
const HEAD_FRAME_COUNT_MAX: usize = 5;

/// Largest number of frames of a body. MDP itself has no such limit; our clients, workers and brokers do.
pub const BODY_FRAME_COUNT_MAX: usize = 256;

/// Largest number of frames of a message: the longest head and the largest body.
pub const FRAME_COUNT_MAX: usize = HEAD_FRAME_COUNT_MAX + BODY_FRAME_COUNT_MAX;

/// The frames before a body.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    frames: [&'a [u8]; HEAD_FRAME_COUNT_MAX],
    count: usize,
}

impl<'a> Head<'a> {
    fn new(frames: &[&'a [u8]]) -> Head<'a> {
        let mut head = Head { frames: [&[]; HEAD_FRAME_COUNT_MAX], count: frames.len() };
        head.frames[..frames.len()].copy_from_slice(frames);
        head
    }

    /// Returns the frames.
    pub fn frames(&self) -> &[&'a [u8]] {
        &self.frames[..self.count]
    }
}

/// Returns the head of a client's request. The body follows.
pub fn client_request(version: Version, service: &[u8]) -> Head<'_> {
    match version {
        Version::V01 => Head::new(&[b"", version.client_header(), service]),
        Version::V02 => Head::new(&[version.client_header(), &[1], service]),
    }
}

/// Returns the head of a reply to a client. The body follows. 0.1 has no partial replies.
pub fn client_reply(version: Version, service: &[u8], is_final: bool) -> Head<'_> {
    match version {
        Version::V01 => Head::new(&[b"", version.client_header(), service]),
        Version::V02 => Head::new(&[version.client_header(), if is_final { &[3] } else { &[2] }, service]),
    }
}

/// Returns a worker's READY, a complete command.
pub fn worker_ready(version: Version, service: &[u8]) -> Head<'_> {
    with_command(version, WorkerCommand::Ready, &[service])
}

/// Returns the head of a request to a worker. The body follows.
pub fn worker_request(version: Version, address: &Address) -> Head<'_> {
    with_command(version, WorkerCommand::Request, &[address.as_bytes(), b""])
}

/// Returns the head of a worker's reply. The body follows. 0.1 has no partial replies.
pub fn worker_reply(version: Version, address: &[u8], is_final: bool) -> Head<'_> {
    let command = if is_final { WorkerCommand::Final } else { WorkerCommand::Partial };
    with_command(version, command, &[address, b""])
}

/// Returns a HEARTBEAT or a DISCONNECT, a complete command.
pub fn worker_command(version: Version, command: WorkerCommand) -> Head<'static> {
    with_command(version, command, &[])
}

fn with_command<'a>(version: Version, command: WorkerCommand, rest: &[&'a [u8]]) -> Head<'a> {
    // In 0.1 a partial reply is sent as a final one.
    let byte = version.byte_of(command).or_else(|| version.byte_of(WorkerCommand::Final)).unwrap_or_default();
    let mut frames = [&[][..]; HEAD_FRAME_COUNT_MAX];
    let mut count = 0;
    let delimiter: &[&[u8]] = if version == Version::V01 { &[b""] } else { &[] };
    for &frame in delimiter.iter().chain(&[version.worker_header(), byte]).chain(rest) {
        frames[count] = frame;
        count += 1;
    }
    Head { frames, count }
}
