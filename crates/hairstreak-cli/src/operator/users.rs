//! `hairstreak users`: users with their tags and limits.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use serde_json::{Value, json};

use super::client::Client;
use super::limit::{LimitValue, set_limit};
use super::list::{Column, Kind, ListArguments, ListCommand};
use super::secret::new_secret;
use crate::failure::Failure;
use crate::output::tell;

pub type UsersArguments = ListCommand<(), UsersAction>;

pub const EXAMPLES: &str = "\
A new password is asked for on the terminal, or it is the first line of standard input.

Examples:
    hairstreak users
    hairstreak users add billing && hairstreak permissions set billing --read '^billing'
    pwgen 20 1 | tee password | hairstreak users add monitor --tags monitoring
    hairstreak users set-tags alice administrator
    hairstreak users set-limit billing max-connections 20";

#[derive(Debug, Subcommand)]
pub enum UsersAction {
    /// List users, as without an action
    List(ListArguments),
    /// Add a user
    Add {
        /// The user.
        name: String,
        /// Tags, separated by commas.
        #[arg(long, value_name = "TAG,...", value_delimiter = ',')]
        tags: Vec<String>,
        #[command(flatten)]
        password: NewPassword,
    },
    /// Delete users, and their permissions
    Delete {
        /// The users.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Give a user these tags instead of those that it has; without any it has none
    SetTags {
        /// The user.
        name: String,
        /// The tags.
        #[arg(value_name = "TAG")]
        tags: Vec<String>,
    },
    /// Give a user another password
    SetPassword {
        /// The user.
        name: String,
        #[command(flatten)]
        password: NewPassword,
    },
    /// Limit how many connections or channels a user may have
    SetLimit {
        /// The user.
        name: String,
        /// The limit: max-connections or max-channels.
        limit: String,
        /// A count, or none for no limit.
        value: LimitValue,
    },
}

/// A new password.
#[derive(Debug, Args)]
pub struct NewPassword {
    /// The new password is the first line of this file.
    #[arg(long, value_name = "FILE")]
    new_password_file: Option<PathBuf>,
    /// No password: the user can only log in by other means, such as a certificate.
    #[arg(long, conflicts_with = "new_password_file")]
    no_password: bool,
}

const COLUMNS: &[Column] =
    &[Column::new("name", "name"), Column::new("tags", "tags"), Column::new("limits", "limits")];

const USERS: Kind = Kind::new(("user", "users"), &["name"], COLUMNS);

pub fn users(command: &UsersArguments) -> Result<(), Failure> {
    match command.action()? {
        None => command.print(None, &USERS),
        Some(UsersAction::List(behind)) => command.print(Some(behind), &USERS),
        Some(UsersAction::Add { name, tags, password }) => add(command, name, tags, password),
        Some(UsersAction::Delete { names }) => command.target.delete_each(names, "deleted", |name| {
            (path(name), format!("user '{name}'"), json!({"user": name}))
        }),
        Some(UsersAction::SetTags { name, tags }) => set_tags(command, name, tags),
        Some(UsersAction::SetPassword { name, password }) => set_password(command, name, password),
        Some(UsersAction::SetLimit { name, limit, value }) => {
            let client = command.target.open()?;
            find(&client, name)?;
            set_limit(&client, command.target.json, ("user", "user-limits", name), limit, *value)
        }
    }
}

fn path(name: &str) -> String {
    format!("users/{}", escape(name))
}

fn find(client: &Client, name: &str) -> Result<Value, Failure> {
    client.get(&path(name)).map_err(|error| error.named(|| format!("user '{name}'")))
}

fn add(command: &UsersArguments, name: &str, tags: &[String], password: &NewPassword) -> Result<(), Failure> {
    let client = command.target.open()?;
    // The API would give the user that exists another password.
    if client.find(&path(name))?.is_some() {
        return Err(Failure::failed(format!("user '{name}' exists; set-password and set-tags change it")));
    }
    let mut user = secret_of(password, name)?;
    user["tags"] = tags.join(",").into();
    client.put(&path(name), &user)?;
    tell(command.target.json, &format!("user '{name}' added"), &json!({"user": name, "tags": tags}))
}

/// The fields of a user that have the new password.
fn secret_of(password: &NewPassword, name: &str) -> Result<Value, Failure> {
    match password.no_password {
        true => Ok(json!({"password_hash": ""})),
        false => Ok(json!({"password": new_secret(password.new_password_file.as_deref(), name)?})),
    }
}

/// The API only changes a user as a whole, so that the hash of the password has to go with it.
fn set_tags(command: &UsersArguments, name: &str, tags: &[String]) -> Result<(), Failure> {
    let client = command.target.open()?;
    let mut user = find(&client, name)?;
    let mut changed = json!({"tags": tags.join(",")});
    for field in ["password_hash", "hashing_algorithm"] {
        changed[field] = user.get_mut(field).map(Value::take).unwrap_or_else(|| "".into());
    }
    client.put(&path(name), &changed)?;
    let shown = if tags.is_empty() { "no tags".to_owned() } else { format!("the tags {}", tags.join(", ")) };
    tell(command.target.json, &format!("user '{name}' has {shown}"), &json!({"user": name, "tags": tags}))
}

fn set_password(command: &UsersArguments, name: &str, password: &NewPassword) -> Result<(), Failure> {
    let client = command.target.open()?;
    let user = find(&client, name)?;
    let mut changed = secret_of(password, name)?;
    changed["tags"] = tags_of(&user).into();
    client.put(&path(name), &changed)?;
    let done = if password.no_password { "no password any more" } else { "a new password" };
    let json = json!({"user": name, "has_password": !password.no_password});
    tell(command.target.json, &format!("user '{name}' has {done}"), &json)
}

/// A user's tags, separated by commas. Before RabbitMQ 3.9 they came so.
fn tags_of(user: &Value) -> String {
    match user.get("tags") {
        Some(Value::Array(tags)) => tags.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        Some(Value::String(tags)) => tags.clone(),
        _ => String::new(),
    }
}
