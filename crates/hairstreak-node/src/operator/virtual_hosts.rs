//! Virtual hosts: they are created, changed and deleted while the node runs.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::error::{Done, OperatorError, erlang};
use super::taking_effect::apply_definition;
use super::users;
use crate::definitions::{
    Change, Definition, Kind, Limits, PermissionDefinition, Place, VirtualHostDefinition,
};
use crate::node::{Commit, Node, SharedHost};

/// The types that queues of a virtual host may have by default.
const QUEUE_TYPES: [&str; 3] = ["classic", "quorum", "stream"];
/// The limits of virtual hosts.
const LIMITS: [&str; 2] = ["max-connections", "max-queues"];

/// All virtual hosts by name.
pub fn all(node: &Node) -> Vec<VirtualHostDefinition> {
    let definitions = node.catalog.all(Kind::VirtualHost).into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::VirtualHost(host) => Some(host),
            _ => None,
        })
        .collect()
}

/// The definition of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn find(node: &Node, name: &str) -> Result<VirtualHostDefinition, OperatorError> {
    match node.catalog.find(&place(name)) {
        Some(Definition::VirtualHost(host)) => Ok(host),
        _ => Err(OperatorError::NotFound),
    }
}

/// A virtual host itself.
///
/// # Errors
///
/// There is no such host.
pub fn live(node: &Node, name: &str) -> Result<Arc<SharedHost>, OperatorError> {
    node.hosts.find(name).ok_or(OperatorError::NotFound)
}

/// Creates or changes a virtual host. Limits stay as they are if the definition has none. As in RabbitMQ a user that creates a
/// host gets all rights there.
///
/// # Errors
///
/// The name has no byte, or more than 255, or the default type of queues is unknown.
pub fn put(
    node: &Node,
    mut definition: VirtualHostDefinition,
    creator: Option<&str>,
) -> Result<Done, OperatorError> {
    if !(1..=255).contains(&definition.name.len()) {
        return Err(OperatorError::Bad("the name of a virtual host has 1 to 255 bytes".into()));
    }
    if let Some(kind) = definition.default_queue_type.as_deref()
        && !QUEUE_TYPES.contains(&kind)
    {
        return Err(OperatorError::Bad(format!("unknown default_queue_type '{kind}'")));
    }
    let name = definition.name.clone();
    let changing = node.changing.lock();
    let before = find(node, &definition.name).ok();
    if let Some(before) = &before
        && definition.limits.is_empty()
    {
        definition.limits.clone_from(&before.limits);
    }
    node.journal.check()?;
    let is_new = node.hosts.find(&name).is_none();
    // One batch: a host that is restored after a crash has its permission. The batch comes before all declarations in the host.
    let put = Change::put(before.map(Definition::VirtualHost), Definition::VirtualHost(definition.clone()));
    let mut changes = vec![put];
    let row = creator.filter(|_| is_new).map(|user| PermissionDefinition::everything(user, &name));
    changes.extend(row.clone().map(|row| Change::Put(Definition::Permission(row))));
    if is_new {
        // Permissions of an unknown host are refused.
        node.access.add_virtual_host(&name);
        row.map_or(Ok(()), |row| users::restore_permission(node, row))
            .inspect_err(|_| drop(node.access.remove_virtual_host(&name)))?;
    }
    let commit = node.journal.commit(&changes);
    node.add_host(&name);
    apply_definition(node, &definition);
    node.catalog.put(Definition::VirtualHost(definition));
    drop(changing);
    Ok(Done { is_new, commit })
}

/// Creates or changes a virtual host as a file says. As in RabbitMQ a file takes no protection from deletion away.
///
/// # Errors
///
/// As [`put`].
pub fn import(node: &Node, mut definition: VirtualHostDefinition) -> Result<Commit, OperatorError> {
    let is_protected = find(node, &definition.name).is_ok_and(|before| before.protected_from_deletion);
    definition.protected_from_deletion |= is_protected;
    Ok(put(node, definition, None)?.commit)
}

