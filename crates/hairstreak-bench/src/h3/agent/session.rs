//! One controller's conversation with an agent: orders come in, each is done, its replies go out.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, TcpStream};

use hairstreak_base::available_memory;
use hairstreak_transport::Listener;

use super::error::AgentError;
use super::orders::{Arrivals, Flow, Order, Reply};
use super::queue::{QueueBroker, shared_memory_endpoint};
use crate::broker::amqp::{Argument, Link, ReadBuffer};
use crate::broker::server::is_installed;
use crate::h3::contender::{self, Broker, Node, Transport};
use crate::h3::data::{
    BLOCKED_CAPABILITY, BlockingStream, Clock, Digester, Frames, Generator, HEADER_SIZE, Publisher, Store,
    Tally, Time, Windows, listen, parse, push_frame,
};
use crate::machine::Machine;

/// Bytes that gather before a write.
const WRITE_SIZE: usize = 64 * 1024;
/// The most bytes that a relay reads at once.
const READ_SIZE: usize = 256 * 1024;
/// The assumed memory of a host that does not tell its own.
const MEMORY_UNKNOWN: u64 = 1 << 30;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A conversation. Its brokers end with it.
pub struct Session {
    control: TcpStream,
    /// The address under which the controller reached this agent: others reach it there, too.
    host: IpAddr,
    rabbitmq: String,
    /// Where to listen on the fabric.
    vortex: Option<String>,
    brokers: Vec<QueueBroker>,
    /// The broker and the node of the open queue.
    open: Option<(Broker, Transport, Node)>,
    last: Last,
    store: Store,
}

/// The messages of the last run, which wait to be digested.
enum Last {
    Nothing,
    Received,
    Sent { generator: Generator, count: u64 },
}

impl Session {
    /// A conversation over `control`. `rabbitmq` is the script that starts RabbitMQ.
    pub fn new(control: TcpStream, rabbitmq: &str) -> Result<Session, AgentError> {
        control.set_nodelay(true)?;
        let host = control.local_addr()?.ip();
        Ok(Session {
            control,
            host,
            rabbitmq: rabbitmq.to_owned(),
            vortex: None,
            brokers: Vec::new(),
            open: None,
            last: Last::Nothing,
            store: Store::default(),
        })
    }

    /// Does what the controller says until the controller has gone.
    pub fn run(mut self) -> Result<(), AgentError> {
        let lines = BufReader::new(self.control.try_clone()?).lines();
        for line in lines {
            let done = serde_json::from_str(&line?).map_err(AgentError::from).and_then(|order: Order| {
                let subject = order.subject();
                self.obey(order)
                    .map_err(|error| (subject, error))
                    .or_else(|(subject, error)| self.reply(&Reply::Failed(format!("{subject}: {error}"))))
            });
            if let Err(error) = done {
                self.reply(&Reply::Failed(error.to_string()))?;
            }
        }
        Ok(())
    }

    fn reply(&mut self, reply: &Reply) -> Result<(), AgentError> {
        let line = serde_json::to_string(reply)? + "\n";
        Ok(self.control.write_all(line.as_bytes())?)
    }

