//! The command line: one subcommand per benchmark, and a hidden one per kind of worker process.

use std::net::SocketAddr;

use clap::{Args, Parser, Subcommand};

use crate::broker::{CaseName as BrokerCase, RABBITMQ_PROGRAM};
use crate::connections::ServerKind;
use crate::h3::{Broker as H3Broker, HostRole, Transport as H3Transport};
use crate::pipeline::Transport as PipelineTransport;
use crate::sample::{Calls, CaseName, Transport};
use crate::services::ServiceCase;

/// Benchmarks of Hairstreak against its rivals, in the same run.
#[derive(Debug, Parser)]
#[command(name = "hairstreak-bench", version, disable_help_subcommand = true)]
pub struct Arguments {
    /// Which benchmark.
    #[command(subcommand)]
    pub benchmark: Benchmark,
}

/// The benchmarks there are.
#[derive(Debug, Subcommand)]
pub enum Benchmark {
    /// Every pattern against libzmq and a bare limit program: one-way rates, round trips, echoes
    Sockets(SocketsSettings),
    /// Independent streams against libzmq: do they scale, and if not, what stops them? Table and charts
    Streams(StreamsSettings),
    /// Tasks, workers, results with few or many in flight, against libzmq's ways of doing it
    Pipeline(PipelineSettings),
    /// Requests and replies, one by one and many at a time: through a proxy, and through a Majordomo broker
    Services(ServicesSettings),
    /// Ten thousand idle connections: how fast they come, what each costs in memory and processor time
    Connections(ConnectionsSettings),
    /// The broker of AMQP against RabbitMQ and a bare limit program: rates, latencies, what messages and connections cost
    Broker(BrokerSettings),
    /// The paper's H3 harness: messages of 8 B to 128 KiB across transports and into queues of two nodes, each verified
    H3(H3Settings),
    /// An agent of H3: sends or receives on this host as a controller says, which names it by --host
    H3Agent(H3AgentSettings),
    /// Ten topologies, predicted first and then run: is the planner right?
    Plan(PlannerSettings),
    /// The process that keeps a broker under test (started by the benchmark itself)
    #[command(hide = true)]
    BrokerServer {
        /// The broker, as JSON.
        task: String,
    },
    /// A producer's or consumer's process (started by the benchmark itself)
    #[command(hide = true)]
    BrokerClient {
        /// The task, as JSON.
        task: String,
    },
    /// The server's process of a benchmark of connections (started by the benchmark itself)
    #[command(hide = true)]
    ConnectionServer {
        /// What to run.
        kind: ServerKind,
        /// Where a relay connects to.
        onward: Option<SocketAddr>,
    },
    /// One process of a pipeline (started by the benchmark itself)
    #[command(hide = true)]
    Part {
        /// What to do, as JSON.
        task: String,
    },
    /// One process of a service (started by the benchmark itself)
    #[command(hide = true)]
    ServicePart {
        /// What to do, as JSON.
        task: String,
    },
    /// One process of a sample (started by the benchmark itself)
    #[command(hide = true)]
    Worker {
        /// What to do, as JSON.
        task: String,
    },
}

/// Whom to compare with.
#[derive(Clone, Debug, Args)]
pub struct RivalSettings {
    /// Leave the rival out
    #[arg(long)]
    pub no_rival: bool,
    /// The libzmq to load at run time
    #[arg(long, default_value = "libzmq.so.5", value_name = "LIBRARY")]
    pub libzmq: String,
}

/// What `hairstreak-bench sockets` takes.
#[derive(Clone, Debug, Args)]
pub struct SocketsSettings {
    /// Every case at fewer sizes, 3 repeats of about 0.06 s: under a minute in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Only these cases [default: all]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<CaseName>,
    /// Only these transports [default: tcp, ipc and inproc, those that the case has rows for]
    #[arg(long = "transport", value_enum, value_delimiter = ',')]
    pub transports: Vec<Transport>,
    /// Only these message sizes in bytes [default: those of each case, from 8 to 131072]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=16_777_216))]
    pub sizes: Vec<u32>,
    /// Only this way of calling [default: all that the case has]
    #[arg(long, value_enum)]
    pub calls: Option<Calls>,
    /// Measurements per row and contender [default: 5; with --quick 3]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Against whom.
    #[command(flatten)]
    pub rival: RivalSettings,
}

