//! A user policy and an operator policy together: of two numbers the smaller one counts, of anything else the operator's.

use hairstreak_wire::amqp::{FieldTable, FieldValue};

use super::policy::Policy;

/// The setting whose negative numbers are no limit.
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
