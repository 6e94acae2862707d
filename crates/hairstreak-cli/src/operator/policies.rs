//! `hairstreak policies`: operators' settings for queues and exchanges, by pattern.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::list::{Column, Kind, ListArguments, ListCommand, Scope, VirtualHostArguments};
use super::setting::{Setting, definition, setting};
use crate::failure::Failure;
use crate::output::tell;

pub type PoliciesArguments = ListCommand<PoliciesScope, PoliciesAction>;

#[derive(Debug, Args)]
pub struct PoliciesScope {
    /// Operator policies.
    #[arg(long = "operator", global = true)]
    is_operator: bool,
    #[command(flatten)]
    vhost: VirtualHostArguments,
}

impl Scope for PoliciesScope {
    fn of_list(&self) -> Option<&str> {
        self.vhost.of_list()
    }
}

pub const EXAMPLES: &str = "\
Examples:
    hairstreak policies
    hairstreak policies set short '^tmp\\.' max-length=1000 message-ttl=60000 --apply-to queues
    hairstreak policies set failed '^orders' '{\"dead-letter-exchange\": \"failed\"}' --priority 5
    hairstreak policies set bound '.*' max-length-bytes=1000000000 --operator
    hairstreak policies clear short";

#[derive(Debug, Subcommand)]
pub enum PoliciesAction {
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

const POLICIES: Kind = Kind::new(("policy", "policies"), &["name"], COLUMNS);
const OPERATOR_POLICIES: Kind =
    Kind { noun: ("operator policy", "operator policies"), list: "operator-policies", ..POLICIES };

pub fn policies(command: &PoliciesArguments) -> Result<(), Failure> {
    let kind = if command.scope.is_operator { &OPERATOR_POLICIES } else { &POLICIES };
    match command.action()? {
        None => command.print(None, kind),
        Some(PoliciesAction::List(behind)) => command.print(Some(behind), kind),
        Some(PoliciesAction::Set { name, pattern, settings, priority, apply_to }) => {
            let body = json!({
                "pattern": pattern,
                "definition": definition(settings),
                "priority": priority,
                "apply-to": apply_to,
            });
            set(command, kind, name, body)
        }
        Some(PoliciesAction::Clear { names }) => clear(command, kind, names),
    }
}

fn set(command: &PoliciesArguments, kind: &Kind, name: &str, body: Value) -> Result<(), Failure> {
    let vhost = &command.scope.vhost;
    let done = command.target.open()?.put(&vhost.object_path(kind.list, name), &body);
    let vhost = vhost.of_change();
    done.map_err(|error| error.named(|| format!("virtual host '{vhost}'")))?;
    let text = format!("{} '{name}' in virtual host '{vhost}': {}", kind.noun.0, body["definition"]);
    let mut json = body;
    json["name"] = name.into();
    json["vhost"] = vhost.into();
    tell(command.target.json, &text, &json)
}

fn clear(command: &PoliciesArguments, kind: &Kind, names: &[String]) -> Result<(), Failure> {
    let vhost = command.scope.vhost.of_change();
    command.target.delete_each(names, "cleared", |name| {
        let path = command.scope.vhost.object_path(kind.list, name);
        let what = format!("{} '{name}' in virtual host '{vhost}'", kind.noun.0);
        (path, what, json!({"name": name, "vhost": vhost}))
    })
}
