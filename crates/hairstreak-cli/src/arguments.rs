//! The arguments of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use hairstreak::topology::{MESSAGE_SIZE_MAX, MESSAGES_MAX};
use hairstreak_model::Fabric;
use hairstreak_node::{LogFormat, LogLevel};

use crate::amqp::{
    BindArguments, ConsumeArguments, DeclareArguments, DeleteArguments, PublishArguments, PurgeArguments,
    UnbindArguments,
};
use crate::directory_command::DirectoryArguments;
use crate::fabric_command::FabricArguments;
use crate::map::{MapArguments, MapWorkerArguments};
use crate::numbers::{When, bounded};
use crate::operator::OperatorCommand;
use crate::place::Place;
use crate::service::{CallArguments, Limit, ServicesArguments, WorkerArguments};
use crate::store::StoreArguments;

/// The lowest and the highest rate to plan for, in messages a second.
const TARGET_MIN: f64 = 0.000_001;
const TARGET_MAX: f64 = 1e12;
/// The longest lease, as the directory has it.
const LEASE_MAX: Duration = Duration::from_secs(3600);
/// The longest that stages may take to connect.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);

/// The longest time that a proxy keeps unsent messages at its end.
const LINGER_MAX: Duration = Duration::from_secs(3600);

/// Messaging for applications that are split into components.
#[derive(Debug, Parser)]
#[command(name = "hairstreak", version, arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Plan(PlanArguments),
    Simulate(SimulateArguments),
    Calibrate(CalibrateArguments),
    Run(RunArguments),
    Serve(ServeArguments),
    Proxy(ProxyArguments),
    Map(MapArguments),
    MapWorker(MapWorkerArguments),
    Call(CallArguments),
    Worker(WorkerArguments),
    Services(ServicesArguments),
    Directory(DirectoryArguments),
    // The largest by far.
    Publish(Box<PublishArguments>),
    Consume(ConsumeArguments),
    Declare(DeclareArguments),
    Delete(DeleteArguments),
    Bind(BindArguments),
    Unbind(UnbindArguments),
    Purge(PurgeArguments),
    Keygen(KeygenArguments),
    Store(StoreArguments),
    Fabric(FabricArguments),
    Bench(BenchArguments),
    #[command(flatten)]
    Operator(Box<OperatorCommand>),
}

/// Compute what a topology can do, before it runs
///
/// A stage handles instances / (receive + process + send) messages a second, and the slowest stage
/// decides. The times come from the topology: `sleep` says its own, any other stage says `process`,
/// and optionally `receive`, `send`, `serial` (the part that only one instance at a time can do) and
/// `cpu` (the part that keeps a core busy; all of it unless the stage sleeps).
#[derive(Debug, Args)]
#[command(after_long_help = PLAN_EXAMPLE)]
pub struct PlanArguments {
    /// The topology.
    pub file: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    /// Print the instances that each stage needs for this many messages a second.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub target: Option<f64>,
    /// Predict a run of this many messages. [default: the messages that the topology generates]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MESSAGES_MAX))]
    pub messages: Option<u64>,
}

const PLAN_EXAMPLE: &str = "\
Example: an application that needs 4 us to receive a transaction, 8 us to process it and 4 us to
send the reply does 62,500 a second. Divided into two steps that spend 2 us to pass it on:

    [[stage]]
    name = \"component1\"
    receive = \"4us\"
    process = \"6us\"
    send = \"2us\"

    [[stage]]
    name = \"component2\"
    receive = \"2us\"
    process = \"2us\"
    send = \"4us\"

it does 83,333, a third more; with instances = 2 in the first step, 125,000.";

