//! `LogConfig`: the part `[log]` of a node's configuration file, and the words that options take, too.

use std::str::FromStr;

use log::LevelFilter;
use serde::{Deserialize, Deserializer, de};

/// The node's log, as the file has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// The least important lines that are written.
    pub level: LogLevel,
    /// Format of a line.
    pub format: LogFormat,
}

/// Lowest severity of the lines in the log, in RabbitMQ's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogLevel {
    /// Every line.
    Debug,
    /// Connections that come and go, and all below.
    #[default]
    Info,
    /// Failures that the node gets over, and all below.
    Warning,
    /// Failures.
    Error,
    /// No line.
    None,
}

/// Format of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `2026-11-25 16:00:00.123456+00:00 [info] message key=value`
    #[default]
    Text,
    /// An object with the keys `time`, `level`, `msg` and the keys of the line.
    Json,
}

impl LogLevel {
    const ALL: [(&str, LogLevel); 5] = [
        ("debug", LogLevel::Debug),
        ("info", LogLevel::Info),
        ("warning", LogLevel::Warning),
        ("error", LogLevel::Error),
        ("none", LogLevel::None),
    ];

    /// Returns the level filter of the logging library.
    pub fn filter(self) -> LevelFilter {
        match self {
            LogLevel::Debug => LevelFilter::Debug,
            LogLevel::Info => LevelFilter::Info,
            LogLevel::Warning => LevelFilter::Warn,
            LogLevel::Error => LevelFilter::Error,
            LogLevel::None => LevelFilter::Off,
        }
    }
}

impl LogFormat {
    const ALL: [(&str, LogFormat); 2] = [("text", LogFormat::Text), ("json", LogFormat::Json)];
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(word: &str) -> Result<LogLevel, String> {
        one_of(&LogLevel::ALL, word)
    }
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(word: &str) -> Result<LogFormat, String> {
        one_of(&LogFormat::ALL, word)
    }
}

impl<'de> Deserialize<'de> for LogLevel {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<LogLevel, D::Error> {
        String::deserialize(value)?.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for LogFormat {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<LogFormat, D::Error> {
        String::deserialize(value)?.parse().map_err(de::Error::custom)
    }
}

fn one_of<T: Copy>(all: &[(&str, T)], word: &str) -> Result<T, String> {
    let found = all.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(name, _)| *name).collect();
        format!("{} is none of {}", word.escape_debug(), names.join(", "))
    })
}
