//! Policies and operator policies: settings of exchanges and queues by pattern, which act on live ones at once.

use hairstreak_broker::policy::Scope;

use super::error::{Done, OperatorError};
use super::taking_effect::{apply_policies, compile, kind_of};
use super::virtual_hosts;
use crate::definitions::{Change, Definition, Place, PolicyDefinition};
use crate::node::{Commit, Node};

pub(crate) use super::taking_effect::all_policies as all;

/// Sets a policy.
///
/// # Errors
///
/// There is no such virtual host, or a value of the policy is wrong.
pub(crate) fn put(node: &Node, scope: Scope, policy: PolicyDefinition) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    virtual_hosts::find(node, &policy.vhost)?;
    compile(scope, &policy).map_err(|error| OperatorError::Bad(error.to_string()))?;
    node.journal.check()?;
    let host = policy.vhost.clone();
    let (is_new, commit) = node.put(match scope {
        Scope::User => Definition::Policy(policy),
        Scope::Operator => Definition::OperatorPolicy(policy),
    });
    apply_policies(node, &host);
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
    let _changing = node.changing.lock();
    let place = Place::new(kind_of(scope), &[virtual_host.as_bytes(), name.as_bytes()]);
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    let commit = node.journal.commit(&[Change::Delete(place)]);
    apply_policies(node, virtual_host);
    Ok(commit)
}
