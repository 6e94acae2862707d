//! Client, proxy and worker as threads of one process: ours, and libzmq's.

use std::convert::Infallible;
use std::sync::mpsc;

use anyhow::{Context as _, Result, bail};
use hairstreak_socket::{Context, Dealer, Message, Options, Proxy};

use super::super::sample::Task;
use super::entry::{ANY_PORT, Asks, TIMEOUT, measure, spawn};
use crate::frame::processes::report;
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType, failed};

/// The body of a request, and of its reply.
const BODY: &[u8] = b"hello";
/// The time that a waiting thread yields the processor to the two others before it sleeps: they bring the next message.
pub const YIELD_US: u64 = 100;
const GAVE_UP: &str = "a thread of this process gave up";

/// A DEALER of a contender: of the client or of the worker. `library` is the libzmq to load.
pub(super) trait Tripping: Asks + Sized + 'static {
    /// Binds the two sockets of a proxy, tells their endpoints, and runs the proxy.
    fn pass_on(library: &str, bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible>;

    /// Connects, in a context of its own.
    fn connect(library: &str, endpoint: &str) -> Result<Self>;

    /// Receives a request and sends it back.
    fn return_request(&mut self) -> Result<()>;
}

/// The one process.
pub(super) fn take_part<D: Tripping>(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let (bound, endpoints) = mpsc::channel();
    let (library, library_of_worker) = (task.libzmq.clone(), task.libzmq.clone());
    spawn(move || D::pass_on(&library, &bound));
    let [frontend, backend] = endpoints.recv().context(GAVE_UP)?;
    spawn(move || {
        let mut worker = D::connect(&library_of_worker, &backend)?;
        loop {
            worker.return_request()?;
        }
    });
    let mut client = D::connect(&task.libzmq, &frontend)?;
    client.ask(BODY)?;
    client.reply()?;
    report(measure(&mut client, task, BODY)?, orders)
}

/// Hairstreak's.
pub(super) struct OurDealer {
    socket: Dealer,
    message: Message,
}

fn open(context: &Context) -> Result<Dealer> {
    let options = Options { yield_us: YIELD_US, ..Options::default() };
    Dealer::with_options(context, options).map_err(failed("open"))
}

impl Tripping for OurDealer {
    fn pass_on(_library: &str, bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible> {
        let context = Context::new();
        let (frontend, backend) = (open(&context)?, open(&context)?);
        let bind = |socket: &Dealer| socket.bind(ANY_PORT).map_err(failed("bind"));
        bound.send([bind(&frontend)?.to_string(), bind(&backend)?.to_string()]).context(GAVE_UP)?;
        let mut proxy = Proxy::new(&frontend, &backend).map_err(failed("Proxy::new"))?;
        proxy.run().map_err(failed("Proxy::run"))?;
        // No thread told the proxy to end.
        bail!("a proxy without a context")
    }

    fn connect(_library: &str, endpoint: &str) -> Result<Self> {
        let socket = open(&Context::new())?;
        socket.connect(endpoint).map_err(failed("connect"))?;
        Ok(Self { socket, message: Message::new() })
    }

    fn return_request(&mut self) -> Result<()> {
        self.socket.recv_into(&mut self.message).map_err(failed("recv"))?;
        self.socket.send(&self.message).map_err(failed("send"))
    }
}

impl Asks for OurDealer {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        self.socket.send(body).map_err(failed("send"))
    }

    fn reply(&mut self) -> Result<&[u8]> {
        self.socket.recv_into(&mut self.message).map_err(failed("recv"))?;
        Ok(self.message.body())
    }
}

impl Tripping for LibzmqHandle {
    fn pass_on(library: &str, bound: &mpsc::Sender<[String; 2]>) -> Result<Infallible> {
        let context = LibzmqContext::new(library)?;
        let (frontend, backend) = (context.socket(LibzmqType::Dealer)?, context.socket(LibzmqType::Dealer)?);
        bound.send([frontend.bind(ANY_PORT)?, backend.bind(ANY_PORT)?]).context(GAVE_UP)?;
        Err(frontend.proxy(&backend))
    }

    fn connect(library: &str, endpoint: &str) -> Result<Self> {
        let socket = LibzmqContext::new(library)?.socket(LibzmqType::Dealer)?;
        socket.set_patience(TIMEOUT)?;
        socket.connect(endpoint)?;
        Ok(socket)
    }

    fn return_request(&mut self) -> Result<()> {
        self.receive()?;
        self.send_back()
    }
}

impl Asks for LibzmqHandle {
    fn ask(&mut self, body: &[u8]) -> Result<()> {
        self.send(body)
    }

    fn reply(&mut self) -> Result<&[u8]> {
        self.receive()?;
        Ok(self.frame())
    }
}
