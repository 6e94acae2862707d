//! `hairstreak consumers`: the consumers of the queues.

use clap::Args;

use super::list::{Column, ListCommand, Listing};
use crate::failure::Failure;

/// List consumers: of which queue, on which channel
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ConsumersArguments {
    #[command(flatten)]
    command: ListCommand,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak consumers --vhost shop --filter '^orders$'";

const COLUMNS: &[Column] = &[
    Column::new("queue.vhost", "vhost"),
    Column::new("queue.name", "queue"),
    Column::new("consumer_tag", "consumer tag"),
    Column::new("channel_details.name", "channel"),
    Column::new("channel_details.user", "user"),
    Column::new("ack_required", "ack"),
    Column::new("exclusive", "exclusive"),
    Column::new("prefetch_count", "prefetch"),
    Column::new("active", "active"),
    Column::new("arguments", "arguments"),
];

pub fn consumers(arguments: &ConsumersArguments) -> Result<(), Failure> {
    let ConsumersArguments { command } = arguments;
    command.print(&Listing {
        noun: ("consumer", "consumers"),
        path: command.vhost.list_path("consumers"),
        vhost: command.vhost.of_list(),
        is_paged: false,
        is_filtered_there: false,
        names: &["queue.name", "consumer_tag", "channel_details.user"],
        amend: None,
        columns: COLUMNS,
        sums: &[],
    })
}
