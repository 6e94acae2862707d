//! `PasswordHashError`, and the limits of passwords and hashes.

use std::io;

use thiserror::Error;

/// A password hash that cannot be read or made.
#[derive(Debug, Error)]
pub enum PasswordHashError {
    /// The text of a salted hash is no base64.
    #[error("a {algorithm} hash is base64")]
    NotBase64 {
        /// The name of the algorithm.
        algorithm: &'static str,
    },
    /// A salted hash of another size.
    #[error("a {algorithm} hash is base64 of {expected} bytes, 4 of salt and a digest; this has {size}")]
    Size {
        /// The name of the algorithm.
        algorithm: &'static str,
        /// Number of bytes of a valid hash.
        expected: usize,
        /// Number of bytes found.
        size: usize,
    },
    /// A text that is not Argon2id's.
    #[error(
        "a hairstreak_argon2id hash is $argon2id$v=19$m=KIB,t=PASSES,p=1$SALT$DIGEST with a salt of 16 bytes and a digest of 32"
    )]
    NotArgon2id,
    /// Parameters of Argon2id that take too much, or are none.
    #[error(
        "Argon2id with {memory_kib} KiB and {passes} passes; {MEMORY_KIB_MIN} to {MEMORY_KIB_MAX} KiB and 1 to {PASSES_MAX} passes \
         are allowed"
    )]
    Parameters {
        /// Memory, in KiB.
        memory_kib: u32,
        /// Passes over the memory.
        passes: u32,
    },
    /// A password that is too long.
    #[error("a password has at most {PASSWORD_SIZE_MAX} bytes")]
    PasswordTooLong,
    /// The system has no random bytes for a salt.
    #[error("no random bytes for a salt: {0}")]
    Random(#[source] io::Error),
    /// There is no memory for Argon2id.
    #[error("no memory for Argon2id")]
    Memory,
}

/// The most bytes of a password.
pub const PASSWORD_SIZE_MAX: usize = 4096;

/// The least memory of Argon2id with one lane.
pub(super) const MEMORY_KIB_MIN: u32 = 8;
/// The most memory that one hash may take: definitions from elsewhere cannot ask for more.
pub(super) const MEMORY_KIB_MAX: u32 = 65_536;
/// The most passes over the memory.
pub(super) const PASSES_MAX: u32 = 10;
