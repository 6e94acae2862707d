//! Policies and operator policies: settings of exchanges and queues by pattern, which act on live objects.
//!
//! A change holds `changing` while it comes into the catalog, the journal and the live host. The change takes effect on live queues without `changing`, slice by
//! slice, before the answer: other operators need not wait for a host with many queues.

use std::sync::Arc;

use hairstreak_broker::policy::{PolicyChange, Scope};

use super::error::{Done, OperatorError};
use super::taking_effect::{begin_policies, compile, finish_policies, kind_of};
use super::virtual_hosts;
use crate::definitions::{Change, Definition, Place, PolicyDefinition};
use crate::node::{Commit, Node};

pub(crate) use super::taking_effect::all_policies as all;

/// The policies of a virtual host, and as many operator policies: each queue is matched with all of them.
const POLICIES_MAX: usize = 1_024;

/// Sets a policy. Takes as long as its pattern takes with the names of the virtual host.
///
/// # Errors
///
/// There is no such virtual host, a value of the policy is wrong, or the host has no room for a further policy.
pub(crate) fn put(node: &Node, scope: Scope, policy: PolicyDefinition) -> Result<Done, OperatorError> {
    let changing = node.changing.lock();
    virtual_hosts::find(node, &policy.vhost)?;
    let compiled = compile(scope, &policy).map_err(|error| OperatorError::Bad(error.to_string()))?;
    check_room(node, scope, &policy)?;
    node.journal.check()?;
    let host = policy.vhost.clone();
    let (is_new, commit) = node.put(match scope {
        Scope::User => Definition::Policy(policy),
        Scope::Operator => Definition::OperatorPolicy(policy),
    });
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
pub(crate) fn delete(
    node: &Node,
    scope: Scope,
    virtual_host: &str,
    name: &str,
) -> Result<Commit, OperatorError> {
    let changing = node.changing.lock();
    let place = Place::new(kind_of(scope), &[virtual_host.as_bytes(), name.as_bytes()]);
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    let commit = node.journal.commit(&[Change::Delete(place)]);
    begin_policies(node, virtual_host, [PolicyChange::Remove(scope, name.into())]);
    drop(changing);
    finish_policies(node, virtual_host);
    Ok(commit)
}

/// Fails if a virtual host has no room for a policy that is new. The caller holds `changing`.
fn check_room(node: &Node, scope: Scope, policy: &PolicyDefinition) -> Result<(), OperatorError> {
    let (name, vhost, kind) = (&policy.name, &policy.vhost, kind_of(scope));
    let place = Place::new(kind, &[vhost.as_bytes(), name.as_bytes()]);
    let is_there = node.catalog.find(&place).is_some();
    if is_there || node.catalog.count_of_host(kind, vhost) < POLICIES_MAX {
        return Ok(());
    }
    let kind = match scope {
        Scope::User => "policy",
        Scope::Operator => "operator policy",
    };
    let text =
        format!("cannot set {kind} '{name}': {kind} limit in vhost '{vhost}' ({POLICIES_MAX}) is reached");
    Err(OperatorError::Bad(text))
}
