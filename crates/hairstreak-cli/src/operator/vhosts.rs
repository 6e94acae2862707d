//! `hairstreak vhosts`: virtual hosts, with their messages and limits.

use std::collections::HashMap;

use clap::Subcommand;
use hairstreak_amqp::escape;
use serde_json::{Map, Value, json};

use super::client::Client;
use super::limit::{LimitValue, set_limit};
use super::list::{Column, Kind, ListArguments, ListCommand};
use crate::failure::Failure;
use crate::output::tell;

pub type VhostsArguments = ListCommand<(), VhostsAction>;

pub const EXAMPLES: &str = "\
Examples:
    hairstreak vhosts
    hairstreak vhosts add shop --description 'orders and bills'
    hairstreak vhosts set-limit shop max-queues 500
    hairstreak vhosts set-limit shop max-queues none
    hairstreak vhosts delete shop";

#[derive(Debug, Subcommand)]
pub enum VhostsAction {
    /// List virtual hosts, as without an action
    List(ListArguments),
    /// Add a virtual host
    Add {
        /// The virtual host.
        name: String,
        /// A description for people.
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Tags, separated by commas.
        #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
        tags: Vec<String>,
        /// The type of queues that are declared without one: classic, quorum or stream.
        #[arg(long, value_name = "TYPE")]
        default_queue_type: Option<String>,
    },
    /// Delete virtual hosts, with all that is in them; connections to them are closed
    Delete {
        /// The virtual hosts.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Limit how many connections or queues a virtual host may have
    SetLimit {
        /// The virtual host.
        name: String,
        /// The limit: max-connections or max-queues.
        limit: String,
        /// A count, or none for no limit.
        value: LimitValue,
    },
}

const COLUMNS: &[Column] = &[
    Column::new("name", "name"),
    Column::new("description", "description"),
    Column::new("default_queue_type", "queue type"),
    Column::new("messages_ready", "ready"),
    Column::new("messages_unacknowledged", "unacked"),
    Column::new("messages", "messages"),
    Column::new("limits", "limits"),
];

const VHOSTS: Kind = Kind {
    list: "vhosts",
    is_paged: true,
    sums: &[("messages", "message", "messages")],
    ..Kind::new(("virtual host", "virtual hosts"), &["name"], COLUMNS)
};

pub fn vhosts(command: &VhostsArguments) -> Result<(), Failure> {
    match command.action()? {
        None => list(command, None),
        Some(VhostsAction::List(behind)) => list(command, Some(behind)),
        Some(VhostsAction::Add { name, description, tags, default_queue_type }) => {
            let mut vhost = Map::new();
            if let Some(description) = description {
                vhost.insert("description".into(), description.as_str().into());
            }
            if !tags.is_empty() {
                vhost.insert("tags".into(), tags.join(",").into());
            }
            if let Some(queue_type) = default_queue_type {
                vhost.insert("default_queue_type".into(), queue_type.as_str().into());
            }
            add(command, name, &vhost.into())
        }
        Some(VhostsAction::Delete { names }) => command.target.delete_each(names, "deleted", |name| {
            (path(name), format!("virtual host '{name}'"), json!({"vhost": name}))
        }),
        Some(VhostsAction::SetLimit { name, limit, value }) => {
            let client = command.target.open()?;
            client.get(&path(name)).map_err(|error| error.named(|| format!("virtual host '{name}'")))?;
            set_limit(&client, command.target.json, ("vhost", "vhost-limits", name), limit, *value)
        }
    }
}

fn list(command: &VhostsArguments, behind: Option<&ListArguments>) -> Result<(), Failure> {
    let client = command.target.open()?;
    let limits = limits(&client)?;
    let amend = |vhost: &mut Value| {
        let of_this = vhost.get("name").and_then(Value::as_str).and_then(|name| limits.get(name)).cloned();
        vhost["limits"] = of_this.unwrap_or_else(|| json!({}));
    };
    command.print_with(&client, behind, &VHOSTS, Some(&amend))
}

/// The limits of each virtual host that has any.
fn limits(client: &Client) -> Result<HashMap<String, Value>, Failure> {
    let mut limits = HashMap::new();
    if let Value::Array(all) = client.get("vhost-limits")? {
        for mut limit in all {
            let name = limit.get("vhost").and_then(Value::as_str).map(str::to_owned);
            let value = limit.get_mut("value").map(Value::take);
            limits.extend(name.zip(value));
        }
    }
    Ok(limits)
}

fn path(name: &str) -> String {
    format!("vhosts/{}", escape(name))
}

fn add(command: &VhostsArguments, name: &str, vhost: &Value) -> Result<(), Failure> {
    let client = command.target.open()?;
    // The API would take away the description of one that exists.
    if client.find(&path(name))?.is_some() {
        return Err(Failure::failed(format!("virtual host '{name}' exists")));
    }
    client.put(&path(name), vhost)?;
    tell(
        command.target.json,
        &format!("virtual host '{name}' added"),
        &json!({"vhost": name, "change": "added"}),
    )
}
