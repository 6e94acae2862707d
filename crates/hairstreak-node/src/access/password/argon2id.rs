//! `Argon2idHash`: the memory-hard hash for new passwords (RFC 9106), as a PHC string.
//!
//! ```text
//! $argon2id$v=19$m=19456,t=2,p=1$SALT$DIGEST      base64 without padding: 16 bytes of salt, 32 of digest
//! ```
//!
//! The parameters are the first ones with little memory that OWASP's password storage cheat sheet recommends: 19 MiB, two passes,
//! one lane. One hash takes 6 to 8 ms of an EPYC core with AVX-512 (dryoc 2.0); the crate `argon2` 0.6 takes 10 ms. OWASP rates
//! 46 MiB and one pass as equally strong: 30 ms, mostly for fresh pages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use dryoc::classic::crypto_pwhash::{PasswordHashAlgorithm, crypto_pwhash};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::error::{MEMORY_KIB_MAX, MEMORY_KIB_MIN, PASSES_MAX, PasswordHashError};

pub(super) const SALT_SIZE: usize = 16;
const DIGEST_SIZE: usize = 32;

/// Work of one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Argon2idParameters {
    memory_kib: u32,
    passes: u32,
}

/// A salt, and the digest of salt and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Argon2idHash {
    pub parameters: Argon2idParameters,
    salt: [u8; SALT_SIZE],
    digest: [u8; DIGEST_SIZE],
}

impl Default for Argon2idParameters {
    fn default() -> Argon2idParameters {
        Argon2idParameters { memory_kib: 19_456, passes: 2 }
    }
}

impl Argon2idParameters {
    /// `memory_kib` KiB of memory and `passes` passes over the memory, with one lane.
    ///
    /// Errors: a number is out of bounds.
    pub fn new(memory_kib: u32, passes: u32) -> Result<Argon2idParameters, PasswordHashError> {
        if (MEMORY_KIB_MIN..=MEMORY_KIB_MAX).contains(&memory_kib) && (1..=PASSES_MAX).contains(&passes) {
            Ok(Argon2idParameters { memory_kib, passes })
        } else {
            Err(PasswordHashError::Parameters { memory_kib, passes })
        }
    }

    /// Hashes a password. The salt is to be random.
    ///
    /// Errors: the memory is not there.
    pub(super) fn hash(
        self,
        salt: [u8; SALT_SIZE],
        password: &[u8],
    ) -> Result<Argon2idHash, PasswordHashError> {
        let mut digest = Zeroizing::new([0; DIGEST_SIZE]);
        let memory_size = self.memory_kib as usize * 1024;
        let algorithm = PasswordHashAlgorithm::Argon2id13;
        crypto_pwhash(&mut *digest, password, &salt, self.passes.into(), memory_size, algorithm)
            .map_err(|_| PasswordHashError::Memory)?;
        Ok(Argon2idHash { parameters: self, salt, digest: *digest })
    }
}

impl Argon2idHash {
    /// Reads a PHC string.
    ///
    /// Errors: `text` is not a hash of Argon2id with one lane, or asks for more work than is allowed.
    pub fn from_text(text: &str) -> Result<Argon2idHash, PasswordHashError> {
        let (memory_kib, passes, salt, digest) = parts(text).ok_or(PasswordHashError::NotArgon2id)?;
        Ok(Argon2idHash { parameters: Argon2idParameters::new(memory_kib, passes)?, salt, digest })
    }

    /// As a PHC string.
    pub fn to_text(&self) -> String {
        let Argon2idParameters { memory_kib, passes } = self.parameters;
        let [salt, digest] = [&self.salt[..], &self.digest].map(|bytes| STANDARD_NO_PAD.encode(bytes));
        format!("$argon2id$v=19$m={memory_kib},t={passes},p=1${salt}${digest}")
    }

    /// Returns true if the hash matches that password. The time does not depend on the place of a difference.
    pub fn is_of(&self, password: &[u8]) -> bool {
        let given = self.parameters.hash(self.salt, password);
        given.is_ok_and(|given| given.digest.ct_eq(&self.digest).into())
    }
}

fn parts(text: &str) -> Option<(u32, u32, [u8; SALT_SIZE], [u8; DIGEST_SIZE])> {
    let (parameters, rest) = text.strip_prefix("$argon2id$v=19$m=")?.split_once('$')?;
    let (memory_kib, passes) = parameters.strip_suffix(",p=1")?.split_once(",t=")?;
    let (salt, digest) = rest.split_once('$')?;
    let [salt, digest] = [salt, digest].map(|text| STANDARD_NO_PAD.decode(text).ok());
    Some((memory_kib.parse().ok()?, passes.parse().ok()?, salt?.try_into().ok()?, digest?.try_into().ok()?))
}
