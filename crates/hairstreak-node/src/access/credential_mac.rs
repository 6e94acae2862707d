//! `CredentialMac`: by which a login that was right before is known again without a password hash.
//!
//! HMAC-SHA-256 of name and password under a random key of this process. It stays in memory, one for each user at most, and is
//! compared in constant time. A thief of both the key and the codes can read the
//! process's memory, where passwords pass by anyway.

use std::{fmt, io};

use dryoc::classic::crypto_auth_hmacsha256::{
    crypto_auth_hmacsha256_final, crypto_auth_hmacsha256_init, crypto_auth_hmacsha256_update,
};
use hairstreak_socket::security::fill_random;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The code of a name and a password.
#[derive(Clone, Copy)]
pub(super) struct CredentialMac([u8; 32]);

/// The key of this process.
pub(super) struct CredentialKey(Zeroizing<[u8; 32]>);

impl CredentialKey {
    /// A new key.
    ///
    /// Errors: the system has no random bytes.
    pub fn random() -> io::Result<CredentialKey> {
        let mut key = Zeroizing::new([0; 32]);
        fill_random(&mut *key)?;
        Ok(CredentialKey(key))
    }

    /// The code of a name and a password. The name's size comes first: no two pairs are the same bytes.
    pub fn mac(&self, name: &[u8], password: &[u8]) -> CredentialMac {
        let mut state = crypto_auth_hmacsha256_init(&*self.0);
        crypto_auth_hmacsha256_update(&mut state, &(name.len() as u64).to_le_bytes());
        crypto_auth_hmacsha256_update(&mut state, name);
        crypto_auth_hmacsha256_update(&mut state, password);
        let mut mac = [0; 32];
        crypto_auth_hmacsha256_final(state, &mut mac);
        CredentialMac(mac)
    }
}

impl CredentialMac {
    /// Returns true if both are equal. The time does not depend on the place of a difference.
    pub fn is(&self, other: &CredentialMac) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for CredentialMac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CredentialMac")
    }
}
