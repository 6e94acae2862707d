//! The arguments of `check`, `dump` and `salvage`.

use std::path::PathBuf;

use clap::Args;

/// Verify all bytes of the message log, and tell the cost of each damaged place
///
/// Reads all checkpoints, segments, groups, records and footers. Prints a summary, then a line for each damaged place: the file, the offset,
/// the size, and what is lost. A line `note` is no damage: a node that dies leaves groups that it did not sync.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
    hairstreak store check /var/lib/hairstreak && echo sound
    hairstreak store check /var/lib/hairstreak --json | jq '.findings[] | select(.damage)'")]
pub struct CheckArguments {
    /// The data directory.
    pub directory: PathBuf,
    /// Print a line for each queue, too.
    #[arg(short, long)]
    pub verbose: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}

/// Print the records of the message log, in their order
///
/// Each record is a line: its segment, offset and group, its kind and size, the queues with their sequences. Damaged records are left out:
/// `check` has them. Records stay in the log after their messages are settled, until their segment is free.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
    hairstreak store dump /var/lib/hairstreak | less
    hairstreak store dump /var/lib/hairstreak --queue orders --vhost shop
    hairstreak store dump /var/lib/hairstreak --json --bodies | jq -r 'select(.kind == \"message\") | .body'")]
pub struct DumpArguments {
    /// The data directory.
    pub directory: PathBuf,
    /// Only records of this queue.
    #[arg(long, value_name = "NAME")]
    pub queue: Option<String>,
    /// The virtual host of the queue.
    #[arg(long, value_name = "NAME", default_value = "/", requires = "queue")]
    pub vhost: String,
    /// Print the bodies of messages, too, with escapes.
    #[arg(long)]
    pub bodies: bool,
    /// Print one JSON object for each record.
    #[arg(long)]
    pub json: bool,
}

/// Copy all messages that are live and sound to a new data directory
///
/// The new directory has the definitions and the CURVE key of the old one, and the name of its node. A node begins with the directory:
/// `hairstreak serve --data-dir NEW`. Messages that were acknowledged stay away, and redelivered messages stay marked. The directory has an
/// id of its own. Until it is complete, a node refuses it.
///
/// Prints the numbers of copied, damaged and missing messages. A message in several queues counts for each of them. Exit status 0: the new
/// directory is complete, also if messages are damaged or missing.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
    hairstreak store salvage /var/lib/hairstreak /mnt/new/hairstreak
    hairstreak serve --data-dir /mnt/new/hairstreak")]
pub struct SalvageArguments {
    /// The data directory. It stays as it is.
    pub directory: PathBuf,
    /// The new data directory: a directory that is missing or empty.
    pub new: PathBuf,
    /// Print one JSON object.
    #[arg(long)]
    pub json: bool,
}
