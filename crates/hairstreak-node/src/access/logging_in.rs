//! The logins: with a password, without one, anonymous, by CURVE.

use std::sync::Arc;

use hairstreak_socket::security::PublicKey;
use zeroize::Zeroizing;

use super::access::Access;
use super::identity::Identity;
use super::login::{
    LoginAnswer, LoginCounts, LoginError, LoginFigures, LoginJob, LoginResult, LoginRules, Peer, Protocol,
    Waiting, invalid_credentials, shown,
};
use super::password::PASSWORD_SIZE_MAX;
use super::registry::{Record, Registry};
use super::user::NAME_SIZE_MAX;

/// A login with a password.
#[derive(Debug)]
pub enum Login {
    /// Decided at once; the answer was dropped uncalled.
    Now(LoginResult),
    /// The answer comes from the hashing thread.
    Later,
}

impl Access {
    /// Logs a user in by name and password. Never hashes and never blocks. If the same name and password were right before, the
    /// answer is returned at once. Otherwise the hashing thread calls `answer` later.
    ///
    /// The connection waits for the answer, which may come after the connection's end.
    pub fn log_in(
        &self,
        name: &[u8],
        password: &[u8],
        peer: Peer,
        answer: impl FnOnce(LoginResult) + Send + 'static,
    ) -> Login {
        match self.begin(name, password, peer, Box::new(answer)) {
            Some(result) => {
                self.logins.counters.count(&result, peer);
                Login::Now(result)
            }
            None => Login::Later,
        }
    }

    fn begin(&self, name: &[u8], password: &[u8], peer: Peer, answer: LoginAnswer) -> Option<LoginResult> {
        if password.is_empty() {
            return Some(Err(LoginError::BlankPassword { user: shown(name) }));
        }
        if name.len() > NAME_SIZE_MAX || password.len() > PASSWORD_SIZE_MAX {
            return Some(Err(invalid_credentials(name)));
        }
        let mac = self.logins.key.mac(name, password);
        if let Some(identity) = self.logins.remembered(name, &mac) {
            return Some(self.logins.admit(identity, peer));
        }
        let job = LoginJob {
            mac,
            name: name.into(),
            password: Zeroizing::new(password.into()),
            waiting: vec![Waiting { peer, answer }],
        };
        (!self.thread.add(job)).then_some(Err(LoginError::TryLater))
    }

    /// Logs in a user whom something else vouches for, such as a certificate (EXTERNAL).
    ///
    /// Errors: no such user, or the user may not come from there.
    pub fn log_in_without_password(&self, name: &[u8], peer: Peer) -> LoginResult {
        let found = str::from_utf8(name).ok().and_then(|name| self.find(|registry| registry.user(name)));
        self.finish(found.ok_or_else(|| invalid_credentials(name)), peer)
    }

    /// Logs in a client without credentials (ANONYMOUS).
    ///
    /// Errors: that is not allowed, there is no such user, or the user may not come from there.
    pub fn log_in_anonymously(&self, peer: Peer) -> LoginResult {
        let user = self.logins.rules.read().anonymous_user.clone();
        match user {
            Some(user) => self.log_in_without_password(user.as_bytes(), peer),
            None => self.finish(Err(LoginError::NotAnonymous), peer),
        }
    }

    /// Logs in the user of a CURVE key, which the peer has proved to have.
    ///
    /// Errors: no user has the key, or the user may not come from there.
    pub fn log_in_by_curve_key(&self, key: &PublicKey, peer: Peer) -> LoginResult {
        let found = self.find(|registry| registry.by_curve_key(key));
        self.finish(found.ok_or(LoginError::UnknownKey), peer)
    }

    /// Returns the figures of all logins.
    pub fn login_figures(&self) -> LoginFigures {
        self.logins.counters.figures()
    }

    /// Returns the number of logins by each protocol.
    pub fn login_counts(&self) -> [(Protocol, LoginCounts); Protocol::ALL.len()] {
        self.logins.counters.by_protocol()
    }

    /// Counts a login by a protocol that checks more than the credentials. The peer of such a login has no protocol.
    pub fn count_login(&self, protocol: Protocol, is_let_in: bool) {
        self.logins.counters.count_by(protocol, is_let_in);
    }

    /// Counts the logins by each protocol from 0 again.
    pub fn reset_login_counts(&self) {
        self.logins.counters.reset_by_protocol();
    }

    /// Replaces the rules for logins to come.
    pub fn set_login_rules(&self, rules: LoginRules) {
        *self.logins.rules.write() = rules;
    }

    fn find(&self, find: impl FnOnce(&Registry) -> Option<&Record>) -> Option<Arc<Identity>> {
        self.state.read(|registry| find(registry).map(|record| Arc::new(Identity::new(&self.state, record))))
    }

    fn finish(&self, found: LoginResult, peer: Peer) -> LoginResult {
        let result = found.and_then(|identity| self.logins.admit(identity, peer));
        self.logins.counters.count(&result, peer);
        result
    }
}