/// What `hairstreak-bench streams` takes.
#[derive(Clone, Debug, Args)]
pub struct StreamsSettings {
    /// 2 repeats of 100,000 messages a stream instead of 3 of 1,000,000: under a minute in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Where the charts go, streams-messages.svg and streams-megabits.svg
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: String,
    /// Only these message sizes in bytes [default: 1 to 1024 by powers of two]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub sizes: Vec<u32>,
    /// Only these numbers of streams [default: 1,2,3,4]
    #[arg(long = "streams", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub stream_counts: Vec<u32>,
    /// Messages of each stream
    #[arg(long = "messages", value_parser = clap::value_parser!(u64).range(100..=100_000_000))]
    pub message_count: Option<u64>,
    /// Measurements per row and contender [default: 3; with --quick 2]; processor time is measured 7 times at least
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Against whom.
    #[command(flatten)]
    pub rival: RivalSettings,
}

/// What `hairstreak-bench pipeline` takes.
#[derive(Clone, Debug, Args)]
pub struct PipelineSettings {
    /// 3 repeats of a second at most each instead of 5 of 1,000,000 tasks or more: a minute and a half in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Draw charts too, pipeline.svg and one for each time that tasks take, in this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<String>,
    /// Only with so many tasks in flight [default: 1000000 (no flow control),1000,100,50,10,1]
    #[arg(long = "in-flight", value_delimiter = ',', value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub in_flight_counts: Vec<u64>,
    /// Only tasks that take a worker so many microseconds, at most 10000 [default: 0,10,100,1000; those that take time with
    /// 10 to 1000 in flight]
    #[arg(long = "task-us", value_delimiter = ',', value_name = "US",
        value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub task_us: Vec<u64>,
    /// What everything travels over
    #[arg(long, value_enum, default_value = "tcp")]
    pub transport: PipelineTransport,
    /// Tasks of each sample, fewer where that would take too long [default: by what is in flight]
    #[arg(long = "tasks", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(10..=100_000_000))]
    pub task_count: Option<u64>,
    /// Measurements per row and contender [default: 5; with --quick 3]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Against whom.
    #[command(flatten)]
    pub rival: RivalSettings,
}

/// The options of `hairstreak-bench plan`.
#[derive(Clone, Debug, Args)]
pub struct PlannerSettings {
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Only the topology of this name [default: all ten]
    #[arg(long = "topology", value_delimiter = ',', value_name = "NAME")]
    pub names: Vec<String>,
    /// Runs of each topology
    #[arg(long = "repeat", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: u32,
    /// Before each run, wait so many seconds at most until others leave the cores alone
    #[arg(long, default_value_t = 0, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(0..=86_400))]
    pub patience: u64,
    /// Fail if a prediction is further off than so many percent
    #[arg(long, default_value_t = 5.0, value_name = "PERCENT")]
    pub tolerance: f64,
}

/// What `hairstreak-bench services` takes.
#[derive(Clone, Debug, Args)]
pub struct ServicesSettings {
    /// A twentieth of the requests: under a minute in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Only these cases [default: all]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<ServiceCase>,
    /// Only so many workers, and only those asynchronously [default: 1 synchronously; 1,2,4,8,10,16 asynchronously]
    #[arg(long = "workers", value_delimiter = ',', value_name = "COUNT",
        value_parser = clap::value_parser!(u64).range(1..=64))]
    pub worker_counts: Vec<u64>,
    /// Requests of each sample [default: 100000; through a proxy synchronously 10000]
    #[arg(long = "requests", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(10..=10_000_000))]
    pub request_count: Option<u64>,
    /// Measurements per row and contender [default: 3]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// Against whom.
    #[command(flatten)]
    pub rival: RivalSettings,
}

/// What `hairstreak-bench connections` takes.
#[derive(Clone, Debug, Args)]
pub struct ConnectionsSettings {
    /// Look at the idle servers for 5 s instead of 30
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    /// Connections of each server; the process may have to be allowed as many descriptors and some more
    #[arg(long = "connections", value_name = "COUNT", default_value_t = 10_000)]
    pub connection_count: usize,
}

