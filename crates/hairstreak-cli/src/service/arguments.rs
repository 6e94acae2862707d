//! The arguments of `call`, `worker` and `services`.

use std::ffi::OsString;
use std::time::Duration;

use clap::Args;

use crate::credentials::CredentialArguments;
use crate::numbers::bounded;

/// The default endpoint of a broker.
const BROKER: &str = "tcp://127.0.0.1:5555";
/// The longest that a reply may be waited for.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// Threads of a worker.
const CONCURRENCY_MAX: u64 = 1024;
/// Requests that a worker may have at a time.
const CAPACITY_MAX: u64 = 65_536;

/// Which brokers.
#[derive(Debug, Args)]
pub struct Brokers {
    /// The broker. May be repeated: a client goes to the next when one is gone, a worker serves all.
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
/// The body is the argument or, without one, standard input. A reply that comes in parts is printed as it comes. Exit status
/// 1: there was no reply, or it could not be written; 2: what was typed makes no sense. Why is on standard error.
#[derive(Debug, Args)]
#[command(after_long_help = CALL_EXAMPLE)]
pub struct CallArguments {
    /// The service.
    pub service: String,
    /// What to ask.
    pub body: Option<OsString>,
    #[command(flatten)]
    pub brokers: Brokers,
    #[command(flatten)]
    pub credentials: CredentialArguments,
    /// How long a reply is waited for.
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub timeout: Duration,
    /// Print the reply as it is, without a newline behind each part.
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
/// The command is run once for each request: it reads the body from standard input, and what it writes to standard output is the
/// reply. If it fails, so does the request. HAIRSTREAK_REQUEST in its environment names the request, the same whenever it is
/// done again; HAIRSTREAK_REPEATED is 1 if somebody else may have done it, wholly or in part, as far as the worker knows when the
/// command starts. A worker that is stopped after that, and goes on, has started the command unmarked.
///
/// A command whose request nobody waits for any more gets a SIGTERM, and two seconds later a SIGKILL.
///
/// SIGINT, SIGTERM and SIGHUP have the worker leave: it gets nothing new, and ends what it has. The second one ends it at once; its
/// requests go to other workers.
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
    /// Requests that are worked on at a time.
    #[arg(short = 'j', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY_MAX))]
    pub concurrency: u64,
    /// Requests that it has ready, those that are worked on included; when it dies they go to others. [default: as many as are
    /// worked on]
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

/// Show a broker's services: workers, what waits for how long, and rates
#[derive(Debug, Args)]
pub struct ServicesArguments {
    #[command(flatten)]
    pub brokers: Brokers,
    #[command(flatten)]
    pub credentials: CredentialArguments,
    /// Print one JSON object; the rates are left to who reads it.
    #[arg(long)]
    pub json: bool,
    /// Show them again every so often, until a signal.
    #[arg(long, value_name = "TIME", value_parser = timeout)]
    pub every: Option<Duration>,
    /// How long the broker is waited for.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = timeout)]
    pub timeout: Duration,
}

fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a time", TIMEOUT_MAX)
}
