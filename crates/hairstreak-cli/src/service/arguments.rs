//! The arguments of `call`, `worker` and `services`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::credentials::CredentialArguments;
use crate::numbers::bounded;

/// The default endpoint of a broker.
const BROKER: &str = "tcp://127.0.0.1:5555";
/// The longest timeout of a reply.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// The largest number of threads of a worker.
const CONCURRENCY_MAX: u64 = 1024;
/// The largest number of requests at a worker.
const CAPACITY_MAX: u64 = 65_536;

/// The brokers of a client or a worker.
#[derive(Debug, Args)]
pub struct Brokers {
    /// The broker. May be repeated: a client uses the next broker if one is gone, a worker serves all of them.
    #[arg(long = "broker", value_name = "ENDPOINT", default_value = BROKER)]
    endpoints: Vec<String>,
}

impl Brokers {
    pub fn list(&self) -> Vec<&str> {
        self.endpoints.iter().map(String::as_str).collect()
    }
}

/// Ask a service, and print its reply
///
/// The body is the argument or, without one, standard input. A reply in parts is printed as the parts arrive. Exit status
/// 1: no reply, or a reply that could not be written; 2: wrong arguments. The reason is on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = CALL_EXAMPLE)]
pub struct CallArguments {
    /// The service.
    pub service: String,
    /// The body of the request.
    pub body: Option<OsString>,
    #[command(flatten)]
    pub brokers: Brokers,
    #[command(flatten)]
    pub credentials: CredentialArguments,
    /// The time to wait for a reply.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub timeout: Duration,
    /// Print the reply unchanged, without a newline after each part.
    #[arg(long)]
    pub raw: bool,
}

const CALL_EXAMPLE: &str = "\
Examples:

    hairstreak call shout hello
    tar c . | hairstreak call archive --broker tcp://one:5555 --broker tcp://two:5555
    hairstreak call shout hello --broker tcp://gate.example:5555 --user ann
    hairstreak call mmi.service shout";

/// Serve a service by a command
///
/// The command runs once for each request: it reads the body from standard input, and its standard output is the reply. If the
/// command fails, the request fails. HAIRSTREAK_REQUEST in its environment names the request, with the same name in every
/// repetition. HAIRSTREAK_REPEATED is 1 if the worker knows, when the command starts, that another worker may have done the
/// request, wholly or in part. A worker that is stopped after that start, and continues later, has started the command unmarked.
///
/// If the client of a request is gone, the command gets a SIGTERM, and two seconds later a SIGKILL.
///
/// On SIGINT, SIGTERM and SIGHUP the worker leaves: it takes no new requests and finishes its own. A second signal ends the worker
/// at once; its requests go to other workers.
#[derive(Debug, Args)]
#[command(after_long_help = WORKER_EXAMPLE)]
pub struct WorkerArguments {
    /// The service.
    #[arg(long, value_name = "NAME")]
    pub service: String,
    #[command(flatten)]
    pub brokers: Brokers,
    #[command(flatten)]
    pub credentials: CredentialArguments,
    /// The number of requests in work at a time.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY_MAX))]
    pub concurrency: u64,
    /// The number of requests at this worker, including the requests in work. If it dies, they go to other workers. [default:
    /// the value of --concurrency]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=CAPACITY_MAX))]
    pub capacity: Option<u64>,
    /// The command and its arguments.
    #[arg(required = true, last = true)]
    pub command: Vec<OsString>,
}

const WORKER_EXAMPLE: &str = "\
Examples:

    hairstreak worker --service shout -- tr a-z A-Z
    hairstreak worker --service thumbnail -j 8 -- convert - -resize 128x128 png:-";

/// Show a broker's services: workers, waiting requests and their age, and rates
#[derive(Debug, Args)]
pub struct ServicesArguments {
    #[command(flatten)]
    pub brokers: Brokers,
    #[command(flatten)]
    pub credentials: CredentialArguments,
    /// Print one JSON object. It has counters and no rates.
    #[arg(long)]
    pub json: bool,
    /// Repeat the table at this interval, until a signal.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub every: Option<Duration>,
    /// The time to wait for the broker.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = timeout)]
    pub timeout: Duration,
}

fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a time", TIMEOUT_MAX)
}
