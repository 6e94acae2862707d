//! `hairstreak store`, and `hairstreak store salvage`: the live and sound messages of a data directory, in a new one.

use clap::{Args, Subcommand};
use hairstreak_store::log::{self, Salvaged};
use serde_json::json;

use super::arguments::{CheckArguments, DumpArguments, SalvageArguments};
use super::queue_names::{QueueNames, open};
use super::{check, dump};
use crate::failure::Failure;
use crate::numbers::{grouped, messages};
use crate::output::tell;

/// Check, show and salvage the messages of a data directory
///
/// A node keeps persistent messages in the folder `messages` of its data directory. These commands read the
/// directory while no node uses it, and change nothing in it. docs/format.md describes the files.
///
/// Exit status 0: done; 1: the directory is damaged; 2: wrong arguments, or the directory cannot be read. The reason is one line on standard
/// error.
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
Examples:
    hairstreak store check /var/lib/hairstreak
    hairstreak store dump /var/lib/hairstreak --queue orders --bodies
    hairstreak store salvage /var/lib/hairstreak /var/lib/hairstreak-new"
)]
pub struct StoreArguments {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Subcommand)]
enum StoreCommand {
    Check(CheckArguments),
    Dump(DumpArguments),
    Salvage(SalvageArguments),
}

pub fn store(arguments: &StoreArguments) -> Result<(), Failure> {
    match &arguments.command {
        StoreCommand::Check(arguments) => check::check(arguments),
        StoreCommand::Dump(arguments) => dump::dump(arguments),
        StoreCommand::Salvage(arguments) => salvage(arguments),
    }
}

/// Copies the live and sound messages of a data directory to a new one.
fn salvage(arguments: &SalvageArguments) -> Result<(), Failure> {
    let (directory, log) = open(&arguments.directory)?;
    // Messages have no queues without definitions.
    let names = QueueNames::read(&directory).map_err(Failure::failed)?;
    let Salvaged { copied_count, damaged_count, missing_count, unknown_count } =
        log::salvage(&log, &directory, &arguments.new, |queue| names.is_known(queue))
            .map_err(Failure::usage)?;
    let mut text = format!(
        "{} copied, {} damaged, {} missing",
        messages(copied_count),
        grouped(damaged_count),
        grouped(missing_count)
    );
    if unknown_count > 0 {
        text.push_str(&format!(", {} of queues without a definition left out", grouped(unknown_count)));
    }
    let json = json!({
        "copied": copied_count, "damaged": damaged_count, "missing": missing_count,
        "without_queue": unknown_count,
    });
    tell(arguments.json, &text, &json)
}
