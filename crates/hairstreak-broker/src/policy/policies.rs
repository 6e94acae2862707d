//! `Policies`: the policies of a virtual host, and `Applied`: those that apply to one queue or exchange.

use std::sync::Arc;

use hairstreak_wire::amqp::FieldTable;

use super::merge::merge;
use super::policy::Policy;
use crate::queue::QueueKind;

/// The policies of a virtual host, those with the highest priority first.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    user: Vec<Arc<Policy>>,
    operator: Vec<Arc<Policy>>,
}

impl Policies {
    /// Policies with the same priority keep the order in which they were given.
    pub(crate) fn new(user: Vec<Arc<Policy>>, operator: Vec<Arc<Policy>>) -> Policies {
        let mut policies = Policies { user, operator };
        for list in [&mut policies.user, &mut policies.operator] {
            list.sort_by_key(|policy| std::cmp::Reverse(policy.priority()));
        }
        policies
    }

    /// The policies that apply to a queue.
    pub(crate) fn for_queue(&self, name: &[u8], kind: QueueKind) -> Applied {
        let first =
            |list: &[Arc<Policy>]| list.iter().find(|policy| policy.is_for_queue(name, kind)).cloned();
        Applied { user: first(&self.user), operator: first(&self.operator) }
    }

    /// The policies that apply to an exchange.
    pub(crate) fn for_exchange(&self, name: &[u8]) -> Applied {
        let first = |list: &[Arc<Policy>]| list.iter().find(|policy| policy.is_for_exchange(name)).cloned();
        Applied { user: first(&self.user), operator: first(&self.operator) }
    }
}

/// The policies that apply to a queue or an exchange: one of users, and one of operators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Applied {
    user: Option<Arc<Policy>>,
    operator: Option<Arc<Policy>>,
}

impl Applied {
    /// Whether both are the very same policies.
    pub(crate) fn is_same(&self, other: &Applied) -> bool {
        let is_same = |one: &Option<Arc<Policy>>, other: &Option<Arc<Policy>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        is_same(&self.user, &other.user) && is_same(&self.operator, &other.operator)
    }

    /// The name of the users' policy.
    pub(crate) fn user_name(&self) -> Option<String> {
        self.user.as_ref().map(|policy| policy.name().to_owned())
    }

    /// The name of the operators' policy.
    pub(crate) fn operator_name(&self) -> Option<String> {
        self.operator.as_ref().map(|policy| policy.name().to_owned())
    }

    /// The settings of both.
    pub(crate) fn effective(&self) -> FieldTable {
        merge(self.user.as_deref(), self.operator.as_deref())
    }
}
