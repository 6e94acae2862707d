//! `Users`: who may log in, and whether a password is right.
//!
//! A password is kept as RabbitMQ keeps it: base64 of four bytes of salt and the SHA-256 of salt and password. A name that nobody has
//! costs as much as a wrong password, so that timing tells nothing about which users exist.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use thiserror::Error;

const SALT_SIZE: usize = 4;
const HASH_SIZE: usize = SALT_SIZE + 32;

/// A salted hash of a password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordHash([u8; HASH_SIZE]);

/// A password hash that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("a password hash is base64 of 36 bytes: 4 of salt, and the SHA-256 of salt and password")]
pub struct PasswordHashError;

impl PasswordHash {
    /// Reads what [`PasswordHash::to_text`] wrote, and what `rabbitmqctl hash_password` prints for SHA-256.
    ///
    /// Errors: `text` is no base64, or has another size.
    pub fn from_text(text: &str) -> Result<PasswordHash, PasswordHashError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| PasswordHashError)?;
        Ok(PasswordHash(bytes.try_into().map_err(|_| PasswordHashError)?))
    }

    /// The hash of `password` with this salt, which is to be random.
    pub fn of(salt: [u8; SALT_SIZE], password: &[u8]) -> PasswordHash {
        let mut bytes = [0; HASH_SIZE];
        bytes[..SALT_SIZE].copy_from_slice(&salt);
        bytes[SALT_SIZE..]
            .copy_from_slice(&Sha256::new().chain_update(salt).chain_update(password).finalize());
        PasswordHash(bytes)
    }

    /// As base64.
    pub fn to_text(&self) -> String {
        STANDARD.encode(self.0)
    }

    fn is_of(&self, password: &[u8]) -> bool {
        let mut salt = [0; SALT_SIZE];
        salt.copy_from_slice(&self.0[..SALT_SIZE]);
        PasswordHash::of(salt, password).0.ct_eq(&self.0).into()
    }
}

/// A user of the node.
#[derive(Clone, Debug)]
pub struct User {
    /// How the user logs in.
    pub name: String,
    /// The hash that the password has to match.
    pub password_hash: PasswordHash,
    /// The user may log in only from this host.
    pub loopback_only: bool,
}

impl User {
    /// `guest`, with the password `guest`, from this host only.
    pub fn guest() -> User {
        User {
            name: "guest".into(),
            password_hash: PasswordHash::of([0x47, 0x75, 0x65, 0x73], b"guest"),
            loopback_only: true,
        }
    }
}

/// All users of the node.
#[derive(Clone, Debug)]
pub(crate) struct Users {
    by_name: HashMap<Box<[u8]>, User>,
    /// The password of an unknown user is compared with this hash.
    nobody: PasswordHash,
}

impl Users {
    pub fn new(users: Vec<User>) -> Users {
        let by_name = users.into_iter().map(|user| (user.name.as_bytes().into(), user)).collect();
        Users { by_name, nobody: PasswordHash([0; HASH_SIZE]) }
    }

    /// The user of that name and password, if that user may connect from where the client is: the node's own host or another.
    pub fn log_in(&self, name: &[u8], password: &[u8], is_loopback: bool) -> Option<&User> {
        let user = self.by_name.get(name);
        let hash = user.map_or(&self.nobody, |user| &user.password_hash);
        let is_right = hash.is_of(password);
        user.filter(|user| is_right && (is_loopback || !user.loopback_only))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_hash_survives_its_text_and_matches_its_password_only() {
        let hash = PasswordHash::of([1, 2, 3, 4], b"secret");
        assert_eq!(PasswordHash::from_text(&hash.to_text()), Ok(hash.clone()));
        assert!(hash.is_of(b"secret") && !hash.is_of(b"Secret") && !hash.is_of(b""));
        assert_eq!(PasswordHash::from_text("AAAA"), Err(PasswordHashError));
        assert_eq!(PasswordHash::from_text("no base64!"), Err(PasswordHashError));
    }

    #[test]
    fn the_hash_is_rabbitmqs() {
        // From RabbitMQ's guide to passwords: the salt 908DC60A and the password test12.
        let hash = PasswordHash::of([0x90, 0x8D, 0xC6, 0x0A], b"test12");
        assert_eq!(hash.to_text(), "kI3GCqW5JLMJa4iX1lo7X4D6XbYqlLgxIs30+P6tENUV2POR");
    }

    #[test]
    fn guest_comes_from_this_host_only_and_a_stranger_from_nowhere() {
        let users = Users::new(vec![User::guest()]);
        assert!(users.log_in(b"guest", b"guest", true).is_some());
        assert!(users.log_in(b"guest", b"guest", false).is_none());
        assert!(users.log_in(b"guest", b"wrong", true).is_none());
        assert!(users.log_in(b"nobody", b"guest", true).is_none());
    }

    #[test]
    fn an_unknown_user_costs_as_much_as_a_wrong_password() {
        let users = Users::new(vec![User::guest()]);
        // A long password, so that its hash is most of the work.
        let password = vec![b'x'; 1 << 16];
        let mut least = [Duration::MAX; 2];
        for _ in 0..50 {
            for (name, least) in [b"guest", b"other"].into_iter().zip(&mut least) {
                let start = Instant::now();
                assert!(users.log_in(name, &password, true).is_none());
                *least = start.elapsed().min(*least);
            }
        }
        let [known, unknown] = least;
        assert!(known < 2 * unknown && unknown < 2 * known, "{known:?} and {unknown:?}");
    }
}
