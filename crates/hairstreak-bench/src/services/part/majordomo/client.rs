//! The client: over REQ one request at a time, asked again with a new socket if no reply comes; over DEALER any number, and
//! none again.

use std::sync::mpsc;
use std::time::Duration;

use super::entry::SERVICE;
use super::frames::{CLIENT, EMPTY, Frame, Incoming, send};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};
use crate::services::part::asking::{self, Asks};
use crate::services::part::{PartError, entry};
use crate::services::task::{Mode, ServiceCase, Task};

/// How long it waits for a reply.
const TIMEOUT: Duration = Duration::from_millis(2500);
/// How often over REQ.
const TRY_COUNT: u64 = 3;
/// Over DEALER it would have to give up, which a busy machine is no cause for.
const TIMEOUT_ASYNC: Duration = Duration::from_secs(40);

/// The client's process.
pub(super) fn run(context: LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
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
            asking::meet(&mut client, task.worker_count)?;
            asking::measure(&mut client, task, body)?
        }
        Mode::Async => {
            let socket = connect(&context, LibzmqType::Dealer, &task.endpoint)?;
            let mut client = AsyncClient { socket, reply: Vec::new() };
            asking::meet(&mut client, task.worker_count)?;
            asking::measure(&mut client, task, body)?
        }
    };
    entry::end(measurement, orders)
}

fn connect(
    context: &LibzmqContext,
    socket_type: LibzmqType,
    endpoint: &str,
) -> Result<LibzmqHandle, PartError> {
    let socket = context.socket(socket_type)?;
    socket.connect(endpoint)?;
    Ok(socket)
}

/// The one frame of a reply's body.
fn body_of(mut message: Incoming) -> Result<Frame, PartError> {
    message.require(CLIENT, "not for a client")?;
    message.require(SERVICE, "of another service")?;
    let mut body = message.body()?;
    Ok(body.swap_remove(0))
}

struct SyncClient<'a> {
    context: LibzmqContext,
    endpoint: &'a str,
    socket: LibzmqHandle,
    /// What was asked last.
    request: Frame,
    reply: Frame,
}

impl Asks for SyncClient<'_> {
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
        self.request = body.to_vec();
        Ok(self.socket.send_frames(&[CLIENT, SERVICE, body])?)
    }

    fn reply(&mut self) -> Result<&[u8], PartError> {
        for _ in 0..TRY_COUNT {
            if self.socket.poll(TIMEOUT)? {
                self.reply = body_of(Incoming::of(self.socket.receive_frames()?))?;
                return Ok(&self.reply);
            }
            self.socket = connect(&self.context, LibzmqType::Req, self.endpoint)?;
            self.socket.send_frames(&[CLIENT, SERVICE, &self.request])?;
        }
        Err(PartError::NoReply(TIMEOUT.as_secs() * TRY_COUNT))
    }
}

struct AsyncClient {
    socket: LibzmqHandle,
    reply: Frame,
}

impl Asks for AsyncClient {
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
        Ok(send(&self.socket, &[EMPTY, CLIENT, SERVICE, body], &[])?)
    }

    fn reply(&mut self) -> Result<&[u8], PartError> {
        if !self.socket.poll(TIMEOUT_ASYNC)? {
            return Err(PartError::NoReply(TIMEOUT_ASYNC.as_secs()));
        }
        let mut message = Incoming::of(self.socket.receive_frames()?);
        message.require(EMPTY, "no empty frame")?;
        self.reply = body_of(message)?;
        Ok(&self.reply)
    }
}
