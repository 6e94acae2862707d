//! `hairstreak definitions`: all that was declared, as one file of JSON.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use hairstreak_amqp::escape;
use hairstreak_node::definitions::JsonText;
use serde_json::{Map, Value, json};

use super::client::HttpError;
use super::target::TargetArguments;
use crate::failure::Failure;
use crate::numbers::grouped;
use crate::output::{print, tell};

/// The largest file that is imported, in bytes.
const DEFINITIONS_SIZE_MAX: u64 = 256 << 20;
/// The kinds of definitions with their names, in the order of the file.
const KINDS: [(&str, &str, &str); 10] = [
    ("users", "user", "users"),
    ("vhosts", "virtual host", "virtual hosts"),
    ("permissions", "permission", "permissions"),
    ("topic_permissions", "topic permission", "topic permissions"),
    ("parameters", "parameter", "parameters"),
    ("global_parameters", "global parameter", "global parameters"),
    ("policies", "policy", "policies"),
    ("queues", "queue", "queues"),
    ("exchanges", "exchange", "exchanges"),
    ("bindings", "binding", "bindings"),
];

/// Export all that was declared to a file, and import it
///
/// The file has users with the hashes of their passwords, virtual hosts, permissions, parameters (limits and operator
/// policies among them), policies, exchanges, bindings, and queues that are not exclusive. It has no messages. RabbitMQ's
/// files and ours are the same.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, arg_required_else_help = true)]
pub struct DefinitionsArguments {
    #[command(subcommand)]
    action: DefinitionsAction,
    /// Only the queues, exchanges, bindings, policies and parameters of this virtual host, without users. [default: all]
    #[arg(long, value_name = "NAME", global = true)]
    vhost: Option<String>,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak definitions export definitions.json
    hairstreak definitions export --vhost shop | jq '.queues[].name'
    hairstreak definitions import definitions.json --url http://admin@new:15672";

#[derive(Debug, Subcommand)]
enum DefinitionsAction {
    /// Write the definitions to a file, which only its owner may read
    Export {
        /// The file; - is standard output.
        #[arg(default_value = "-")]
        file: PathBuf,
    },
    /// Add the definitions of a file. What there is already stays
    Import {
        /// The file; - is standard input.
        file: PathBuf,
    },
}

pub fn definitions(arguments: &DefinitionsArguments) -> Result<(), Failure> {
    match &arguments.action {
        DefinitionsAction::Export { file } => export(arguments, file),
        DefinitionsAction::Import { file } => import(arguments, file),
    }
}

fn path(arguments: &DefinitionsArguments) -> String {
    arguments
        .vhost
        .as_ref()
        .map_or_else(|| "definitions".to_owned(), |vhost| format!("definitions/{}", escape(vhost)))
}

/// Names the virtual host that is missing. RabbitMQ answers 404 or, in some versions, a word.
fn explain(arguments: &DefinitionsArguments, error: HttpError) -> Failure {
    let missing = || format!("virtual host '{}'", arguments.vhost.as_deref().unwrap_or_default());
    match error {
        HttpError::Rejected { reason, .. } if reason == "vhost_not_found" => {
            Failure::failed(format!("there is no {}", missing()))
        }
        error => error.named(missing),
    }
}

fn export(arguments: &DefinitionsArguments, file: &Path) -> Result<(), Failure> {
    let client = arguments.target.open()?;
    let exported = client.get(&path(arguments)).map_err(|error| explain(arguments, error))?;
    let text = format!("{exported:#}\n");
    if file.as_os_str() == "-" {
        return print(&text);
    }
    write(file, &text)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", file.display())))?;
    done(arguments, &exported, "exported")
}

/// Writes a file that appears whole, or not at all.
fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
    name.push(format!(".{}", std::process::id()));
    let unfinished = file.with_file_name(name);
    let mut output = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    let written = output.write_all(text.as_bytes()).and_then(|()| output.sync_all());
    written.and_then(|()| fs::rename(&unfinished, file)).inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

fn import(arguments: &DefinitionsArguments, file: &Path) -> Result<(), Failure> {
    let name = if file.as_os_str() == "-" { "standard input".to_owned() } else { file.display().to_string() };
    let bytes = read(file).map_err(|error| Failure::failed(format!("cannot read {name}: {error}")))?;
    if bytes.len() as u64 > DEFINITIONS_SIZE_MAX {
        return Err(Failure::failed(format!("{name} has more than {DEFINITIONS_SIZE_MAX} bytes")));
    }
    // This is the node's own reader, so a file that the node takes is not refused here.
    let text = JsonText::new(&bytes);
    let imported: Map<String, Value> = serde_json::from_slice(text.bytes()).map_err(|error| {
        Failure::failed(format!("{name} is no JSON object with definitions: {}", text.explain(&error)))
    })?;
    let client = arguments.target.open()?;
    client.post(&path(arguments), bytes).map_err(|error| explain(arguments, error))?;
    done(arguments, &imported.into(), "imported")
}

/// At most one byte more than may be.
fn read(file: &Path) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> =
        if file.as_os_str() == "-" { Box::new(io::stdin().lock()) } else { Box::new(File::open(file)?) };
    let mut bytes = Vec::new();
    source.take(DEFINITIONS_SIZE_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reports the number of definitions of each kind.
fn done(arguments: &DefinitionsArguments, definitions: &Value, change: &str) -> Result<(), Failure> {
    let counts = KINDS.iter().filter_map(|&(key, one, many)| {
        let count = definitions.get(key)?.as_array()?.len() as u64;
        (count > 0).then_some((key, count, if count == 1 { one } else { many }))
    });
    let (texts, json): (Vec<String>, Map<String, Value>) = counts
        .map(|(key, count, noun)| (format!("{} {noun}", grouped(count)), (key.to_owned(), json!(count))))
        .unzip();
    let texts = if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") };
    tell(arguments.target.json, &format!("{texts} {change}"), &json.into())
}