/// Options of `hairstreak-bench broker`.
#[derive(Clone, Debug, Args)]
pub struct BrokerSettings {
    /// 3 repeats of a quarter of a second, 1000 connections: some two minutes in all
    #[arg(long)]
    pub quick: bool,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// Only these cases [default: all but hot-queue]
    #[arg(long = "case", value_enum, value_delimiter = ',')]
    pub cases: Vec<BrokerCase>,
    /// Only these sizes of bodies in bytes, 8 at least [default: those of each case, from 16 to 131072]
    #[arg(long = "size", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(8..=16_777_216))]
    pub sizes: Vec<u32>,
    /// Measurements per row and contender [default: 5; with --quick 3]
    #[arg(long = "repeat", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeats: Option<u32>,
    /// For how long a producer publishes in a sample, in milliseconds [default: 1000; with --quick 250]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(10..=600_000))]
    pub sample_ms: Option<u64>,
    /// Idle connections [default: 10000; with --quick 1000]
    #[arg(long = "connections", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connection_count: Option<u32>,
    /// Event loops of the case hot-queue, which needs at least twice as many cores [default: 1,2,4]
    #[arg(long = "loops", value_name = "COUNT", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=64))]
    pub loop_counts: Vec<u32>,
    /// A node that runs already, such as tcp://127.0.0.1:5672 [default: `hairstreak serve` is started for the run]
    #[arg(long, value_name = "ENDPOINT", value_parser = tcp_address)]
    pub node: Option<SocketAddr>,
    /// The process of that node; without it nothing is said about what it uses
    #[arg(long, value_name = "ID", requires = "node")]
    pub node_process: Option<u32>,
    /// Leave our node out
    #[arg(long, conflicts_with = "node")]
    pub no_node: bool,
    /// Leave RabbitMQ out
    #[arg(long)]
    pub no_rival: bool,
    /// The script that starts RabbitMQ
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

/// The options of `hairstreak-bench h3`.
#[derive(Clone, Debug, Args)]
pub struct H3Settings {
    /// Messages of a run, in parts of the paper's counts; up to 0.01 each size has one run, with windows of 2 ms instead of 10
    #[arg(long, default_value = "0.001", value_parser = h3_scale)]
    pub scale: f64,
    /// Only these sizes of Table 1 in bytes [default: all, 8 to 131072 by powers of two]
    #[arg(long = "size", value_delimiter = ',', value_parser = h3_size)]
    pub sizes: Vec<u32>,
    /// Only these transports [default: all]
    #[arg(long = "transport", value_enum, value_delimiter = ',')]
    pub transports: Vec<H3Transport>,
    /// Only the queues of these brokers [default: hairstreak, and rabbitmq if it is installed]
    #[arg(long = "broker", value_enum, value_delimiter = ',')]
    pub brokers: Vec<H3Broker>,
    /// An agent that runs already: sender=ADDRESS:PORT or receiver=ADDRESS:PORT, up to two of each [default: processes on this host]
    #[arg(long = "host", value_name = "ROLE=ADDRESS")]
    pub hosts: Vec<HostRole>,
    /// Memory for the messages of a run, in MiB [default: a quarter of what the smallest host has available]
    #[arg(long = "memory", value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 24))]
    pub memory_mib: Option<u64>,
    /// Where h3.html, h3.json and h3.csv go
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub out: String,
    /// Print the report as JSON instead of tables
    #[arg(long)]
    pub json: bool,
    /// The script that starts RabbitMQ on this host
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

/// The options of `hairstreak-bench h3-agent`.
#[derive(Clone, Debug, Args)]
pub struct H3AgentSettings {
    /// Where to listen for controllers. Whoever reaches this address can have this host send, receive and start brokers
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7700")]
    pub bind: SocketAddr,
    /// The script that starts RabbitMQ on this host
    #[arg(long, value_name = "PROGRAM", default_value = RABBITMQ_PROGRAM)]
    pub rabbitmq: String,
}

fn h3_scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (1e-6..=10.0).contains(scale));
    scale.ok_or_else(|| "a number from 0.000001 to 10".to_owned())
}

fn h3_size(text: &str) -> Result<u32, String> {
    let size = text.parse().ok().filter(|size: &u32| size.is_power_of_two() && (8..=131_072).contains(size));
    size.ok_or_else(|| "a power of two from 8 to 131072".to_owned())
}

fn tcp_address(endpoint: &str) -> Result<SocketAddr, String> {
    let address = endpoint.strip_prefix("tcp://").and_then(|address| address.parse().ok());
    address.ok_or_else(|| {
        "an endpoint such as tcp://127.0.0.1:5672, with an address instead of a name".to_owned()
    })
}
