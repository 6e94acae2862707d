//! `hairstreak exchanges`: exchanges, with the rates of messages through them.

use clap::Args;
use serde_json::Value;

use super::list::{Column, Form, ListCommand, Listing};
use crate::failure::Failure;

/// List exchanges
///
/// `declare exchange` and `delete exchange` create and delete them, as clients of AMQP.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ExchangesArguments {
    #[command(flatten)]
    command: ListCommand,
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
    let ExchangesArguments { command } = arguments;
    command.print(&Listing {
        noun: ("exchange", "exchanges"),
        path: command.vhost.list_path("exchanges"),
        vhost: command.vhost.of_list(),
        is_paged: true,
        is_filtered_there: true,
        names: &["name"],
        amend: if command.is_for_people() { Some(&name_default) } else { None },
        columns: COLUMNS,
        sums: &[],
    })
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
