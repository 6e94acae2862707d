//! Commands that list objects of virtual hosts and do nothing else: `exchanges`, `bindings`, `channels` and `consumers`.

use clap::Subcommand;

use super::list::{Column, Form, Kind, ListArguments, ListCommand, VirtualHostArguments};
use crate::failure::Failure;

/// The arguments of such a command.
pub type OnlyListArguments = ListCommand<VirtualHostArguments, OnlyList>;

#[derive(Debug, Subcommand)]
pub enum OnlyList {
    /// List them, as without an action
    List(ListArguments),
}

/// Prints the list of a kind of objects.
pub fn list(command: &OnlyListArguments, kind: &'static Kind) -> Result<(), Failure> {
    let behind = command.action()?.map(|OnlyList::List(behind)| behind);
    command.print(behind, kind)
}

pub const EXCHANGES_EXAMPLES: &str = "\
Examples:
    hairstreak exchanges --vhost shop
    hairstreak exchanges --filter '^(?!amq\\.)' --columns name,type,policy";
pub const EXCHANGES: Kind = Kind {
    is_paged: true,
    is_filtered_there: true,
    default_exchange: Some("name"),
    ..Kind::new(("exchange", "exchanges"), &["name"], EXCHANGES_COLUMNS)
};
const EXCHANGES_COLUMNS: &[Column] = &[
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

pub const BINDINGS_EXAMPLES: &str = "\
Examples:
    hairstreak bindings --vhost shop --filter '^events$'
    hairstreak bindings --sort destination";
pub const BINDINGS: Kind = Kind {
    default_exchange: Some("source"),
    ..Kind::new(("binding", "bindings"), &["source", "destination", "routing_key"], BINDINGS_COLUMNS)
};
const BINDINGS_COLUMNS: &[Column] = &[
    Column::new("vhost", "vhost"),
    Column::new("source", "source"),
    Column::new("destination_type", "to"),
    Column::new("destination", "destination"),
    Column::new("routing_key", "key"),
    Column::new("arguments", "arguments"),
];

pub const CHANNELS_EXAMPLES: &str = "\
Examples:
    hairstreak channels --sort messages_unacknowledged --reverse";
pub const CHANNELS: Kind = Kind {
    is_below_vhost: true,
    is_paged: true,
    ..Kind::new(("channel", "channels"), &["name", "user"], CHANNELS_COLUMNS)
};
const CHANNELS_COLUMNS: &[Column] = &[
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

pub const CONSUMERS_EXAMPLES: &str = "\
Examples:
    hairstreak consumers --vhost shop --filter '^orders$'";
pub const CONSUMERS: Kind = Kind::new(
    ("consumer", "consumers"),
    &["queue.name", "consumer_tag", "channel_details.user"],
    CONSUMERS_COLUMNS,
);
const CONSUMERS_COLUMNS: &[Column] = &[
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
