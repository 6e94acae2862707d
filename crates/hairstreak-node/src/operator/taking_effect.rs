//! Effects of the catalog's virtual hosts and policies on the live virtual hosts.

use std::sync::Arc;

use hairstreak_broker::policy::{ApplyTo, Policy, PolicyChange, PolicyCursor, PolicyError, Scope};
use hairstreak_broker::vhost::HostSettings;
use parking_lot::MutexGuard;

use crate::definitions::{Definition, Kind, PolicyDefinition, VirtualHostDefinition};
use crate::node::Node;

/// The limit of a virtual host for its queues.
const MAX_QUEUES: &str = "max-queues";

/// Applies the catalog's definitions of a host to the live host.
pub(super) fn apply(node: &Node, definition: &VirtualHostDefinition) {
    apply_definition(node, definition);
    apply_policies(node, &definition.name);
}

/// Sets the limits and the default queue type of the live host. The limit of connections is checked when a connection is opened.
pub(super) fn apply_definition(node: &Node, definition: &VirtualHostDefinition) {
    if let Some(host) = node.hosts.find(&definition.name) {
        let queues_max = definition.limits.get(MAX_QUEUES).and_then(|limit| usize::try_from(*limit).ok());
        let default_queue_type = definition.default_queue_type.as_deref().map(Into::into);
        host.lock().host.set_settings(HostSettings { queues_max, default_queue_type });
    }
}

/// Has all policies of the catalog act in a host that has none.
fn apply_policies(node: &Node, name: &str) {
    let of_scope = |scope| {
        let of_host = all_policies(node, scope).into_iter().filter(move |policy| policy.vhost == name);
        of_host.filter_map(move |policy| compile_stored(scope, &policy))
    };
    let policies = of_scope(Scope::User).chain(of_scope(Scope::Operator));
    begin_policies(node, name, policies.map(|policy| PolicyChange::Put(Arc::new(policy))));
    finish_policies(node, name);
}

/// Has one policy of the catalog act in its host. The caller holds `changing`.
pub(super) fn apply_policy(node: &Node, scope: Scope, policy: &PolicyDefinition) {
    if let Some(compiled) = compile_stored(scope, policy) {
        begin_policies(node, &policy.vhost, [PolicyChange::Put(Arc::new(compiled))]);
        finish_policies(node, &policy.vhost);
    }
}

/// Applies changed policies to later declarations in a host. The caller holds `changing`, unless the node starts.
pub(super) fn begin_policies(node: &Node, name: &str, changes: impl IntoIterator<Item = PolicyChange>) {
    if let Some(host) = node.hosts.find(name) {
        host.lock().host.change_policies(changes);
    }
}

/// Applies changed policies to all objects of a host. Patterns are matched without the host's lock. Between two steps, a thread
/// that waits for the lock gets it. Changes that come meanwhile take effect, too, and their own callers do the rest.
pub(super) fn finish_policies(node: &Node, name: &str) {
    let Some(host) = node.hosts.find(name) else { return };
    let mut cursor = Some(PolicyCursor::default());
    while let Some(from) = cursor {
        let state = host.lock();
        let mut slice = state.host.policy_slice(from);
        MutexGuard::unlock_fair(state);
        slice.match_names();
        while !slice.is_done() {
            node.act(&host, |state, now| state.host.apply_policies(&mut slice, now, &mut state.outlets));
        }
        cursor = slice.next();
    }
}

/// All policies of a scope.
pub fn all_policies(node: &Node, scope: Scope) -> Vec<PolicyDefinition> {
    let definitions = node.catalog.all(kind_of(scope)).into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::Policy(policy) | Definition::OperatorPolicy(policy) => Some(policy),
            _ => None,
        })
        .collect()
}

/// A policy as a virtual host takes it.
///
/// # Errors
///
/// A value of the policy is wrong.
pub(super) fn compile(scope: Scope, policy: &PolicyDefinition) -> Result<Policy, PolicyError> {
    let apply_to: ApplyTo = policy.apply_to.parse()?;
    let definition = policy.definition.0.clone();
    Policy::new(&policy.name, &policy.pattern, apply_to, policy.priority, definition, scope)
}

/// Compiles a policy of the catalog, which was valid when it was put there. An older node may have accepted a policy that this
/// node refuses: that policy does not apply.
fn compile_stored(scope: Scope, policy: &PolicyDefinition) -> Option<Policy> {
    let compiled = compile(scope, policy);
    if let Err(error) = &compiled {
        let (name, host) = (&policy.name, &policy.vhost);
        log::warn!("policy '{name}' of vhost '{host}' does not apply: {}", error.reason());
    }
    compiled.ok()
}

pub(super) fn kind_of(scope: Scope) -> Kind {
    match scope {
        Scope::User => Kind::Policy,
        Scope::Operator => Kind::OperatorPolicy,
    }
}
