//! `AmqpOptions`: who may connect to the node by AMQP, and the bounds.

use std::path::PathBuf;

use hairstreak_base::memory_limit;
use hairstreak_broker::vhost::Limits;
use hairstreak_socket::security::PublicKey;
use serde::Deserialize;

use crate::access::{LoginRules, PasswordHash, Tags};
use crate::config::values;

/// The part of the memory that messages may take: 2 of 5, as in RabbitMQ.
const WATERMARK_PART: (u64, u64) = (2, 5);
/// The assumed memory of a machine that does not report its own.
const MEMORY_UNKNOWN: u64 = 1 << 30;

/// Options of AMQP: users, virtual hosts and bounds.
#[derive(Clone, Debug)]
pub struct AmqpOptions {
    /// The first user of a node without definitions, unless there are `users`.
    pub default_user: FirstUser,
    /// The first virtual host of a node without definitions.
    pub default_virtual_host: String,
    /// True if the options come from a configuration. Without one, users from an earlier configuration stay.
    pub is_configured: bool,
    /// Users that exist after each start. They may do everything in the virtual hosts of that time, unless their permissions were
    /// changed.
    pub users: Vec<FirstUser>,
    /// Virtual hosts that the node has after each start.
    pub virtual_hosts: Vec<String>,
    /// A file of definitions that each start imports. With it the default user and the default virtual host are not made.
    pub load_definitions: Option<PathBuf>,
    /// Names of users that may log in from this host only.
    pub loopback_users: Vec<String>,
    /// The user that clients without credentials are, if they may log in at all (ANONYMOUS).
    pub anonymous_user: Option<String>,
    /// Loops, and so threads. None: one for each core.
    pub loop_count: Option<usize>,
    /// Connections at a time; more are closed as they are accepted.
    pub connections_max: usize,
    /// Bytes of messages in memory at which publishers are stopped.
    pub memory_watermark: usize,
    /// The largest body, in bytes.
    pub message_size_max: u64,
    /// Bounds of each virtual host.
    pub limits: Limits,
}

impl AmqpOptions {
    /// Rules about users and the hosts that they come from.
    pub fn login_rules(&self) -> LoginRules {
        LoginRules {
            loopback_users: self.loopback_users.clone(),
            anonymous_user: self.anonymous_user.clone(),
        }
    }
}

/// A user that the node is started with, such as a user of the configuration file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstUser {
    /// The name for the login.
    #[serde(deserialize_with = "values::name")]
    pub name: String,
    /// The hash of the password, as `rabbitmqctl hash_password` prints it.
    #[serde(deserialize_with = "values::password_hash")]
    pub password_hash: PasswordHash,
    /// The rights over HTTP, such as `administrator`.
    #[serde(default, deserialize_with = "values::tags")]
    pub tags: Tags,
    /// The public key for a login by CURVE, in Z85.
    #[serde(default, deserialize_with = "values::public_key")]
    pub curve: Option<PublicKey>,
    /// True if the user may log in only from this host.
    #[serde(default)]
    pub loopback_only: bool,
}

impl FirstUser {
    /// `guest`, with the password `guest`.
    pub fn guest() -> FirstUser {
        // One short tag is within every bound.
        let tags = Tags::from_names(["administrator"]).unwrap_or_default();
        FirstUser {
            name: GUEST.into(),
            // The password is public, so an expensive hash would protect nothing.
            password_hash: PasswordHash::of_salted([0x47, 0x75, 0x65, 0x73], GUEST.as_bytes()),
            tags,
            curve: None,
            loopback_only: false,
        }
    }
}

/// The first user, unless configured.
const GUEST: &str = "guest";

impl Default for AmqpOptions {
    fn default() -> AmqpOptions {
        AmqpOptions {
            default_user: FirstUser::guest(),
            default_virtual_host: "/".into(),
            is_configured: true,
            users: Vec::new(),
            virtual_hosts: Vec::new(),
            load_definitions: None,
            loopback_users: vec![GUEST.into()],
            anonymous_user: None,
            loop_count: None,
            connections_max: 65_536,
            memory_watermark: default_watermark(),
            message_size_max: 128 * 1024 * 1024,
            limits: Limits::default(),
        }
    }
}

/// Bytes at which publishers are stopped, unless configured.
fn default_watermark() -> usize {
    let bytes = memory_limit().unwrap_or(MEMORY_UNKNOWN) / WATERMARK_PART.1 * WATERMARK_PART.0;
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
