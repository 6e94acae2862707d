//! `Policies`: the policies of a virtual host, and `Applied`: the policies that apply to one queue or exchange.
//!
//! - `PolicySlice`: some queues and exchanges to which changed policies may apply, copied so that patterns are matched without
//!   the host's lock.

use std::cmp::Reverse;
use std::sync::Arc;

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::apply_to::ObjectKind;
use super::keys::Scope;
use super::policy::{Policy, merge};
use crate::pattern::STEPS_MAX;

/// The most steps for one name and all policies of a scope. Policies behind them do not apply to the name.
pub(crate) const NAME_STEPS_MAX: usize = 2 * STEPS_MAX;

/// The policies of a virtual host. The policies of a scope stand in the order of their ranks, the highest priority first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policies {
    user: Vec<Ranked>,
    operator: Vec<Ranked>,
    /// Grows with each change.
    generation: u64,
}

/// A policy in its place.
#[derive(Clone, Debug)]
struct Ranked {
    policy: Arc<Policy>,
    /// The generation that the policy came with.
    since: u64,
}

/// One change of the policies of a virtual host. A scope has one policy of a name.
#[derive(Clone, Debug)]
pub enum PolicyChange {
    /// The policy comes, in the place of the one of its name.
    Put(Arc<Policy>),
    /// The policy of that name is removed.
    Remove(Scope, Box<str>),
}

impl Policies {
    /// Makes a change. A policy that is replaced by an equal one stays.
    pub(crate) fn change(&mut self, change: PolicyChange) {
        let (scope, name) = match &change {
            PolicyChange::Put(policy) => (policy.scope(), policy.name()),
            PolicyChange::Remove(scope, name) => (*scope, &**name),
        };
        let list = match scope {
            Scope::User => &mut self.user,
            Scope::Operator => &mut self.operator,
        };
        let before = list.iter().position(|ranked| ranked.policy.name() == name);
        if let (Some(before), PolicyChange::Put(policy)) = (before, &change)
            && *list[before].policy == **policy
        {
            return;
        }
        if let Some(before) = before {
            list.remove(before);
        } else if let PolicyChange::Remove(..) = change {
            return;
        }
        self.generation += 1;
        if let PolicyChange::Put(policy) = change {
            list.insert(place_of(list, &policy), Ranked { policy, since: self.generation });
        }
    }

    /// The number of changes so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the policies that apply to an object. `before` holds the policies that applied under an earlier generation, or
    /// none. Patterns are matched only where the answer may have changed. Adds the steps of the matches to `taken`.
    pub(crate) fn find(&self, name: &[u8], kind: ObjectKind, before: &Applied, taken: &mut usize) -> Applied {
        let mut first = |list: &[Ranked], applied: &Option<Arc<Policy>>| {
            let mut left = NAME_STEPS_MAX;
            first(list, applied.as_ref(), before.generation, |policy| {
                let mut steps = left.min(STEPS_MAX);
                let given = steps;
                let is_for = policy.is_for(name, kind, &mut steps);
                left -= given - steps;
                *taken += given - steps;
                is_for
            })
        };
        Applied {
            user: first(&self.user, &before.user),
            operator: first(&self.operator, &before.operator),
            generation: self.generation,
        }
    }
}

/// The place of a policy among others.
fn place_of(list: &[Ranked], policy: &Policy) -> usize {
    let rank = |policy: &Policy| (Reverse(policy.priority()), policy.name().to_owned());
    let own = (Reverse(policy.priority()), policy.name());
    debug_assert!(list.is_sorted_by_key(|ranked| rank(&ranked.policy)));
    list.partition_point(|other| (Reverse(other.policy.priority()), other.policy.name()) < own)
}

/// The first policy of a list that is for an object to which `applied` applied when it was `seen` last.
fn first(
    list: &[Ranked],
    applied: Option<&Arc<Policy>>,
    seen: u64,
    mut is_for: impl FnMut(&Policy) -> bool,
) -> Option<Arc<Policy>> {
    let place = applied.map_or(list.len(), |applied| place_of(list, applied));
    for (index, Ranked { policy, since }) in list.iter().enumerate() {
        if index == place && applied.is_some_and(|applied| Arc::ptr_eq(applied, policy)) {
            return Some(Arc::clone(policy));
        }
        // Older policies with a higher rank did not match before.
        if (*since > seen || index >= place) && is_for(policy) {
            return Some(Arc::clone(policy));
        }
    }
    None
}

/// The policies that apply to a queue or an exchange: one of users, and one of operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    user: Option<Arc<Policy>>,
    operator: Option<Arc<Policy>>,
    /// The generation of the policies that these were found among.
    generation: u64,
}

impl Applied {
    /// Returns true if both are the very same policies.
    pub(crate) fn is_same(&self, other: &Applied) -> bool {
        let is_same = |one: &Option<Arc<Policy>>, other: &Option<Arc<Policy>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same(&self.user, &other.user) && is_same(&self.operator, &other.operator)
    }

    /// The generation of the policies that these were found among.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// The name of the users' policy.
    pub(crate) fn user_name(&self) -> Option<String> {
        self.user.as_ref().map(|policy| policy.name().to_owned())
    }

    /// The name of the operators' policy.
    pub(crate) fn operator_name(&self) -> Option<String> {
        self.operator.as_ref().map(|policy| policy.name().to_owned())
    }

    /// A setting of the operators' policy.
    pub(crate) fn operator_setting(&self, name: &str) -> Option<&FieldValue> {
        self.operator.as_ref()?.definition().get(name)
    }

    /// The settings of both.
    pub(crate) fn effective(&self) -> FieldTable {
        merge(self.user.as_deref(), self.operator.as_deref())
    }
}

/// The place in a virtual host from which on policies have not taken effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PolicyCursor {
    pub(crate) has_done_exchanges: bool,
    pub(crate) position: usize,
}

/// Queues or exchanges, and the policies that apply to them.
#[derive(Debug)]
pub struct PolicySlice {
    policies: Arc<Policies>,
    pub(crate) objects: Vec<Object>,
    next: Option<PolicyCursor>,
    /// The objects to which the policies apply by now.
    pub(crate) changed_count: usize,
    /// Number of changed objects whose messages are within the lengths of the policies.
    pub(crate) done_count: usize,
}

/// A queue or an exchange.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: ObjectKind,
    pub(crate) applied: Applied,
}

impl PolicySlice {
    pub(crate) fn new(
        policies: Arc<Policies>,
        objects: Vec<Object>,
        next: Option<PolicyCursor>,
    ) -> PolicySlice {
        PolicySlice { policies, objects, next, changed_count: 0, done_count: 0 }
    }

    /// Matches the names with the patterns: the long part, without the host.
    pub fn match_names(&mut self) {
        for Object { name, kind, applied } in &mut self.objects {
            *applied = self.policies.find(name, *kind, applied, &mut 0);
        }
    }

    /// Returns true if the slice has nothing to change.
    pub fn is_done(&self) -> bool {
        self.done_count == self.objects.len()
    }

    /// The place of the next slice; `None` at the end.
    pub fn next(&self) -> Option<PolicyCursor> {
        self.next
    }
}
