//! `hairstreak peek`: the messages at a queue's head, which stay there.
//!
//! Our node has a route that touches nothing. RabbitMQ can only take messages and put them back, which marks them as
//! redelivered: that needs `--requeue`.

use clap::Args;
use hairstreak_amqp::escape;
use serde_json::{Value, json};

use super::client::Client;
use super::message::{shown, to_record};
use super::target::TargetArguments;
use crate::failure::Failure;
use crate::numbers::messages;
use crate::output::{announce, print};

/// The most messages to look at, including messages that are passed over.
const COUNT_MAX: u64 = 10_000;
/// The product that can peek.
const PRODUCT: &str = "Hairstreak";

/// Show the messages at the head of a queue, which stay there
///
/// Against RabbitMQ that is only possible by taking the messages and putting them back: they get the mark `redelivered`,
/// consumers may miss them for a moment, and a quorum queue counts a delivery. Say --requeue if that is all right.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct PeekArguments {
    /// The queue.
    #[arg(value_name = "QUEUE")]
    queue: String,
    /// Show so many messages.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=COUNT_MAX))]
    count: u64,
    /// Pass over so many messages at the head.
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..COUNT_MAX))]
    offset: u64,
    /// Show only so many bytes of each body. [default: all]
    #[arg(long, value_name = "BYTES")]
    truncate: Option<u64>,
    /// Take the messages and put them back, where the broker cannot peek.
    #[arg(long)]
    requeue: bool,
    /// The virtual host.
    #[arg(long, value_name = "NAME", default_value = "/")]
    vhost: String,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak peek orders
    hairstreak peek orders -n 10 --offset 100 --truncate 200
    hairstreak peek orders -n 100 --json | jq -r .headers.tries";

pub fn peek(arguments: &PeekArguments) -> Result<(), Failure> {
    let client = arguments.target.open()?;
    let peeked = match can_peek(&client)? {
        true => peeked(&client, arguments)?,
        false if arguments.requeue => requeued(&client, arguments)?,
        false => {
            return Err(Failure::failed(
                "this broker cannot peek: it would take the messages and put them back, marked as redelivered; --requeue does so",
            ));
        }
    };
    for (index, message) in peeked.iter().enumerate() {
        let text = match arguments.target.json {
            true => [to_record(message)?.to_line(), b"\n".to_vec()].concat(),
            false => shown(message, arguments.offset + index as u64)?.into_bytes(),
        };
        match announce(text) {
            // The reader has enough.
            Err(failure) if failure.is_quiet() => return Ok(()),
            done => done?,
        }
    }
    if arguments.target.json || !peeked.is_empty() {
        return Ok(());
    }
    match arguments.offset {
        0 => print(&format!("queue '{}' is empty\n", arguments.queue.escape_debug())),
        offset => {
            print(&format!("queue '{}' has at most {}\n", arguments.queue.escape_debug(), messages(offset)))
        }
    }
}

fn can_peek(client: &Client) -> Result<bool, Failure> {
    let overview = client.get("overview?columns=product_name")?;
    Ok(overview.get("product_name").and_then(Value::as_str) == Some(PRODUCT))
}

fn what(arguments: &PeekArguments) -> String {
    format!("queue '{}' in virtual host '{}'", arguments.queue, arguments.vhost)
}

fn path(arguments: &PeekArguments) -> String {
    format!("queues/{}/{}", escape(&arguments.vhost), escape(&arguments.queue))
}

/// Looks at messages where they are.
fn peeked(client: &Client, arguments: &PeekArguments) -> Result<Vec<Value>, Failure> {
    let truncate = arguments.truncate.map(|size| format!("&truncate={size}")).unwrap_or_default();
    let query = format!("?offset={}&count={}&encoding=auto{truncate}", arguments.offset, arguments.count);
    let answer = client.get(&(path(arguments) + "/peek" + &query));
    array(answer.map_err(|error| error.named(|| what(arguments)))?)
}

/// Takes messages and puts them back.
fn requeued(client: &Client, arguments: &PeekArguments) -> Result<Vec<Value>, Failure> {
    let count = arguments.offset + arguments.count;
    if count > COUNT_MAX {
        return Err(Failure::usage(format!("--offset and --count are more than {COUNT_MAX} together")));
    }
    let mut request = json!({"count": count, "ackmode": "ack_requeue_true", "encoding": "auto"});
    if let Some(size) = arguments.truncate {
        request["truncate"] = size.into();
    }
    let answer = client.post(&(path(arguments) + "/get"), request.to_string().into_bytes());
    let mut messages = array(answer.map_err(|error| error.named(|| what(arguments)))?)?;
    messages.drain(..(arguments.offset as usize).min(messages.len()));
    Ok(messages)
}

fn array(answer: Value) -> Result<Vec<Value>, Failure> {
    match answer {
        Value::Array(messages) => Ok(messages),
        other => Err(Failure::failed(format!("the API answered no array of messages but {other}"))),
    }
}
