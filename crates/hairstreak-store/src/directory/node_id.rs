//! `NodeId`: unique id of a data directory.

use std::{fmt, io};

use rustix::rand::{GetRandomFlags, getrandom};

/// 16 random bytes, chosen when the data directory is created. [`fmt::Display`] writes 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeId([u8; NodeId::SIZE]);

impl NodeId {
    /// Size of an id, in bytes.
    pub const SIZE: usize = 16;

    /// Returns a new id.
    ///
    /// # Errors
    ///
    /// The system cannot supply random bytes.
    pub fn random() -> io::Result<NodeId> {
        let mut bytes = [0; NodeId::SIZE];
        // The kernel returns this few bytes in one call.
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        Ok(NodeId(bytes))
    }

    /// Parses 32 hexadecimal digits.
    pub(super) fn parse(text: &str) -> Option<NodeId> {
        let is_hexadecimal =
            text.len() == 2 * NodeId::SIZE && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = is_hexadecimal.then(|| u128::from_str_radix(text, 16).ok())??;
        Some(NodeId(number.to_be_bytes()))
    }

    /// Returns the bytes.
    pub fn as_bytes(&self) -> &[u8; NodeId::SIZE] {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeId({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = NodeId::random().unwrap();
        assert_eq!(NodeId::parse(&id.to_string()), Some(id));
        let small = NodeId(1u128.to_be_bytes());
        assert_eq!(small.to_string(), "00000000000000000000000000000001");
        assert_eq!(NodeId::parse(&small.to_string()), Some(small));
        assert_ne!(NodeId::random().unwrap(), id);
    }

    #[test]
    fn anything_else_is_no_id() {
        for text in ["", "1", "+0000000000000000000000000000001", "0000000000000000000000000000000g"] {
            assert_eq!(NodeId::parse(text), None, "{text}");
        }
    }
}