    fn obey(&mut self, order: Order) -> Result<(), AgentError> {
        let reply = match order {
            Order::Greet { version, vortex } => self.greet(version, vortex)?,
            Order::Receive { transport, room, window_ns } => {
                let available = self.store.size() + available_memory().unwrap_or(MEMORY_UNKNOWN);
                if room > available {
                    return Err(AgentError::Memory { asked: room, available });
                }
                self.store.reset(room as usize);
                let listener = self.bind(transport)?;
                let mut stream = BlockingStream::accept(&listener)?;
                let mut windows = Windows::open(Clock::of(listener.endpoint())?, window_ns);
                let count = self.store.receive(&mut stream, &mut windows)?;
                self.last = Last::Received;
                Reply::Received(Arrivals { count, counts: windows.finish(), has_alarm: false })
            }
            Order::Relay { transport, size, window_ns } => self.relay(transport, size, window_ns)?,
            Order::Open { broker, transport, node, memory_bytes } => {
                if !self.brokers.iter().any(|one| one.kind() == broker) {
                    let started =
                        QueueBroker::start(broker, self.host, &self.vortex, memory_bytes, &self.rabbitmq)?;
                    self.brokers.push(started);
                }
                self.open = Some((broker, transport, node));
                let open = self.broker()?;
                open.open(transport, node)?;
                Reply::Opened { endpoint: open.endpoint(transport) }
            }
            Order::Send { endpoint, flow } => self.send(&endpoint, &flow)?,
            Order::Publish { endpoint, exchange, key, flow, window_ns } => {
                self.publish(&endpoint, (&exchange, &key), &flow, window_ns)?
            }
            Order::Tally { key } => Reply::Tally(self.tally(key)?),
            Order::Drain { key, count } => {
                let (tally, has_spilled) = self.broker()?.drain(key, count)?;
                self.open = None;
                Reply::Drained { tally, has_spilled }
            }
        };
        self.reply(&reply)
    }

    fn greet(&mut self, version: String, vortex: Option<String>) -> Result<Reply, AgentError> {
        if version != VERSION {
            return Err(AgentError::Version { theirs: version, ours: VERSION });
        }
        self.vortex = vortex;
        let Machine { cpu, cores, kernel } = Machine::here();
        Ok(Reply::Greeting {
            version,
            machine: format!("{cpu}, {cores} cores, {kernel}"),
            memory_bytes: available_memory().unwrap_or(MEMORY_UNKNOWN),
            has_rabbitmq: is_installed(&self.rabbitmq),
        })
    }

    /// Listens for a sender, and says where.
    fn bind(&mut self, transport: Transport) -> Result<Listener, AgentError> {
        let listener = match transport {
            Transport::Tcp if self.host.is_ipv6() => listen(&format!("tcp://[{}]:*", self.host))?,
            Transport::Tcp => listen(&format!("tcp://{}:*", self.host))?,
            Transport::Shm => listen(&shared_memory_endpoint("receiver"))?,
            Transport::Vortex => {
                listen(self.vortex.as_deref().ok_or(AgentError::TooEarly("a place on the fabric"))?)?
            }
        };
        self.reply(&Reply::Bound { endpoint: listener.endpoint().to_string() })?;
        Ok(listener)
    }

    /// The broker of the open queue.
    fn broker(&mut self) -> Result<&mut QueueBroker, AgentError> {
        let kind = self.open.map(|(broker, ..)| broker);
        let broker = self.brokers.iter_mut().find(|broker| Some(broker.kind()) == kind);
        broker.ok_or(AgentError::TooEarly("using a queue"))
    }

    fn send(&mut self, endpoint: &str, flow: &Flow) -> Result<Reply, AgentError> {
        let mut generator = Generator::new(flow.size, flow.seed);
        let mut stream = BlockingStream::connect(endpoint)?;
        let (mut out, mut count) = (Vec::with_capacity(WRITE_SIZE + flow.size + HEADER_SIZE), 0);
        let clock = flow.clock(endpoint)?;
        let begin_ns = clock.now_ns();
        while !flow.is_over(count, clock.now_ns() - begin_ns) {
            out.clear();
            while out.len() < WRITE_SIZE && count < flow.count_max {
                push_frame(&mut out, generator.size());
                generator.append_next(&mut out);
                count += 1;
            }
            stream.write_all(&out)?;
        }
        stream.finish()?;
        self.last = Last::Sent { generator, count };
        Ok(Reply::Sent(Arrivals { count, ..Arrivals::default() }))
    }

