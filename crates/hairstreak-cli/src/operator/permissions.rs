//! `hairstreak permissions`: the rights of users in virtual hosts.

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use serde_json::json;

use super::client::HttpError;
use super::list::{Column, ListArguments, Listing, print_list};
use super::target::TargetArguments;
use super::virtual_host::VirtualHostArguments;
use crate::failure::Failure;
use crate::output::tell;

/// List permissions; set and clear them
///
/// A user may configure, write and read what the three regular expressions match, anywhere in a queue's or an exchange's
/// name; an empty one matches nothing. Declaring and deleting needs configure; publishing and binding a queue, write;
/// consuming and binding to an exchange, read.
///
/// Topic permissions (--topic) say besides with which keys a user may publish to a topic exchange, and bind to it. A user
/// without one for an exchange may use all keys.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct PermissionsArguments {
    #[command(subcommand)]
    action: Option<PermissionsAction>,
    #[command(flatten)]
    list: ListArguments,
    /// List topic permissions.
    #[arg(long = "topics")]
    is_topics: bool,
    #[command(flatten)]
    vhost: VirtualHostArguments,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak permissions --vhost shop
    hairstreak permissions set alice --configure '.*' --write '.*' --read '.*' --vhost shop
    hairstreak permissions set billing --read '^billing$' --vhost shop
    hairstreak permissions set billing --topic events --write '^billing\\.' --read '.*'
    hairstreak permissions clear billing --vhost shop";

#[derive(Debug, Subcommand)]
enum PermissionsAction {
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

pub fn permissions(arguments: &PermissionsArguments) -> Result<(), Failure> {
    arguments.list.before(arguments.action.is_some())?;
    if arguments.is_topics && arguments.action.is_some() {
        return Err(Failure::usage(
            "--topics belongs behind the word list; set and clear have --topic EXCHANGE",
        ));
    }
    match &arguments.action {
        None => list(arguments, &arguments.list, arguments.is_topics),
        Some(PermissionsAction::List { list: behind, is_topics }) => list(arguments, behind, *is_topics),
        Some(PermissionsAction::Set { user, configure, write, read, topic: None }) => {
            set(arguments, user, [configure, write, read])
        }
        Some(PermissionsAction::Set { user, write, read, topic: Some(exchange), .. }) => {
            set_topic(arguments, user, exchange, [write, read])
        }
        Some(PermissionsAction::Clear { user, topic }) => clear(arguments, user, topic.as_deref()),
    }
}

fn list(arguments: &PermissionsArguments, list: &ListArguments, is_topics: bool) -> Result<(), Failure> {
    let PermissionsArguments { vhost, target, .. } = arguments;
    let listing = Listing {
        noun: match is_topics {
            true => ("topic permission", "topic permissions"),
            false => ("permission", "permissions"),
        },
        path: vhost.list_path_below(if is_topics { "topic-permissions" } else { "permissions" }),
        vhost: vhost.of_list(),
        is_paged: false,
        is_filtered_there: false,
        names: &["user", "exchange"],
        columns: if is_topics { TOPIC_COLUMNS } else { COLUMNS },
        sums: &[],
        amend: None,
    };
    print_list(&target.open()?, list, target.json, &listing)
}

fn set(
    arguments: &PermissionsArguments,
    user: &str,
    [configure, write, read]: [&str; 3],
) -> Result<(), Failure> {
    let PermissionsArguments { vhost, target, .. } = arguments;
    let body = json!({"configure": configure, "write": write, "read": read});
    let done = target.open()?.put(&vhost.object_path("permissions", user), &body);
    let vhost = vhost.of_change();
    done.map_err(|error| explain(error, user, vhost))?;
    let text = format!(
        "user '{user}' in virtual host '{vhost}': configure '{configure}', write '{write}', read '{read}'"
    );
    let json = json!({"user": user, "vhost": vhost, "configure": configure, "write": write, "read": read});
    tell(target.json, &text, &json)
}

fn set_topic(
    arguments: &PermissionsArguments,
    user: &str,
    exchange: &str,
    [write, read]: [&str; 2],
) -> Result<(), Failure> {
    let PermissionsArguments { vhost, target, .. } = arguments;
    let body = json!({"exchange": exchange, "write": write, "read": read});
    let done = target.open()?.put(&vhost.object_path("topic-permissions", user), &body);
    let vhost = vhost.of_change();
    done.map_err(|error| explain(error, user, vhost))?;
    let text = format!(
        "user '{user}' at exchange '{exchange}' in virtual host '{vhost}': write '{write}', read '{read}'"
    );
    let json = json!({"user": user, "vhost": vhost, "exchange": exchange, "write": write, "read": read});
    tell(target.json, &text, &json)
}

fn clear(arguments: &PermissionsArguments, user: &str, topic: Option<&str>) -> Result<(), Failure> {
    let PermissionsArguments { vhost, target, .. } = arguments;
    let (what, path) = match topic {
        None => ("permissions".to_owned(), vhost.object_path("permissions", user)),
        Some(exchange) => (
            format!("topic permissions for exchange '{exchange}'"),
            format!("{}/{}", vhost.object_path("topic-permissions", user), escape(exchange)),
        ),
    };
    let vhost = vhost.of_change();
    let place = format!("user '{user}' in virtual host '{vhost}'");
    target.open()?.delete(&path).map_err(|error| error.named(|| format!("{place} with {what}")))?;
    let json = json!({"user": user, "vhost": vhost, "exchange": topic, "change": "cleared"});
    tell(target.json, &format!("{place} has no {what} any more"), &json)
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
