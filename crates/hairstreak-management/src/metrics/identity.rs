//! `rabbitmq_identity_info` and `rabbitmq_build_info`, which the boards of RabbitMQ's makers multiply all other metrics with.

use hairstreak_node::operator::parameters::{self, CLUSTER_ID, CLUSTER_NAME};

use super::exposition::labels;
use super::family::{Group, untyped};
use super::selection::Registry;
use super::state::State;
use super::table::{Block, Table};
use crate::http::about::{ERLANG_VERSION, PRODUCT_NAME, PRODUCT_VERSION, RABBITMQ_VERSION};

/// These names have no other prefix on any page.
const PREFIX: &str = "rabbitmq_";

static IDENTITY: Group<()> =
    Group { name: "", columns: &[untyped("identity_info", "The node and its cluster", |()| 1.0)] };

static BUILD: Group<()> = Group { name: "", columns: &[untyped("build_info", "The versions", |()| 1.0)] };

/// The names of the node and its cluster, and the versions.
pub(super) fn blocks(state: &State, registry: Registry) -> [Box<dyn Block>; 2] {
    let node_name = state.about.node_name.as_bytes();
    let parameters = parameters::all_global(&state.node);
    let parameter = |name: &str| parameters::text(&parameters, name).map(str::as_bytes);
    let own = labels(&[
        ("rabbitmq_node", node_name),
        ("rabbitmq_cluster", parameter(CLUSTER_NAME).unwrap_or(node_name)),
        ("rabbitmq_cluster_permanent_id", parameter(CLUSTER_ID).unwrap_or_default()),
        ("rabbitmq_endpoint", registry.endpoint().as_bytes()),
    ]);
    let mut identity = Table::new(PREFIX, [&IDENTITY]);
    identity.push(&own, &());
    let own = labels(&[
        ("rabbitmq_version", RABBITMQ_VERSION.as_bytes()),
        ("prometheus_plugin_version", RABBITMQ_VERSION.as_bytes()),
        ("prometheus_client_version", PRODUCT_VERSION.as_bytes()),
        ("erlang_version", ERLANG_VERSION.as_bytes()),
        ("product_name", PRODUCT_NAME.as_bytes()),
        ("product_version", PRODUCT_VERSION.as_bytes()),
    ]);
    let mut build = Table::new(PREFIX, [&BUILD]);
    build.push(&own, &());
    [Box::new(build), Box::new(identity)]
}
