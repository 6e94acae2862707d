//! `AmqpConfig`: the part `[amqp]` of a node's configuration.
//!
//! - `FirstUser`: a user of the configuration.

use hairstreak_base::memory_limit;
use hairstreak_broker::vhost::Limits;
use hairstreak_socket::security::PublicKey;
use serde::Deserialize;

use super::tls::TlsConfig;
use super::values;
use crate::access::{PasswordHash, Tags};

/// The part of the memory that messages may take: 2 of 5, as in RabbitMQ.
const WATERMARK_PART: (u64, u64) = (2, 5);
/// The assumed memory of a machine that does not report its own.
const MEMORY_UNKNOWN: u64 = 1 << 30;
/// The most connections, unless configured.
const CONNECTIONS_MAX: usize = 65_536;
/// The most bytes of a body, unless configured.
const MESSAGE_SIZE_MAX: u64 = 128 * 1024 * 1024;
/// The first user, unless configured.
const GUEST: &str = "guest";

/// Endpoints, virtual hosts and bounds of AMQP.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AmqpConfig {
    /// Endpoints without TLS. `None` and an empty list: AMQP without TLS is off.
    #[serde(deserialize_with = "values::endpoints")]
    pub bind: Option<Vec<String>>,
    /// AMQP with TLS. `None`: AMQP with TLS is off.
    pub tls: Option<TlsConfig>,
    /// Virtual hosts that the node has after each start.
    #[serde(deserialize_with = "values::virtual_hosts")]
    pub virtual_hosts: Vec<String>,
    /// Bytes of messages in memory at which publishers are stopped.
    pub memory_watermark: usize,
    /// The largest body, in bytes: at most 512 MiB, as in RabbitMQ.
    #[serde(deserialize_with = "values::between::<_, _, 1, 536_870_912>")]
    pub message_size_max: u64,
    /// Connections at a time; more are closed as they are accepted.
    #[serde(deserialize_with = "values::between::<_, _, 1, 16_777_216>")]
    pub connections_max: usize,
    /// Loops, and so threads. `None`: one for each core.
    #[serde(deserialize_with = "values::some_between::<_, _, 1, 256>")]
    pub loops: Option<usize>,
    /// Names of users that may log in from this host only.
    pub loopback_users: Vec<String>,
    /// The user that clients without credentials are (ANONYMOUS). `None`: such clients may not log in.
    #[serde(deserialize_with = "values::some_name")]
    pub anonymous_user: Option<String>,
    /// Bounds of each virtual host.
    #[serde(skip)]
    pub limits: Limits,
}

impl Default for AmqpConfig {
    fn default() -> AmqpConfig {
        AmqpConfig {
            bind: None,
            tls: None,
            virtual_hosts: Vec::new(),
            memory_watermark: default_watermark(),
            message_size_max: MESSAGE_SIZE_MAX,
            connections_max: CONNECTIONS_MAX,
            loops: None,
            loopback_users: vec![GUEST.into()],
            anonymous_user: None,
            limits: Limits::default(),
        }
    }
}

/// Bytes at which publishers are stopped, unless configured.
fn default_watermark() -> usize {
    let bytes = memory_limit().unwrap_or(MEMORY_UNKNOWN) / WATERMARK_PART.1 * WATERMARK_PART.0;
    usize::try_from(bytes).unwrap_or(usize::MAX)
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
