//! Policies and operator policies: settings of exchanges and queues by pattern, which act on live objects.
//!
//! A change holds `changing` while it enters the catalog, the journal and the live host. The change takes effect on live queues
//! without `changing`, slice by slice, before the answer. So other operators need not wait for a host with many queues.

use std::sync::Arc;

use hairstreak_broker::policy::{PolicyChange, Scope};

use super::error::{Done, OperatorError};
use super::parameters::check_room;
use super::taking_effect::{begin_policies, compile, finish_policies, kind_of};
use super::virtual_hosts;
use crate::definitions::{Change, Definition, Place, PolicyDefinition};
use crate::node::{Commit, Node};

pub use super::taking_effect::all_policies as all;

/// Sets a policy. Takes as long as its pattern takes with the names of the virtual host.
///
/// # Errors
///
/// There is no such virtual host, a value of the policy is wrong, or the host has no room for a further policy.
pub fn put(node: &Node, scope: Scope, policy: PolicyDefinition) -> Result<Done, OperatorError> {
    let changing = node.changing.lock();
    virtual_hosts::find(node, &policy.vhost)?;
    let compiled = compile(scope, &policy).map_err(|error| OperatorError::Bad(error.to_string()))?;
    let (host, name) = (policy.vhost.clone(), policy.name.clone());
    let (kind, definition) = match scope {
        Scope::User => ("policy", Definition::Policy(policy)),
        Scope::Operator => ("operator policy", Definition::OperatorPolicy(policy)),
    };
    check_room(node, kind, &name, &definition)?;
    node.journal.check()?;
    let (is_new, commit) = node.put(definition);
    begin_policies(node, &host, [PolicyChange::Put(Arc::new(compiled))]);
    drop(changing);
    finish_policies(node, &host);
    Ok(Done { is_new, commit })
}

/// Clears a policy.
///
/// # Errors
///
/// There is no such policy.
pub fn delete(node: &Node, scope: Scope, virtual_host: &str, name: &str) -> Result<Commit, OperatorError> {
    let changing = node.changing.lock();
    let place = Place::new(kind_of(scope), &[virtual_host.as_bytes(), name.as_bytes()]);
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    let commit = node.journal.commit(&[Change::Delete(place)]);
    begin_policies(node, virtual_host, [PolicyChange::Remove(scope, name.into())]);
    drop(changing);
    finish_policies(node, virtual_host);
    Ok(commit)
}
