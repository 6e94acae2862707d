//! `AccessOptions`: how logins and new passwords work.

use super::login::LoginRules;
use super::password::{Argon2idParameters, HashingAlgorithm};

/// How logins and new passwords work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccessOptions {
    /// The rules for logins.
    pub rules: LoginRules,
    /// How new passwords are hashed. With [`HashingAlgorithm::Sha256`] definitions can move back to RabbitMQ with their passwords;
    /// passwords that were set before keep their hash.
    pub new_passwords: HashingAlgorithm,
    /// How much work a new hash of Argon2id is.
    pub argon2id: Argon2idParameters,
}
