//! `Owner`: the token by which the directory knows that two REGISTER requests come from the same
//! program, whatever connection they came over. Chosen at random by the client and kept to itself.

use super::field::FieldError;

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

/// Who knows a token can take its names away, so it is not shown.
impl std::fmt::Debug for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owner(..)")
    }
}
