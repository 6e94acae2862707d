//! `cell`: a value of the API as it stands in a table.

use jiff::Timestamp;
use serde_json::Value;

use super::column::Form;
use crate::line::one_line;
use crate::numbers::grouped;

/// The name of each power of 1,024 bytes.
const BYTE_UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];

/// Returns the text of a value. A missing value, null and Erlang's undefined are empty.
pub fn cell(value: Option<&Value>, form: Form) -> String {
    let Some(value) = value else { return String::new() };
    match (value, form, value.as_f64()) {
        (_, Form::Bytes, Some(count)) => bytes(count),
        (_, Form::PerSecond, Some(rate)) => per_second(rate),
        (_, Form::Time, Some(ms)) => time(ms as i64),
        (Value::Null, ..) => String::new(),
        (Value::String(text), ..) if text == "undefined" => String::new(),
        (Value::String(text), ..) => one_line(text),
        (Value::Bool(true), ..) => "yes".to_owned(),
        (Value::Bool(false), ..) => "no".to_owned(),
        (Value::Number(number), ..) => number.as_u64().map_or_else(|| number.to_string(), grouped),
        (Value::Object(fields), ..) if fields.is_empty() => String::new(),
        (Value::Array(elements), ..) if elements.iter().all(Value::is_string) => {
            let texts: Vec<String> = elements.iter().map(|element| cell(Some(element), Form::Any)).collect();
            texts.join(", ")
        }
        (value, ..) => one_line(&value.to_string()),
    }
}

/// Returns `true` if values of this kind are aligned right.
pub fn is_numeric(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_number)
}

fn bytes(count: f64) -> String {
    let mut scaled = count;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < BYTE_UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let decimals = usize::from(unit > 0 && scaled < 100.0);
    format!("{scaled:.decimals$} {}", BYTE_UNITS[unit])
}

fn per_second(rate: f64) -> String {
    match rate {
        0.0 => "0".to_owned(),
        rate if rate >= 100.0 => grouped(rate.round() as u64),
        rate => format!("{rate:.1}"),
    }
}

/// A time in UTC, to the second.
fn time(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_read_with_their_unit() {
        for (value, form, expected) in [
            (json!(12_345), Form::Any, "12,345"),
            (json!(-1), Form::Any, "-1"),
            (json!(0.5), Form::Any, "0.5"),
            (json!(null), Form::Any, ""),
            (json!("undefined"), Form::Any, ""),
            (json!("a\nb"), Form::Any, "a\\nb"),
            (json!(true), Form::Any, "yes"),
            (json!(["administrator", "x"]), Form::Any, "administrator, x"),
            (json!([]), Form::Any, ""),
            (json!({}), Form::Any, ""),
            (json!({"x-max-length": 1}), Form::Any, "{\"x-max-length\":1}"),
            (json!(0), Form::Bytes, "0 B"),
            (json!(1023), Form::Bytes, "1023 B"),
            (json!(1536), Form::Bytes, "1.5 KiB"),
            (json!(512_u64 << 20), Form::Bytes, "512 MiB"),
            (json!(0.0), Form::PerSecond, "0"),
            (json!(12.34), Form::PerSecond, "12.3"),
            (json!(12_345.6), Form::PerSecond, "12,346"),
            (json!("x"), Form::Bytes, "x"),
        ] {
            assert_eq!(cell(Some(&value), form), expected, "{value}");
        }
        assert_eq!(cell(None, Form::Bytes), "");
    }

    #[test]
    fn times_are_utc() {
        for (ms, expected) in [
            (0_i64, "1970-01-01 00:00:00Z"),
            (951_782_400_000, "2000-02-29 00:00:00Z"),
            (1_709_251_199_999, "2024-02-29 23:59:59Z"),
            (4_107_542_400_000, "2100-03-01 00:00:00Z"),
            (-1, "1969-12-31 23:59:59Z"),
        ] {
            assert_eq!(cell(Some(&json!(ms)), Form::Time), expected);
        }
    }
}
