//! Policies and operator policies: settings of exchanges and queues by pattern, which act on live ones at once.

use std::sync::Arc;

use hairstreak_broker::policy::{ApplyTo, Policy, PolicyError, Scope};

use super::error::{Done, OperatorError};
use super::virtual_hosts::{self, apply_policies};
use crate::definitions::{Change, Definition, Kind, Place, PolicyDefinition};
use crate::node::{Commit, Node};

/// All policies of a scope.
pub(crate) fn all(node: &Node, scope: Scope) -> Vec<PolicyDefinition> {
    let definitions = node.catalog.all(kind(scope)).into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::Policy(policy) | Definition::OperatorPolicy(policy) => Some(policy),
            _ => None,
        })
        .collect()
}

/// Sets a policy.
///
/// # Errors
///
/// There is no such virtual host, or a value of the policy is wrong.
pub(crate) fn put(node: &Node, scope: Scope, policy: PolicyDefinition) -> Result<Done, OperatorError> {
    let _changing = node.changing.lock();
    virtual_hosts::find(node, &policy.vhost)?;
    compile(scope, &policy)?;
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
    let place = Place::new(kind(scope), &[virtual_host.as_bytes(), name.as_bytes()]);
    node.catalog.remove(&place).ok_or(OperatorError::NotFound)?;
    let commit = node.journal.commit(&[Change::Delete(place)]);
    apply_policies(node, virtual_host);
    Ok(commit)
}

/// The policies of a virtual host as the host takes them: those of users, and those of operators.
pub(super) fn compiled(node: &Node, virtual_host: &str) -> (Vec<Arc<Policy>>, Vec<Arc<Policy>>) {
    let of_scope = |scope| {
        let of_host = all(node, scope).into_iter().filter(|policy| policy.vhost == virtual_host);
        // A policy of the catalog was valid when it was put there.
        of_host.filter_map(|policy| compile(scope, &policy).ok().map(Arc::new)).collect()
    };
    (of_scope(Scope::User), of_scope(Scope::Operator))
}

fn compile(scope: Scope, policy: &PolicyDefinition) -> Result<Policy, OperatorError> {
    let bad = |error: PolicyError| OperatorError::Bad(error.to_string());
    let apply_to: ApplyTo = policy.apply_to.parse().map_err(bad)?;
    let definition = policy.definition.0.clone();
    Policy::new(&policy.name, &policy.pattern, apply_to, policy.priority, definition, scope).map_err(bad)
}

fn kind(scope: Scope) -> Kind {
    match scope {
        Scope::User => Kind::Policy,
        Scope::Operator => Kind::OperatorPolicy,
    }
}
