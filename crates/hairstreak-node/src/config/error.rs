//! `ConfigError`: why the node cannot use a configuration.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// An error that makes a configuration unusable.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The file is not TOML, has an unknown key, or has a value of the wrong type.
    #[error("{}:{line}: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line in the file.
        line: usize,
        /// The error.
        reason: String,
    },
    /// An invalid value.
    #[error("{}: {reason}", path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The value, and the error.
        reason: String,
    },
    /// An invalid environment variable.
    #[error("{name}: {reason}")]
    Variable {
        /// The variable.
        name: String,
        /// The error.
        reason: String,
    },
}
