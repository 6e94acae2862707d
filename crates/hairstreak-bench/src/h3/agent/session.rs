//! The agent's process: one conversation for each controller. Orders come in, each is done, its answers go out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, Result, ensure};
use hairstreak_base::available_memory;
use hairstreak_transport::Listener;
use serde_json::{Value, json};

use super::orders::{Greeting, Order};
use super::queue::{QueueBroker, shared_memory_endpoint, tcp_endpoint};
use crate::broker::server::is_installed;
use crate::frame::Machine;
use crate::h3::contender::{Broker, Target, Transport};
use crate::h3::data::{
    Arrivals, BlockingStream, Clock, Digester, Frames, Generator, HEADER_SIZE, Publisher, Store, Time,
    Windows, listen, open_link, push_frame,
};
use crate::h3::plan::{AgentSettings, Flow};

/// Bytes that gather before a write.
const WRITE_SIZE: usize = 64 * 1024;
/// The most bytes that a relay reads at once.
const READ_SIZE: usize = 256 * 1024;
/// The assumed memory of a host that does not tell its own.
const MEMORY_UNKNOWN: u64 = 1 << 30;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Serves controllers for ever. The line of the start ends with the address, with the real port.
pub fn serve(settings: &AgentSettings) -> Result<()> {
    let listener = TcpListener::bind(settings.bind)?;
    let mut output = io::stdout().lock();
    writeln!(output, "h3 agent {VERSION} at {}", listener.local_addr()?)?;
    output.flush()?;
    drop(output);
    for control in listener.incoming() {
        let (control, rabbitmq) = (control?, settings.rabbitmq.clone());
        thread::Builder::new().name("h3-session".into()).spawn(move || {
            // The session sends its error to the controller. If that fails, the controller has gone.
            let _ = Session::new(control, rabbitmq).and_then(Session::run);
        })?;
    }
    Ok(())
}

/// A conversation. Its brokers end with it.
struct Session {
    control: TcpStream,
    /// The address under which the controller reached this agent: others reach it there, too.
    host: IpAddr,
    rabbitmq: String,
    /// The place on the fabric.
    vortex: Option<String>,
    brokers: Vec<QueueBroker>,
    /// The messages of the last run, if this agent sent them.
    sent: Option<(Generator, u64)>,
    /// The messages of the last run, if this agent received them.
    store: Store,
}

impl Session {
    fn new(control: TcpStream, rabbitmq: String) -> Result<Session> {
        control.set_nodelay(true)?;
        let (host, store) = (control.local_addr()?.ip(), Store::default());
        Ok(Session { control, host, rabbitmq, vortex: None, brokers: Vec::new(), sent: None, store })
    }

    /// Follows the orders of the controller until the controller has gone.
    fn run(mut self) -> Result<()> {
        for line in BufReader::new(self.control.try_clone()?).lines() {
            let answer = self.obey(&line?).map_err(|error| format!("{error:#}"));
            self.answer(&answer)?;
        }
        Ok(())
    }

    fn answer(&mut self, answer: &Result<Value, String>) -> Result<()> {
        let line = format!("{}\n", json!(answer));
        Ok(self.control.write_all(line.as_bytes())?)
    }

    fn obey(&mut self, line: &str) -> Result<Value> {
        match serde_json::from_str(line).context("not an order of this version")? {
            Order::Greet { version, vortex } => self.greet(&version, vortex).context("greeting"),
            Order::Receive { transport, room, window_ns } => {
                self.receive(transport, room, window_ns).context(Target::Across.words())
            }
            Order::Relay { transport, to, size, window_ns } => {
                self.relay(transport, &to, size, window_ns).context(Target::RabbitmqLoopback.words())
            }
            Order::Open { broker, transport, node, memory_bytes } => {
                self.open(broker, transport, node, memory_bytes).context("opening a queue")
            }
            Order::Send { endpoint, flow } => self.send(&endpoint, flow).context("sending"),
            Order::Publish { endpoint, to, flow, window_ns } => {
                self.publish(&endpoint, &to, flow, window_ns).context("publishing")
            }
            Order::Tally { key, count } => self.tally(key, count).context("digesting"),
        }
    }

    fn greet(&mut self, version: &str, vortex: Option<String>) -> Result<Value> {
        ensure!(
            version == VERSION,
            "the controller has version {version}, this agent {VERSION}: use the same on all hosts"
        );
        self.vortex = vortex;
        let Machine { cpu, cores, kernel } = Machine::here();
        Ok(json!(Greeting {
            machine: format!("{cpu}, {cores} cores, {kernel}"),
            memory_bytes: available_memory().unwrap_or(MEMORY_UNKNOWN),
            has_rabbitmq: is_installed(&self.rabbitmq),
        }))
    }

    /// Listens for a sender, and returns the address.
    fn bind(&mut self, transport: Transport) -> Result<Listener> {
        let listener = match transport {
            Transport::Tcp => listen(&tcp_endpoint(self.host))?,
            Transport::Shm => listen(&shared_memory_endpoint("receiver"))?,
            Transport::Vortex => listen(self.vortex.as_deref().context("there is no place on the fabric")?)?,
        };
        self.answer(&Ok(json!(listener.endpoint().to_string())))?;
        Ok(listener)
    }

