//! Arguments of `declare`, `delete`, `bind`, `unbind` and `purge`.

use clap::{Args, Subcommand};

use super::session::BrokerArguments;
use super::value::{NamedValue, short_string};

/// Create a queue or an exchange, or check its properties
///
/// A queue or an exchange that exists with the same properties stays unchanged. If its properties differ, the broker refuses.
#[derive(Debug, Args)]
#[command(after_long_help = DECLARE_EXAMPLES)]
pub struct DeclareArguments {
    #[command(subcommand)]
    pub object: DeclareObject,
}

const DECLARE_EXAMPLES: &str = "\
Examples:
    hairstreak declare queue orders --durable
    hairstreak declare queue jobs --durable --type quorum --argument x-delivery-limit=5
    hairstreak declare exchange events --type topic --durable

An argument's value that is JSON has the type that JSON says: x-max-length=10 is an integer,
x-single-active-consumer=true a boolean, id='\"10\"' a string, list='[1,\"a\"]' an array. Any other
value is a string: x-dead-letter-exchange=failed.";

#[derive(Debug, Subcommand)]
pub enum DeclareObject {
    Queue(DeclareQueue),
    Exchange(DeclareExchange),
}

/// Create a queue
#[derive(Debug, Args)]
#[command(after_long_help = DECLARE_EXAMPLES)]
pub struct DeclareQueue {
    /// The queue. Without a name the broker makes one, which is printed.
    #[arg(default_value = "", hide_default_value = true, value_parser = short_string)]
    pub name: String,
    /// The type: classic, quorum, or another type of the broker. The same as --argument x-queue-type=TYPE.
    #[arg(long = "type", value_name = "TYPE")]
    pub kind: Option<String>,
    /// The queue survives a restart of the broker.
    #[arg(long)]
    pub durable: bool,
    /// The queue is deleted with its last consumer.
    #[arg(long)]
    pub auto_delete: bool,
    /// The queue belongs to the connection of this command, and is deleted with it.
    #[arg(long)]
    pub exclusive: bool,
    /// An argument, such as x-max-length=10. May be repeated.
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<NamedValue>,
    #[command(flatten)]
    pub common: DeclareCommon,
}

/// Create an exchange
#[derive(Debug, Args)]
#[command(after_long_help = DECLARE_EXAMPLES)]
pub struct DeclareExchange {
    /// The exchange.
    #[arg(value_parser = short_string)]
    pub name: String,
    /// The type: direct, fanout, topic, headers, or another type of the broker.
    #[arg(long = "type", value_name = "TYPE", default_value = "direct", value_parser = short_string)]
    pub kind: String,
    /// The exchange survives a restart of the broker.
    #[arg(long)]
    pub durable: bool,
    /// The exchange is deleted with its last binding.
    #[arg(long)]
    pub auto_delete: bool,
    /// Only other exchanges can publish to it.
    #[arg(long)]
    pub internal: bool,
    /// An argument, such as alternate-exchange=unrouted. May be repeated.
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<NamedValue>,
    #[command(flatten)]
    pub common: DeclareCommon,
}

/// Arguments that all declarations share.
#[derive(Debug, Args)]
pub struct DeclareCommon {
    /// Create nothing: only check that it exists, and for a queue print the numbers of messages and consumers.
    #[arg(long)]
    pub passive: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// Delete a queue or an exchange
#[derive(Debug, Args)]
#[command(after_long_help = DELETE_EXAMPLES)]
pub struct DeleteArguments {
    #[command(subcommand)]
    pub object: DeleteObject,
}

const DELETE_EXAMPLES: &str = "\
Examples:
    hairstreak delete queue orders --if-empty
    hairstreak delete exchange events --if-unused";

#[derive(Debug, Subcommand)]
pub enum DeleteObject {
    Queue(DeleteQueue),
    Exchange(DeleteExchange),
}

/// Delete a queue, with its messages
#[derive(Debug, Args)]
#[command(after_long_help = DELETE_EXAMPLES)]
pub struct DeleteQueue {
    /// The queue.
    #[arg(value_parser = short_string)]
    pub name: String,
    /// Only if it has no consumers.
    #[arg(long)]
    pub if_unused: bool,
    /// Only if it has no messages.
    #[arg(long)]
    pub if_empty: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// Delete an exchange
#[derive(Debug, Args)]
#[command(after_long_help = DELETE_EXAMPLES)]
pub struct DeleteExchange {
    /// The exchange.
    #[arg(value_parser = short_string)]
    pub name: String,
    /// Only if nothing is bound to it.
    #[arg(long)]
    pub if_unused: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// Bind a queue or an exchange to an exchange
#[derive(Debug, Args)]
#[command(after_long_help = BIND_EXAMPLES)]
pub struct BindArguments {
    #[command(subcommand)]
    pub destination: Destination,
}

/// Remove a binding
///
/// The key and the arguments must equal those of the binding.
#[derive(Debug, Args)]
#[command(after_long_help = UNBIND_EXAMPLES)]
pub struct UnbindArguments {
    #[command(subcommand)]
    pub destination: Destination,
}

const BIND_EXAMPLES: &str = "\
Examples:
    hairstreak bind queue orders --exchange events --key 'order.#' --key 'refund.*'
    hairstreak bind queue big --exchange by-header --argument x-match=any --argument size=10
    hairstreak bind exchange archive --exchange events --key '#'";

const UNBIND_EXAMPLES: &str = "\
Examples:
    hairstreak unbind queue orders --exchange events --key 'refund.*'
    hairstreak unbind exchange archive --exchange events --key '#'";

#[derive(Debug, Subcommand)]
pub enum Destination {
    /// Route messages of the exchange to a queue
    Queue(Binding),
    /// Route messages of the exchange to another exchange
    Exchange(Binding),
}

#[derive(Debug, Args)]
pub struct Binding {
    /// The queue or the exchange that gets the messages.
    #[arg(value_parser = short_string)]
    pub name: String,
    /// The exchange that the messages come from.
    #[arg(long, value_name = "NAME", value_parser = short_string)]
    pub exchange: String,
    /// The routing key, or a pattern of keys for a topic exchange. May be repeated.
    #[arg(long = "key", value_name = "KEY", default_value = "", hide_default_value = true, value_parser = short_string)]
    pub keys: Vec<String>,
    /// An argument, such as x-match=any. May be repeated.
    #[arg(long = "argument", value_name = "NAME=VALUE")]
    pub arguments: Vec<NamedValue>,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub broker: BrokerArguments,
}

/// Delete the waiting messages of a queue
///
/// Messages that a consumer has received and not acknowledged stay.
#[derive(Debug, Args)]
#[command(after_long_help = "Example:\n    hairstreak purge orders")]
pub struct PurgeArguments {
    /// The queue.
    #[arg(value_parser = short_string)]
    pub queue: String,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub broker: BrokerArguments,
}
