//! `Logins`: whether a name and a password are right, by memory or by a hash.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::RwLock;

use super::figures::LoginCounters;
use super::peer::{LoginError, LoginRules, Peer};
use super::queue::{LoginJob, LoginResult, Waiting};
use super::thread::{LoginThread, LoginWork};
use crate::access::credential_mac::{CredentialKey, CredentialMac};
use crate::access::identity::Identity;
use crate::access::password::check;
use crate::access::state::State;
use crate::access::user::NAME_SIZE_MAX;

/// The key, rules and counters of logins.
pub(in crate::access) struct Logins {
    state: Arc<State>,
    pub key: CredentialKey,
    pub rules: RwLock<LoginRules>,
    pub counters: LoginCounters,
}

impl Logins {
    /// Errors: the system has no random bytes.
    pub fn new(state: Arc<State>, rules: LoginRules) -> io::Result<Logins> {
        Ok(Logins {
            state,
            key: CredentialKey::random()?,
            rules: RwLock::new(rules),
            counters: LoginCounters::default(),
        })
    }

    /// Starts the hashing thread.
    ///
    /// Errors: the system gives no thread.
    pub fn start_thread(logins: &Arc<Logins>) -> io::Result<LoginThread> {
        let logins = Arc::clone(logins);
        LoginThread::start(move |work| logins.work(work))
    }

    /// The user, if name and password were right before.
    pub fn remembered(&self, name: &[u8], mac: &CredentialMac) -> Option<Arc<Identity>> {
        let name = str::from_utf8(name).ok()?;
        let identity = self.state.read(|registry| {
            let record = registry.user(name).filter(|record| record.remembers(mac))?;
            Some(Arc::new(Identity::new(&self.state, record)))
        })?;
        self.counters.count_remembered();
        Some(identity)
    }

    /// Checks that a user with the right credentials may log in from that peer.
    pub fn admit(&self, identity: Arc<Identity>, peer: Peer) -> LoginResult {
        self.rules.read().check(identity.user(), peer)?;
        Ok(identity)
    }

    /// The work of the hashing thread.
    fn work(&self, work: LoginWork) {
        match work {
            LoginWork::Check(mut job) => {
                let waiting = std::mem::take(&mut job.waiting);
                let checked = self.check(&job);
                for waiting in waiting {
                    let result = checked.clone().and_then(|identity| self.admit(identity, waiting.peer));
                    self.answer(waiting, result);
                }
            }
            LoginWork::Refuse(waiting) => {
                waiting.into_iter().for_each(|waiting| self.answer(waiting, Err(LoginError::TryLater)));
            }
        }
    }

    /// Answers a login. If the answer panics, only this login is lost.
    fn answer(&self, waiting: Waiting, result: LoginResult) {
        self.counters.count(&result, waiting.peer);
        let _ = catch_unwind(AssertUnwindSafe(|| (waiting.answer)(result)));
    }

    fn check(&self, job: &LoginJob) -> LoginResult {
        // Another login may have been right since.
        if let Some(identity) = self.remembered(&job.name, &job.mac) {
            return Ok(identity);
        }
        let name = str::from_utf8(&job.name).ok();
        let (hash, version, works) = self.state.read(|registry| {
            let record = name.and_then(|name| registry.user(name));
            let hash = record.map(|record| record.user.password_hash.clone());
            (hash, record.map(|record| record.password_version), registry.works())
        });
        let is_right = check(hash.as_ref(), &works, &job.password, |_| self.counters.count_hash());
        let (Some(name), true) = (name, is_right) else { return Err(invalid_credentials(&job.name)) };
        self.state.note(|registry| match registry.user_mut(name) {
            Some(record) if Some(record.password_version) == version => {
                record.remember(job.mac);
                Ok(Arc::new(Identity::new(&self.state, record)))
            }
            // The password was changed meanwhile, and the new one was not compared.
            _ => Err(LoginError::TryLater),
        })
    }
}

pub(in crate::access) fn invalid_credentials(name: &[u8]) -> LoginError {
    LoginError::InvalidCredentials { user: shown(name) }
}

/// A name that a stranger gave, for a log.
pub(in crate::access) fn shown(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(NAME_SIZE_MAX)]).into_owned()
}
