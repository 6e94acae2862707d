//! A broker on the receiving host, and the one queue of it that is open for a run.

use std::fmt::Debug;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use anyhow::{Context, Error, Result, bail, ensure};
use hairstreak_amqp::{Address, Event};
use hairstreak_node::{AmqpConfig, NodeConfig, Server};
use hairstreak_transport::{Endpoint, TcpAddress};
use hairstreak_wire::amqp::{Method, basic};

use crate::broker::amqp::Link;
use crate::broker::server::{Running, ServerKind, ServerTask};
use crate::frame::name;
use crate::h3::contender::{Broker, Transport};
use crate::h3::data::{Digester, Tally};

/// Memory that a broker has beside its messages.
const BROKER_BYTES: u64 = 512 << 20;
/// RabbitMQ begins to write messages to disk at half of its watermark.
const WATERMARK_PART: u64 = 2;
/// The data of RabbitMQ grows by this much at most while it declares a queue. Messages on disk are more.
const SPILL_MIN: u64 = 1 << 20;
/// A broker answers the login of a consumer within this time.
const LOGIN_TIME: Duration = Duration::from_secs(60);

/// A running broker.
#[derive(Debug)]
pub struct QueueBroker {
    /// The kind of broker.
    pub kind: Broker,
    /// The endpoints of AMQP.
    endpoints: Vec<String>,
    /// The directory of RabbitMQ's data.
    data: Option<PathBuf>,
    /// The exchange and the open queue, and the bytes of the data before the run.
    pub open: Option<(String, String, u64)>,
    /// The process or the threads of the broker. Dropping this field ends them.
    _running: Box<dyn Debug>,
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
        if kind == Broker::Hairstreak {
            let endpoints = [tcp_endpoint(host), shared_memory_endpoint("node")];
            let amqp = AmqpConfig {
                bind: Some(endpoints.into_iter().chain(vortex).collect()),
                loopback_users: host.is_loopback().then(|| "guest".into()).into_iter().collect(),
                memory_watermark: watermark as usize,
                ..AmqpConfig::default()
            };
            let server = Server::start(NodeConfig { amqp, ..NodeConfig::default() }).context("the node")?;
            let endpoints = server.amqp_endpoints().iter().map(Endpoint::to_string).collect();
            return Ok(QueueBroker { kind, endpoints, data: None, open: None, _running: Box::new(server) });
        }
        let task = ServerTask {
            kind: ServerKind::RabbitMq,
            loop_count: None,
            cores: None,
            rabbitmq: rabbitmq.to_owned(),
            host,
            memory_bytes: Some(watermark),
            durable: None,
        };
        let running = Running::start(&task).context("RabbitMQ")?;
        let (endpoints, data) = (vec![format!("tcp://{}", running.address)], running.data.clone());
        Ok(QueueBroker { kind, endpoints, data, open: None, _running: Box::new(running) })
    }

    /// The endpoint of AMQP over `transport`, if there is one.
    pub fn endpoint(&self, transport: Transport) -> Option<&str> {
        let mut endpoints = self.endpoints.iter().map(String::as_str);
        endpoints.find(|endpoint| endpoint.starts_with(&name(&transport)))
    }

    /// The address of AMQP over tcp.
    fn address(&self) -> Result<&str> {
        let endpoint = self.endpoint(Transport::Tcp).context("the broker does not listen over tcp")?;
        Ok(endpoint.trim_start_matches("tcp://"))
    }

    fn connect(&self) -> Result<Link> {
        Ok(Link::open(self.address()?.parse()?)?)
    }

    /// Declares the exchange of `transport`, and its queue of `node`, which is empty then.
    pub fn open(&mut self, transport: Transport, node: char) -> Result<()> {
        let exchange = format!("h3.{}", name(&transport));
        let queue = format!("{exchange}.{node}");
        let mut link = self.connect()?;
        link.declare_exchange(&exchange, "topic")?;
        link.delete_queue(&queue)?;
        link.declare_queue(&queue)?;
        link.bind(&queue, &exchange, &format!("*.{node}"))?;
        self.open = Some((exchange, queue, self.data_bytes()?));
        Ok(())
    }

    /// Consumes the `count` messages that the open queue has, and deletes the queue with its exchange. Returns the digest of
    /// the messages, and whether the broker has written messages to disk.
    ///
    /// Errors: more or fewer messages are there.
    pub fn drain(&mut self, key: u64, count: u64) -> Result<(Tally, bool)> {
        let data_bytes = self.data_bytes()?;
        let (exchange, queue, data_bytes_before) = self.open.take().context("no queue is open")?;
        let check = |found: u64| -> Result<()> {
            ensure!(found == count, "{found} messages were in the queue, {count} were confirmed");
            Ok(())
        };
        let mut link = self.connect()?;
        check(link.count_messages(&queue)?.into())?;
        let address: Address = format!("amqp://{}", self.address()?).parse().map_err(Error::msg)?;
        let mut consumer = hairstreak_amqp::open(&address, None, "h3", LOGIN_TIME)?;
        let consume = basic::Consume { queue: queue.as_bytes(), no_ack: true, ..basic::Consume::default() };
        consumer.call(&Method::BasicConsume(consume))?;
        let mut digester = Digester::new(key);
        while digester.tally.count < count {
            match consumer.next_event()? {
                Some(Event::Delivery { content, .. }) => digester.add(&content.body),
                Some(event) => bail!("{event:?} came where a delivery was due"),
                None => drop(consumer.wait([], None)?),
            }
        }
        ensure!(consumer.next_event()?.is_none(), "more than {count} messages came");
        // What the broker has still to deliver is in the queue again, and counts.
        drop(consumer);
        check(count + u64::from(link.count_messages(&queue)?))?;
        link.delete_queue(&queue)?;
        link.delete_exchange(&exchange)?;
        Ok((digester.tally, data_bytes > data_bytes_before + SPILL_MIN))
    }

    fn data_bytes(&self) -> io::Result<u64> {
        self.data.as_deref().map_or(Ok(0), size_of_files)
    }
}

/// The endpoint of `host` for any port of tcp.
pub fn tcp_endpoint(host: IpAddr) -> String {
    Endpoint::Tcp(TcpAddress { host: host.to_string(), port: 0 }).to_string()
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
