//! `Access`: the front of the module. Starts the hashing thread; `logging_in` has the logins, `changes` and `listing` are for
//! operators.
//!
//! - `AccessOptions`: the rules of logins, and the algorithm of new passwords.

use std::io;
use std::sync::Arc;

use super::error::AccessError;
use super::login::{LoginRules, LoginThread, Logins};
use super::password::{Argon2idParameters, HashingAlgorithm, PasswordHash};
use super::state::State;

/// Users and their rights. Shared by all threads; dropped, it ends the hashing thread.
pub struct Access {
    pub(super) state: Arc<State>,
    pub(super) logins: Arc<Logins>,
    pub(super) thread: LoginThread,
    options: AccessOptions,
}

impl Access {
    /// No users and no virtual hosts; starts the hashing thread.
    ///
    /// Errors: the system gives no random bytes or no thread.
    pub fn start(options: AccessOptions) -> io::Result<Access> {
        let state = Arc::new(State::default());
        let logins = Arc::new(Logins::new(Arc::clone(&state), options.rules.clone())?);
        let thread = Logins::start_thread(&logins)?;
        Ok(Access { state, logins, thread, options })
    }

    /// Hashes a new password as the options say. Keeps the calling thread busy for milliseconds: not for event loops.
    ///
    /// Errors: the password is too long, or the system has no random bytes or no memory.
    pub fn hash_password(&self, password: &[u8]) -> Result<PasswordHash, AccessError> {
        Ok(PasswordHash::of(password, self.options.new_passwords, self.options.argon2id)?)
    }

    /// The number of changes of users and permissions so far.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.state.generation()
    }
}

/// The rules of logins, and the algorithm of new passwords.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// The rules for logins.
    pub rules: LoginRules,
    /// The algorithm of new passwords. With [`HashingAlgorithm::Sha256`] definitions can move back to RabbitMQ with their passwords;
    /// passwords that were set before keep their hash.
    pub new_passwords: HashingAlgorithm,
    /// The cost of a new hash of Argon2id.
    pub argon2id: Argon2idParameters,
}
