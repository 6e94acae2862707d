//! `hairstreak policies`: operators' settings for queues and exchanges, by pattern.

use clap::{Args, Subcommand};
use serde_json::json;

use super::list::{Column, ListArguments, Listing, print_list};
use super::setting::{Setting, definition, setting};
use super::target::TargetArguments;
use super::virtual_host::VirtualHostArguments;
use crate::failure::Failure;
use crate::output::tell;

/// List policies; set and clear them
///
/// A policy gives arguments such as max-length or message-ttl to all queues and exchanges whose name its pattern matches,
/// while they are in use. The policy with the highest priority applies, and only that one.
///
/// An operator policy (--operator) applies besides, and has the last word over limits: the smaller one counts.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct PoliciesArguments {
    #[command(subcommand)]
    action: Option<PoliciesAction>,
    #[command(flatten)]
    list: ListArguments,
    /// Operator policies.
    #[arg(long = "operator", global = true)]
    is_operator: bool,
    #[command(flatten)]
    vhost: VirtualHostArguments,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak policies
    hairstreak policies set short '^tmp\\.' max-length=1000 message-ttl=60000 --apply-to queues
    hairstreak policies set failed '^orders' '{\"dead-letter-exchange\": \"failed\"}' --priority 5
    hairstreak policies set bound '.*' max-length-bytes=1000000000 --operator
    hairstreak policies clear short";

#[derive(Debug, Subcommand)]
enum PoliciesAction {
    /// List policies, as without an action
    List(ListArguments),
    /// Set a policy, in the place of the one with that name
    Set {
        /// The policy.
        name: String,
        /// A regular expression for names of queues and exchanges.
        #[arg(value_name = "REGEX")]
        pattern: String,
        /// Settings, such as max-length=1000, or a JSON object.
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = setting)]
        settings: Vec<Setting>,
        /// The one with the highest applies.
        #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
        priority: i32,
        /// all, queues, exchanges, classic_queues, quorum_queues or streams.
        #[arg(long, value_name = "KIND", default_value = "all")]
        apply_to: String,
    },
    /// Remove policies
    Clear {
        /// The policies.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

const COLUMNS: &[Column] = &[
    Column::new("vhost", "vhost"),
    Column::new("name", "name"),
    Column::new("pattern", "pattern"),
    Column::new("apply-to", "apply to"),
    Column::new("priority", "priority"),
    Column::new("definition", "definition"),
];

pub fn policies(arguments: &PoliciesArguments) -> Result<(), Failure> {
    arguments.list.before(arguments.action.is_some())?;
    match &arguments.action {
        None => list(arguments, &arguments.list),
        Some(PoliciesAction::List(behind)) => list(arguments, behind),
        Some(PoliciesAction::Set { name, pattern, settings, priority, apply_to }) => {
            let body = json!({
                "pattern": pattern,
                "definition": definition(settings),
                "priority": priority,
                "apply-to": apply_to,
            });
            set(arguments, name, body)
        }
        Some(PoliciesAction::Clear { names }) => clear(arguments, names),
    }
}

/// A policy's kind, and the API's list of them.
fn kind(arguments: &PoliciesArguments) -> (&'static str, &'static str) {
    if arguments.is_operator { ("operator policy", "operator-policies") } else { ("policy", "policies") }
}

fn list(arguments: &PoliciesArguments, list: &ListArguments) -> Result<(), Failure> {
    let PoliciesArguments { vhost, target, .. } = arguments;
    let (one, path) = kind(arguments);
    let listing = Listing {
        noun: (one, if arguments.is_operator { "operator policies" } else { "policies" }),
        path: vhost.list_path(path),
        vhost: vhost.of_list(),
        is_paged: false,
        is_filtered_there: false,
        names: &["name"],
        columns: COLUMNS,
        sums: &[],
        amend: None,
    };
    print_list(&target.open()?, list, target.json, &listing)
}

fn set(arguments: &PoliciesArguments, name: &str, body: serde_json::Value) -> Result<(), Failure> {
    let (kind, path) = kind(arguments);
    let vhost = arguments.vhost.of_change();
    let done = arguments.target.open()?.put(&arguments.vhost.object_path(path, name), &body);
    done.map_err(|error| error.named(|| format!("virtual host '{vhost}'")))?;
    let text = format!("{kind} '{name}' in virtual host '{vhost}': {}", body["definition"]);
    let mut json = body;
    json["name"] = name.into();
    json["vhost"] = vhost.into();
    tell(arguments.target.json, &text, &json)
}

fn clear(arguments: &PoliciesArguments, names: &[String]) -> Result<(), Failure> {
    let (kind, path) = kind(arguments);
    let vhost = arguments.vhost.of_change();
    let client = arguments.target.open()?;
    for name in names {
        let what = || format!("{kind} '{name}' in virtual host '{vhost}'");
        client.delete(&arguments.vhost.object_path(path, name)).map_err(|error| error.named(what))?;
        let json = json!({"name": name, "vhost": vhost, "change": "cleared"});
        tell(arguments.target.json, &format!("{} cleared", what()), &json)?;
    }
    Ok(())
}
