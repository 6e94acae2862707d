//! `Access`: the rights of users: users, password hashes, permissions, limits.
//!
//! ```text
//!   AMQP's loops, HTTP, services, directory
//!        | log_in                 | put_user, set_permission ...
//!        v                        v
//!      Access ---------------> State (Registry behind a lock, generation) <--- Identity <--- Rights
//!        | what was not right before
//!        v
//!      thread `logins`: one password hash after the other
//! ```
//!
//! No sockets, no files, no clock: the caller writes down the state that must survive, and [`Access::restore`] brings it back. An
//! event loop may call everything but [`Access::hash_password`], [`PasswordHash::of`] and long lists.
//!
//! Reading order: `user`, `resource`, `password`, `pattern`, `registry`, `state`, [`Identity`], [`Rights`], `login`, [`Access`].

#[expect(clippy::module_inception, reason = "the type is what the folder is about")]
mod access;
mod credential_mac;
mod error;
mod identity;
mod login;
mod password;
mod pattern;
mod registry;
mod resource;
mod rights;
mod state;
mod tags;
#[cfg(test)]
mod tests;
mod usage;
mod user;
mod virtual_host_permissions;

pub use access::{Access, AccessDefinitions, AccessOptions, Login, UserView};
pub use error::AccessError;
pub use identity::Identity;
pub use login::{
    LoginAnswer, LoginCounts, LoginError, LoginFigures, LoginResult, LoginRules, Peer, Protocol,
};
pub use password::{
    Argon2idParameters, HashingAlgorithm, PASSWORD_SIZE_MAX, PasswordHash, PasswordHashError,
};
pub use resource::{Operation, Permission, Resource, TopicPermission};
pub use rights::Rights;
pub use tags::Tags;
pub use usage::{ChannelSlot, ConnectionSlot, LimitError};
pub use user::{Revoked, User, UserChange, UserLimit, UserLimits, UserUpdate};
pub use virtual_host_permissions::VirtualHostPermissions;
