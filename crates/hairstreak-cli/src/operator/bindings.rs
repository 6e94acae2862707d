//! `hairstreak bindings`: the bindings of exchanges to queues and exchanges.

use clap::Args;
use serde_json::Value;

use super::exchanges::name_default_exchange;
use super::list::{Column, ListCommand, Listing};
use crate::failure::Failure;

/// List bindings: from which exchange, to which queue or exchange, with which key
///
/// Each queue is bound to the default exchange by its name. `bind` and `unbind` make and remove others, as clients of AMQP.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct BindingsArguments {
    #[command(flatten)]
    command: ListCommand,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak bindings --vhost shop --filter '^events$'
    hairstreak bindings --sort destination";

const COLUMNS: &[Column] = &[
    Column::new("vhost", "vhost"),
    Column::new("source", "source"),
    Column::new("destination_type", "to"),
    Column::new("destination", "destination"),
    Column::new("routing_key", "key"),
    Column::new("arguments", "arguments"),
];

pub fn bindings(arguments: &BindingsArguments) -> Result<(), Failure> {
    let BindingsArguments { command } = arguments;
    command.print(&Listing {
        noun: ("binding", "bindings"),
        path: command.vhost.list_path("bindings"),
        vhost: command.vhost.of_list(),
        is_paged: false,
        is_filtered_there: false,
        names: &["source", "destination", "routing_key"],
        amend: if command.is_for_people() { Some(&name_default) } else { None },
        columns: COLUMNS,
        sums: &[],
    })
}

fn name_default(binding: &mut Value) {
    name_default_exchange(binding, "source");
}
