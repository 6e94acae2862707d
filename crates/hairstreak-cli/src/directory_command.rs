//! `hairstreak directory`: the names in a directory, with their endpoints.

use std::time::Duration;

use clap::Args;
use hairstreak::{BuildError, Component};
use serde_json::json;

use crate::credentials::CredentialArguments;
use crate::failure::Failure;
use crate::numbers::bounded;
use crate::output::print;
use crate::output::table;

/// The longest timeout of a directory.
const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// List the names in a directory: exchanges and queues that components of other programs can bind to
///
/// A user sees the names for which it has any permission.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:

    hairstreak directory
    hairstreak directory --at gate.example --user ann ORDERS_")]
pub struct DirectoryArguments {
    /// Only names with this prefix.
    #[arg(default_value = "")]
    prefix: String,
    /// The directory.
    #[arg(long = "at", value_name = "HOST[:PORT]|ENDPOINT", default_value = "127.0.0.1")]
    place: String,
    #[command(flatten)]
    credentials: CredentialArguments,
    /// The time to wait for the directory.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = timeout)]
    timeout: Duration,
    /// Print one JSON object for each name.
    #[arg(long)]
    json: bool,
}

pub fn directory(arguments: &DirectoryArguments) -> Result<(), Failure> {
    let component = Component::builder()
        .directory(&arguments.place)
        .credentials(arguments.credentials.credentials()?)
        .patience(arguments.timeout)
        .build()
        .map_err(|error| match error {
            BuildError::Directory(_) => Failure::usage(error),
            _ => Failure::failed(error),
        })?;
    let names = component.list(&arguments.prefix).map_err(Failure::failed)?;
    let text: String = match arguments.json {
        true => names
            .iter()
            .map(|entry| format!("{}\n", json!({"name": entry.name, "endpoint": entry.endpoint})))
            .collect(),
        false => {
            let rows = names.iter().map(|entry| vec![entry.name.clone(), entry.endpoint.clone()]);
            table(&[vec!["name".into(), "endpoint".into()]].into_iter().chain(rows).collect::<Vec<_>>())
        }
    };
    print(&text)
}

fn timeout(text: &str) -> Result<Duration, String> {
    bounded(text, "a time", TIMEOUT_MAX)
}
