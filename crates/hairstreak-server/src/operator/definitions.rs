//! Definitions of the whole node or of one virtual host: export and import.

use hairstreak_broker::exchange::ExchangeDeclaration;
use hairstreak_broker::policy::Scope;
use hairstreak_broker::queue::QueueDeclaration;
use hairstreak_broker::view::BindingInfo;

use super::bindings::{self, Which};
use super::error::OperatorError;
use super::{exchanges, parameters, policies, queues, users, virtual_hosts};
use crate::definitions::{
    Arguments, BindingDefinition, DestinationType, Document, ExchangeDefinition, Name, QueueDefinition,
    UserItem,
};
use crate::node::{Commit, Node};

/// Exchanges that each virtual host has.
const RESERVED_PREFIX: &[u8] = b"amq.";
/// Parameters that are of one cluster only.
const INTERNAL_PREFIX: &str = "internal_";

/// The definitions of the node, or those of one virtual host, sorted.
///
/// # Errors
///
/// There is no such host.
pub(crate) fn export(node: &Node, virtual_host: Option<&str>) -> Result<Document, OperatorError> {
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
            name: Name(queue.name),
            vhost: name.into(),
            kind: Some(queue.kind.name().into()),
            durable: queue.is_durable,
            auto_delete: queue.is_auto_delete,
            arguments: Arguments(queue.arguments),
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
            arguments: Arguments(exchange.arguments),
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
            arguments: Arguments(binding.arguments),
        });
    }
    Ok(())
}

/// Imports definitions. Nothing is deleted, and an exchange or a queue that is there stays as it is. Returns the commits to wait for.
///
/// # Errors
///
/// The first item that is refused, by its name. The items before it are imported.
pub(crate) fn import(node: &Node, document: Document) -> Result<Vec<Commit>, OperatorError> {
    let mut commits = Vec::new();
    let mut keep = |what: &str, name: &str, result: Result<Commit, OperatorError>| match result {
        Ok(commit) => {
            commits.push(commit);
            Ok(())
        }
        Err(error) => Err(OperatorError::Bad(format!("{what} '{name}': {error}"))),
    };
    for UserItem { definition, password } in document.users {
        let name = definition.name.clone();
        keep("user", &name, users::import(node, definition, password.as_deref()))?;
    }
    for host in document.virtual_hosts {
        let name = host.name.clone();
        keep("vhost", &name, virtual_hosts::put(node, host, None).map(|done| done.commit))?;
    }
    for row in document.permissions {
        let name = format!("{} in {}", row.user, row.vhost);
        keep("permission of", &name, users::set_permission(node, row).map(|done| done.commit))?;
    }
    for exchange in document.exchanges {
        let name = exchange.name.text().into_owned();
        keep("exchange", &name, import_exchange(node, exchange))?;
    }
    for row in document.topic_permissions {
        let name = format!("{} in {}", row.user, row.vhost);
        keep("topic permission of", &name, users::set_topic_permission(node, row).map(|done| done.commit))?;
    }
    for parameter in document.global_parameters {
        let name = parameter.name.clone();
        keep("global parameter", &name, parameters::put_global(node, parameter).map(|done| done.commit))?;
    }
    for (scope, list) in [(Scope::User, document.policies), (Scope::Operator, document.operator_policies)] {
        for policy in list {
            let name = policy.name.clone();
            keep("policy", &name, policies::put(node, scope, policy).map(|done| done.commit))?;
        }
    }
    for parameter in document.parameters {
        let name = parameter.name.clone();
        keep("parameter", &name, parameters::put(node, parameter).map(|done| done.commit))?;
    }
    for queue in document.queues {
        let name = queue.name.text().into_owned();
        keep("queue", &name, import_queue(node, queue))?;
    }
    for binding in document.bindings {
        let name = format!("{} -> {}", binding.source.text(), binding.destination.text());
        keep("binding", &name, import_binding(node, binding))?;
    }
    Ok(commits)
}

fn import_exchange(node: &Node, exchange: ExchangeDefinition) -> Result<Commit, OperatorError> {
    let vhost = exchange.vhost;
    if exchanges::find(node, &vhost, &exchange.name.0).is_ok() {
        return Ok(Commit::done());
    }
    let declaration = ExchangeDeclaration {
        name: exchange.name.0,
        kind: exchange.kind.0,
        is_durable: exchange.durable,
        is_auto_delete: exchange.auto_delete,
        is_internal: exchange.internal,
        arguments: exchange.arguments.0,
    };
    exchanges::declare(node, &vhost, &declaration).map(|done| done.commit)
}

fn import_queue(node: &Node, queue: QueueDefinition) -> Result<Commit, OperatorError> {
    let vhost = queue.vhost;
    if queues::find(node, &vhost, &queue.name.0).is_ok() {
        return Ok(Commit::done());
    }
    let mut arguments = queue.arguments.0;
    let default = virtual_hosts::find(node, &vhost)?.default_queue_type;
    if let Some(kind) = queue.kind.filter(|kind| kind != default.as_deref().unwrap_or("classic"))
        && arguments.get("x-queue-type").is_none()
    {
        arguments.insert("x-queue-type", kind.as_str());
    }
    let declaration = QueueDeclaration {
        name: queue.name.0,
        is_durable: queue.durable,
        is_exclusive: false,
        is_auto_delete: queue.auto_delete,
        arguments,
    };
    queues::declare(node, &vhost, &declaration).map(|done| done.commit)
}

fn import_binding(node: &Node, binding: BindingDefinition) -> Result<Commit, OperatorError> {
    let info = BindingInfo {
        source: binding.source.0,
        destination: binding.destination.0,
        is_to_exchange: binding.destination_type == DestinationType::Exchange,
        routing_key: binding.routing_key.0,
        arguments: binding.arguments.0,
    };
    bindings::bind(node, &binding.vhost, &info)
}
