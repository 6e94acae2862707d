//! `tripping`, ours: client, proxy and worker are threads, each with its own sockets, all DEALERs with default options but
//! for [`YIELD_US`].

use std::convert::Infallible;
use std::sync::mpsc;

use hairstreak_socket::{Context, Dealer, Message, Options, Proxy};

use super::asking::{self, Asks};
use super::entry;
use super::error::PartError;
use crate::sample::ContenderError;
use crate::services::task::{ServiceCase, Task};

const ANY_PORT: &str = "tcp://127.0.0.1:*";
/// Who waits leaves the processor to the two others before it sleeps: the next message is theirs to bring.
pub const YIELD_US: u64 = 100;

/// The one process.
pub fn take_part(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), PartError> {
    let (bound, endpoints) = mpsc::channel();
    entry::spawn(move || pass_on(&bound));
    let [frontend, backend] = endpoints.recv().map_err(|_| PartError::Thread)?;
    entry::spawn(move || reply(&backend));
    let mut client = Client { socket: connect(&frontend)?, message: Message::new() };
    let body = ServiceCase::Tripping.body();
    client.ask(body)?;
    client.reply()?;
    entry::end(asking::measure(&mut client, task, body)?, orders)
}

fn pass_on(bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible, PartError> {
    let context = Context::new();
    let (frontend, backend) = (open(&context)?, open(&context)?);
    let bind = |socket: &Dealer| socket.bind(ANY_PORT).map_err(failed("bind"));
    let endpoints = [bind(&frontend)?.to_string(), bind(&backend)?.to_string()];
    bound.send(endpoints).map_err(|_| PartError::Thread)?;
    let mut proxy = Proxy::new(&frontend, &backend).map_err(failed("Proxy::new"))?;
    proxy.run().map_err(failed("Proxy::run"))?;
    // Nobody told it to end.
    Err(PartError::Thread)
}

fn reply(backend: &str) -> Result<Infallible, PartError> {
    let socket = connect(backend)?;
    let mut message = Message::new();
    loop {
        socket.recv_into(&mut message).map_err(failed("recv"))?;
        socket.send(&message).map_err(failed("send"))?;
    }
}

fn open(context: &Context) -> Result<Dealer, PartError> {
    let options = Options { yield_us: YIELD_US, ..Options::default() };
    Dealer::with_options(context, options).map_err(failed("open"))
}

fn connect(endpoint: &str) -> Result<Dealer, PartError> {
    let socket = open(&Context::new())?;
    socket.connect(endpoint).map_err(failed("connect"))?;
    Ok(socket)
}

fn failed<E: ToString>(call: &'static str) -> impl Fn(E) -> PartError {
    move |error| ContenderError::call(call, error).into()
}

struct Client {
    socket: Dealer,
    message: Message,
}

impl Asks for Client {
    fn ask(&mut self, body: &[u8]) -> Result<(), PartError> {
        self.socket.send(body).map_err(failed("send"))
    }

    fn reply(&mut self) -> Result<&[u8], PartError> {
        self.socket.recv_into(&mut self.message).map_err(failed("recv"))?;
        Ok(self.message.body())
    }
}
