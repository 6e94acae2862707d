//! A topology file as it was typed: its keys and the type of each.
//!
//! Rules about keys that exclude each other, and about allowed values, are in `stage.rs` and `ends.rs`. They turn these
//! types into a [`Topology`](crate::topology::Topology).
//!
//! - `WrittenDuration`: a duration in a topology file.
//! - `section`, `within`: read a section, and a number within its bounds.

use std::time::Duration;

use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer};

use crate::topology::definition::Framing;
use crate::topology::duration::parse_duration;

/// The result of a function in this folder. An error is the text of a refusal;
/// [`Topology::parse`](crate::topology::Topology::parse) adds the name of the file.
pub(super) type Meaning<T> = Result<T, String>;

/// A whole number that is not negative. Its bounds depend on the key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole(pub(super) u64);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedTopology {
    #[serde(default)]
    pub(super) stage: Vec<toml::Table>,
    pub(super) input: Option<toml::Table>,
    pub(super) output: Option<toml::Table>,
    pub(super) plan: Option<toml::Table>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedStage {
    pub(super) name: Option<String>,
    pub(super) instances: Option<Whole>,
    pub(super) sleep: Option<WrittenDuration>,
    pub(super) spin: Option<WrittenDuration>,
    pub(super) echo: Option<bool>,
    pub(super) builtin: Option<Builtin>,
    pub(super) command: Option<TypedCommand>,
    pub(super) program: Option<TypedCommand>,
    pub(super) framing: Option<Framing>,
    pub(super) receive: Option<WrittenDuration>,
    pub(super) process: Option<WrittenDuration>,
    pub(super) send: Option<WrittenDuration>,
    pub(super) serial: Option<WrittenDuration>,
    pub(super) cpu: Option<WrittenDuration>,
    pub(super) distribution: Option<String>,
}

/// The built-in work that takes no argument.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Builtin {
    Echo,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "invalid type: expected a string or an array of strings")]
pub(super) enum TypedCommand {
    Shell(String),
    Arguments(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedInput {
    pub(super) messages: Option<Whole>,
    pub(super) size: Option<Whole>,
    pub(super) lines: Option<String>,
    pub(super) files: Option<String>,
    pub(super) extensions: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedOutput {
    pub(super) file: Option<String>,
    pub(super) stdout: Option<bool>,
    pub(super) discard: Option<bool>,
    pub(super) framing: Option<Framing>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TypedPlan {
    pub(super) cores: Option<Whole>,
    pub(super) hop: Option<WrittenDuration>,
    pub(super) monolith: Option<WrittenDuration>,
    pub(super) network: Option<String>,
    pub(super) slot: Option<WrittenDuration>,
    pub(super) overhead: Option<WrittenDuration>,
    pub(super) wiring: Option<String>,
    pub(super) routing: Option<String>,
    pub(super) window: Option<Whole>,
    pub(super) acknowledge: Option<Whole>,
    pub(super) queue: Option<Whole>,
    pub(super) rate: Option<f64>,
}

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl de::Visitor<'_> for Number {
            type Value = Whole;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Whole, E> {
                let wrong = || E::custom(format!("{number} is negative, expected a whole number"));
                u64::try_from(number).map(Whole).map_err(|_| wrong())
            }
        }
        deserializer.deserialize_i64(Number)
    }
}

/// A duration, typed as a string.
#[derive(Clone, Copy, Debug)]
pub(super) struct WrittenDuration(pub(super) Duration);

impl<'de> Deserialize<'de> for WrittenDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = WrittenDuration;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a duration such as \"500ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<WrittenDuration, E> {
                parse_duration(text).map(WrittenDuration).map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// Returns the error of serde or the TOML reader in one line: first the fault, then the key.
pub(super) fn reason(error: &toml::de::Error) -> String {
    error.to_string().replace('\n', " ").replace("field", "key").trim_end().to_owned()
}

pub(super) fn section<T: DeserializeOwned>(owner: &str, table: toml::Table) -> Meaning<T> {
    table.try_into().map_err(|error| format!("{owner}: {}", reason(&error)))
}

pub(super) fn within(Whole(number): Whole, key: &str, least: u64, most: u64) -> Meaning<u64> {
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(format!("{key} = {number}, allowed are {least} to {most}"))
    }
}
