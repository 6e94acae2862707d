//! `cell`: a value of the API as it stands in a table.

use serde_json::Value;

use super::column::Form;
use crate::line::one_line;
use crate::numbers::grouped;

/// The name of each power of 1,024 bytes.
const BYTE_UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
const MS_PER_DAY: i64 = 86_400_000;

/// The text of a value. What is missing, null or Erlang's undefined is empty.
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

/// Whether values of this kind end at the right, below each other.
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
    let (year, month, day) = date(ms.div_euclid(MS_PER_DAY));
    let second = ms.rem_euclid(MS_PER_DAY) / 1000;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

/// The year, month and day of a day since 1970, by the calendar of 400 years that begins in March.
fn date(day: i64) -> (i64, i64, i64) {
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day_of_month = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
