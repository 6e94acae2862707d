//! `Name`: the key of a directory entry. 1 to [`NAME_SIZE_MAX`] bytes of printable UTF-8, case-sensitive and without
//! structure.
//!
//! - `Owner`: a program's token. REGISTER requests with the same token come from the same program, over any
//!   connection.

use std::fmt;
use std::sync::Arc;

use super::field::{self, FieldError};

/// The longest name, in bytes.
pub const NAME_SIZE_MAX: usize = 255;

/// A name that obeys the limits. Cloning shares the text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// Checks and copies `text`.
    pub fn new(text: &str) -> Result<Name, FieldError> {
        Name::decode(text.as_bytes())
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Name, FieldError> {
        Ok(Name(field::some_text("name", bytes, NAME_SIZE_MAX)?.into()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The size of a token, in bytes.
pub const OWNER_SIZE: usize = 16;

/// An owner's token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub [u8; OWNER_SIZE]);

impl Owner {
    pub(super) fn decode(bytes: &[u8]) -> Result<Owner, FieldError> {
        let size = bytes.len();
        let token = bytes.try_into().map_err(|_| FieldError::WrongSize {
            field: "owner",
            size,
            expected: OWNER_SIZE,
        })?;
        Ok(Owner(token))
    }
}

/// The token is not shown: a program that knows the token can take its names away.
impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owner(..)")
    }
}
