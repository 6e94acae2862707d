//! A worker: a DEALER that says READY, has one request at a time and replies to it with what it holds.

use std::convert::Infallible;
use std::time::Instant;

use super::entry::{HEARTBEAT_INTERVAL, HEARTBEAT_LIVENESS, SERVICE};
use super::frames::{DISCONNECT, EMPTY, Frame, HEARTBEAT, Incoming, READY, REPLY, REQUEST, WORKER, send};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};
use crate::services::part::PartError;
use crate::services::part::asking::GREETING;

/// Works as long as the process lives; this one has this number.
pub(super) fn run(context: LibzmqContext, endpoint: &str, number: u8) -> Result<Infallible, PartError> {
    let mut worker = Worker::connect(context, endpoint)?;
    loop {
        let (client, mut body) = worker.next_request()?;
        if body == [GREETING] {
            body = vec![vec![number]];
        }
        send(&worker.socket, &[EMPTY, WORKER, REPLY, &client, EMPTY], &body)?;
    }
}

struct Worker<'a> {
    context: LibzmqContext,
    endpoint: &'a str,
    socket: LibzmqHandle,
    /// Intervals without a message after which the broker is dead.
    liveness: u32,
    heartbeat_at: Instant,
}

impl<'a> Worker<'a> {
    fn connect(context: LibzmqContext, endpoint: &'a str) -> Result<Worker<'a>, PartError> {
        let socket = context.socket(LibzmqType::Dealer)?;
        socket.connect(endpoint)?;
        send(&socket, &[EMPTY, WORKER, READY, SERVICE], &[])?;
        let heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
        Ok(Worker { context, endpoint, socket, liveness: HEARTBEAT_LIVENESS, heartbeat_at })
    }

    /// The next request: its client's name and its body.
    fn next_request(&mut self) -> Result<(Frame, Vec<Frame>), PartError> {
        loop {
            if self.socket.poll(HEARTBEAT_INTERVAL)? {
                let mut message = Incoming::of(self.socket.receive_frames()?);
                self.liveness = HEARTBEAT_LIVENESS;
                message.require(EMPTY, "no empty frame")?;
                message.require(WORKER, "not for a worker")?;
                match message.pop("no command")?.as_slice() {
                    REQUEST => {
                        let client = message.pop("no client")?;
                        message.require(EMPTY, "no empty frame behind the client")?;
                        return Ok((client, message.body()?));
                    }
                    HEARTBEAT => {}
                    DISCONNECT => *self = Worker::connect(self.context.clone(), self.endpoint)?,
                    _ => return Err(message.wrong("no command of a broker")),
                }
            } else {
                self.liveness -= 1;
                if self.liveness == 0 {
                    *self = Worker::connect(self.context.clone(), self.endpoint)?;
                }
            }
            if Instant::now() >= self.heartbeat_at {
                send(&self.socket, &[EMPTY, WORKER, HEARTBEAT], &[])?;
                self.heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
            }
        }
    }
}
