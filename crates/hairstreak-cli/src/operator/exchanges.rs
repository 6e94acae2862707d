//! `hairstreak exchanges`: exchanges, with the rates of messages through them.

use clap::Args;

use serde_json::Value;

use super::list::{Column, Form, ListAction, ListArguments, Listing, print_list};
use super::target::TargetArguments;
use super::virtual_host::VirtualHostArguments;
use crate::failure::Failure;

/// List exchanges
///
/// `declare exchange` and `delete exchange` create and delete them, as clients of AMQP.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ExchangesArguments {
    #[command(subcommand)]
    action: Option<ListAction>,
    #[command(flatten)]
    list: ListArguments,
    #[command(flatten)]
    vhost: VirtualHostArguments,
    #[command(flatten)]
    target: TargetArguments,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak exchanges --vhost shop
    hairstreak exchanges --filter '^(?!amq\\.)' --columns name,type,policy";

const COLUMNS: &[Column] = &[
    Column::new("vhost", "vhost"),
    Column::new("name", "name"),
    Column::new("type", "type"),
    Column::new("durable", "durable"),
    Column::new("auto_delete", "auto-delete"),
    Column::new("internal", "internal"),
    Column::new("policy", "policy"),
    Column::new("message_stats.publish_in_details.rate", "in/s").of(Form::PerSecond),
    Column::new("message_stats.publish_out_details.rate", "out/s").of(Form::PerSecond),
    Column::new("arguments", "arguments"),
];

pub fn exchanges(arguments: &ExchangesArguments) -> Result<(), Failure> {
    let ExchangesArguments { action, list, vhost, target } = arguments;
    list.before(action.is_some())?;
    let list = action.as_ref().map_or(list, |ListAction::List(behind)| behind);
    let listing = Listing {
        noun: ("exchange", "exchanges"),
        path: vhost.list_path("exchanges"),
        vhost: vhost.of_list(),
        is_paged: true,
        is_filtered_there: true,
        names: &["name"],
        amend: if target.json { None } else { Some(&name_default) },
        columns: COLUMNS,
        sums: &[],
    };
    print_list(&target.open()?, list, target.json, &listing)
}

fn name_default(exchange: &mut Value) {
    name_default_exchange(exchange, "name");
}

/// Gives the default exchange a name for people, in this field. Its own is empty.
pub fn name_default_exchange(object: &mut Value, field: &str) {
    if let Some(name) = object.get_mut(field).filter(|name| name.as_str() == Some("")) {
        *name = "(default)".into();
    }
}
