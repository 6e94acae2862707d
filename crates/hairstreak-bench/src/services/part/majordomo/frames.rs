//! The frames of the protocol (MDP 0.1), and its constants.

use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::sample::LibzmqHandle;

/// The interval of heartbeats between broker and worker.
pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(2500);
/// The number of silent intervals after which a peer is dead.
pub(super) const HEARTBEAT_LIVENESS: u32 = 3;
/// The service of all workers.
pub(super) const SERVICE: &[u8] = b"echo";

pub(super) const EMPTY: &[u8] = b"";
pub(super) const CLIENT: &[u8] = b"MDPC01";
pub(super) const WORKER: &[u8] = b"MDPW01";
pub(super) const READY: &[u8] = &[1];
pub(super) const REQUEST: &[u8] = &[2];
pub(super) const REPLY: &[u8] = &[3];
pub(super) const HEARTBEAT: &[u8] = &[4];
pub(super) const DISCONNECT: &[u8] = &[5];

/// A frame, copied out of the message that it came in.
pub(super) type Frame = Vec<u8>;

/// A message of which frames are taken from the front.
#[derive(Debug)]
pub(super) struct Incoming {
    frames: std::vec::IntoIter<Frame>,
    count: usize,
}

impl Incoming {
    pub fn of(frames: Vec<Frame>) -> Incoming {
        Incoming { count: frames.len(), frames: frames.into_iter() }
    }

    /// Takes the next frame; errors call it `what`.
    pub fn pop(&mut self, what: &'static str) -> Result<Frame> {
        self.frames.next().ok_or_else(|| self.wrong(what))
    }

    /// The next frame, which has to be this one.
    pub fn require(&mut self, frame: &[u8], what: &'static str) -> Result<()> {
        if self.pop(what)? == frame { Ok(()) } else { Err(self.wrong(what)) }
    }

    /// Returns the remaining frames: a body of one frame at least.
    pub fn body(self) -> Result<Vec<Frame>> {
        let wrong = self.wrong("no body");
        let body: Vec<Frame> = self.frames.collect();
        if body.is_empty() { Err(wrong) } else { Ok(body) }
    }

    pub fn wrong(&self, why: &'static str) -> anyhow::Error {
        anyhow!("a message of {} frames is not of the protocol: {why}", self.count)
    }
}

/// Sends these, and a body behind them.
pub(super) fn send(socket: &LibzmqHandle, head: &[&[u8]], body: &[Frame]) -> Result<()> {
    let frames: Vec<&[u8]> = head.iter().copied().chain(body.iter().map(Vec::as_slice)).collect();
    socket.send_frames(&frames)
}

#[cfg(test)]
mod tests {
    use super::{EMPTY, Incoming, WORKER};

    fn message(frames: &[&[u8]]) -> Incoming {
        Incoming::of(frames.iter().map(|frame| frame.to_vec()).collect())
    }

    #[test]
    fn a_message_is_taken_apart_from_its_front() {
        let mut incoming = message(&[b"name", EMPTY, WORKER, b"a", b"b"]);
        assert_eq!(incoming.pop("a name").unwrap(), b"name");
        incoming.require(EMPTY, "no empty frame").unwrap();
        incoming.require(WORKER, "no header").unwrap();
        assert_eq!(incoming.body().unwrap(), [b"a", b"b"]);
    }

    #[test]
    fn what_is_missing_or_something_else_is_named() {
        let mut incoming = message(&[b"x"]);
        let error = incoming.require(EMPTY, "no empty frame").unwrap_err();
        assert_eq!(error.to_string(), "a message of 1 frames is not of the protocol: no empty frame");
        assert!(incoming.pop("a name").is_err() && incoming.body().is_err());
    }
}
