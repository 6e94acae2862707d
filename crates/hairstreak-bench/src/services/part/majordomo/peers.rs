//! `take_part`: a process of the rival. Its clients, synchronous and asynchronous, and its worker.

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::super::super::plan::{Mode, ServiceCase};
use super::super::super::sample::{Role, Task};
use super::super::entry::{Asks, GREETING, end, measure, meet, serve};
use super::broker;
use super::frames::{
    CLIENT, DISCONNECT, EMPTY, Frame, HEARTBEAT, HEARTBEAT_INTERVAL, HEARTBEAT_LIVENESS, Incoming, READY,
    REPLY, REQUEST, SERVICE, WORKER, send,
};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};

/// The time that the client waits for a reply.
const TIMEOUT: Duration = Duration::from_millis(2500);
/// The number of tries over REQ.
const TRY_COUNT: u64 = 3;
/// The timeout over DEALER. After it the client would have to give up, for which a busy machine is no cause.
const TIMEOUT_ASYNC: Duration = Duration::from_secs(40);

/// The process that `task` is for.
pub fn take_part(task: Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let context = LibzmqContext::new(&task.libzmq)?;
    match task.role {
        Role::Broker => serve(orders, move || broker::run(&context)),
        Role::Worker(number) => serve(orders, move || run_worker(context, &task.endpoint, number)),
        Role::Client => run_client(context, &task, orders),
        Role::All => bail!("{} has no process for {}", task.scheme.text(), task.role.text()),
    }
}

/// The client's process.
fn run_client(context: LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let body = ServiceCase::Services.body();
    let measurement = match task.mode {
        Mode::Sync => {
            let socket = connect(&context, LibzmqType::Req, &task.endpoint)?;
            let mut client = SyncClient {
                context,
                endpoint: &task.endpoint,
                socket,
                request: Vec::new(),
                reply: Vec::new(),
            };
            meet(&mut client, task.worker_count)?;
            measure(&mut client, task, body)?
        }
        Mode::Async => {
            let socket = connect(&context, LibzmqType::Dealer, &task.endpoint)?;
            let mut client = AsyncClient { socket, reply: Vec::new() };
            meet(&mut client, task.worker_count)?;
            measure(&mut client, task, body)?
        }
    };
    end(measurement, orders)
}

fn connect(context: &LibzmqContext, socket_type: LibzmqType, endpoint: &str) -> Result<LibzmqHandle> {
    let socket = context.socket(socket_type)?;
    socket.connect(endpoint)?;
    Ok(socket)
}

/// The one frame of a reply's body.
fn body_of(mut message: Incoming) -> Result<Frame> {
    message.require(CLIENT, "not for a client")?;
    message.require(SERVICE, "of another service")?;
    let mut body = message.body()?;
    Ok(body.swap_remove(0))
}

struct SyncClient<'a> {
    context: LibzmqContext,
    endpoint: &'a str,
    socket: LibzmqHandle,
    /// The last request.
    request: Frame,
    reply: Frame,
}

impl Asks for SyncClient<'_> {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        self.request = body.to_vec();
        self.socket.send_frames(&[CLIENT, SERVICE, body])
    }

    fn reply(&mut self) -> Result<&[u8]> {
        for _ in 0..TRY_COUNT {
            if self.socket.poll(TIMEOUT)? {
                self.reply = body_of(Incoming::of(self.socket.receive_frames()?))?;
                return Ok(&self.reply);
            }
            self.socket = connect(&self.context, LibzmqType::Req, self.endpoint)?;
            self.socket.send_frames(&[CLIENT, SERVICE, &self.request])?;
        }
        bail!("no reply came in {} s", TIMEOUT.as_secs() * TRY_COUNT)
    }
}

struct AsyncClient {
    socket: LibzmqHandle,
    reply: Frame,
}

impl Asks for AsyncClient {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        send(&self.socket, &[EMPTY, CLIENT, SERVICE, body], &[])
    }

    fn reply(&mut self) -> Result<&[u8]> {
        ensure!(self.socket.poll(TIMEOUT_ASYNC)?, "no reply came in {} s", TIMEOUT_ASYNC.as_secs());
        let mut message = Incoming::of(self.socket.receive_frames()?);
        message.require(EMPTY, "no empty frame")?;
        self.reply = body_of(message)?;
        Ok(&self.reply)
    }
}

/// Works as long as the process lives; this one has this number.
fn run_worker(context: LibzmqContext, endpoint: &str, number: u8) -> Result<Infallible> {
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
    fn connect(context: LibzmqContext, endpoint: &'a str) -> Result<Worker<'a>> {
        let socket = context.socket(LibzmqType::Dealer)?;
        socket.connect(endpoint)?;
        send(&socket, &[EMPTY, WORKER, READY, SERVICE], &[])?;
        let heartbeat_at = Instant::now() + HEARTBEAT_INTERVAL;
        Ok(Worker { context, endpoint, socket, liveness: HEARTBEAT_LIVENESS, heartbeat_at })
    }

    /// The next request: its client's name and its body.
    fn next_request(&mut self) -> Result<(Frame, Vec<Frame>)> {
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
