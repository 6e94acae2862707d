//! A broker on the receiving host, and the one queue of it that is open for a run.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use hairstreak_node::{AmqpOptions, ServeOptions, Server};
use hairstreak_transport::Endpoint;

use super::error::AgentError;
use crate::broker::amqp::Link;
use crate::broker::server::{Running, ServerKind, ServerTask, is_installed};
use crate::h3::contender::{self, Broker, Node, Transport};
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
    kind: Broker,
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
        vortex: &Option<String>,
        memory_bytes: u64,
        rabbitmq: &str,
    ) -> Result<QueueBroker, AgentError> {
        let watermark = WATERMARK_PART * memory_bytes + BROKER_BYTES;
        let process = match kind {
            Broker::Hairstreak => {
                let tcp = Endpoint::Tcp(hairstreak_transport::TcpAddress { host: host.to_string(), port: 0 });
                let mut endpoints = vec![tcp.to_string(), shared_memory_endpoint("node")];
                endpoints.extend(vortex.clone());
                let options = ServeOptions {
                    bind: Vec::new(),
                    amqp_bind: endpoints,
                    amqp: AmqpOptions {
                        loopback_users: host.is_loopback().then(|| "guest".into()).into_iter().collect(),
                        memory_watermark: watermark as usize,
                        ..AmqpOptions::default()
                    },
                    ..ServeOptions::default()
                };
                Process::Node(Box::new(Server::start(options)?))
            }
            Broker::Rabbitmq => {
                if !is_installed(rabbitmq) {
                    return Err(AgentError::NoRabbitMq(rabbitmq.to_owned()));
                }
                Process::RabbitMq(Running::start(&ServerTask {
                    kind: ServerKind::RabbitMq,
                    loop_count: None,
                    cores: None,
                    rabbitmq: rabbitmq.to_owned(),
                    host,
                    memory_bytes: Some(watermark),
                })?)
            }
        };
        Ok(QueueBroker { kind, process, open: None })
    }

    /// Which broker.
    pub fn kind(&self) -> Broker {
        self.kind
    }

    /// Where the broker speaks AMQP over `transport`, if it does.
    pub fn endpoint(&self, transport: Transport) -> Option<String> {
        match &self.process {
            Process::Node(server) => {
                let mut endpoints = server.amqp_endpoints().iter().map(Endpoint::to_string);
                endpoints.find(|endpoint| endpoint.starts_with(transport.text()))
            }
            Process::RabbitMq(running) => {
                (transport == Transport::Tcp).then(|| format!("tcp://{}", running.address))
            }
        }
    }

    /// Where the broker speaks AMQP over tcp.
    pub fn address(&self) -> Result<SocketAddr, AgentError> {
        let endpoint = self.endpoint(Transport::Tcp);
        let address = endpoint.and_then(|endpoint| endpoint.strip_prefix("tcp://")?.parse().ok());
        address.ok_or(AgentError::TooEarly("an address of the broker"))
    }

    /// Declares the exchange of `transport`, and its queue of `node`, which is empty then.
    pub fn open(&mut self, transport: Transport, node: Node) -> Result<(), AgentError> {
        let (exchange, queue) = (transport.exchange(), transport.queue(node));
        let mut link = Link::open(self.address()?)?;
        link.declare_exchange(&exchange, "topic")?;
        link.declare_queue(&queue)?;
        link.bind(&queue, &exchange, &contender::binding(node))?;
        self.open = Some(OpenQueue { exchange, queue, data_bytes: self.data_bytes()? });
        Ok(())
    }

    /// Consumes the `count` messages that the open queue has, and deletes it with its exchange. Returns the digest of the messages, and whether
    /// the broker has written messages to disk.
    ///
    /// Errors: more or fewer messages are there.
    pub fn drain(&mut self, key: u64, count: u64) -> Result<(Tally, bool), AgentError> {
        let data_bytes = self.data_bytes()?;
        let open = self.open.take().ok_or(AgentError::TooEarly("draining"))?;
        let mut link = Link::open(self.address()?)?;
        let found = u64::from(link.count_messages(&open.queue)?);
        if found != count {
            return Err(AgentError::Queue { found, expected: count });
        }
        let (mut deliveries, mut digester) = (Deliveries::default(), Digester::new(key));
        if count > 0 {
            link.consume(&open.queue, true)?;
        }
        while digester.tally().count < count {
            let taken = deliveries.take(link.input.unread(), &mut digester)?;
            link.input.consume(taken);
            if taken == 0 {
                link.input.fill(&mut link.stream)?;
            }
        }
        // On another connection, because this one may still be sent something.
        drop(link);
        let mut link = Link::open(self.address()?)?;
        let left = u64::from(link.count_messages(&open.queue)?);
        if left > 0 {
            return Err(AgentError::Queue { found: count + left, expected: count });
        }
        link.delete_queue(&open.queue)?;
        link.delete_exchange(&open.exchange)?;
        Ok((digester.tally(), data_bytes > open.data_bytes + SPILL_MIN))
    }

    fn data_bytes(&self) -> Result<u64, AgentError> {
        match &self.process {
            Process::Node(_) => Ok(0),
            Process::RabbitMq(running) => match &running.data {
                Some(data) => Ok(size_of_files(data)?),
                None => Ok(0),
            },
        }
    }
}

/// An endpoint in shared memory that nobody else on this host has.
pub fn shared_memory_endpoint(name: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("shm://hairstreak-h3-{name}-{}-{number}", std::process::id())
}

/// Bytes of all files under `folder`. A file that goes meanwhile counts nothing.
fn size_of_files(folder: &Path) -> Result<u64, io::Error> {
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