/// Simulate a topology: messages, queues and windows event by event, before it runs
///
/// `plan` computes averages by equations; `simulate` follows each message: random service times (`distribution`), queues of bounded
/// length, windows and batch acknowledgements, shared cores, and the costs of the network. It predicts the rate, the latency, the
/// messages that wait at each stage, the bottleneck, and the change that gains most. Without --machine, and without a network in
/// the topology, messages cost only the times of the stages. The same --seed gives the same result.
#[derive(Debug, Args)]
#[command(after_long_help = SIMULATE_EXAMPLE)]
pub struct SimulateArguments {
    /// The topology.
    pub file: PathBuf,
    /// The costs of messages on a machine: a file that `hairstreak calibrate` wrote.
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,
    /// Simulate a fabric: "vortex HEIGHTSxANGLES" or "fat-tree PORTS". [default: the topology's]
    #[arg(long, value_name = "NETWORK", conflicts_with = "machine")]
    pub network: Option<Fabric>,
    /// Simulate this many messages. [default: the messages that the topology generates, else 100,000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MESSAGES_MAX))]
    pub messages: Option<u64>,
    /// Bytes of each message. [default: the topology's, else 100]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(0..=MESSAGE_SIZE_MAX as u64))]
    pub size: Option<u64>,
    /// This many messages a second arrive at random times. [default: the topology's, else each as soon as there is room]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<f64>,
    /// The seed of all random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

const SIMULATE_EXAMPLE: &str = "\
Example: workers whose times vary, behind a window that is acknowledged in batches.

    [[stage]]
    name = \"work\"
    instances = 4
    spin = \"1ms\"
    distribution = \"exponential\"    # or constant, uniform, log-normal 0.5

    [plan]
    cores = 4
    window = 100                    # messages on their way
    acknowledge = 10                # results that one acknowledgement counts
    routing = \"round-robin\"         # or least-loaded, random
    wiring = \"direct\"               # or hub, as in a run
    network = \"vortex 256x4\"        # or fat-tree 1024; without it, links as --machine says

    hairstreak calibrate --output machine.toml
    hairstreak simulate job.toml --machine machine.toml";

/// Measure the costs of messages on this machine, and the work for which a split into two stages pays
///
/// Prints the costs of a message at both ends of a tcp link, alone and in a stream, for several sizes, and the delay of a wake-up:
/// `simulate --machine` reads them. Then compares one thread that does all of some work with two stages that do half of it each, over
/// inproc, shm, ipc and tcp. Run nothing else on the machine meanwhile: other load changes the figures.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
    hairstreak calibrate --output machine.toml
    hairstreak calibrate --no-splits --output machine.toml
    hairstreak calibrate --json | jq '.splits[] | {work_us, rates}'")]
pub struct CalibrateArguments {
    /// Write the figures to this file, for `simulate --machine`.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Measure each figure this many times, and take the median.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub repeat: u64,
    /// Do not measure the split into two stages.
    #[arg(long)]
    pub no_splits: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Run a topology: start its stages as processes, feed them, measure
///
/// Results are written in the order of their arrival. A stage with several instances may change the order.
/// Relative paths in the topology start at the folder of its file, and commands run there. An instance that is killed is
/// started again, with a line on standard error, and each message has its result once. A program with sockets of its own is not
/// started again. If a stage fails, all others are ended and the reason is one line on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = RUN_EXAMPLE)]
pub struct RunArguments {
    /// The topology.
    pub file: PathBuf,
    /// Print one JSON object on standard output instead of a table.
    #[arg(long)]
    pub json: bool,
    /// Show the progress of the run on standard error. `auto` shows it if standard error is a terminal. Otherwise
    /// `auto` only reports a stage that gives no results for a while.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub progress: When,
    /// Pass on the standard error of the stages.
    #[arg(short, long)]
    pub verbose: bool,
    /// The time limit for the stages to connect.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = connect_timeout)]
    pub connect_timeout: Duration,
}

const RUN_EXAMPLE: &str = "\
Example: count the words of some texts, two of them at a time.

