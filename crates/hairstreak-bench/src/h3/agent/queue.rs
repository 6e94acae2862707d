//! A broker on the receiving host, and the one queue of it that is open for a run.

use std::net::IpAddr;
use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result, ensure};
use hairstreak_node::{AmqpConfig, NodeConfig, Server};
use hairstreak_transport::{Endpoint, TcpAddress};

use crate::broker::amqp::Link;
use crate::broker::server::{Running, ServerKind, ServerTask, is_installed};
use crate::frame::name;
use crate::h3::contender::{Broker, Transport};
use crate::h3::data::{Deliveries, Digester, Tally};

/// Memory that a broker has beside its messages.
const BROKER_BYTES: u64 = 512 << 20;
/// RabbitMQ begins to write messages to disk at half of its watermark.
const WATERMARK_PART: u64 = 2;
/// The data of RabbitMQ grows by this much at most while it declares a queue. Messages on disk are more.
const SPILL_MIN: u64 = 1 << 20;

/// A running broker.
#[derive(Debug)]
pub struct QueueBroker {
    /// The kind of broker.
    pub kind: Broker,
    process: Process,
    open: Option<OpenQueue>,
}

#[derive(Debug)]
enum Process {
    Node(Box<Server>),
    RabbitMq(Running),
}

#[derive(Debug)]
struct OpenQueue {
    exchange: String,
    queue: String,
    /// Bytes of the broker's data before the run.
    data_bytes: u64,
}

impl QueueBroker {
    /// Starts a broker that listens on `host`. Our node listens in shared memory, too, and at `vortex` on a fabric.
    pub fn start(
        kind: Broker,
        host: IpAddr,
        vortex: Option<String>,
        memory_bytes: u64,
        rabbitmq: &str,
    ) -> Result<QueueBroker> {
        let watermark = WATERMARK_PART * memory_bytes + BROKER_BYTES;
        let process = match kind {
            Broker::Hairstreak => {
                let tcp = Endpoint::Tcp(TcpAddress { host: host.to_string(), port: 0 });
                let endpoints = [tcp.to_string(), shared_memory_endpoint("node")];
                let amqp = AmqpConfig {
                    bind: Some(endpoints.into_iter().chain(vortex).collect()),
                    loopback_users: host.is_loopback().then(|| "guest".into()).into_iter().collect(),
                    memory_watermark: watermark as usize,
                    ..AmqpConfig::default()
                };
                let config = NodeConfig { amqp, ..NodeConfig::default() };
                Process::Node(Box::new(Server::start(config).context("the node")?))
            }
            Broker::Rabbitmq => {
                ensure!(
                    is_installed(rabbitmq),
                    "no RabbitMQ here ({rabbitmq} is not there; Debian's package is rabbitmq-server)"
                );
                let task = ServerTask {
                    kind: ServerKind::RabbitMq,
                    loop_count: None,
                    cores: None,
                    rabbitmq: rabbitmq.to_owned(),
                    host,
                    memory_bytes: Some(watermark),
                };
                Process::RabbitMq(Running::start(&task).context("RabbitMQ")?)
            }
        };
        Ok(QueueBroker { kind, process, open: None })
    }

    /// Returns whether a queue is open.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The endpoint of AMQP over `transport`, if there is one.
    pub fn endpoint(&self, transport: Transport) -> Option<String> {
        let endpoints = match &self.process {
            Process::Node(server) => server.amqp_endpoints().iter().map(Endpoint::to_string).collect(),
            Process::RabbitMq(running) => vec![format!("tcp://{}", running.address)],
        };
        endpoints.into_iter().find(|endpoint| endpoint.starts_with(&name(&transport)))
    }

    fn connect(&self) -> Result<Link> {
        let endpoint = self.endpoint(Transport::Tcp);
        let address = endpoint.and_then(|endpoint| endpoint.strip_prefix("tcp://")?.parse().ok());
        Ok(Link::open(address.context("the broker does not listen over tcp")?)?)
    }

    /// Declares the exchange of `transport`, and its queue of `node`, which is empty then.
    pub fn open(&mut self, transport: Transport, node: char) -> Result<()> {
        let exchange = transport.exchange();
        let queue = format!("{exchange}.{node}");
        let mut link = self.connect()?;
        link.declare_exchange(&exchange, "topic")?;
        link.delete_queue(&queue)?;
        link.declare_queue(&queue)?;
        link.bind(&queue, &exchange, &format!("*.{node}"))?;
        self.open = Some(OpenQueue { exchange, queue, data_bytes: self.data_bytes()? });
        Ok(())
    }

    /// Consumes the `count` messages that the open queue has, and deletes the queue with its exchange. Returns the digest of
    /// the messages, and whether the broker has written messages to disk.
    ///
    /// Errors: more or fewer messages are there.
    pub fn drain(&mut self, key: u64, count: u64) -> Result<(Tally, bool)> {
        let data_bytes = self.data_bytes()?;
        let open = self.open.take().context("draining before a queue is open")?;
        let check = |found: u64| -> Result<()> {
            ensure!(found == count, "{found} messages were in the queue, {count} were confirmed");
            Ok(())
        };
        let mut link = self.connect()?;
        check(link.count_messages(&open.queue)?.into())?;
        let (mut deliveries, mut digester) = (Deliveries::default(), Digester::new(key));
        if count > 0 {
            link.consume(&open.queue, true)?;
        }
        while digester.tally.count < count {
            let taken = deliveries.take(link.input.unread(), &mut digester)?;
            link.input.consume(taken);
            if taken == 0 {
                link.input.fill(&mut link.stream)?;
            }
        }
        // On another connection, because this one may still be sent something.
        drop(link);
        let mut link = self.connect()?;
        check(count + u64::from(link.count_messages(&open.queue)?))?;
        link.delete_queue(&open.queue)?;
        link.delete_exchange(&open.exchange)?;
        Ok((digester.tally, data_bytes > open.data_bytes + SPILL_MIN))
    }

    fn data_bytes(&self) -> io::Result<u64> {
        match &self.process {
            Process::RabbitMq(Running { data: Some(data), .. }) => size_of_files(data),
            _ => Ok(0),
        }
    }
}

/// An endpoint in shared memory that no other process on this host has.
pub fn shared_memory_endpoint(name: &str) -> String {
    format!("shm://hairstreak-h3-{name}-{}-{:x}", std::process::id(), fastrand::u64(..))
}

/// Bytes of all files under `folder`. A file that goes meanwhile counts nothing.
fn size_of_files(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size += size_of_files(&entry.path()).unwrap_or(0),
            Ok(metadata) => size += metadata.len(),
            Err(_) => {}
        }
    }
    Ok(size)
}
