//! `LoginRules`: who may log in from where, whatever the credentials.

use super::error::LoginError;
use super::peer::Peer;

/// Rules about logins, whatever the credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRules {
    /// The users that may log in from this host only: RabbitMQ's `loopback_users`.
    pub loopback_users: Vec<String>,
    /// The user that a client without credentials becomes (ANONYMOUS), if that is allowed.
    pub anonymous_user: Option<String>,
}

impl Default for LoginRules {
    /// `guest` from this host only, and nobody without credentials.
    fn default() -> LoginRules {
        LoginRules { loopback_users: vec!["guest".into()], anonymous_user: None }
    }
}

impl LoginRules {
    /// Errors: the user may not come from there.
    pub(in crate::access) fn check(&self, user: &str, peer: Peer) -> Result<(), LoginError> {
        if !peer.is_loopback() && self.loopback_users.iter().any(|name| name == user) {
            return Err(LoginError::LoopbackOnly { user: user.to_owned() });
        }
        Ok(())
    }
}