    fn publish(
        &mut self,
        endpoint: &str,
        to: (&str, &str),
        flow: &Flow,
        window_ns: u64,
    ) -> Result<Reply, AgentError> {
        let mut generator = Generator::new(flow.size, flow.seed);
        let mut link = open_link(endpoint)?;
        let clock = flow.clock(endpoint)?;
        let mut windows = Windows::open(clock.clone(), window_ns);
        let mut publisher = Publisher::new(&mut link, &mut windows, to, flow.size);
        let (begin_ns, mut count) = (clock.now_ns(), 0);
        while !flow.is_over(count, clock.now_ns() - begin_ns) {
            let batch = (WRITE_SIZE / flow.size).max(1) as u64;
            for _ in 0..batch.min(flow.count_max - count) {
                let (first, rest) = generator.next_parts();
                publisher.publish(&first, rest)?;
                count += 1;
            }
        }
        publisher.finish()?;
        let has_alarm = publisher.has_alarm();
        self.last = Last::Sent { generator, count };
        Ok(Reply::Sent(Arrivals { count, counts: windows.finish(), has_alarm }))
    }

    fn relay(&mut self, transport: Transport, size: usize, window_ns: u64) -> Result<Reply, AgentError> {
        let (_, queue_of, node) = self.open.ok_or(AgentError::TooEarly("relaying"))?;
        let (exchange, key) = (queue_of.exchange(), contender::routing_key(size, node));
        let address = self.broker()?.address()?;
        let mut link = open_link(&format!("tcp://{address}"))?;
        let listener = self.bind(transport)?;
        let mut stream = BlockingStream::accept(&listener)?;
        let mut windows = Windows::open(Clock::Wall, window_ns);
        let mut publisher = Publisher::new(&mut link, &mut windows, (&exchange, &key), size);
        let mut input = Vec::new();
        loop {
            let filled = input.len();
            input.resize(filled + READ_SIZE, 0);
            let read = stream.read_some(&mut input[filled..])?;
            input.truncate(filled + read);
            if read == 0 {
                break;
            }
            let (mut frames, mut published) = (Frames::default(), Ok(()));
            frames.take(&input, |body| {
                if published.is_ok() {
                    let (first, rest) = body.split_at(body.len().min(8));
                    published = publisher.publish(first, rest);
                }
            })?;
            published?;
            input.drain(..frames.taken());
        }
        // The sender need not wait for the confirms.
        drop(stream);
        let count = publisher.finish()?;
        let has_alarm = publisher.has_alarm();
        Ok(Reply::Received(Arrivals { count, counts: windows.finish(), has_alarm }))
    }

    fn tally(&mut self, key: u64) -> Result<Tally, AgentError> {
        match &mut self.last {
            Last::Nothing => Err(AgentError::TooEarly("digesting")),
            Last::Received => Ok(self.store.tally(key)?),
            Last::Sent { generator, count } => {
                let (mut digester, mut message) = (Digester::new(key), Vec::new());
                generator.restart();
                for _ in 0..*count {
                    message.clear();
                    generator.append_next(&mut message);
                    digester.add(&message);
                }
                Ok(digester.tally())
            }
        }
    }
}

impl Flow {
    /// The clock of its duration. `endpoint` is where it goes.
    fn clock(&self, endpoint: &str) -> Result<Clock, AgentError> {
        match self.time {
            Time::Wall => Ok(Clock::Wall),
            Time::Fabric => Ok(Clock::of(&parse(endpoint)?)?),
        }
    }

    /// Whether `count` messages in `elapsed_ns` are enough.
    fn is_over(&self, count: u64, elapsed_ns: u64) -> bool {
        count >= self.count_max || (count >= self.count_min && elapsed_ns >= self.duration_ns)
    }
}

/// Logs in at `endpoint` and asks for confirms.
fn open_link(endpoint: &str) -> Result<Link<BlockingStream>, AgentError> {
    let stream = BlockingStream::connect(endpoint)?;
    let mut link = Link::over(stream, ReadBuffer::new(), Argument::Long(BLOCKED_CAPABILITY))?;
    link.select_confirms()?;
    Ok(link)
}
