//! `BoxKey`: NaCl's crypto_box, for the commands of the handshake. The faster encryption of traffic is in `traffic`.

use dryoc::classic::crypto_box::{
    crypto_box_beforenm, crypto_box_detached_afternm_inplace, crypto_box_open_detached_afternm_inplace,
};
use zeroize::Zeroizing;

use super::key::{KEY_SIZE, PublicKey, SecretKey};

/// The size of the tag that a box begins with, in bytes.
pub(super) const TAG_SIZE: usize = 16;

/// The size of a whole nonce, in bytes.
pub(super) const NONCE_SIZE: usize = 24;

/// The key of boxes between two ends; wiped when dropped.
#[derive(Clone)]
pub(super) struct BoxKey(Zeroizing<[u8; KEY_SIZE]>);

impl std::fmt::Debug for BoxKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoxKey(..)")
    }
}

impl BoxKey {
    /// Returns the key for boxes between the two, independent of the side that seals. `None` if `theirs` is one of
    /// the few keys that lead to the same key for every peer.
    pub(super) fn agree(theirs: &PublicKey, ours: &SecretKey) -> Option<BoxKey> {
        let key = crypto_box_beforenm(theirs.as_bytes(), ours.as_bytes()).ok()?;
        Some(BoxKey(Zeroizing::new(key)))
    }

    /// Creates a key that only this side has.
    pub(super) fn secret(bytes: [u8; KEY_SIZE]) -> BoxKey {
        BoxKey(Zeroizing::new(bytes))
    }

    pub(super) fn as_bytes(&self) -> &[u8; KEY_SIZE] {
        &self.0
    }

    /// Returns `plain` in a box: the tag, then as many bytes.
    pub(super) fn seal(&self, nonce: &[u8; NONCE_SIZE], plain: &[&[u8]]) -> Vec<u8> {
        let mut sealed = Vec::with_capacity(TAG_SIZE + plain.iter().map(|part| part.len()).sum::<usize>());
        sealed.extend_from_slice(&[0; TAG_SIZE]);
        for part in plain {
            sealed.extend_from_slice(part);
        }
        if let Some((tag, data)) = sealed.split_first_chunk_mut() {
            crypto_box_detached_afternm_inplace(data, tag, nonce, &self.0);
        }
        sealed
    }

    /// Returns the content of a box. `None` if it was not sealed with this key and nonce.
    pub(super) fn open(&self, nonce: &[u8; NONCE_SIZE], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (tag, data) = sealed.split_first_chunk()?;
        let mut plain = Zeroizing::new(data.to_vec());
        crypto_box_open_detached_afternm_inplace(&mut plain, tag, nonce, &self.0).ok()?;
        Some(plain)
    }
}

/// Returns the nonce of a box with a number.
pub(super) fn numbered(prefix: &[u8; 16], number: &[u8; 8]) -> [u8; NONCE_SIZE] {
    let mut nonce = [0; NONCE_SIZE];
    nonce[..16].copy_from_slice(prefix);
    nonce[16..].copy_from_slice(number);
    nonce
}

/// Returns the nonce of a box with a random salt.
pub(super) fn salted(prefix: &[u8; 8], salt: &[u8; 16]) -> [u8; NONCE_SIZE] {
    let mut nonce = [0; NONCE_SIZE];
    nonce[..8].copy_from_slice(prefix);
    nonce[8..].copy_from_slice(salt);
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex"))
    }

    /// The keys, nonce and message of "Cryptography in NaCl" (Bernstein, 2009), section 10.
    #[test]
    fn the_box_of_nacls_paper_is_sealed_and_opened() {
        let alice = bytes("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a");
        let bob = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
        let key = BoxKey::agree(&PublicKey::from_bytes(bob), &SecretKey::from_bytes(alice)).expect("a key");
        let nonce = bytes("69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37");
        let message: [u8; 131] = bytes(concat!(
            "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc",
            "e5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31",
            "0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde",
            "048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f93776384864",
            "5e0705",
        ));
        let sealed: [u8; 147] = bytes(concat!(
            "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce",
            "48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c972",
            "71d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae",
            "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b3",
            "7973f622a43d14a6599b1f654cb45a74e355a5",
        ));
        assert_eq!(key.seal(&nonce, &[&message]), sealed);
        assert_eq!(key.open(&nonce, &sealed).as_deref().map(Vec::as_slice), Some(&message[..]));
    }
    #[test]
    fn a_box_that_was_changed_cut_or_meant_for_others_stays_closed() {
        let key = BoxKey::secret([1; 32]);
        let sealed = key.seal(&[2; 24], &[b"in two ", b"parts"]);
        assert_eq!(key.open(&[2; 24], &sealed).as_deref().map(Vec::as_slice), Some(&b"in two parts"[..]));
        assert!(key.open(&[3; 24], &sealed).is_none());
        assert!(BoxKey::secret([4; 32]).open(&[2; 24], &sealed).is_none());
        for size in 0..sealed.len() {
            assert!(key.open(&[2; 24], &sealed[..size]).is_none(), "cut to {size}");
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(key.open(&[2; 24], &changed).is_none(), "changed at {at}");
        }
    }

    #[test]
    fn keys_that_agree_with_everybody_are_refused() {
        for low in [[0; 32], {
            let mut one = [0; 32];
            one[0] = 1;
            one
        }] {
            assert!(BoxKey::agree(&PublicKey::from_bytes(low), &SecretKey::from_bytes([7; 32])).is_none());
        }
    }
}
