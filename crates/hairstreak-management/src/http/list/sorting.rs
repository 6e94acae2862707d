//! `SortKey`: the value that a row is sorted by, in Erlang's order of types, as RabbitMQ sorts.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A value of a row. Numbers come first, then `false`, `null` and `true`, objects, lists, and strings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SortKey(Value);

impl SortKey {
    /// The value at a path such as `message_stats.publish`. A row without it is sorted as if it were 0.
    pub(super) fn of(row: &Value, path: &str) -> SortKey {
        let mut words = path.split('.').filter(|word| !word.is_empty());
        let value = words.try_fold(row, |value, word| value.get(word));
        SortKey(value.cloned().unwrap_or_else(|| 0.into()))
    }
}

impl Eq for SortKey {}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        compare(&self.0, &other.0)
    }
}

fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => compare_numbers(one, other),
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let first =
                one.iter().zip(other).map(|(one, other)| compare(one, other)).find(|order| order.is_ne());
            first.unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => one.len().cmp(&other.len()),
        _ => rank(one).cmp(&rank(other)),
    }
}

fn compare_numbers(one: &Number, other: &Number) -> Ordering {
    match (one.as_i64(), other.as_i64()) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => {
            let double = |number: &Number| number.as_f64().unwrap_or_default();
            double(one).total_cmp(&double(other))
        }
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::Bool(false) => 1,
        Value::Null => 2,
        Value::Bool(true) => 3,
        Value::Object(_) => 4,
        Value::Array(_) => 5,
        Value::String(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_erlangs_order() {
        let ordered = [
            json!(-1.5),
            json!(0),
            json!(0.5),
            json!(10),
            json!(u64::MAX),
            json!(false),
            json!(null),
            json!(true),
            json!({}),
            json!({"a": 1}),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2]),
            json!(""),
            json!("a"),
            json!("b"),
        ];
        for (index, one) in ordered.iter().enumerate() {
            for (other_index, other) in ordered.iter().enumerate() {
                let keys = (SortKey(one.clone()), SortKey(other.clone()));
                assert_eq!(keys.0.cmp(&keys.1), index.cmp(&other_index), "{one} {other}");
            }
        }
    }

    #[test]
    fn a_row_without_the_value_counts_as_zero() {
        let row = json!({"a": {"b": 3}, "c": "x"});
        assert_eq!(SortKey::of(&row, "a.b"), SortKey(json!(3)));
        assert_eq!(SortKey::of(&row, "a.x"), SortKey(json!(0)));
        assert_eq!(SortKey::of(&row, "c.b"), SortKey(json!(0)));
    }
}
