//! Keys of Curve25519: their parsing, printing, creation and protection.
//!
//! As text a key is 40 characters of Z85, as libzmq and its tools write it.

use std::fmt;
use std::str::FromStr;

use dryoc::classic::crypto_core::crypto_scalarmult_base;
use zeroize::Zeroizing;

use super::z85;

/// The size of a key, in bytes.
pub const KEY_SIZE: usize = 32;

/// The size of a key as text, in characters.
pub const Z85_KEY_SIZE: usize = 40;

/// A text is not a key. The error does not repeat the text, which may be a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The text has the wrong size.
    #[error("a key has {Z85_KEY_SIZE} characters of Z85, this has {size}")]
    Size {
        /// Size of the text, in bytes.
        size: usize,
    },
    /// The text contains characters that are not Z85.
    #[error("a key of {Z85_KEY_SIZE} characters that are not all Z85")]
    NotZ85,
}

/// A public key: the identity of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; KEY_SIZE]);

impl PublicKey {
    /// Creates the key of these bytes.
    pub fn from_bytes(bytes: [u8; KEY_SIZE]) -> PublicKey {
        PublicKey(bytes)
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; KEY_SIZE] {
        &self.0
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&z85::encode(&self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({self})")
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<PublicKey, KeyError> {
        Ok(PublicKey(*parse(text)?))
    }
}

/// A secret key. Wiped when dropped; `Debug` does not show it, and there is no `Display`.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; KEY_SIZE]>);

impl SecretKey {
    /// Creates the key of these bytes, which must be unpredictable.
    pub fn from_bytes(bytes: [u8; KEY_SIZE]) -> SecretKey {
        SecretKey(Zeroizing::new(bytes))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; KEY_SIZE] {
        &self.0
    }

    /// Returns the key as text, wiped when dropped.
    pub fn to_z85(&self) -> Zeroizing<String> {
        z85::encode(&*self.0)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

impl FromStr for SecretKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<SecretKey, KeyError> {
        Ok(SecretKey(parse(text)?))
    }
}

fn parse(text: &str) -> Result<Zeroizing<[u8; KEY_SIZE]>, KeyError> {
    if text.len() != Z85_KEY_SIZE {
        return Err(KeyError::Size { size: text.len() });
    }
    let mut bytes = Zeroizing::new([0; KEY_SIZE]);
    z85::decode(text.as_bytes(), &mut *bytes).ok_or(KeyError::NotZ85)?;
    Ok(bytes)
}

/// A secret key and the public key that belongs to it.
#[derive(Clone, Debug)]
pub struct KeyPair {
    public: PublicKey,
    secret: SecretKey,
}

impl KeyPair {
    /// Returns the pair of a secret key. Unpredictable bytes as secret make a new pair.
    pub fn new(secret: SecretKey) -> KeyPair {
        let mut public = [0; KEY_SIZE];
        crypto_scalarmult_base(&mut public, secret.as_bytes());
        KeyPair { public: PublicKey(public), secret }
    }

    /// Creates a pair of keys that do not belong together, as an impostor has.
    #[cfg(test)]
    pub(super) fn claimed(public: PublicKey, secret: SecretKey) -> KeyPair {
        KeyPair { public, secret }
    }

    /// Returns the public key.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// Returns the secret key.
    pub fn secret(&self) -> &SecretKey {
        &self.secret
    }
}

/// Compares the public keys: they are equal exactly when the secret keys are equivalent.
impl PartialEq for KeyPair {
    fn eq(&self, other: &KeyPair) -> bool {
        self.public == other.public
    }
}

impl Eq for KeyPair {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_libzmqs_manual_belong_together() {
        for (public, secret) in [
            ("Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID", "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs"),
            ("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"),
        ] {
            let pair = KeyPair::new(secret.parse().expect("a secret key"));
            assert_eq!(
                (pair.public().to_string().as_str(), pair.secret().to_z85().as_str()),
                (public, secret)
            );
            assert_eq!(public.parse(), Ok(*pair.public()));
        }
    }

    #[test]
    fn a_text_that_is_no_key_is_refused_and_not_repeated() {
        assert_eq!("short".parse::<SecretKey>().err(), Some(KeyError::Size { size: 5 }));
        assert_eq!("~".repeat(40).parse::<PublicKey>(), Err(KeyError::NotZ85));
        let line = "0".repeat(41).parse::<SecretKey>().expect_err("one too many").to_string();
        assert_eq!(line, "a key has 40 characters of Z85, this has 41");
    }

    #[test]
    fn debug_shows_no_secret() {
        let pair = KeyPair::new(SecretKey::from_bytes([7; KEY_SIZE]));
        let shown = format!("{pair:?} {:?}", pair.secret());
        assert!(!shown.contains(pair.secret().to_z85().as_str()) && !shown.contains("7, 7"), "{shown}");
        assert!(shown.contains(&pair.public().to_string()));
    }
}
