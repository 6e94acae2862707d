//! `hairstreak vhosts`: virtual hosts, with their messages and limits.

use std::collections::HashMap;

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use serde_json::{Map, Value, json};

use super::client::Client;
use super::limit::{LimitValue, set_limit};
use super::list::{Column, ListArguments, Listing, print_list};
use super::target::TargetArguments;
use crate::failure::Failure;
use crate::output::tell;

/// List virtual hosts; add and delete them, set their limits
///
/// The user who adds a virtual host may use it; others need `permissions set`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct VhostsArguments {
    #[command(subcommand)]
    action: Option<VhostsAction>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak vhosts
    hairstreak vhosts add shop --description 'orders and bills'
    hairstreak vhosts set-limit shop max-queues 500
    hairstreak vhosts set-limit shop max-queues none
    hairstreak vhosts delete shop";

#[derive(Debug, Subcommand)]
enum VhostsAction {
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

pub fn vhosts(arguments: &VhostsArguments) -> Result<(), Failure> {
    arguments.list.before(arguments.action.is_some())?;
    match &arguments.action {
        None => list(arguments, &arguments.list),
        Some(VhostsAction::List(behind)) => list(arguments, behind),
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
            add(arguments, name, &vhost.into())
        }
        Some(VhostsAction::Delete { names }) => delete(arguments, names),
        Some(VhostsAction::SetLimit { name, limit, value }) => {
            let client = arguments.target.open()?;
            client.get(&path(name)).map_err(|error| error.named(|| format!("virtual host '{name}'")))?;
            set_limit(&client, arguments.target.json, ("vhost", "vhost-limits", name), limit, *value)
        }
    }
}

fn list(arguments: &VhostsArguments, list: &ListArguments) -> Result<(), Failure> {
    let client = arguments.target.open()?;
    let limits = limits(&client)?;
    let amend = |vhost: &mut Value| {
        let of_this = vhost.get("name").and_then(Value::as_str).and_then(|name| limits.get(name)).cloned();
        vhost["limits"] = of_this.unwrap_or_else(|| json!({}));
    };
    let listing = Listing {
        noun: ("virtual host", "virtual hosts"),
        path: "vhosts".to_owned(),
        vhost: None,
        is_paged: true,
        is_filtered_there: false,
        names: &["name"],
        columns: COLUMNS,
        sums: &[("messages", "message", "messages")],
        amend: Some(&amend),
    };
    print_list(&client, list, arguments.target.json, &listing)
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

fn add(arguments: &VhostsArguments, name: &str, vhost: &Value) -> Result<(), Failure> {
    let client = arguments.target.open()?;
    // The API would take away the description of one that exists.
    if client.find(&path(name))?.is_some() {
        return Err(Failure::failed(format!("virtual host '{name}' exists")));
    }
    client.put(&path(name), vhost)?;
    tell(
        arguments.target.json,
        &format!("virtual host '{name}' added"),
        &json!({"vhost": name, "change": "added"}),
    )
}

fn delete(arguments: &VhostsArguments, names: &[String]) -> Result<(), Failure> {
    let client = arguments.target.open()?;
    for name in names {
        client.delete(&path(name)).map_err(|error| error.named(|| format!("virtual host '{name}'")))?;
        let json = json!({"vhost": name, "change": "deleted"});
        tell(arguments.target.json, &format!("virtual host '{name}' deleted"), &json)?;
    }
    Ok(())
}
