//! `services`, ours: the node's broker, `service::Client` and `service::Worker`, all with default options but for
//! [`CAPACITY`] and [`PLAIN_CAPACITY`].

use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;

use hairstreak::Message;
use hairstreak::service::{Client, MemoryStore, Worker, WorkerOptions};
use hairstreak_node::{ServeOptions, Server, ServiceOptions};

use super::asking::{self, Asks, GREETING};
use super::entry;
use super::error::PartError;
use crate::sample::ContenderError;
use crate::services::task::{Answer, Role, Scheme, ServiceCase, Task};

const ANY_PORT: &str = "tcp://127.0.0.1:*";
const SERVICE: &str = "echo";
/// Requests that a worker says it may have.
pub const CAPACITY: u32 = 512;
/// Requests that a stocked plain worker has.
pub const PLAIN_CAPACITY: u16 = 16;

/// The process that `task` is for.
pub fn take_part(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    match task.role {
        Role::Broker => {
            let is_stocked = task.scheme == Scheme::ServicesOfStockedPlainWorkers;
            entry::serve(orders, move || serve(is_stocked))
        }
        Role::Worker(number) => {
            let endpoint = task.endpoint.clone();
            entry::serve(orders, move || work(&endpoint, number))
        }
        Role::Client => {
            let client = Client::connect(&task.endpoint).map_err(failed("Client::connect"))?;
            let mut client = Asking { client, reply: Message::new() };
            asking::meet(&mut client, task.worker_count)?;
            entry::end(asking::measure(&mut client, task, ServiceCase::Services.body())?, orders)
        }
        Role::All => Err(PartError::NoPart { scheme: task.scheme.text(), role: task.role.text() }),
    }
}

fn serve(is_stocked: bool) -> Result<Infallible, PartError> {
    let mut services = ServiceOptions::default();
    if is_stocked {
        services.limits.plain_capacity = PLAIN_CAPACITY;
    }
    let options = ServeOptions {
        services,
        bind: Vec::new(),
        services_bind: vec![ANY_PORT.to_owned()],
        ..ServeOptions::default()
    };
    let server = Server::start(options).map_err(failed("Server::start"))?;
    let endpoints = server.service_endpoints().iter().map(ToString::to_string).collect();
    Answer::Bound(endpoints).print()?;
    loop {
        thread::park();
    }
}

fn work(endpoint: &str, number: u8) -> Result<Infallible, PartError> {
    let options = WorkerOptions { capacity: Some(CAPACITY), ..WorkerOptions::default() };
    let worker = Worker::with_options(&[endpoint], SERVICE, options, MemoryStore::new());
    let worker = worker.map_err(failed("Worker::with_options"))?;
    let reply = worker.run(|request| match request.body() {
        GREETING => Ok(vec![number].into()),
        _ => Ok(request.frames().iter().cloned().collect()),
    });
    reply.map_err(failed("Worker::run"))?;
    // Nobody asked it to leave.
    Err(PartError::Thread)
}

fn failed<E: ToString>(call: &'static str) -> impl Fn(E) -> PartError {
    move |error| ContenderError::call(call, error).into()
}

struct Asking {
    client: Client,
    reply: Message,
}

impl Asks for Asking {
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
        // Replies are counted and compared: whose each is does not matter.
        self.client.send(SERVICE, body).map(|_| ()).map_err(failed("Client::send"))
    }

    fn reply(&mut self) -> Result<&[u8], PartError> {
        let reply = self.client.recv().ok_or(PartError::NoReply(0))?;
        self.reply = reply.result.map_err(failed("Client::recv"))?;
        Ok(self.reply.body())
    }
}
