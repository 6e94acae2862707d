//! A line of the log, as text or as JSON.

use std::time::{SystemTime, UNIX_EPOCH};

use hairstreak_node::LogFormat;
use jiff::Timestamp;
use log::kv::{self, VisitSource, VisitValue};
use log::{Level, Record};
use serde_json::{Map, Value};

use crate::line::{is_shown, one_line, one_line_of_json};

/// Keys reserved for the log.
const RESERVED: [&str; 3] = ["time", "level", "msg"];

/// Returns the line of a record, including its line feed.
pub(super) fn line(record: &Record<'_>, at: SystemTime, format: LogFormat) -> String {
    let mut fields = Fields::default();
    // Only an unreadable field is an error. The line then has the fields before it.
    let _ = record.key_values().visit(&mut fields);
    write(format, at, record.level(), &record.args().to_string(), fields.0)
}

/// Returns a line with these fields.
pub(super) fn write(
    format: LogFormat,
    at: SystemTime,
    level: Level,
    message: &str,
    fields: Vec<(String, Value)>,
) -> String {
    let (time, level) = (timestamp(at), word(level));
    match format {
        LogFormat::Text => {
            let mut line = format!("{time} [{level}] {}", one_line(message));
            for (key, value) in fields {
                line.push_str(&format!(" {}={}", one_line(&key), plain(&value)));
            }
            line + "\n"
        }
        LogFormat::Json => {
            let own = [("time", time.into()), ("level", level.into()), ("msg", Value::from(message))];
            let own = own.into_iter().map(|(key, value)| (key.to_owned(), value));
            let fields = fields.into_iter().map(|(key, value)| match RESERVED.contains(&&*key) {
                true => (format!("{key}_"), value),
                false => (key, value),
            });
            let object: Map<String, Value> = own.chain(fields).collect();
            one_line_of_json(&Value::Object(object).to_string()) + "\n"
        }
    }
}

/// RabbitMQ's name of a level.
fn word(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warn => "warning",
        Level::Info => "info",
        Level::Debug | Level::Trace => "debug",
    }
}

/// Writes a value as text, in quotes if the text would otherwise be ambiguous.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => {
            let is_odd = |character: char| {
                character.is_whitespace() || !is_shown(character) || matches!(character, '"' | '=' | '\\')
            };
            match text.is_empty() || text.contains(is_odd) {
                // JSON leaves hidden characters from U+0080 on as they are.
                true => one_line(&value.to_string()),
                false => text.clone(),
            }
        }
        other => other.to_string(),
    }
}

/// The fields of a record.
#[derive(Default)]
struct Fields(Vec<(String, Value)>);

impl<'kvs> VisitSource<'kvs> for Fields {
    fn visit_pair(&mut self, key: kv::Key<'kvs>, value: kv::Value<'kvs>) -> Result<(), kv::Error> {
        let mut typed = Typed(Value::Null);
        value.visit(&mut typed)?;
        self.0.push((key.as_str().to_owned(), typed.0));
        Ok(())
    }
}

/// A field's value.
struct Typed(Value);

impl VisitValue<'_> for Typed {
    fn visit_any(&mut self, value: kv::Value<'_>) -> Result<(), kv::Error> {
        self.0 = value.to_string().into();
        Ok(())
    }

    fn visit_null(&mut self) -> Result<(), kv::Error> {
        Ok(())
    }

    fn visit_u64(&mut self, value: u64) -> Result<(), kv::Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_i64(&mut self, value: i64) -> Result<(), kv::Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_f64(&mut self, value: f64) -> Result<(), kv::Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_bool(&mut self, value: bool) -> Result<(), kv::Error> {
        self.0 = value.into();
        Ok(())
    }

    fn visit_str(&mut self, value: &str) -> Result<(), kv::Error> {
        self.0 = value.into();
        Ok(())
    }
}

/// Returns a time in UTC as RabbitMQ's log writes it: `2026-11-25 16:00:00.123456+00:00`. A time before 1970 becomes the first of 1970.
fn timestamp(at: SystemTime) -> String {
    let at = Timestamp::try_from(at.max(UNIX_EPOCH)).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%M:%S%.6f+00:00").to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The line of a record with these fields.
    fn check(format: LogFormat, message: &str, fields: &[(&str, kv::Value<'_>)]) -> String {
        let arguments = format_args!("{message}");
        let record = Record::builder().level(Level::Warn).args(arguments).key_values(&fields).build();
        let line = line(&record, UNIX_EPOCH + Duration::from_secs(1_728_027_509), format);
        let line = line.strip_suffix('\n').unwrap().to_owned();
        assert!(line.chars().all(is_shown), "{line:?}");
        line
    }

    #[test]
    fn a_line_of_text_has_its_fields_behind_the_message() {
        let fields = [("peer", "127.0.0.1:5".into()), ("count", 3.into()), ("is_late", true.into())];
        let line = check(LogFormat::Text, "closing AMQP connection", &fields);
        let expected = "2024-10-04 07:38:29.000000+00:00 [warning] closing AMQP connection peer=127.0.0.1:5 count=3 is_late=true";
        assert_eq!(line, expected);
    }

    #[test]
    fn a_stranger_cannot_write_lines_or_fields_of_its_own() {
        let odd = "x\n2024 [info] y\u{1b}[2J\u{85} user=root \"q\"\u{202e}";
        let line = check(
            LogFormat::Text,
            odd,
            &[("user", odd.into()), ("turned", "a\u{202e}\u{2028}b".into()), ("empty", "".into())],
        );
        let expected = concat!(
            "x\\n2024 [info] y\\u{1b}[2J\\u{85} user=root \"q\"\\u{202e} ",
            "user=\"x\\n2024 [info] y\\u001b[2J\\u{85} user=root \\\"q\\\"\\u{202e}\" turned=\"a\\u{202e}\\u{2028}b\" empty=\"\""
        );
        assert!(line.ends_with(expected), "{line}");
    }

    #[test]
    fn a_line_of_json_is_an_object() {
        let fields = [
            ("user", "a \"b\"\n\u{2028}\u{202e}".into()),
            ("count", (-3).into()),
            ("ratio", 0.5.into()),
            ("msg", "own".into()),
        ];
        let line = check(LogFormat::Json, "a\nb", &fields);
        let object: Value = serde_json::from_str(&line).unwrap();
        let expected = serde_json::json!({
            "time": "2024-10-04 07:38:29.000000+00:00", "level": "warning", "msg": "a\nb",
            "user": "a \"b\"\n\u{2028}\u{202e}", "count": -3, "ratio": 0.5, "msg_": "own"
        });
        assert_eq!(object, expected);
    }

    #[test]
    fn moments_are_written_as_in_the_log_of_rabbitmq() {
        for (micros, text) in [
            (0, "1970-01-01 00:00:00.000000+00:00"),
            (951_782_400_000_001, "2000-02-29 00:00:00.000001+00:00"),
            (951_868_799_999_999, "2000-02-29 23:59:59.999999+00:00"),
            (1_709_251_200_000_000, "2024-03-01 00:00:00.000000+00:00"),
            (1_728_027_509_709_578, "2024-10-04 07:38:29.709578+00:00"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.000000+00:00"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_micros(micros)), text);
        }
        assert_eq!(timestamp(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01 00:00:00.000000+00:00");
    }
}
