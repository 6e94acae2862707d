//! The text format of Prometheus, version 0.0.4.
//!
//! ```text
//!   # HELP rabbitmq_queues Queues
//!   # TYPE rabbitmq_queues gauge
//!   rabbitmq_queues 3
//!   rabbitmq_queue_messages{vhost="/",queue="a \"b\""} 7
//! ```
//!
//! - `Family`: the samples of one name, as Prometheus groups them
//! - `Group`: the families that are asked for together, with their values

use std::io::Write;

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
    /// RabbitMQ's type of alarms and of facts, whose value is 0 or 1.
    Untyped,
}

/// A family of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// The name without its prefix.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) help: &'static str,
}

/// A family of objects of the type `T`, and its value for one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column<T> {
    pub(super) family: Family,
    pub(super) value: fn(&T) -> f64,
}

/// Families of objects of the type `T`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group<T: 'static> {
    /// RabbitMQ's name of the group, as the parameter `family` of `/metrics/detailed` has it; empty: cannot be asked for there.
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column<T>],
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Untyped => "untyped",
        }
    }
}

/// A group: its name, and a line with type, name, help and value for each family.
macro_rules! group {
    ($name:literal, |$object:ident| { $($kind:ident $family:literal $help:literal = $value:expr;)* }) => {
        $crate::metrics::exposition::Group {
            name: $name,
            columns: &[$($crate::metrics::exposition::Column {
                family: $crate::metrics::exposition::Family {
                    name: $family,
                    kind: $crate::metrics::exposition::Kind::$kind,
                    help: $help,
                },
                value: |$object| {
                    let _ = $object;
                    $value
                },
            }),*],
        }
    };
}
pub(super) use group;

/// The type of a body in this format.
pub(super) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Integers up to here have an exact `f64`.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// The lines `HELP` and `TYPE` of a family.
pub(super) fn push_head(text: &mut Vec<u8>, prefix: &str, family: &Family) {
    let Family { name, kind, help } = family;
    push(text, &["# HELP ", prefix, name, " ", help, "\n# TYPE ", prefix, name, " ", kind.name(), "\n"]);
}

/// One sample. `labels` are without the braces, and escaped.
pub(super) fn push_sample(text: &mut Vec<u8>, prefix: &str, name: &str, labels: &str, value: f64) {
    push(text, &[prefix, name]);
    if !labels.is_empty() {
        push(text, &["{", labels, "}"]);
    }
    text.push(b' ');
    push_value(text, value);
    text.push(b'\n');
}

/// A label and its value. Bytes that are no UTF-8 become the replacement character.
pub(super) fn push_label(labels: &mut String, name: &str, value: &[u8]) {
    if !labels.is_empty() {
        labels.push(',');
    }
    labels.push_str(name);
    labels.push_str("=\"");
    for character in String::from_utf8_lossy(value).chars() {
        match character {
            '\\' => labels.push_str("\\\\"),
            '"' => labels.push_str("\\\""),
            '\n' => labels.push_str("\\n"),
            other => labels.push(other),
        }
    }
    labels.push('"');
}

/// Labels from their names and values.
pub(super) fn labels(pairs: &[(&str, &[u8])]) -> String {
    let mut labels = String::new();
    pairs.iter().for_each(|(name, value)| push_label(&mut labels, name, value));
    labels
}

fn push(text: &mut Vec<u8>, parts: &[&str]) {
    parts.iter().for_each(|part| text.extend_from_slice(part.as_bytes()));
}

fn push_value(text: &mut Vec<u8>, value: f64) {
    // A vector takes any number of bytes, so that an error cannot come.
    let _ = if value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&value) {
        write!(text, "{}", value as u64)
    } else {
        write!(text, "{value}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut text = Vec::new();
        push(&mut text);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_family_has_a_head_and_samples() {
        let family = Family { name: "queues", kind: Kind::Gauge, help: "Queues." };
        let head = text(|text| push_head(text, "rabbitmq_", &family));
        assert_eq!(head, "# HELP rabbitmq_queues Queues.\n# TYPE rabbitmq_queues gauge\n");
        assert_eq!(text(|text| push_sample(text, "a_", "b", "", 3.0)), "a_b 3\n");
        assert_eq!(text(|text| push_sample(text, "a_", "b", "c=\"d\"", 0.5)), "a_b{c=\"d\"} 0.5\n");
    }

    #[test]
    fn values_are_numbers_that_prometheus_reads() {
        for (value, expected) in [
            (0.0, "0"),
            (1e15, "1000000000000000"),
            (9e18, "9000000000000000000"),
            (115.098, "115.098"),
            (-1.0, "-1"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(text(|text| push_value(text, value)), expected);
            assert!(value.is_nan() || expected.parse() == Ok(value));
        }
    }

    #[test]
    fn labels_are_escaped() {
        let name = b"a \"queue\" \\ \n\xff";
        let expected = "vhost=\"/\",queue=\"a \\\"queue\\\" \\\\ \\n\u{fffd}\"";
        assert_eq!(labels(&[("vhost", b"/"), ("queue", name)]), expected);
    }
}
