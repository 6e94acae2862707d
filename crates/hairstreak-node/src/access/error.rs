//! `AccessError`: a change of users or permissions that cannot be made.

use hairstreak_broker::pattern::PatternError;
use thiserror::Error;

use super::password::PasswordHashError;

/// A change that cannot be made. Nothing was changed.
#[derive(Debug, Error)]
pub enum AccessError {
    /// RabbitMQ's HTTP API answers `["no_such_user", NAME]`, or `vhost_or_user_not_found` for permissions.
    #[error("no such user: '{name}'")]
    NoSuchUser {
        /// The name.
        name: String,
    },
    /// RabbitMQ's HTTP API answers `vhost_or_user_not_found`.
    #[error("no such virtual host: '{name}'")]
    NoSuchVirtualHost {
        /// The name.
        name: String,
    },
    /// A name that is empty or too long.
    #[error("the name of a {of} has 1 to 255 bytes, this has {size}")]
    Name {
        /// The kind of thing.
        of: &'static str,
        /// Size of the name in bytes.
        size: usize,
    },
    /// RabbitMQ's HTTP API answers `["invalid_regexp", PATTERN, REASON]`.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A password, or a hash of one.
    #[error(transparent)]
    Password(#[from] PasswordHashError),
    /// Too many tags, or one that is too long.
    #[error("a user has at most {count_max} tags of at most {size_max} bytes")]
    Tags {
        /// The most tags.
        count_max: usize,
        /// The most bytes of a tag.
        size_max: usize,
    },
    /// The CURVE key is another user's.
    #[error("user '{name}' has that CURVE key")]
    CurveKeyTaken {
        /// The other user.
        name: String,
    },
    /// No more users, permissions or kinds of hashes.
    #[error("there are {count} {of}, and no more are allowed")]
    TooMany {
        /// The kind of thing.
        of: &'static str,
        /// Number of existing things of the kind.
        count: usize,
    },
}
