//! Client, proxy and worker as threads of one process: ours, and libzmq's.

use std::convert::Infallible;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use hairstreak_socket::{Context, Dealer, Message, Options, Proxy};

use super::super::plan::ServiceCase;
use super::super::sample::Task;
use super::entry::{Asks, end, measure, spawn};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType, failed};

const ANY_PORT: &str = "tcp://127.0.0.1:*";
/// The time that a waiting thread yields the processor to the two others before it sleeps: they bring the next message.
pub const YIELD_US: u64 = 100;

/// The one process.
pub(super) fn take_part_as_ours(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let (bound, endpoints) = mpsc::channel();
    spawn(move || pass_on(&bound));
    let [frontend, backend] = endpoints.recv().context("a thread of this process gave up")?;
    spawn(move || reply(&backend));
    let mut client = Client { socket: connect(&frontend)?, message: Message::new() };
    let body = ServiceCase::Tripping.body();
    client.ask(body)?;
    client.reply()?;
    end(measure(&mut client, task, body)?, orders)
}

fn pass_on(bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible> {
    let context = Context::new();
    let (frontend, backend) = (open(&context)?, open(&context)?);
    let bind = |socket: &Dealer| socket.bind(ANY_PORT).map_err(failed("bind"));
    let endpoints = [bind(&frontend)?.to_string(), bind(&backend)?.to_string()];
    bound.send(endpoints).context("a thread of this process gave up")?;
    let mut proxy = Proxy::new(&frontend, &backend).map_err(failed("Proxy::new"))?;
    proxy.run().map_err(failed("Proxy::run"))?;
    // No thread told the proxy to end.
    bail!("a proxy without a context")
}

fn reply(backend: &str) -> Result<Infallible> {
    let socket = connect(backend)?;
    let mut message = Message::new();
    loop {
        socket.recv_into(&mut message).map_err(failed("recv"))?;
        socket.send(&message).map_err(failed("send"))?;
    }
}

fn open(context: &Context) -> Result<Dealer> {
    let options = Options { yield_us: YIELD_US, ..Options::default() };
    Dealer::with_options(context, options).map_err(failed("open"))
}

fn connect(endpoint: &str) -> Result<Dealer> {
    let socket = open(&Context::new())?;
    socket.connect(endpoint).map_err(failed("connect"))?;
    Ok(socket)
}

struct Client {
    socket: Dealer,
    message: Message,
}

impl Asks for Client {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        self.socket.send(body).map_err(failed("send"))
    }

    fn reply(&mut self) -> Result<&[u8]> {
        self.socket.recv_into(&mut self.message).map_err(failed("recv"))?;
        Ok(self.message.body())
    }
}

/// Far longer than any reply takes.
const PATIENCE: Duration = Duration::from_secs(40);

/// The one process.
pub(super) fn take_part_as_libzmq(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let (bound, endpoints) = mpsc::channel();
    let library = task.libzmq.clone();
    spawn(move || pass_on_by_libzmq(&library, &bound));
    let [frontend, backend] = endpoints.recv().context("a thread of this process gave up")?;
    let library = task.libzmq.clone();
    spawn(move || reply_by_libzmq(&library, &backend));
    let mut client = LibzmqClient { socket: connect_by_libzmq(&task.libzmq, &frontend)? };
    client.socket.set_patience(PATIENCE)?;
    let body = ServiceCase::Tripping.body();
    client.ask(body)?;
    client.reply()?;
    end(measure(&mut client, task, body)?, orders)
}

fn pass_on_by_libzmq(library: &str, bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible> {
    let context = LibzmqContext::new(library)?;
    let (frontend, backend) = (context.socket(LibzmqType::Dealer)?, context.socket(LibzmqType::Dealer)?);
    let endpoints = [frontend.bind(ANY_PORT)?, backend.bind(ANY_PORT)?];
    bound.send(endpoints).context("a thread of this process gave up")?;
    Err(frontend.proxy(&backend))
}

fn reply_by_libzmq(library: &str, backend: &str) -> Result<Infallible> {
    let mut socket = connect_by_libzmq(library, backend)?;
    loop {
        socket.receive()?;
        socket.send_back()?;
    }
}

fn connect_by_libzmq(library: &str, endpoint: &str) -> Result<LibzmqHandle> {
    let socket = LibzmqContext::new(library)?.socket(LibzmqType::Dealer)?;
    socket.connect(endpoint)?;
    Ok(socket)
}

struct LibzmqClient {
    socket: LibzmqHandle,
}

impl Asks for LibzmqClient {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        self.socket.send(body)
    }

    fn reply(&mut self) -> Result<&[u8]> {
        self.socket.receive()?;
        Ok(self.socket.frame())
    }
}
