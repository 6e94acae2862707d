//! `take_part`: a member of any scheme. Our broker, client and workers, a process each.

use std::convert::Infallible;
use std::thread;

use anyhow::{Context as _, Result, bail};
use hairstreak::Message;
use hairstreak::service::{Client, MemoryStore, Worker, WorkerOptions};
use hairstreak_node::{NodeConfig, Server, ServiceOptions};

use super::super::plan::Scheme;
use super::super::sample::{Role, Task};
use super::entry::{ANY_PORT, Asks, GREETING, ask_workers, serve};
use super::majordomo;
use super::proxies::{self, OurDealer};
use crate::frame::processes::{Answer, orders};
use crate::sample::{LibzmqHandle, failed};

const SERVICE: &str = "echo";
/// The capacity that a worker announces, in requests.
pub const CAPACITY: u32 = 512;
/// Requests that a stocked plain worker has.
pub const PLAIN_CAPACITY: u16 = 16;

/// Takes part in a sample with `task`, which is JSON.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    match (task.scheme, task.role) {
        (Scheme::Tripping, _) => proxies::take_part::<OurDealer>(&task, &orders),
        (Scheme::LibzmqProxy, _) => proxies::take_part::<LibzmqHandle>(&task, &orders),
        (Scheme::LibzmqMajordomo, Role::Broker) => {
            serve(&orders, move || majordomo::run_broker(&task.libzmq))
        }
        (scheme, Role::Broker) => serve(&orders, move || run_broker(scheme)),
        (Scheme::Services, Role::Worker(number)) => {
            serve(&orders, move || run_worker(&task.endpoint, number))
        }
        (_, Role::Worker(number)) => {
            serve(&orders, move || majordomo::run_worker(&task.libzmq, &task.endpoint, number))
        }
        (Scheme::LibzmqMajordomo, Role::Client) => {
            ask_workers(&mut majordomo::Client::connect(&task)?, &task, &orders)
        }
        (_, Role::Client) => {
            let client = Client::connect(&task.endpoint).map_err(failed("Client::connect"))?;
            ask_workers(&mut Asking { client, reply: Message::new() }, &task, &orders)
        }
        (scheme, Role::All) => bail!("{scheme:?} has no process that is all"),
    }
}

fn run_broker(scheme: Scheme) -> Result<Infallible> {
    let mut services = ServiceOptions::default();
    if scheme == Scheme::StockedPlainWorkers {
        services.limits.plain_capacity = PLAIN_CAPACITY;
    }
    let services_bind = vec![ANY_PORT.to_owned()];
    let server = Server::start(NodeConfig { services_bind, services, ..NodeConfig::default() })
        .map_err(failed("Server::start"))?;
    let endpoints = server.service_endpoints().iter().map(ToString::to_string).collect();
    Answer::<()>::Bound(endpoints).print()?;
    loop {
        thread::park();
    }
}

fn run_worker(endpoint: &str, number: u8) -> Result<Infallible> {
    let options = WorkerOptions { capacity: Some(CAPACITY), ..WorkerOptions::default() };
    let worker = Worker::with_options(&[endpoint], SERVICE, options, MemoryStore::new());
    let worker = worker.map_err(failed("Worker::with_options"))?;
    let reply = worker.run(|request| match request.body() {
        GREETING => Ok(vec![number].into()),
        _ => Ok(request.frames().iter().cloned().collect()),
    });
    reply.map_err(failed("Worker::run"))?;
    // No thread asked the worker to leave.
    bail!("the worker has ended")
}

struct Asking {
    client: Client,
    reply: Message,
}

impl Asks for Asking {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        // Replies are counted and compared: whose each is does not matter.
        self.client.send(SERVICE, body).map(|_| ()).map_err(failed("Client::send"))
    }

    fn reply(&mut self) -> Result<&[u8]> {
        let reply = self.client.recv().context("no reply came")?;
        self.reply = reply.result.map_err(failed("Client::recv"))?;
        Ok(self.reply.body())
    }
}
