//! Unpredictable bytes from the system, and the keys made of them.

use std::io;

use hairstreak_wire::zmtp::curve::{KeyPair, SecretKey};
use rustix::rand::{GetRandomFlags, getrandom};
use zeroize::Zeroizing;

/// A new key pair.
pub fn generate_key_pair() -> io::Result<KeyPair> {
    let mut secret = Zeroizing::new([0; 32]);
    fill_random(&mut *secret)?;
    Ok(KeyPair::new(SecretKey::from_bytes(*secret)))
}

/// Fills `bytes` with what nobody can predict: keys, and ids that stand for whoever knows them.
pub fn fill_random(bytes: &mut [u8]) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match getrandom(&mut *rest, GetRandomFlags::empty()) {
            Ok(count) => rest = &mut rest[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_pairs_are_the_same() {
        let (one, other) = (generate_key_pair().unwrap(), generate_key_pair().unwrap());
        assert_ne!(one, other);
        assert_eq!(KeyPair::new(one.secret().clone()), one);
    }
}
