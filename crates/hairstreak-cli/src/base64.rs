//! Base64 (RFC 4648, section 4): bytes as text.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let octet = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let group = octet(0) << 16 | octet(1) << 8 | octet(2);
        for index in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * index)) as usize & 63];
            text.push(if index <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// None: the text is no base64. It may lack the padding.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for chunk in text.chunks(4) {
        let mut group = 0_u32;
        for index in 0..4 {
            let value = match chunk.get(index) {
                Some(digit) => DIGITS.iter().position(|known| known == digit)?,
                None => 0,
            };
            group = group << 6 | value as u32;
        }
        let count = chunk.len().checked_sub(1).filter(|&count| count > 0)?;
        bytes.extend_from_slice(&group.to_be_bytes()[1..=count]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(decode("+/8"), Some(vec![0xfb, 0xff]));
        for wrong in ["Z", "Zg-_", "Zm9v\n", "Zm=v"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
