//! `Policy`: settings for the queues and exchanges whose names match a pattern.
//!
//! - `merge`: a user policy and an operator policy together: of two numbers the smaller one counts, of anything else the operator's.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::apply_to::{ApplyTo, ObjectKind, PolicyError};
use super::keys::{self, Scope};
use crate::pattern::{Pattern, PatternError};
use crate::queue::QueueKind;

/// A valid policy. Two are equal if they were given alike.
#[derive(Debug)]
pub struct Policy {
    name: Box<str>,
    /// As it was given.
    pattern_text: Box<str>,
    pattern: Pattern,
    apply_to: ApplyTo,
    priority: i64,
    definition: FieldTable,
    scope: Scope,
    /// The kinds of queues that the policy is for.
    kinds: Vec<QueueKind>,
}

impl Policy {
    /// A policy. `pattern` is a regular expression that is found anywhere in a name; an empty one is in every name.
    ///
    /// # Errors
    ///
    /// The pattern is no regular expression, or the definition is empty, has an unknown setting, or a wrong value.
    pub fn new(
        name: &str,
        pattern: &str,
        apply_to: ApplyTo,
        priority: i64,
        definition: FieldTable,
        scope: Scope,
    ) -> Result<Policy, PolicyError> {
        let pattern_text = pattern.into();
        let pattern = Pattern::compile(pattern).map_err(no_pattern)?;
        keys::check(&definition, scope)?;
        let kinds = QueueKind::ALL.into_iter();
        let kinds = kinds.filter(|kind| apply_to.has_queues(*kind) && keys::are_known_to(&definition, *kind));
        let (name, kinds) = (name.into(), kinds.collect());
        Ok(Policy { name, pattern_text, pattern, apply_to, priority, definition, scope, kinds })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The pattern of names.
    pub fn pattern(&self) -> &str {
        &self.pattern_text
    }

    /// The objects that the policy is for.
    pub fn apply_to(&self) -> ApplyTo {
        self.apply_to
    }

    /// The priority. Of several policies that match, the one with the highest priority applies.
    pub fn priority(&self) -> i64 {
        self.priority
    }

    /// The settings.
    pub fn definition(&self) -> &FieldTable {
        &self.definition
    }

    /// The giver.
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// Returns true if the policy is for the object with that name. Takes the steps of the match from `steps`.
    pub(super) fn is_for(&self, name: &[u8], kind: ObjectKind, steps: &mut usize) -> bool {
        let is_kind = match kind {
            ObjectKind::Exchange => self.apply_to.has_exchanges(),
            ObjectKind::Queue(kind) => self.kinds.contains(&kind),
        };
        is_kind && self.pattern.find_within(name, steps) == Some(true)
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Policy) -> bool {
        let given = |policy: &Policy| (policy.scope, policy.priority, policy.apply_to);
        let texts = |policy: &Policy| [policy.name.clone(), policy.pattern_text.clone()];
        given(self) == given(other) && texts(self) == texts(other) && self.definition == other.definition
    }
}

/// RabbitMQ's words for a pattern that is no regular expression.
fn no_pattern(error: PatternError) -> PolicyError {
    let PatternError { reason, position, .. } = error;
    PolicyError::new(format!(
        "pattern should be regular expression but is invalid: {{\"{reason}\",{position}}}"
    ))
}

/// The setting whose negative values mean no limit.
const DELIVERY_LIMIT: &[u8] = b"delivery-limit";
/// Numbers that are no amount.
const VERSION: &[u8] = b"queue-version";

/// The settings of both, in the order of their names.
pub(super) fn merge(user: Option<&Policy>, operator: Option<&Policy>) -> FieldTable {
    let (user, operator) = match (user, operator) {
        (None, None) => return FieldTable::new(),
        (Some(one), None) | (None, Some(one)) => return one.definition().clone(),
        (Some(user), Some(operator)) => (user.definition(), operator.definition()),
    };
    let mut names: Vec<&[u8]> = user.iter().chain(operator.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let merged = names.into_iter().filter_map(|name| {
        let value = match (user.get(name), operator.get(name)) {
            (Some(user), Some(operator)) => stricter(name, user, operator),
            (user, operator) => user.or(operator)?,
        };
        Some((name, value.clone()))
    });
    merged.collect()
}

fn stricter<'a>(name: &[u8], user: &'a FieldValue, operator: &'a FieldValue) -> &'a FieldValue {
    match (user.as_i64(), operator.as_i64()) {
        _ if name == VERSION => operator,
        (Some(user_limit), Some(operator_limit)) => {
            let is_unlimited = name == DELIVERY_LIMIT && user_limit.min(operator_limit) < 0;
            if (user_limit <= operator_limit) == is_unlimited { operator } else { user }
        }
        _ => operator,
    }
}
