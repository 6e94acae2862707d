//! The client of the rival, synchronous or asynchronous, and its worker.

use std::convert::Infallible;
use std::time::Instant;

use anyhow::{Result, ensure};

use super::super::super::plan::Mode;
use super::super::super::sample::Task;
use super::super::entry::{Asks, GREETING, TIMEOUT};
use super::broker::{
    CLIENT, DISCONNECT, EMPTY, Frame, HEARTBEAT, HEARTBEAT_INTERVAL, HEARTBEAT_LIVENESS, READY, REPLY,
    REQUEST, WORKER, behind, send, wrong,
};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};

/// The service of all workers.
const SERVICE: &[u8] = b"echo";

/// A client.
pub struct Client {
    socket: LibzmqHandle,
    /// The frames before the body of each request, and of its reply.
    head: &'static [&'static [u8]],
    reply: Vec<Frame>,
}

impl Client {
    /// Connects to the broker that `task` names: by REQ for synchronous requests, and otherwise by DEALER.
    pub fn connect(task: &Task) -> Result<Client> {
        let (socket_type, head): (_, &[_]) = match task.row.mode {
            Mode::Sync => (LibzmqType::Req, &[CLIENT, SERVICE]),
            Mode::Async => (LibzmqType::Dealer, &[EMPTY, CLIENT, SERVICE]),
        };
        let socket = LibzmqContext::new(&task.libzmq)?.socket(socket_type)?;
        socket.connect(&task.endpoint)?;
        Ok(Client { socket, head, reply: Vec::new() })
    }
}

impl Asks for Client {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        let frames: Vec<&[u8]> = self.head.iter().copied().chain([body]).collect();
        self.socket.send_frames(&frames)
    }

    fn reply(&mut self) -> Result<&[u8]> {
        ensure!(self.socket.poll(TIMEOUT)?, "no reply came in {} s", TIMEOUT.as_secs());
        self.reply = self.socket.receive_frames()?;
        match behind(self.head, &self.reply) {
            Some([body, ..]) => Ok(body),
            _ => Err(wrong(&self.reply)),
        }
    }
}

/// Works as long as the process lives; this worker has this number.
pub fn run_worker(library: &str, endpoint: &str, number: u8) -> Result<Infallible> {
    let context = LibzmqContext::new(library)?;
    loop {
        work(&context, endpoint, number)?;
    }
}

/// Works until the broker disconnects, or is silent for too long.
fn work(context: &LibzmqContext, endpoint: &str, number: u8) -> Result<()> {
    let mut socket = context.socket(LibzmqType::Dealer)?;
    socket.connect(endpoint)?;
    send(&socket, &[EMPTY, WORKER, READY, SERVICE], &[])?;
    let mut heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
    let mut liveness = HEARTBEAT_LIVENESS;
    while liveness > 0 {
        if socket.poll(HEARTBEAT_INTERVAL)? {
            liveness = HEARTBEAT_LIVENESS;
            let message = socket.receive_frames()?;
            match behind(&[EMPTY, WORKER], &message) {
                Some([command, client, empty, body @ ..]) if command == REQUEST && empty.is_empty() => {
                    let head: &[&[u8]] = &[EMPTY, WORKER, REPLY, client, EMPTY];
                    match body {
                        [body] if body == GREETING => send(&socket, head, &[vec![number]])?,
                        body => send(&socket, head, body)?,
                    }
                    continue;
                }
                Some([command]) if command == HEARTBEAT => {}
                Some([command]) if command == DISCONNECT => return Ok(()),
                _ => return Err(wrong(&message)),
            }
        } else {
            liveness -= 1;
        }
        if Instant::now() >= heartbeat_at {
            send(&socket, &[EMPTY, WORKER, HEARTBEAT], &[])?;
            heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
        }
    }
    Ok(())
}
