//! `SaltedHash`: RabbitMQ's hashes. base64 of a salt of four bytes and the digest of salt and password.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use md5::Md5;
use sha2::{Digest, Sha256, Sha512};
use subtle::ConstantTimeEq;

use super::error::PasswordHashError;

pub(super) const SALT_SIZE: usize = 4;

/// The digests that RabbitMQ uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::access) enum SaltedDigest {
    Sha256,
    Sha512,
    Md5,
}

/// A salt and the digest of salt and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SaltedHash {
    pub digest: SaltedDigest,
    /// Salt and digest.
    bytes: Box<[u8]>,
}

impl SaltedDigest {
    /// The size of a digest, in bytes.
    fn size(self) -> usize {
        match self {
            SaltedDigest::Sha256 => 32,
            SaltedDigest::Sha512 => 64,
            SaltedDigest::Md5 => 16,
        }
    }

    /// The digest of salt and password behind the salt.
    pub(super) fn hash(self, salt: [u8; SALT_SIZE], password: &[u8]) -> SaltedHash {
        fn append<D: Digest>(bytes: &mut Vec<u8>, password: &[u8]) {
            let digest = D::new().chain_update(&*bytes).chain_update(password).finalize();
            bytes.extend_from_slice(&digest);
        }
        let mut bytes = salt.to_vec();
        match self {
            SaltedDigest::Sha256 => append::<Sha256>(&mut bytes, password),
            SaltedDigest::Sha512 => append::<Sha512>(&mut bytes, password),
            SaltedDigest::Md5 => append::<Md5>(&mut bytes, password),
        }
        SaltedHash { digest: self, bytes: bytes.into() }
    }
}

impl SaltedHash {
    /// Reads base64. `algorithm` is for the error.
    ///
    /// Errors: `text` is no base64, or has another size.
    pub fn from_text(
        text: &str,
        digest: SaltedDigest,
        algorithm: &'static str,
    ) -> Result<SaltedHash, PasswordHashError> {
        let bytes = STANDARD.decode(text).map_err(|_| PasswordHashError::NotBase64 { algorithm })?;
        let expected = SALT_SIZE + digest.size();
        if bytes.len() != expected {
            return Err(PasswordHashError::Size { algorithm, expected, size: bytes.len() });
        }
        Ok(SaltedHash { digest, bytes: bytes.into() })
    }

    /// As base64.
    pub fn to_text(&self) -> String {
        STANDARD.encode(&self.bytes)
    }

    /// Returns true if the hash matches that password. The time does not depend on the place of a difference.
    pub fn is_of(&self, password: &[u8]) -> bool {
        let mut salt = [0; SALT_SIZE];
        salt.copy_from_slice(&self.bytes[..SALT_SIZE]);
        self.digest.hash(salt, password).bytes.ct_eq(&self.bytes).into()
    }
}
