//! `PasswordHash`: the hash of a password, or none.
//!
//! - `check`: compares a password with a hash, in the same time for every user.
//! - `HashWork`: the cost of a comparison.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hairstreak_socket::security::fill_random;

use super::algorithm::HashingAlgorithm;
use super::argon2id::{self, Argon2idHash, Argon2idParameters};
use super::error::{PASSWORD_SIZE_MAX, PasswordHashError};
use super::salted::{self, SALT_SIZE, SaltedDigest, SaltedHash};

/// The hash of a password, or none: a user without a hash cannot log in with a password.
///
/// Two hashes are equal if their texts are: the same password has different hashes, because each has a salt of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PasswordHash(Kind);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    None,
    Salted(SaltedHash),
    Argon2id(Argon2idHash),
}

impl PasswordHash {
    /// No password.
    pub fn none() -> PasswordHash {
        PasswordHash::default()
    }

    /// Hashes a new password with a random salt. `parameters` are for Argon2id, which keeps the calling thread busy for
    /// milliseconds: never call this on an event loop. An empty password is no password.
    ///
    /// Errors: the password is too long, the system has no random bytes or no memory.
    pub fn of(
        password: &[u8],
        algorithm: HashingAlgorithm,
        parameters: Argon2idParameters,
    ) -> Result<PasswordHash, PasswordHashError> {
        if password.len() > PASSWORD_SIZE_MAX {
            return Err(PasswordHashError::PasswordTooLong);
        }
        if password.is_empty() {
            return Ok(PasswordHash::none());
        }
        let mut salt = [0; 16];
        fill_random(&mut salt).map_err(PasswordHashError::Random)?;
        Ok(PasswordHash(match salted_digest(algorithm) {
            None => Kind::Argon2id(parameters.hash(salt, password)?),
            Some(digest) => {
                let [a, b, c, d, ..] = salt;
                Kind::Salted(digest.hash([a, b, c, d], password))
            }
        }))
    }

    /// RabbitMQ's hash of a password with that salt, which is to be random: SHA-256.
    pub fn of_salted(salt: [u8; SALT_SIZE], password: &[u8]) -> PasswordHash {
        PasswordHash(Kind::Salted(SaltedDigest::Sha256.hash(salt, password)))
    }

    /// Reads `password_hash` of definitions, or the text from [`PasswordHash::to_text`]. An empty text is no password.
    ///
    /// Errors: `text` is not a hash of that algorithm, or asks for more work than is allowed.
    pub fn from_text(text: &str, algorithm: HashingAlgorithm) -> Result<PasswordHash, PasswordHashError> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(PasswordHash::none());
        }
        match salted_digest(algorithm) {
            Some(digest) => {
                Ok(PasswordHash(Kind::Salted(SaltedHash::from_text(text, digest, algorithm.name())?)))
            }
            None if text.starts_with('$') => Ok(PasswordHash(Kind::Argon2id(Argon2idHash::from_text(text)?))),
            None => {
                let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
                let hash = Argon2idHash::from_text(&decoded.ok_or(PasswordHashError::NotArgon2id)?)?;
                Ok(PasswordHash(Kind::Argon2id(hash)))
            }
        }
    }

    /// The hash as text: base64 for RabbitMQ's algorithms, a PHC string for Argon2id, empty without a password.
    pub fn to_text(&self) -> String {
        match &self.0 {
            Kind::None => String::new(),
            Kind::Salted(hash) => hash.to_text(),
            Kind::Argon2id(hash) => hash.to_text(),
        }
    }

    /// Returns the text for exported definitions: the PHC string of Argon2id is encoded in base64, too. RabbitMQ refuses
    /// definitions with a hash that is not base64. It accepts a user with an unknown algorithm, who cannot log in there before a
    /// new password is set (seen in 3.10.8).
    pub fn to_export(&self) -> String {
        match &self.0 {
            Kind::Argon2id(hash) => STANDARD.encode(hash.to_text()),
            _ => self.to_text(),
        }
    }

    /// Returns the algorithm of the hash; without a password SHA-256, as RabbitMQ says.
    pub fn algorithm(&self) -> HashingAlgorithm {
        match &self.0 {
            Kind::None => HashingAlgorithm::Sha256,
            Kind::Argon2id(_) => HashingAlgorithm::Argon2id,
            Kind::Salted(hash) => match hash.digest {
                SaltedDigest::Sha256 => HashingAlgorithm::Sha256,
                SaltedDigest::Sha512 => HashingAlgorithm::Sha512,
                SaltedDigest::Md5 => HashingAlgorithm::Md5,
            },
        }
    }

    /// Returns true if the user has no password.
    pub fn is_none(&self) -> bool {
        self.0 == Kind::None
    }

    /// Returns true if the hash matches that password. The call takes as long as hashing; a login goes through `check` instead.
    pub fn is_of(&self, password: &[u8]) -> bool {
        match &self.0 {
            Kind::None => false,
            Kind::Salted(hash) => hash.is_of(password),
            Kind::Argon2id(hash) => hash.is_of(password),
        }
    }

    /// The work that comparing a password takes.
    pub(in crate::access) fn work(&self) -> Option<HashWork> {
        match &self.0 {
            Kind::None => None,
            Kind::Salted(hash) => Some(HashWork::Salted(hash.digest)),
            Kind::Argon2id(hash) => Some(HashWork::Argon2id(hash.parameters)),
        }
    }
}

/// The digest of RabbitMQ's algorithms; Argon2id has none.
fn salted_digest(algorithm: HashingAlgorithm) -> Option<SaltedDigest> {
    match algorithm {
        HashingAlgorithm::Argon2id => None,
        HashingAlgorithm::Sha256 => Some(SaltedDigest::Sha256),
        HashingAlgorithm::Sha512 => Some(SaltedDigest::Sha512),
        HashingAlgorithm::Md5 => Some(SaltedDigest::Md5),
    }
}

/// Returns true if `hash` matches that password. `works` are the kinds of all users, the kind of `hash` included. `done` is
/// called for each hash.
///
/// A right password returns at once: the answer tells that the password was right in any case.
pub(in crate::access) fn check(
    hash: Option<&PasswordHash>,
    works: &[HashWork],
    password: &[u8],
    mut done: impl FnMut(HashWork),
) -> bool {
    let own = hash.and_then(|hash| Some((hash, hash.work()?)));
    if let Some((hash, work)) = own {
        done(work);
        if hash.is_of(password) {
            return true;
        }
    }
    for &work in works.iter().filter(|&&work| own.is_none_or(|(_, own)| own != work)) {
        done(work);
        work.waste(password);
    }
    false
}

/// A kind of work: hashes of one kind take the same time for every user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::access) enum HashWork {
    Salted(SaltedDigest),
    Argon2id(Argon2idParameters),
}

impl HashWork {
    /// Does the work for no user.
    pub(super) fn waste(self, password: &[u8]) {
        use std::hint::black_box;
        match self {
            HashWork::Salted(digest) => {
                black_box(digest.hash([0; salted::SALT_SIZE], password));
            }
            HashWork::Argon2id(parameters) => {
                let _ = black_box(parameters.hash([0; argon2id::SALT_SIZE], password));
            }
        }
    }
}
