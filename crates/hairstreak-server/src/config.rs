//! `Config`: a node's configuration file.
//!
//! ```toml
//! [amqp]
//! bind = ["tcp://127.0.0.1:5672"]     # where AMQP clients connect; "tcp://*:5672" is every interface
//! virtual_hosts = ["/", "tests"]
//! memory_watermark = 4_000_000_000    # bytes of messages at which publishers wait
//! message_size_max = 134_217_728
//! connections_max = 65_536
//! loops = 2                           # threads; by default one for each core
//!
//! [[users]]                           # whoever may log in; without any there is guest, from this host only
//! name = "shop"
//! password_hash = "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR"
//! loopback_only = false
//! ```
//!
//! Every key may be left out. A key that does not exist is an error.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use thiserror::Error;

use crate::amqp::{AmqpOptions, PasswordHash, User};

/// A node's configuration, as its file says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The part for AMQP.
    #[serde(default)]
    pub amqp: AmqpConfig,
    /// The users that may log in.
    #[serde(default)]
    pub users: Vec<UserConfig>,
}

/// The part for AMQP.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmqpConfig {
    /// Endpoints to listen on.
    pub bind: Option<Vec<String>>,
    /// Names of virtual hosts.
    pub virtual_hosts: Option<Vec<String>>,
    /// In bytes.
    pub memory_watermark: Option<usize>,
    /// In bytes.
    pub message_size_max: Option<u64>,
    /// How many clients at a time.
    pub connections_max: Option<usize>,
    /// Threads.
    pub loops: Option<usize>,
}

/// A user, as the file says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserConfig {
    /// How the user logs in.
    pub name: String,
    /// As `rabbitmqctl hash_password` prints it.
    pub password_hash: String,
    /// The user may log in only from this host.
    #[serde(default)]
    pub loopback_only: bool,
}

/// A configuration that cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is no TOML, or has a key that does not exist or a value of a wrong type.
    #[error("{}:{line}: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        line: usize,
        /// The error.
        reason: String,
    },
    /// A value that makes no sense.
    #[error("{}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The value, and the error.
        reason: String,
    },
}

impl Config {
    /// Reads a file.
    ///
    /// Errors: the file cannot be read or is no configuration.
    pub fn load(path: &Path) -> Result<Config, ConfigError> {
        let text =
            fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        Config::parse(&text, path)
    }

    fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line =
                1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            ConfigError::Parse { path: path.into(), line, reason }
        })
    }

    /// The AMQP options of the file; `path` is for errors.
    ///
    /// Errors: a value makes no sense.
    pub fn amqp_options(&self, path: &Path) -> Result<AmqpOptions, ConfigError> {
        let wrong = |reason: String| ConfigError::Value { path: path.into(), reason };
        let mut options = AmqpOptions::default();
        let AmqpConfig { virtual_hosts, memory_watermark, message_size_max, connections_max, loops, .. } =
            self.amqp.clone();
        options.virtual_hosts = virtual_hosts.unwrap_or(options.virtual_hosts);
        options.memory_watermark = memory_watermark.unwrap_or(options.memory_watermark);
        options.message_size_max = message_size_max.unwrap_or(options.message_size_max);
        options.connections_max = connections_max.unwrap_or(options.connections_max);
        options.loop_count = loops;
        if options.virtual_hosts.iter().any(|name| name.is_empty() || name.len() > 255) {
            return Err(wrong("amqp.virtual_hosts: a name has 1 to 255 bytes".into()));
        }
        if options.message_size_max > 512 << 20 {
            return Err(wrong("amqp.message_size_max: at most 536870912, as in RabbitMQ".into()));
        }
        if loops == Some(0) {
            return Err(wrong("amqp.loops: at least 1".into()));
        }
        if !self.users.is_empty() {
            let users = self.users.iter().map(|user| {
                let hash = PasswordHash::from_text(&user.password_hash);
                let hash = hash.map_err(|error| wrong(format!("users: {}: {error}", user.name)))?;
                Ok(User { name: user.name.clone(), password_hash: hash, loopback_only: user.loopback_only })
            });
            options.users = users.collect::<Result<_, ConfigError>>()?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<AmqpOptions, String> {
        let path = Path::new("node.toml");
        let options = Config::parse(text, path).and_then(|config| config.amqp_options(path));
        options.map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_is_the_defaults_and_guest_comes_from_this_host_only() {
        let options = check("").unwrap();
        assert_eq!(options.virtual_hosts, ["/"]);
        assert_eq!((options.users.len(), options.users[0].loopback_only), (1, true));
    }

    #[test]
    fn users_replace_guest() {
        let text =
            "[[users]]\nname = \"a\"\npassword_hash = \"kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR\"\n";
        let options = check(text).unwrap();
        assert_eq!(
            (options.users.len(), &*options.users[0].name, options.users[0].loopback_only),
            (1, "a", false)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        let wrong = check("[amqp]\n\nbnd = 1\n").unwrap_err();
        assert!(wrong.starts_with("node.toml:3: unknown field `bnd`"), "{wrong}");
        let wrong = check("[[users]]\nname = \"a\"\npassword_hash = \"b\"\n").unwrap_err();
        assert!(wrong.starts_with("node.toml: users: a: a password hash is base64"), "{wrong}");
        assert!(check("[amqp]\nloops = 0\n").unwrap_err().contains("amqp.loops"));
        assert!(check("[amqp]\nloops = \"x\"\n").unwrap_err().starts_with("node.toml:2:"));
    }
}
