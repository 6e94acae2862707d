//! `ConfigError`: why a configuration cannot be used.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

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
