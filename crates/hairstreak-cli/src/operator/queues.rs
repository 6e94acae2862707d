//! `hairstreak queues`: queues with their messages, and an operator's changes to them.

use clap::{Args, Subcommand};
use serde_json::json;

use super::list::{Column, Form, ListArguments, Listing, Sum, print_list};
use super::target::TargetArguments;
use super::virtual_host::VirtualHostArguments;
use crate::failure::Failure;
use crate::output::tell;

/// List queues with their messages, consumers and rates; delete and purge them
///
/// `declare queue`, `delete queue` and `purge` do the same as clients of AMQP, with other conditions.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct QueuesArguments {
    #[command(subcommand)]
    action: Option<QueuesAction>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    vhost: VirtualHostArguments,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak queues
    hairstreak queues --vhost shop --filter '^order' --sort messages --reverse
    hairstreak queues --columns name,memory,message_bytes,policy --every 2s
    hairstreak queues --json | jq -r 'select(.consumers == 0) | .name'
    hairstreak queues purge orders --vhost shop";

#[derive(Debug, Subcommand)]
enum QueuesAction {
    /// List queues, as without an action
    List(ListArguments),
    /// Delete queues, with their messages
    Delete {
        /// The queues.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        /// Only if it has no consumers.
        #[arg(long)]
        if_unused: bool,
        /// Only if it has no messages.
        #[arg(long)]
        if_empty: bool,
    },
    /// Drop the messages that wait in queues
    Purge {
        /// The queues.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

const COLUMNS: &[Column] = &[
    Column::new("vhost", "vhost"),
    Column::new("name", "name"),
    Column::new("type", "type"),
    Column::new("durable", "durable"),
    Column::new("state", "state"),
    Column::new("policy", "policy"),
    Column::new("messages_ready", "ready"),
    Column::new("messages_unacknowledged", "unacked"),
    Column::new("messages", "messages"),
    Column::new("message_bytes", "size").of(Form::Bytes),
    Column::new("consumers", "consumers"),
    Column::new("message_stats.publish_details.rate", "in/s").of(Form::PerSecond),
    Column::new("message_stats.deliver_get_details.rate", "out/s").of(Form::PerSecond),
    Column::new("message_stats.ack_details.rate", "acks/s").of(Form::PerSecond),
];
const SUMS: &[Sum] = &[
    ("messages", "message", "messages"),
    ("messages_ready", "ready", "ready"),
    ("messages_unacknowledged", "unacknowledged", "unacknowledged"),
];

pub fn queues(arguments: &QueuesArguments) -> Result<(), Failure> {
    arguments.list.before(arguments.action.is_some())?;
    match &arguments.action {
        None => list(arguments, &arguments.list),
        Some(QueuesAction::List(behind)) => list(arguments, behind),
        Some(QueuesAction::Delete { names, if_unused, if_empty }) => {
            let conditions = format!("?if-unused={if_unused}&if-empty={if_empty}");
            change(arguments, names, &conditions, "deleted")
        }
        Some(QueuesAction::Purge { names }) => change(arguments, names, "/contents", "purged"),
    }
}

fn list(arguments: &QueuesArguments, list: &ListArguments) -> Result<(), Failure> {
    let QueuesArguments { vhost, target, .. } = arguments;
    let listing = Listing {
        noun: ("queue", "queues"),
        path: vhost.list_path("queues"),
        vhost: vhost.of_list(),
        is_paged: true,
        is_filtered_there: true,
        names: &["name"],
        columns: COLUMNS,
        sums: SUMS,
        amend: None,
    };
    print_list(&target.open()?, list, target.json, &listing)
}

/// Deletes the object at each queue's path with this end.
fn change(arguments: &QueuesArguments, names: &[String], end: &str, done: &str) -> Result<(), Failure> {
    let vhost = arguments.vhost.of_change();
    let client = arguments.target.open()?;
    for name in names {
        let path = arguments.vhost.object_path("queues", name) + end;
        let what = || format!("queue '{name}' in virtual host '{vhost}'");
        client.delete(&path).map_err(|error| error.named(what))?;
        let json = json!({"queue": name, "vhost": vhost, "change": done});
        tell(arguments.target.json, &format!("{} {done}", what()), &json)?;
    }
    Ok(())
}
