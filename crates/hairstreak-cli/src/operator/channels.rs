//! `hairstreak channels`: channels of connections.

use clap::Args;

use super::list::{Column, Form, ListCommand, Listing};
use crate::failure::Failure;

/// List channels with what they have not acknowledged or confirmed
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct ChannelsArguments {
    #[command(flatten)]
    command: ListCommand,
}

const EXAMPLES: &str = "\
Examples:
    hairstreak channels --sort messages_unacknowledged --reverse";

const COLUMNS: &[Column] = &[
    Column::new("name", "name"),
    Column::new("vhost", "vhost"),
    Column::new("user", "user"),
    Column::new("state", "state"),
    Column::new("consumer_count", "consumers"),
    Column::new("prefetch_count", "prefetch"),
    Column::new("messages_unacknowledged", "unacked"),
    Column::new("messages_unconfirmed", "unconfirmed"),
    Column::new("messages_uncommitted", "uncommitted"),
    Column::new("message_stats.publish_details.rate", "in/s").of(Form::PerSecond),
    Column::new("message_stats.deliver_get_details.rate", "out/s").of(Form::PerSecond),
];

pub fn channels(arguments: &ChannelsArguments) -> Result<(), Failure> {
    let ChannelsArguments { command } = arguments;
    command.print(&Listing {
        noun: ("channel", "channels"),
        path: command.vhost.list_path_below("channels"),
        vhost: command.vhost.of_list(),
        is_paged: true,
        is_filtered_there: false,
        names: &["name", "user"],
        amend: None,
        columns: COLUMNS,
        sums: &[],
    })
}
