//! Arguments of `hairstreak publish`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hairstreak_process::Framing;
use hairstreak_wire::amqp::FieldTable;

use crate::amqp::session::BrokerArguments;
use crate::amqp::value::{NamedValue, PropertyValues, Text, short_string, table};
use crate::numbers::{When, bounded};

/// The largest number of messages without a confirm.
const WINDOW_MAX: u64 = 1_000_000;
/// The longest expiration that RabbitMQ accepts.
const EXPIRATION_MAX: Duration = Duration::from_secs(u32::MAX as u64 / 1000);
const PERSISTENT: u8 = 2;

/// Publish messages, each confirmed by the broker
///
/// The body of the message is BODY, a file, or all of standard input. With --lines, --null, --length and --json the input has
/// many messages. Each is sent as soon as it has been read.
///
/// Without --exchange, KEY names the queue that gets the message.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct PublishArguments {
    /// The exchange. [default: the default exchange, in which the name of a queue is its key]
    #[arg(short = 'x', long, value_name = "NAME", value_parser = short_string)]
    pub exchange: Option<String>,
    /// The routing key.
    #[arg(short, long, value_name = "KEY", value_parser = short_string)]
    pub key: Option<String>,
    #[command(flatten)]
    pub message: MessageArguments,
    /// The broker returns messages that no queue gets. The command counts them.
    #[arg(long)]
    pub mandatory: bool,
    #[command(flatten)]
    pub form: FormArguments,
    /// The largest number of messages without a confirm.
    #[arg(short, long, value_name = "W", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=WINDOW_MAX))]
    pub window: u64,
    /// Show the progress on standard error. `auto`: if standard error is a terminal and standard output is not. Without a
    /// value: always.
    #[arg(long, value_name = "WHEN", default_value = "auto", default_missing_value = "always", num_args = 0..=1, require_equals = true)]
    pub progress: When,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// The form of the messages.
#[derive(Debug, Args)]
pub struct FormArguments {
    /// The body. [default: standard input]
    #[arg(conflicts_with_all = ["file", "lines", "null", "length"])]
    pub body: Option<OsString>,
    /// Read this file instead of standard input.
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Each line is a message.
    #[arg(short, long, conflicts_with_all = ["null", "length", "json"])]
    pub lines: bool,
    /// A NUL ends each message.
    #[arg(short = '0', long, conflicts_with_all = ["length", "json"])]
    pub null: bool,
    /// Each message follows its length: 4 bytes, big-endian.
    #[arg(long, conflicts_with = "json")]
    pub length: bool,
    /// Each line is a JSON object with key, exchange, headers, properties and body (or body_base64), as consume --json
    /// prints them. Options override the fields of the object. The result is a JSON object, too.
    #[arg(long)]
    pub json: bool,
    /// Publish the message this many times.
    #[arg(short, long, value_name = "N", default_value_t = 1, conflicts_with_all = ["lines", "null", "length"])]
    pub count: u64,
}

/// Headers and properties.
#[derive(Debug, Args)]
pub struct MessageArguments {
    /// A header. A JSON value has its JSON type, any other value is a string. May be repeated.
    #[arg(short = 'H', long = "header", value_name = "NAME=VALUE")]
    headers: Vec<NamedValue>,
    /// The message survives a restart of the broker, in a durable queue.
    #[arg(long)]
    persistent: bool,
    /// The priority.
    #[arg(long, value_name = "N")]
    priority: Option<u8>,
    /// The longest wait of the message in a queue, such as 5s.
    #[arg(long, value_name = "TIME", value_parser = expiration)]
    expiration: Option<Duration>,
    /// The MIME type of the body.
    #[arg(long, value_name = "TYPE", value_parser = short_string)]
    content_type: Option<String>,
    /// The MIME encoding of the body.
    #[arg(long, value_name = "ENCODING", value_parser = short_string)]
    content_encoding: Option<String>,
    /// The id that links a reply to its request.
    #[arg(long, value_name = "ID", value_parser = short_string)]
    correlation_id: Option<String>,
    /// The queue for the answer.
    #[arg(long, value_name = "QUEUE", value_parser = short_string)]
    reply_to: Option<String>,
    /// The application's name for the message.
    #[arg(long, value_name = "ID", value_parser = short_string)]
    message_id: Option<String>,
    /// The time of the message, in seconds since 1970.
    #[arg(long, value_name = "SECONDS")]
    timestamp: Option<u64>,
    /// The kind of the message.
    #[arg(long = "type", value_name = "TYPE", value_parser = short_string)]
    kind: Option<String>,
    /// The user who publishes. The broker refuses names other than that of the login.
    #[arg(long, value_name = "NAME", value_parser = short_string)]
    user_id: Option<String>,
    /// The application that publishes.
    #[arg(long, value_name = "NAME", value_parser = short_string)]
    app_id: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak publish --key orders 'one order'                a message for the queue orders
    hairstreak publish -x events -k user.new --persistent --content-type application/json < new.json
    tail -f log | hairstreak publish -x logs --lines           a message for each line
    hairstreak consume failed --json | hairstreak publish --json -x '' -k orders
    hairstreak publish -k jobs -H tries=3 -H 'id=\"007\"' --expiration 5s --count 1000 hello

Exit status: 0 the broker has confirmed all messages; 1 some were refused, came back (--mandatory)
or were not confirmed; 2 wrong arguments; 129, 130 and 143 stopped by SIGHUP, SIGINT, SIGTERM.";

impl MessageArguments {
    pub fn headers(&self) -> FieldTable {
        table(&self.headers)
    }

    pub fn properties(&self) -> PropertyValues {
        let text = |given: &Option<String>| given.clone().map(Text::from);
        PropertyValues {
            content_type: text(&self.content_type),
            content_encoding: text(&self.content_encoding),
            correlation_id: text(&self.correlation_id),
            reply_to: text(&self.reply_to),
            expiration: self.expiration.map(|time| time.as_millis().to_string().into()),
            message_id: text(&self.message_id),
            r#type: text(&self.kind),
            user_id: text(&self.user_id),
            app_id: text(&self.app_id),
            cluster_id: None,
            delivery_mode: self.persistent.then_some(PERSISTENT),
            priority: self.priority,
            timestamp: self.timestamp,
        }
    }
}

impl FormArguments {
    /// Returns the framing that splits the input into messages; `None` if the input is one message.
    pub fn framing(&self) -> Option<Framing> {
        match (self.lines || self.json && self.body.is_none(), self.null, self.length) {
            (true, _, _) => Some(Framing::Lines),
            (_, true, _) => Some(Framing::Null),
            (_, _, true) => Some(Framing::Length),
            _ => None,
        }
    }
}

fn expiration(text: &str) -> Result<Duration, String> {
    bounded(text, "an expiration", EXPIRATION_MAX)
}
