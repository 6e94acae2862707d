//! `take_part`: a process of the rival. Its client, synchronous or asynchronous, and its worker.

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::super::super::plan::Mode;
use super::super::super::sample::{Role, Task};
use super::super::entry::{Asks, GREETING, ask_workers, serve};
use super::broker::{
    self, CLIENT, DISCONNECT, EMPTY, Frame, HEARTBEAT, HEARTBEAT_INTERVAL, HEARTBEAT_LIVENESS, READY, REPLY,
    REQUEST, WORKER, behind, send, wrong,
};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};

/// The service of all workers.
const SERVICE: &[u8] = b"echo";
/// The longest wait for a reply. A client gives up after it, for which a busy machine is no cause.
const TIMEOUT: Duration = Duration::from_secs(40);

/// The process that `task` is for.
pub fn take_part(task: Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let context = LibzmqContext::new(&task.libzmq)?;
    match task.role {
        Role::Broker => serve(orders, move || broker::run(&context)),
        Role::Worker(number) => serve(orders, move || {
            loop {
                work(&context, &task.endpoint, number)?;
            }
        }),
        Role::Client => {
            let (socket_type, head): (_, &[_]) = match task.mode {
                Mode::Sync => (LibzmqType::Req, &[CLIENT, SERVICE]),
                Mode::Async => (LibzmqType::Dealer, &[EMPTY, CLIENT, SERVICE]),
            };
            let socket = connect(&context, socket_type, &task.endpoint)?;
            ask_workers(&mut Client { socket, head, reply: Vec::new() }, &task, orders)
        }
        Role::All => bail!("a Majordomo has no process that is all"),
    }
}

fn connect(context: &LibzmqContext, socket_type: LibzmqType, endpoint: &str) -> Result<LibzmqHandle> {
    let socket = context.socket(socket_type)?;
    socket.connect(endpoint)?;
    Ok(socket)
}

struct Client {
    socket: LibzmqHandle,
    /// The frames before the body of each request, and of its reply.
    head: &'static [&'static [u8]],
    reply: Vec<Frame>,
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

/// Works until the broker disconnects, or is silent for too long; this worker has this number.
fn work(context: &LibzmqContext, endpoint: &str, number: u8) -> Result<()> {
    let mut socket = connect(context, LibzmqType::Dealer, endpoint)?;
    send(&socket, &[EMPTY, WORKER, READY, SERVICE], &[])?;
    let mut heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
    let mut liveness = HEARTBEAT_LIVENESS;
    while liveness > 0 {
        if socket.poll(HEARTBEAT_INTERVAL)? {
            liveness = HEARTBEAT_LIVENESS;
            let message = socket.receive_frames()?;
            let Some([command, rest @ ..]) = behind(&[EMPTY, WORKER], &message) else {
                return Err(wrong(&message));
            };
            match (command.as_slice(), rest) {
                (REQUEST, [client, empty, body @ ..]) if empty.is_empty() && !body.is_empty() => {
                    let head: &[&[u8]] = &[EMPTY, WORKER, REPLY, client, EMPTY];
                    match body {
                        [body] if body == GREETING => send(&socket, head, &[vec![number]])?,
                        body => send(&socket, head, body)?,
                    }
                    continue;
                }
                (HEARTBEAT, []) => {}
                (DISCONNECT, []) => return Ok(()),
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
