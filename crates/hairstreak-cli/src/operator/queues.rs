//! `hairstreak queues`: queues with their messages, and an operator's changes to them.

use clap::Subcommand;
use serde_json::json;

use super::list::{Column, Form, Kind, ListArguments, ListCommand, Sum, VirtualHostArguments};
use crate::failure::Failure;

pub type QueuesArguments = ListCommand<VirtualHostArguments, QueuesAction>;

pub const EXAMPLES: &str = "\
Examples:
    hairstreak queues
    hairstreak queues --vhost shop --filter '^order' --sort messages --reverse
    hairstreak queues --columns name,durability,message_bytes,policy --every 2s
    hairstreak queues --json | jq -r 'select(.consumers == 0) | .name'
    hairstreak queues purge orders --vhost shop";

#[derive(Debug, Subcommand)]
pub enum QueuesAction {
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

const QUEUES: Kind = Kind {
    is_paged: true,
    is_filtered_there: true,
    sums: SUMS,
    ..Kind::new(("queue", "queues"), &["name"], COLUMNS)
};

pub fn queues(command: &QueuesArguments) -> Result<(), Failure> {
    match command.action()? {
        None => command.print(None, &QUEUES),
        Some(QueuesAction::List(behind)) => command.print(Some(behind), &QUEUES),
        Some(QueuesAction::Delete { names, if_unused, if_empty }) => {
            let conditions = format!("?if-unused={if_unused}&if-empty={if_empty}");
            change(command, names, &conditions, "deleted")
        }
        Some(QueuesAction::Purge { names }) => change(command, names, "/contents", "purged"),
    }
}

/// Deletes the object at each queue's path with this end.
fn change(command: &QueuesArguments, names: &[String], end: &str, done: &str) -> Result<(), Failure> {
    let vhost = command.scope.of_change();
    command.target.delete_each(names, done, |name| {
        let path = command.scope.object_path("queues", name) + end;
        let what = format!("queue '{name}' in virtual host '{vhost}'");
        (path, what, json!({"queue": name, "vhost": vhost}))
    })
}
