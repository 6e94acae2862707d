//! `User`: a user as definitions have it, and how a user is changed.

use hairstreak_socket::security::PublicKey;

use super::password::PasswordHash;
use super::resource::{Permission, TopicPermission};
use super::tags::Tags;

/// The most bytes of a name, as in AMQP.
pub(super) const NAME_SIZE_MAX: usize = 255;

/// A user of the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name for the login, 1 to 255 bytes.
    pub name: String,
    /// The hash of the password.
    pub password_hash: PasswordHash,
    /// The user's rights over HTTP.
    pub tags: Tags,
    /// Maximum numbers of the user's connections and channels.
    pub limits: UserLimits,
    /// The key that logs the user in by CURVE.
    pub curve: Option<PublicKey>,
}

/// The limits of a user. None is no limit, and so is a negative number, which RabbitMQ keeps as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UserLimits {
    /// `max-connections`
    pub connections: Option<i64>,
    /// `max-channels`, on all connections together.
    pub channels: Option<i64>,
}

/// One of the limits of a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UserLimit {
    /// `max-connections`
    Connections,
    /// `max-channels`
    Channels,
}

/// Change of a user by [`super::Access::put_user`]. `None` keeps the present value; a new user gets the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserUpdate {
    /// The hash of the password; [`PasswordHash::none`] clears the password.
    pub password_hash: Option<PasswordHash>,
    /// The user's rights over HTTP.
    pub tags: Option<Tags>,
    /// Maximum numbers of the user's connections and channels.
    pub limits: Option<UserLimits>,
    /// The key that logs the user in by CURVE, or none.
    pub curve: Option<Option<PublicKey>>,
}

/// A change of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserChange {
    /// The user before, if there was one.
    pub before: Option<User>,
    /// The user now.
    pub after: User,
}

/// The permissions that went with a user or a virtual host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    /// Permissions.
    pub permissions: Vec<Permission>,
    /// Topic permissions.
    pub topic_permissions: Vec<TopicPermission>,
}

impl User {
    /// A user without password, tags, limits and key.
    pub fn new(name: impl Into<String>) -> User {
        User {
            name: name.into(),
            password_hash: PasswordHash::none(),
            tags: Tags::default(),
            limits: UserLimits::default(),
            curve: None,
        }
    }

    pub(super) fn update(&mut self, update: UserUpdate) {
        let UserUpdate { password_hash, tags, limits, curve } = update;
        self.password_hash = password_hash.unwrap_or_else(|| std::mem::take(&mut self.password_hash));
        self.tags = tags.unwrap_or_else(|| std::mem::take(&mut self.tags));
        self.limits = limits.unwrap_or(self.limits);
        self.curve = curve.unwrap_or(self.curve);
    }
}

impl UserLimit {
    /// Both limits.
    pub const ALL: [UserLimit; 2] = [UserLimit::Connections, UserLimit::Channels];

    /// The name in definitions and in `/api/user-limits`.
    pub const fn name(self) -> &'static str {
        match self {
            UserLimit::Connections => "max-connections",
            UserLimit::Channels => "max-channels",
        }
    }

    /// The limit with that name.
    pub fn from_name(name: &str) -> Option<UserLimit> {
        UserLimit::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

impl UserLimits {
    /// The value of a limit.
    pub fn value(self, limit: UserLimit) -> Option<i64> {
        match limit {
            UserLimit::Connections => self.connections,
            UserLimit::Channels => self.channels,
        }
    }

    /// Returns the limits with another value for one.
    pub fn with(mut self, limit: UserLimit, value: Option<i64>) -> UserLimits {
        match limit {
            UserLimit::Connections => self.connections = value,
            UserLimit::Channels => self.channels = value,
        }
        self
    }
}
