//! `hairstreak permissions`: the rights of users in virtual hosts.

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use serde_json::{Value, json};

use super::client::HttpError;
use super::list::{Column, Kind, ListArguments, ListCommand, Scope, VirtualHostArguments};
use crate::failure::Failure;
use crate::output::tell;

pub type PermissionsArguments = ListCommand<PermissionsScope, PermissionsAction>;

#[derive(Debug, Args)]
pub struct PermissionsScope {
    /// List topic permissions.
    #[arg(long = "topics")]
    is_topics: bool,
    #[command(flatten)]
    vhost: VirtualHostArguments,
}

impl Scope for PermissionsScope {
    fn of_list(&self) -> Option<&str> {
        self.vhost.of_list()
    }
}

pub const EXAMPLES: &str = "\
Examples:
    hairstreak permissions --vhost shop
    hairstreak permissions set alice --configure '.*' --write '.*' --read '.*' --vhost shop
    hairstreak permissions set billing --read '^billing$' --vhost shop
    hairstreak permissions set billing --topic events --write '^billing\\.' --read '.*'
    hairstreak permissions clear billing --vhost shop";

#[derive(Debug, Subcommand)]
pub enum PermissionsAction {
    /// List permissions, as without an action
    List {
        #[command(flatten)]
        list: ListArguments,
        /// List topic permissions.
        #[arg(long = "topics")]
        is_topics: bool,
    },
    /// Give a user these permissions in a virtual host, instead of those that it has
    Set {
        /// The user.
        user: String,
        /// Names that the user may declare and delete. [default: nothing]
        #[arg(
            long,
            value_name = "REGEX",
            default_value = "",
            hide_default_value = true,
            conflicts_with = "topic"
        )]
        configure: String,
        /// Names that the user may publish to. With --topic: routing keys. [default: nothing]
        #[arg(long, value_name = "REGEX", default_value = "", hide_default_value = true)]
        write: String,
        /// Names that the user may consume from and bind to. With --topic: binding keys. [default: nothing]
        #[arg(long, value_name = "REGEX", default_value = "", hide_default_value = true)]
        read: String,
        /// The keys of this topic exchange.
        #[arg(long, value_name = "EXCHANGE")]
        topic: Option<String>,
    },
    /// Take a user's permissions in a virtual host away: it cannot open the virtual host any more
    Clear {
        /// The user.
        user: String,
        /// Only the topic permissions for this exchange.
        #[arg(long, value_name = "EXCHANGE")]
        topic: Option<String>,
    },
}

const COLUMNS: &[Column] = &[
    Column::new("user", "user"),
    Column::new("vhost", "vhost"),
    Column::new("configure", "configure"),
    Column::new("write", "write"),
    Column::new("read", "read"),
];
const TOPIC_COLUMNS: &[Column] = &[
    Column::new("user", "user"),
    Column::new("vhost", "vhost"),
    Column::new("exchange", "exchange"),
    Column::new("write", "write"),
    Column::new("read", "read"),
];

const PERMISSIONS: Kind =
    Kind { is_below_vhost: true, ..Kind::new(("permission", "permissions"), &["user", "exchange"], COLUMNS) };
const TOPIC_PERMISSIONS: Kind = Kind {
    noun: ("topic permission", "topic permissions"),
    list: "topic-permissions",
    columns: TOPIC_COLUMNS,
    ..PERMISSIONS
};

pub fn permissions(command: &PermissionsArguments) -> Result<(), Failure> {
    let action = command.action()?;
    if command.scope.is_topics && action.is_some() {
        return Err(Failure::usage(
            "--topics belongs behind the word list; set and clear have --topic EXCHANGE",
        ));
    }
    let kind = |is_topics| if is_topics { &TOPIC_PERMISSIONS } else { &PERMISSIONS };
    match action {
        None => command.print(None, kind(command.scope.is_topics)),
        Some(PermissionsAction::List { list, is_topics }) => command.print(Some(list), kind(*is_topics)),
        Some(PermissionsAction::Set { user, configure, write, read, topic: None }) => {
            set(command, user, None, &[("configure", configure), ("write", write), ("read", read)])
        }
        Some(PermissionsAction::Set { user, write, read, topic, .. }) => {
            set(command, user, topic.as_deref(), &[("write", write), ("read", read)])
        }
        Some(PermissionsAction::Clear { user, topic }) => clear(command, user, topic.as_deref()),
    }
}

/// Sets a user's permissions, or the topic permissions for an exchange.
fn set(
    command: &PermissionsArguments,
    user: &str,
    topic: Option<&str>,
    rights: &[(&str, &str)],
) -> Result<(), Failure> {
    let PermissionsScope { vhost, .. } = &command.scope;
    let kind = if topic.is_some() { &TOPIC_PERMISSIONS } else { &PERMISSIONS };
    let exchange = topic.map(|exchange| ("exchange", exchange));
    let object =
        |names: &[(&str, &str)]| -> Value { names.iter().chain(&exchange).chain(rights).copied().collect() };
    let done = command.target.open()?.put(&vhost.object_path(kind.list, user), &object(&[]));
    let vhost = vhost.of_change();
    done.map_err(|error| explain(error, user, vhost))?;
    let place = topic.map(|exchange| format!(" at exchange '{exchange}'")).unwrap_or_default();
    let rights: Vec<String> = rights.iter().map(|(right, regex)| format!("{right} '{regex}'")).collect();
    let text = format!("user '{user}'{place} in virtual host '{vhost}': {}", rights.join(", "));
    tell(command.target.json, &text, &object(&[("user", user), ("vhost", vhost)]))
}

fn clear(command: &PermissionsArguments, user: &str, topic: Option<&str>) -> Result<(), Failure> {
    let PermissionsScope { vhost, .. } = &command.scope;
    let (what, path) = match topic {
        None => ("permissions".to_owned(), vhost.object_path("permissions", user)),
        Some(exchange) => (
            format!("topic permissions for exchange '{exchange}'"),
            format!("{}/{}", vhost.object_path("topic-permissions", user), escape(exchange)),
        ),
    };
    let vhost = vhost.of_change();
    let place = format!("user '{user}' in virtual host '{vhost}'");
    command.target.open()?.delete(&path).map_err(|error| error.named(|| format!("{place} with {what}")))?;
    let json = json!({"user": user, "vhost": vhost, "exchange": topic, "change": "cleared"});
    tell(command.target.json, &format!("{place} has no {what} any more"), &json)
}

/// Explains a missing object: RabbitMQ does not tell which of the two is missing.
fn explain(error: HttpError, user: &str, vhost: &str) -> Failure {
    match error {
        HttpError::Rejected { reason, .. } if reason == "vhost_or_user_not_found" => {
            Failure::failed(format!("there is no user '{user}', or no virtual host '{vhost}'"))
        }
        error => error.named(|| format!("user '{user}', or no virtual host '{vhost}'")),
    }
}
