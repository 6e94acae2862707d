//! The frames that go before a body, or are all there is, for each command and way.
//!
//! A head is a short list of borrowed frames, so that a body goes behind it without being copied.

use super::address::Address;
use super::version::{Version, WorkerCommand};

/// Up to so many frames stand before a body.
const HEAD_FRAME_COUNT_MAX: usize = 5;

/// Frames of a body. MDP itself has no such limit: our clients, workers and brokers have.
pub const BODY_FRAME_COUNT_MAX: usize = 256;

/// Frames of a message with the largest body behind the longest head.
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

    /// The frames.
    pub fn frames(&self) -> &[&'a [u8]] {
        &self.frames[..self.count]
    }
}

/// A client's request; the body follows.
pub fn client_request(version: Version, service: &[u8]) -> Head<'_> {
    match version {
        Version::V01 => Head::new(&[b"", version.client_header(), service]),
        Version::V02 => Head::new(&[version.client_header(), &[1], service]),
    }
}

/// A reply to a client; the body follows. 0.1 has no partial ones.
pub fn client_reply(version: Version, service: &[u8], is_final: bool) -> Head<'_> {
    match version {
        Version::V01 => Head::new(&[b"", version.client_header(), service]),
        Version::V02 => Head::new(&[version.client_header(), if is_final { &[3] } else { &[2] }, service]),
    }
}

/// A worker's READY. It is whole.
pub fn worker_ready(version: Version, service: &[u8]) -> Head<'_> {
    with_command(version, WorkerCommand::Ready, &[service])
}

/// A request to a worker; the body follows.
pub fn worker_request(version: Version, address: &Address) -> Head<'_> {
    with_command(version, WorkerCommand::Request, &[address.as_bytes(), b""])
}

/// A worker's reply; the body follows. 0.1 has no partial ones.
pub fn worker_reply(version: Version, address: &[u8], is_final: bool) -> Head<'_> {
    let command = if is_final { WorkerCommand::Final } else { WorkerCommand::Partial };
    with_command(version, command, &[address, b""])
}

/// A HEARTBEAT or a DISCONNECT. It is whole.
pub fn worker_command(version: Version, command: WorkerCommand) -> Head<'static> {
    with_command(version, command, &[])
}

fn with_command<'a>(version: Version, command: WorkerCommand, rest: &[&'a [u8]]) -> Head<'a> {
    // A partial reply of 0.1 is as final as any.
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
