//! `take_part`: a member of any scheme. Our broker, client and workers, a process each.

use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, Result, bail};
use hairstreak::Message;
use hairstreak::service::{Client, MemoryStore, Worker, WorkerOptions};
use hairstreak_node::{NodeConfig, Server, ServiceOptions};

use super::super::plan::{Scheme, ServiceCase};
use super::super::sample::{Measurement, Role, Task};
use super::entry::{Asks, GREETING, end, measure, meet, serve as serve_until};
use super::{majordomo, proxies};
use crate::frame::processes::{Answer, orders};
use crate::sample::failed;

const ANY_PORT: &str = "tcp://127.0.0.1:*";
const SERVICE: &str = "echo";
/// The capacity that a worker announces, in requests.
pub const CAPACITY: u32 = 512;
/// Requests that a stocked plain worker has.
pub const PLAIN_CAPACITY: u16 = 16;

/// Takes part in a sample with `task`, which is JSON.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    match task.scheme {
        Scheme::Proxy => proxies::take_part_as_ours(&task, &orders),
        Scheme::LibzmqProxy => proxies::take_part_as_libzmq(&task, &orders),
        Scheme::LibzmqMajordomo => majordomo::take_part(task, &orders),
        Scheme::Services => run(&task, &orders),
        Scheme::ServicesOfPlainWorkers | Scheme::ServicesOfStockedPlainWorkers => match task.role {
            Role::Worker(_) => majordomo::take_part(task, &orders),
            _ => run(&task, &orders),
        },
    }
}

fn run(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    match task.role {
        Role::Broker => {
            let is_stocked = task.scheme == Scheme::ServicesOfStockedPlainWorkers;
            serve_until(orders, move || serve(is_stocked))
        }
        Role::Worker(number) => {
            let endpoint = task.endpoint.clone();
            serve_until(orders, move || work(&endpoint, number))
        }
        Role::Client => {
            let client = Client::connect(&task.endpoint).map_err(failed("Client::connect"))?;
            let mut client = Asking { client, reply: Message::new() };
            meet(&mut client, task.worker_count)?;
            end(measure(&mut client, task, ServiceCase::Services.body())?, orders)
        }
        Role::All => bail!("{} has no process for {}", task.scheme.text(), task.role.text()),
    }
}

fn serve(is_stocked: bool) -> Result<Infallible> {
    let mut services = ServiceOptions::default();
    if is_stocked {
        services.limits.plain_capacity = PLAIN_CAPACITY;
    }
    let services_bind = vec![ANY_PORT.to_owned()];
    let server = Server::start(NodeConfig { services_bind, services, ..NodeConfig::default() })
        .map_err(failed("Server::start"))?;
    let endpoints = server.service_endpoints().iter().map(ToString::to_string).collect();
    Answer::<Measurement>::Bound(endpoints).print()?;
    loop {
        thread::park();
    }
}

fn work(endpoint: &str, number: u8) -> Result<Infallible> {
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
