//! Z85 (RFC 32): four bytes as five printable characters. This is the subset for keys: sizes are multiples.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/// Returns the text of `bytes`, whose size is a multiple of four.
pub(super) fn encode(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(bytes.len() / 4 * 5));
    for group in bytes.as_chunks::<4>().0 {
        let value = u32::from_be_bytes(*group);
        for power in [85 * 85 * 85 * 85, 85 * 85 * 85, 85 * 85, 85, 1] {
            text.push(char::from(ALPHABET[(value / power % 85) as usize]));
        }
    }
    text
}

/// Decodes exactly `bytes.len()` bytes. `None` if the text has another size, a character outside of Z85, or five
/// characters for more than four bytes; the content of `bytes` is then unspecified.
pub(super) fn decode(text: &[u8], bytes: &mut [u8]) -> Option<()> {
    if text.len() != bytes.len() / 4 * 5 {
        return None;
    }
    for (group, out) in text.as_chunks::<5>().0.iter().zip(bytes.as_chunks_mut::<4>().0) {
        let mut value = 0u64;
        for character in group {
            let digit = ALPHABET.iter().position(|other| other == character)?;
            value = value * 85 + digit as u64;
        }
        *out = u32::try_from(value).ok()?.to_be_bytes();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_goes_both_ways() {
        let bytes = [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b];
        assert_eq!(*encode(&bytes), "HelloWorld");
        let mut back = [0; 8];
        assert_eq!(decode(b"HelloWorld", &mut back), Some(()));
        assert_eq!(back, bytes);
    }

    #[test]
    fn what_is_no_z85_is_refused() {
        let mut out = [0; 4];
        for text in [&b""[..], b"Hell", b"HelloW", b"Hell~", b"Hel\"o", b"#####", b"Hell\xff"] {
            assert_eq!(decode(text, &mut out), None, "{}", text.escape_ascii());
        }
        assert_eq!(decode(b"%nSc0", &mut out), Some(()), "the largest that four bytes hold");
        assert_eq!(out, [0xff; 4]);
        assert_eq!(decode(b"%nSc1", &mut out), None, "and one more");
    }
}
