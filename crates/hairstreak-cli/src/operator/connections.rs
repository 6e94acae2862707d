//! `hairstreak connections`: connections of clients, and their end.

use clap::Subcommand;
use hairstreak_amqp::escape;
use serde_json::{Value, json};

use super::client::Client;
use super::list::{Column, Form, Kind, ListArguments, ListCommand, VirtualHostArguments};
use crate::failure::Failure;
use crate::output::tell;

pub type ConnectionsArguments = ListCommand<VirtualHostArguments, ConnectionsAction>;

pub const EXAMPLES: &str = "\
Examples:
    hairstreak connections --filter '^billing'
    hairstreak connections --sort send_oct_details.rate --reverse --columns name,user,send_oct_details.rate
    hairstreak connections close '127.0.0.1:43210 -> 127.0.0.1:5672' --reason 'the host goes down at 18:00'
    hairstreak connections close --of-user billing";

#[derive(Debug, Subcommand)]
pub enum ConnectionsAction {
    /// List connections, as without an action
    List(ListArguments),
    /// Close connections
    Close {
        /// The connections, by their names.
        #[arg(required_unless_present = "of_user", value_name = "NAME")]
        names: Vec<String>,
        /// All connections of this user.
        #[arg(long, value_name = "USER", conflicts_with = "names")]
        of_user: Option<String>,
        /// Why. The clients are told.
        #[arg(long, value_name = "TEXT", default_value = "closed by an operator")]
        reason: String,
    },
}

const COLUMNS: &[Column] = &[
    Column::new("name", "name"),
    Column::new("user_provided_name", "client"),
    Column::new("vhost", "vhost"),
    Column::new("user", "user"),
    Column::new("state", "state"),
    Column::new("ssl", "tls"),
    Column::new("channels", "channels"),
    Column::new("recv_oct_details.rate", "in B/s").of(Form::PerSecond),
    Column::new("send_oct_details.rate", "out B/s").of(Form::PerSecond),
    Column::new("connected_at", "connected at").of(Form::Time),
    Column::new("recv_oct", "received").of(Form::Bytes),
    Column::new("send_oct", "sent").of(Form::Bytes),
];

const CONNECTIONS: Kind = Kind {
    is_below_vhost: true,
    is_paged: true,
    ..Kind::new(("connection", "connections"), &["name", "user_provided_name", "user"], COLUMNS)
};

pub fn connections(command: &ConnectionsArguments) -> Result<(), Failure> {
    match command.action()? {
        None => command.print(None, &CONNECTIONS),
        Some(ConnectionsAction::List(behind)) => command.print(Some(behind), &CONNECTIONS),
        Some(ConnectionsAction::Close { names, of_user, reason }) => {
            let client = command.target.open()?;
            match of_user {
                None => close(&client, command.target.json, names, reason),
                Some(user) => close(&client, command.target.json, &names_of(&client, user)?, reason),
            }
        }
    }
}

/// The names of a user's connections.
fn names_of(client: &Client, user: &str) -> Result<Vec<String>, Failure> {
    let connections = client.get(&format!("connections/username/{}", escape(user)));
    let connections = connections.map_err(|error| error.named(|| format!("user '{user}'")))?;
    let name = |connection: &Value| connection.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<String> = connections.as_array().into_iter().flatten().filter_map(name).collect();
    if names.is_empty() {
        Err(Failure::failed(format!("user '{user}' has no connections")))
    } else {
        Ok(names)
    }
}

fn close(client: &Client, is_json: bool, names: &[String], reason: &str) -> Result<(), Failure> {
    for name in names {
        let done = client.delete_because(&format!("connections/{}", escape(name)), reason);
        done.map_err(|error| error.named(|| format!("connection '{name}'")))?;
        let json = json!({"connection": name, "change": "closed"});
        tell(is_json, &format!("connection '{name}' closed"), &json)?;
    }
    Ok(())
}