    fn receive(&mut self, transport: Transport, room: u64, window_ns: u64) -> Result<Value> {
        let available = self.store.size() + available_memory().unwrap_or(MEMORY_UNKNOWN);
        ensure!(
            room <= available,
            "room for {room} bytes was asked for; this host has {available} (--memory bounds a run)"
        );
        self.store.reset(room as usize);
        self.sent = None;
        let listener = self.bind(transport)?;
        let mut stream = BlockingStream::accept(&listener)?;
        let windows = Windows::open(Clock::of(Time::Fabric, listener.endpoint())?, window_ns);
        Ok(json!(self.store.receive(&mut stream, windows)?))
    }

    fn open(&mut self, kind: Broker, transport: Transport, node: char, memory_bytes: u64) -> Result<Value> {
        if !self.brokers.iter().any(|broker| broker.kind == kind) {
            let vortex = self.vortex.clone();
            self.brokers.push(QueueBroker::start(kind, self.host, vortex, memory_bytes, &self.rabbitmq)?);
        }
        let broker = self.brokers.iter_mut().find(|broker| broker.kind == kind).context("no broker")?;
        broker.open(transport, node)?;
        Ok(json!(broker.endpoint(transport)))
    }

    fn send(&mut self, endpoint: &str, flow: Flow) -> Result<Value> {
        let mut generator = Generator::new(flow.size, flow.seed);
        let mut stream = BlockingStream::connect(endpoint)?;
        let (mut out, mut count) = (Vec::with_capacity(WRITE_SIZE + flow.size + HEADER_SIZE), 0);
        let clock = Clock::of(flow.time, &endpoint.parse()?)?;
        let begin_ns = clock.now().0;
        while !flow.is_over(count, clock.now().0 - begin_ns) {
            out.clear();
            while out.len() < WRITE_SIZE && count < flow.count_max {
                push_frame(&mut out, flow.size);
                generator.append_next(&mut out);
                count += 1;
            }
            stream.write_all(&out)?;
        }
        stream.finish()?;
        self.sent = Some((generator, count));
        Ok(json!(Arrivals { count, ..Arrivals::default() }))
    }

    fn publish(
        &mut self,
        endpoint: &str,
        (exchange, key): &(String, String),
        flow: Flow,
        window_ns: u64,
    ) -> Result<Value> {
        let mut generator = Generator::new(flow.size, flow.seed);
        let link = open_link(endpoint)?;
        let windows = Windows::open(Clock::of(flow.time, &endpoint.parse()?)?, window_ns);
        let mut publisher = Publisher::new(link, windows, (exchange, key), flow.size);
        let (batch, mut count) = ((WRITE_SIZE / flow.size).max(1) as u64, 0);
        while !flow.is_over(count, publisher.windows.elapsed_ns()) {
            for _ in 0..batch.min(flow.count_max - count) {
                let (first, rest) = generator.next_parts();
                publisher.publish(&first, rest)?;
                count += 1;
            }
        }
        self.sent = Some((generator, count));
        Ok(json!(publisher.finish()?))
    }

    fn relay(
        &mut self,
        transport: Transport,
        (exchange, key): &(String, String),
        size: usize,
        window_ns: u64,
    ) -> Result<Value> {
        let broker = self.brokers.iter().find(|broker| broker.open.is_some());
        let endpoint = broker.and_then(|broker| broker.endpoint(Transport::Tcp));
        let link = open_link(endpoint.context("no queue is open")?)?;
        let listener = self.bind(transport)?;
        let mut stream = BlockingStream::accept(&listener)?;
        let windows = Windows::open(Clock::default(), window_ns);
        let mut publisher = Publisher::new(link, windows, (exchange, key), size);
        let (mut input, mut chunk) = (Vec::new(), vec![0; READ_SIZE]);
        loop {
            let read = stream.read(&mut chunk)?;
            if read == 0 {
                break;
            }
            input.extend_from_slice(&chunk[..read]);
            let mut frames = Frames::default();
            frames.take(&input, |body| {
                let (first, rest) = body.split_at(body.len().min(8));
                publisher.publish(first, rest)
            })?;
            input.drain(..frames.taken);
        }
        // The sender need not wait for the confirms.
        drop(stream);
        Ok(json!(publisher.finish()?))
    }

    fn tally(&mut self, key: u64, count: u64) -> Result<Value> {
        if let Some(broker) = self.brokers.iter_mut().find(|broker| broker.open.is_some()) {
            return Ok(json!(broker.drain(key, count)?));
        }
        let Some((generator, count)) = &mut self.sent else {
            return Ok(json!((self.store.tally(key)?, false)));
        };
        let (mut digester, mut message) = (Digester::new(key), Vec::new());
        generator.restart();
        for _ in 0..*count {
            message.clear();
            generator.append_next(&mut message);
            digester.add(&message);
        }
        Ok(json!((digester.tally, false)))
    }
}
