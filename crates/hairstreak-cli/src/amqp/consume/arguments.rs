//! Arguments of `hairstreak consume`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hairstreak_process::Framing;

use crate::amqp::session::BrokerArguments;
use crate::amqp::value::{NamedValue, short_string};
use crate::numbers::{When, bounded};

/// The longest timeout of a message.
const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);

/// Take messages from a queue and write them
///
/// By default the command ends when the queue is empty. A message is acknowledged after it has been written. A message that
/// could not be written stays in the queue.
///
/// With --exchange instead of a queue the command receives the messages that are published from now on, through a queue of
/// its own that is deleted at its end.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ConsumeArguments {
    /// The queue.
    #[arg(required_unless_present = "exchange", conflicts_with = "exchange", value_parser = short_string)]
    pub queue: Option<String>,
    /// Get messages of this exchange.
    #[arg(short = 'x', long, value_name = "NAME", value_parser = short_string)]
    pub exchange: Option<String>,
    /// Only messages with this routing key, or pattern of keys for a topic exchange. May be repeated. [default: #, which matches
    /// all messages of a topic or fanout exchange]
    #[arg(short, long = "key", value_name = "KEY", requires = "exchange", value_parser = short_string)]
    pub keys: Vec<String>,
    /// End after this many messages. If fewer arrive, the exit status is 1.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Continue when the queue is empty, until a signal.
    #[arg(short, long, conflicts_with = "timeout")]
    pub follow: bool,
    /// The time to wait for the next message when the queue is empty.
    #[arg(short, long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Duration>,
    /// The broker removes messages when it sends them. This is faster, but messages under way at the end of the command are lost.
    #[arg(long)]
    pub no_ack: bool,
    /// The most messages that the broker sends ahead of their acknowledgement.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..))]
    pub prefetch: u16,
    /// An argument of the consumer, such as x-priority=10. May be repeated.
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<NamedValue>,
    #[command(flatten)]
    pub form: OutputArguments,
    /// Show the progress on standard error. `auto`: if standard error is a terminal and standard output is not. Without a
    /// value: always.
    #[arg(long, value_name = "WHEN", default_value = "auto", default_missing_value = "always", num_args = 0..=1, require_equals = true)]
    pub progress: When,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// The format of written messages.
#[derive(Debug, Args)]
pub struct OutputArguments {
    /// Each message is a JSON object on a line: exchange, key, redelivered, headers, properties, and body, or body_base64 if it
    /// is no text. publish --json reads them.
    #[arg(long, conflicts_with_all = ["null", "length", "raw"])]
    pub json: bool,
    /// A NUL ends each message instead of a newline.
    #[arg(short = '0', long, conflicts_with_all = ["length", "raw"])]
    pub null: bool,
    /// Each message follows its length: 4 bytes, big-endian.
    #[arg(long, conflicts_with = "raw")]
    pub length: bool,
    /// Nothing is written between messages.
    #[arg(long)]
    pub raw: bool,
    /// Write each message to a file of its own in this folder: 000001, 000002 and so on, after the highest number there.
    #[arg(short, long, value_name = "FOLDER", conflicts_with_all = ["null", "length", "raw"])]
    pub output: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak consume orders                           the messages of the queue, a line each
    hairstreak consume orders --follow --json | jq .body
    hairstreak consume orders --count 1 --timeout 30s   the next message, or status 1
    hairstreak consume -x events -k 'order.#'           messages published from now on
    hairstreak consume images --output folder           a file for each message
    hairstreak consume lines --length | hairstreak map --length -- ./work

A body with a newline is more than one line: --json, --null and --length keep messages apart.

Exit status: 0 the queue is empty, --count messages came, or a signal ended --follow; 1 the broker or
the output failed, or fewer messages came; 2 wrong arguments; 129, 130 and 143 stopped by SIGHUP,
SIGINT, SIGTERM before the end; 141 the reader of the output has gone.";

impl OutputArguments {
    /// The framing of messages. `None`: nothing is written between messages.
    pub fn framing(&self) -> Option<Framing> {
        match (self.raw, self.null, self.length) {
            (true, _, _) => None,
            (_, true, _) => Some(Framing::Null),
            (_, _, true) => Some(Framing::Length),
            _ => Some(Framing::Lines),
        }
    }
}

fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a time", TIMEOUT_MAX)
}
