//! The limit program of encryption: NaCl's box on each message, under one fixed key, without a protocol around it.
//!
//! It uses NaCl's own interface, one box after the other. CURVE seals short messages for less, since it computes the
//! keystream of several at once. For such messages the program is no limit, but shows the usual cost of a box.

use anyhow::{Result, anyhow, bail};
use dryoc::classic::crypto_box::{
    crypto_box_detached_afternm_inplace, crypto_box_open_detached_afternm_inplace,
};

const KEY: [u8; 32] = [7; 32];
const TAG_SIZE: usize = 16;
const NONCE_SIZE: usize = 24;

/// One direction. Messages are numbered; the number is the nonce and is not sent, since a stream keeps their order.
#[derive(Debug, Default)]
pub struct Cipher {
    number: u64,
}

impl Cipher {
    /// Bytes of a sealed message beside its body.
    pub const OVERHEAD: usize = TAG_SIZE;

    fn nonce(&mut self) -> [u8; NONCE_SIZE] {
        self.number += 1;
        let mut nonce = [0; NONCE_SIZE];
        nonce[NONCE_SIZE - 8..].copy_from_slice(&self.number.to_be_bytes());
        nonce
    }

    /// Appends `body`, sealed, to `buffer`.
    pub fn seal(&mut self, body: &[u8], buffer: &mut Vec<u8>) {
        let start = buffer.len();
        buffer.extend_from_slice(&[0; TAG_SIZE]);
        buffer.extend_from_slice(body);
        let nonce = self.nonce();
        if let Some((tag, data)) = buffer[start..].split_first_chunk_mut() {
            crypto_box_detached_afternm_inplace(data, tag, &nonce, &KEY);
        }
    }

    /// Opens a sealed message where it lies and gives the size of its body.
    pub fn open(&mut self, sealed: &mut [u8]) -> Result<usize> {
        let nonce = self.nonce();
        let Some((tag, data)) = sealed.split_first_chunk_mut::<TAG_SIZE>() else {
            bail!("a sealed message has no tag");
        };
        crypto_box_open_detached_afternm_inplace(data, tag, &nonce, &KEY)
            .map_err(|_| anyhow!("a sealed message was changed on its way"))?;
        Ok(data.len())
    }
}

#[cfg(test)]
mod tests {
    use super::Cipher;

    #[test]
    fn what_was_sealed_opens_in_its_order_only() {
        let (mut sends, mut receives) = (Cipher::default(), Cipher::default());
        let mut first = Vec::new();
        sends.seal(b"one", &mut first);
        let mut second = Vec::new();
        sends.seal(b"three", &mut second);
        assert_ne!(&first[16..], b"one");
        assert_eq!(receives.open(&mut first).unwrap(), 3);
        assert_eq!(&first[16..], b"one");
        assert!(Cipher::default().open(&mut second).is_err());
        assert_eq!(receives.open(&mut second).unwrap(), 5);
    }
}
