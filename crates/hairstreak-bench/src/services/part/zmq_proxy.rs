//! `tripping`, libzmq's: as the source has it, a context for each thread, and zmq_proxy. Only that the client waits for a
//! first echo and does not sleep.

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::Duration;

use super::asking::{self, Asks};
use super::entry;
use super::error::PartError;
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};
use crate::services::task::{ServiceCase, Task};

const ANY_PORT: &str = "tcp://127.0.0.1:*";
/// Far longer than any reply takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// The one process.
pub fn take_part(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    let (bound, endpoints) = mpsc::channel();
    let library = task.libzmq.clone();
    entry::spawn(move || pass_on(&library, &bound));
    let [frontend, backend] = endpoints.recv().map_err(|_| PartError::Thread)?;
    let library = task.libzmq.clone();
    entry::spawn(move || reply(&library, &backend));
    let mut client = Client { socket: connect(&task.libzmq, &frontend)? };
    client.socket.set_patience(PATIENCE)?;
    let body = ServiceCase::Tripping.body();
    client.ask(body)?;
    client.reply()?;
    entry::end(asking::measure(&mut client, task, body)?, orders)
}

fn pass_on(library: &str, bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible, PartError> {
    let context = LibzmqContext::new(library)?;
    let (frontend, backend) = (context.socket(LibzmqType::Dealer)?, context.socket(LibzmqType::Dealer)?);
    let endpoints = [frontend.bind(ANY_PORT)?, backend.bind(ANY_PORT)?];
    bound.send(endpoints).map_err(|_| PartError::Thread)?;
    Err(frontend.proxy(&backend).into())
}

fn reply(library: &str, backend: &str) -> Result<Infallible, PartError> {
    let mut socket = connect(library, backend)?;
    loop {
        socket.receive()?;
        socket.send_back()?;
    }
}

fn connect(library: &str, endpoint: &str) -> Result<LibzmqHandle, PartError> {
    let socket = LibzmqContext::new(library)?.socket(LibzmqType::Dealer)?;
    socket.connect(endpoint)?;
    Ok(socket)
}

struct Client {
    socket: LibzmqHandle,
}

impl Asks for Client {
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
        Ok(self.socket.send(body)?)
    }

    fn reply(&mut self) -> Result<&[u8], PartError> {
        self.socket.receive()?;
        Ok(self.socket.frame())
    }
}
