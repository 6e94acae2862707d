//! `LoginError`: why a login was refused.

use thiserror::Error;

/// A login that was refused. The texts are those of RabbitMQ's log. A client learns only that it was refused: AMQP says
/// ACCESS_REFUSED for all of them, HTTP says `Not_Authorized` and for [`LoginError::LoopbackOnly`] `User can only log in via
/// localhost`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoginError {
    /// No such user, no password, or another password.
    #[error("user '{user}' - invalid credentials")]
    InvalidCredentials {
        /// The name that was given.
        user: String,
    },
    /// An empty password, which is refused for every user.
    #[error("user '{user}' attempted to log in with a blank password")]
    BlankPassword {
        /// The name that was given.
        user: String,
    },
    /// The credentials are right; the user may log in from this host only.
    #[error("user '{user}' can only connect via localhost")]
    LoopbackOnly {
        /// The name of the user.
        user: String,
    },
    /// Nobody may log in without a name.
    #[error("anonymous logins are not allowed")]
    NotAnonymous,
    /// No user has the CURVE key.
    #[error("no user has that CURVE key")]
    UnknownKey,
    /// Too many logins wait, or the node stops. The credentials were not looked at.
    #[error("too many logins are waiting; try again later")]
    TryLater,
}