    [[stage]]
    name = \"count\"
    instances = 2
    command = [\"python3\", \"count.py\"]
    framing = \"length\"

    [input]
    files = \"texts\"
    extensions = [\"txt\"]

    [output]
    file = \"counts\"

A stage does one of these with each message:
    sleep = \"500ms\", echo = true    wait, or do nothing
    command, framing                a filter: messages on its standard input, one result for each
                                    on its standard output; \"lines\", or \"length\": 4 bytes,
                                    big-endian, before each
    program                         anything that speaks ZeroMQ: it connects a PULL socket to
                                    $HAIRSTREAK_IN and a PUSH socket to $HAIRSTREAK_OUT and
                                    sends one result for each message
Commands are an array of words, or a line for the shell. [input] is messages = N and size = BYTES,
lines = \"FILE\" (\"-\" is standard input), or files = \"FOLDER\"; [output] is file = \"FILE\",
stdout = true, or nothing, each with framing.";

/// Serve a node: queues for AMQP clients, the directory of components, and the broker of services
///
/// Prints an endpoint on each line, then the endpoints that are open to other hosts, and serves until SIGINT or SIGTERM. On
/// SIGHUP a node with --config reads the file again: users, limits, certificates and the log. A node without --config ends.
///
/// Without options the node serves this host only: AMQP 0-9-1 on port 5672 for the user guest, RabbitMQ's management API on HTTP
/// port 15672, metrics on port 15692, services on port 5555, the directory on port 5682. The file of --config sets users, virtual
/// hosts, limits, TLS and other addresses.
///
/// Definitions are on disk, in the data directory: virtual hosts, users, permissions, policies, durable exchanges, queues
/// and bindings. Messages are in memory: a node that stops drops them and reports their number. After a restart components
/// register again, clients of services repeat their requests, and workers report their requests.
#[derive(Debug, Args)]
#[command(after_long_help = SERVE_EXAMPLES)]
pub struct ServeArguments {
    /// The node's configuration file (TOML): addresses, users, virtual hosts, limits. docs/amqp.md has the keys.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Listen on this tcp port, for this host only; 0 is any free port. [default: 5682]
    #[arg(long, value_name = "N", conflicts_with = "bind")]
    pub port: Option<u16>,
    /// Listen on this endpoint instead, such as tcp://eth0:5682 or ipc:///run/directory. May be
    /// repeated.
    #[arg(long, value_name = "ENDPOINT")]
    pub bind: Vec<String>,
    /// Serve no directory.
    #[arg(long, conflicts_with_all = ["port", "bind"])]
    pub no_directory: bool,
    /// Serve services (Majordomo) on this endpoint. May be repeated. [default:
    /// tcp://127.0.0.1:5555, and none if --port or --bind set another place for the directory]
    #[arg(long, value_name = "ENDPOINT")]
    pub services: Vec<String>,
    /// Serve no services.
    #[arg(long, conflicts_with = "services")]
    pub no_services: bool,
    /// Keep definitions in this directory, which only one node at a time may use; `none` keeps nothing. [default: hairstreak in the
    /// state directory of this user, such as ~/.local/state/hairstreak; for root, /var/lib/hairstreak; a node without AMQP has none]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Serve no AMQP, and neither the HTTP API nor metrics, which belong to AMQP. [default: AMQP on tcp://127.0.0.1:5672, and none if
    /// --port or --bind set another place for the directory; --config overrides this]
    #[arg(long)]
    pub no_amqp: bool,
    /// A limit of one service, or of all services without a limit of their own: queue-count and queue-bytes (bounds on waiting
    /// requests), queue-age (the longest wait for a worker), processing (the longest time at a worker), deliveries (the number of
    /// workers that get a request), plain-capacity (requests given to a worker of another implementation before it has replied;
    /// the rest wait in its socket. The protocol asks for 1; 16 is several times as fast for short requests). May be repeated;
    /// such as queue-age=5s or thumbnail:processing=10m.
    #[arg(long = "limit", value_name = "[SERVICE:]NAME=VALUE", conflicts_with = "no_services")]
    pub limits: Vec<Limit>,
    /// The time for which a name is kept after a renewal, unless its holder asks for another time.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = lease)]
    pub lease: Duration,
    /// Report names that come, move and go, on standard error.
    #[arg(short, long)]
    pub verbose: bool,
    /// The lowest level of log lines: debug, info, warning, error, or none. [default: of --config, else
    /// info]
    #[arg(long, value_name = "LEVEL")]
    pub log_level: Option<LogLevel>,
    /// The format of log lines: text, or json. [default: of --config, else text]
    #[arg(long, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

const SERVE_EXAMPLES: &str = "\
Examples: a node for this host; one with a configuration; one for a test suite, which leaves nothing behind; a
directory alone.

    hairstreak serve
    hairstreak serve --config /etc/hairstreak/node.toml --log-format json
    hairstreak serve --data-dir none
    hairstreak serve --port 6000

Environment, as of RabbitMQ's container image:
    RABBITMQ_DEFAULT_USER, _PASS, _VHOST    the user and the virtual host that a new data directory begins with
    RABBITMQ_NODE_IP_ADDRESS                the address of AMQP, HTTP and metrics, such as 0.0.0.0
    RABBITMQ_NODE_PORT                      the port of AMQP
    RABBITMQ_NODENAME                       the name of the node

docs/amqp.md has the keys of the file.";

/// Pass messages between two sockets, in both directions that their patterns allow
///
/// A place is TYPE@ENDPOINT to listen there, or TYPE@connect:ENDPOINT to connect there. Several places of
/// one kind are several endpoints of one socket. Prints a line for each endpoint it listens on, passes
/// messages until SIGINT, SIGTERM, SIGHUP or a TERMINATE, and then prints the number of passed messages.
///
/// A message without room waits where it is, and its sender waits in turn. XPUB, PUB and ROUTER drop
/// messages that a peer has no room for.
#[derive(Debug, Args)]
#[command(after_long_help = PROXY_EXAMPLE)]
pub struct ProxyArguments {
    /// One side: XSUB, PULL, ROUTER, DEALER, PAIR, SUB (to everything), or any of the backend's.
    #[arg(long, value_name = "PLACE", required = true)]
    pub frontend: Vec<Place>,
    /// The other side: XPUB, PUSH, DEALER, ROUTER, PAIR, PUB, or any of the frontend's.
    #[arg(long, value_name = "PLACE", required = true)]
    pub backend: Vec<Place>,
    /// Give a copy of every message to this one too: PUB, PUSH, PAIR or DEALER.
    #[arg(long, value_name = "PLACE")]
    pub capture: Vec<Place>,
    /// Obey PAUSE, RESUME, TERMINATE and STATISTICS from here: REP, PAIR, DEALER, PULL or SUB.
    #[arg(long, value_name = "PLACE")]
    pub control: Vec<Place>,
    /// The time for which unsent messages are kept at the end.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = linger)]
    pub linger: Duration,
    /// Print the numbers of passed messages as one JSON object.
    #[arg(long)]
    pub json: bool,
}

const PROXY_EXAMPLE: &str = "\
Examples: a queue between clients and workers, where REQ and DEALER connect to the one and REP to the
other; a forwarder between publishers and subscribers, steered by a REQ; a bridge to another host.

    hairstreak proxy --frontend ROUTER@tcp://*:5559 --backend DEALER@tcp://*:5560
    hairstreak proxy --frontend XSUB@tcp://*:5557 --backend XPUB@tcp://*:5558 \\
        --control REP@ipc:///run/forwarder
    hairstreak proxy --frontend PULL@ipc:///run/work --backend PUSH@connect:tcp://far:5561";

/// Make a key pair for CURVE
///
/// Keys are printed as Z85, 40 characters each, as ZeroMQ's tools print them. The public key may be shared freely. The secret
/// key proves the identity of its owner.
#[derive(Debug, Args)]
pub struct KeygenArguments {
    /// Write the secret key to this new file, which only its owner may read, and print only the public key.
    #[arg(long, value_name = "FILE")]
    pub secret_file: Option<PathBuf>,
}

/// Run a benchmark: `hairstreak bench --help` lists them
///
/// The benchmarks are a separate program, hairstreak-bench, in the folder of this program.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct BenchArguments {
    /// The arguments of hairstreak-bench.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| "a rate is a number of messages a second".to_owned())?;
    // A NaN is in no range.
    let is_allowed = (TARGET_MIN..=TARGET_MAX).contains(&rate);
    if is_allowed {
        Ok(rate)
    } else {
        Err(format!("a rate is between {TARGET_MIN} and {TARGET_MAX} messages a second"))
    }
}

fn lease(text: &str) -> Result<Duration, String> {
    bounded(text, "a lease", LEASE_MAX)
}

fn linger(text: &str) -> Result<Duration, String> {
    bounded(text, "a linger time", LINGER_MAX)
}

fn connect_timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a connect timeout", CONNECT_TIMEOUT_MAX)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_benchmark_gets_its_arguments_untouched() {
        let parsed = Arguments::parse_from(["hairstreak", "bench", "sockets", "--quick", "--help"]);
        let Command::Bench(bench) = parsed.command else { panic!("{parsed:?}") };
        assert_eq!(bench.arguments, ["sockets", "--quick", "--help"]);
    }
}