/// Sets or clears a limit of a virtual host.
///
/// # Errors
///
/// There is no such host.
pub fn set_limit(node: &Node, name: &str, limit: &str, value: Option<i64>) -> Result<Commit, OperatorError> {
    let change = |limits: &mut Limits| match value {
        Some(value) => drop(limits.insert(limit.into(), value)),
        None => drop(limits.remove(limit)),
    };
    Ok(change_limits(node, name, change)?.commit)
}

/// The limits that the fields of a request are.
///
/// # Errors
///
/// RabbitMQ's words for limits that are none, and for values that are no integers.
pub fn read_limits(fields: &Map<String, Value>) -> Result<Limits, OperatorError> {
    let mut limits = Limits::new();
    let (mut unknown, mut wrong) = (Vec::new(), Vec::new());
    for (name, value) in fields {
        match value.as_i64() {
            _ if !LIMITS.contains(&name.as_str()) => {
                unknown.push(format!("{{<<\"{name}\">>,{}}}", erlang(value)));
            }
            Some(limit) => drop(limits.insert(name.clone(), limit)),
            None => wrong.push(format!("{name} should be a number, actually was {}\n", erlang(value))),
        }
    }
    if !unknown.is_empty() {
        wrong.insert(0, format!("Unrecognised terms [{}] in limits\n", unknown.join(",")));
    }
    if wrong.is_empty() {
        return Ok(limits);
    }
    Err(OperatorError::Bad(format!("Validation failed\n\n{}", wrong.concat())))
}

/// Replaces all limits of a virtual host. Limits are new where there were none.
///
/// # Errors
///
/// There is no such host.
pub fn set_limits(node: &Node, name: &str, limits: Limits) -> Result<Done, OperatorError> {
    change_limits(node, name, |before| *before = limits)
}

fn change_limits(node: &Node, name: &str, change: impl FnOnce(&mut Limits)) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    let mut definition = find(node, name)?;
    node.journal.check()?;
    let is_new = definition.limits.is_empty();
    change(&mut definition.limits);
    apply_definition(node, &definition);
    let (_, commit) = node.put(Definition::VirtualHost(definition));
    Ok(Done { is_new, commit })
}

/// Deletes a virtual host with everything in it. Its connections are closed.
///
/// # Errors
///
/// There is no such host, or the host is protected from deletion.
pub fn delete(node: &Node, name: &str) -> Result<Commit, OperatorError> {
    let _changing = node.changing.lock();
    let definition = find(node, name)?;
    if definition.protected_from_deletion {
        let text = format!("Cannot delete virtual host '{name}' because it is protected from deletion");
        return Err(OperatorError::Protected(text));
    }
    remove(node, name)
}

/// Deletes a virtual host with everything in it, in one batch. The caller holds `changing`.
///
/// # Errors
///
/// There is no such host.
pub(super) fn remove(node: &Node, name: &str) -> Result<Commit, OperatorError> {
    let Some(host) = node.hosts.remove(name) else { return Err(OperatorError::NotFound) };
    // From here on nothing of the host is recorded, so that nothing of it comes back after the deletion.
    let mut changes = node.forget(&host);
    for kind in [Kind::Parameter, Kind::Policy, Kind::OperatorPolicy] {
        let of_host =
            node.catalog.all(kind).into_iter().filter(|definition| definition.virtual_host() == Some(name));
        changes.extend(of_host.map(|definition| Change::Delete(definition.place())));
    }
    // Rights live with the users, and go with the host.
    let revoked = node.access.remove_virtual_host(name);
    changes.extend(revoked.iter().flat_map(users::deletions));
    changes.push(Change::Delete(place(name)));
    changes.iter().for_each(|change| drop(node.catalog.remove(&change.place())));
    let commit = node.journal.commit(&changes);
    node.close_connections(&format!("vhost '{name}' is deleted"), |connection| {
        &*connection.virtual_host == name
    });
    Ok(commit)
}

pub(super) fn place(name: &str) -> Place {
    Place::new(Kind::VirtualHost, &[name.as_bytes()])
}
