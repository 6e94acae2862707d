//! The export of the definitions of the whole node or of one virtual host.

use hairstreak_broker::policy::Scope;

use super::bindings::{self, Which};
use super::error::OperatorError;
use super::{exchanges, parameters, policies, queues, users, virtual_hosts};
use crate::definitions::{
    Arguments, BindingDefinition, DestinationType, Document, ExchangeDefinition, Name, QueueDefinition,
    UserItem,
};
use crate::node::Node;

/// Exchanges that each virtual host has.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// Parameters that are of one cluster only.
const INTERNAL_PREFIX: &str = "internal_";

/// Returns the definitions of the node or of one virtual host, sorted.
///
/// # Errors
///
/// There is no such host.
pub fn export(node: &Node, virtual_host: Option<&str>) -> Result<Document, OperatorError> {
    let mut document = Document::default();
    let hosts = match virtual_host {
        Some(name) => vec![virtual_hosts::find(node, name)?],
        None => virtual_hosts::all(node),
    };
    for host in &hosts {
        export_host(node, &host.name, &mut document)?;
    }
    let is_meant = |name: &str| virtual_host.is_none_or(|host| host == name);
    document.parameters = parameters::all(node).into_iter().filter(|item| is_meant(&item.vhost)).collect();
    document.policies = policies::all(node, Scope::User);
    document.policies.retain(|item| is_meant(&item.vhost));
    document.operator_policies = policies::all(node, Scope::Operator);
    document.operator_policies.retain(|item| is_meant(&item.vhost));
    if virtual_host.is_none() {
        let user = |definition| UserItem { definition, password: None };
        document.users = users::all(node).into_iter().map(user).collect();
        document.permissions = users::permissions(node);
        document.topic_permissions = users::topic_permissions(node);
        document.global_parameters = parameters::all_global(node);
        document.global_parameters.retain(|parameter| !parameter.name.starts_with(INTERNAL_PREFIX));
        document.virtual_hosts = hosts;
    }
    document.sort();
    Ok(document)
}

fn export_host(node: &Node, name: &str, document: &mut Document) -> Result<(), OperatorError> {
    let mut exclusive = Vec::new();
    for queue in queues::all(node, name)? {
        if queue.is_exclusive {
            exclusive.push(queue.name);
            continue;
        }
        document.queues.push(QueueDefinition {
            log_id: 0,
            name: Name(queue.name),
            vhost: name.into(),
            kind: Some(queue.kind.name().into()),
            durable: queue.is_durable,
            auto_delete: queue.is_auto_delete,
            arguments: Arguments(queue.arguments.decode()),
        });
    }
    exclusive.sort();
    for exchange in exchanges::all(node, name)? {
        if exchange.name.is_empty() || exchange.name.starts_with(RESERVED_PREFIX) {
            continue;
        }
        document.exchanges.push(ExchangeDefinition {
            name: Name(exchange.name),
            vhost: name.into(),
            kind: Name(exchange.kind),
            durable: exchange.is_durable,
            auto_delete: exchange.is_auto_delete,
            internal: exchange.is_internal,
            arguments: Arguments(exchange.arguments.decode()),
        });
    }
    for binding in bindings::list(node, name, Which::All)? {
        if !binding.is_to_exchange && exclusive.binary_search(&binding.destination).is_ok() {
            continue;
        }
        let kind = if binding.is_to_exchange { DestinationType::Exchange } else { DestinationType::Queue };
        document.bindings.push(BindingDefinition {
            source: Name(binding.source),
            vhost: name.into(),
            destination: Name(binding.destination),
            destination_type: kind,
            routing_key: Name(binding.routing_key),
            arguments: Arguments(binding.arguments.decode()),
        });
    }
    Ok(())
}
