//! Erlang's comparison and printing of values, where RabbitMQ shows them to clients.

use std::fmt::Write as _;

use hairstreak_wire::amqp::{FieldTable, FieldValue};

/// Returns true if Erlang's `==` holds. Numbers of different types can be equal, and so can strings and byte arrays. Values in
/// tables and arrays are compared together with their types.
pub(crate) fn is_equal(one: &FieldValue, other: &FieldValue) -> bool {
    if let (Some(one), Some(other)) = (integer(one), integer(other)) {
        return one == other;
    }
    if let (Some(one), Some(other)) = (one.as_bytes(), other.as_bytes()) {
        return one == other;
    }
    match (one, other) {
        (FieldValue::Table(one), FieldValue::Table(other)) => is_equal_table(one, other),
        (FieldValue::Array(one), FieldValue::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_equal_typed(one, other))
        }
        _ => match (float(one), float(other)) {
            (Some(one), Some(other)) => one == other,
            (Some(float), None) => integer(other).is_some_and(|integer| is_whole(float, integer)),
            (None, Some(float)) => integer(one).is_some_and(|integer| is_whole(float, integer)),
            (None, None) => one == other,
        },
    }
}

fn is_equal_table(one: &FieldTable, other: &FieldTable) -> bool {
    let is_equal_field = |((one_name, one), (other_name, other)): ((&[u8], &FieldValue), _)| {
        one_name == other_name && is_equal_typed(one, other)
    };
    one.len() == other.len() && one.iter().zip(other.iter()).all(is_equal_field)
}

fn is_equal_typed(one: &FieldValue, other: &FieldValue) -> bool {
    one.type_name() == other.type_name() && is_equal(one, other)
}

fn integer(value: &FieldValue) -> Option<i128> {
    match value {
        FieldValue::Timestamp(seconds) => Some((*seconds).into()),
        value => value.as_i64().map(i128::from),
    }
}

fn float(value: &FieldValue) -> Option<f64> {
    match value {
        FieldValue::F32(value) => Some((*value).into()),
        FieldValue::F64(value) => Some(*value),
        _ => None,
    }
}

fn is_whole(float: f64, integer: i128) -> bool {
    float.fract() == 0.0 && float as i128 == integer
}

/// A value as `~p` prints it.
pub(crate) fn print(value: &FieldValue) -> String {
    if let Some(integer) = integer(value) {
        return integer.to_string();
    }
    if let Some(bytes) = value.as_bytes() {
        return print_binary(bytes);
    }
    match value {
        FieldValue::Bool(value) => value.to_string(),
        FieldValue::F32(value) => format!("{:?}", f64::from(*value)),
        FieldValue::F64(value) => format!("{value:?}"),
        FieldValue::Decimal { scale, value } => format!("{{{scale},{value}}}"),
        FieldValue::Table(table) => print_list(table.iter().map(|(name, value)| {
            format!("{{{},{},{}}}", print_binary(name), value.type_name(), print(value))
        })),
        FieldValue::Array(values) => {
            print_list(values.iter().map(|value| format!("{{{},{}}}", value.type_name(), print(value))))
        }
        _ => "undefined".to_owned(),
    }
}

/// Prints a value from JSON like `~p`, without the types of the values in objects and arrays.
pub(crate) fn print_plain(value: &FieldValue) -> String {
    match value {
        FieldValue::Void => "null".to_owned(),
        FieldValue::Array(values) => print_list(values.iter().map(print_plain)),
        FieldValue::Table(table) => {
            let fields =
                table.iter().map(|(name, value)| format!("{} => {}", print_binary(name), print_plain(value)));
            format!("#{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        value => print(value),
    }
}

/// A value as RabbitMQ's texts show it: the bytes of strings as they are, everything else as `~p` prints it.
pub(crate) fn show(value: &FieldValue) -> String {
    match value.as_bytes() {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => print(value),
    }
}

/// Bytes as `~p` prints them: `<<"text">>`, or `<<1,2>>` if they are no text.
pub fn print_binary(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "<<>>".to_owned();
    }
    let mut text = String::from("<<\"");
    for byte in bytes {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => return print_numbers(bytes),
        }
    }
    text.push_str("\">>");
    text
}

/// A byte array as `~w` prints it.
pub fn print_numbers(bytes: &[u8]) -> String {
    let mut text = String::from("<<");
    for (index, byte) in bytes.iter().enumerate() {
        let separator = if index == 0 { "" } else { "," };
        let _: std::fmt::Result = write!(text, "{separator}{byte}");
    }
    text.push_str(">>");
    text
}

fn print_list(elements: impl Iterator<Item = String>) -> String {
    format!("[{}]", elements.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_whatever_their_types() {
        assert!(is_equal(&FieldValue::I8(7), &FieldValue::I64(7)));
        assert!(is_equal(&FieldValue::Timestamp(7), &FieldValue::U32(7)));
        assert!(is_equal(&FieldValue::F32(0.5), &FieldValue::F64(0.5)));
        assert!(is_equal(&FieldValue::F64(7.0), &FieldValue::I32(7)));
        assert!(!is_equal(&FieldValue::F64(7.5), &FieldValue::I32(7)));
        assert!(!is_equal(&"7".into(), &FieldValue::I32(7)));
        assert!(!is_equal(&FieldValue::Bool(true), &FieldValue::I8(1)));
    }

    #[test]
    fn strings_are_equal_to_byte_arrays_but_not_within_arrays() {
        let bytes = FieldValue::Bytes((*b"a").into());
        assert!(is_equal(&"a".into(), &bytes));
        assert!(!is_equal(&vec!["a".into()].into(), &vec![bytes].into()));
    }

    #[test]
    fn values_are_printed_as_erlang_terms() {
        assert_eq!(print(&"a\"b".into()), r#"<<"a\"b">>"#);
        assert_eq!(print(&FieldValue::Bytes([0, 255].into())), "<<0,255>>");
        assert_eq!(
            print(&vec!["a".into(), FieldValue::I32(1)].into()),
            r#"[{longstr,<<"a">>},{signedint,1}]"#
        );
        assert_eq!(
            print(&FieldTable::from_iter([("k", FieldValue::Void)]).into()),
            r#"[{<<"k">>,void,undefined}]"#
        );
        assert_eq!(print(&FieldValue::F64(1.0)), "1.0");
        assert_eq!(show(&"a\"b".into()), "a\"b");
    }
}
