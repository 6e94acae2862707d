//! Checks of field tables without decoding or allocation. Depth and the number of fields are bounded, and nested
//! values end with their table. A table that is built here passes the same check before it is stored.

use super::split::{Field, Fields, Values};
use super::value::{DEPTH_MAX, FIELD_COUNT_MAX, FieldTable};
use crate::amqp::error::DecodeError;

impl FieldTable {
    /// Checks that [`FieldTable::decode`] can decode the encoded table again. A decoded table has passed this check.
    ///
    /// # Errors
    ///
    /// Tables and arrays are nested too deep, or there are too many fields.
    pub fn check(&self) -> Result<(), DecodeError> {
        let mut fields = Vec::new();
        self.encode_fields(&mut fields);
        check_table(&fields)
    }
}

/// Checks a table without its size, including all tables and arrays in it.
pub(in crate::amqp) fn check_table(fields: &[u8]) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(Fields::new(fields), 1)
}

/// Checks the tables and arrays in a value.
pub(super) fn check_value(field: Field<'_>) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(std::iter::once(Ok(field)), 0)
}

struct Check {
    /// Number of fields so far.
    field_count: usize,
}

impl Check {
    /// Checks the fields of a table or an array at that depth.
    fn fields<'a>(
        &mut self,
        fields: impl Iterator<Item = Result<Field<'a>, DecodeError>>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        for field in fields {
            let field = field?;
            self.field_count += 1;
            if self.field_count > FIELD_COUNT_MAX {
                return Err(DecodeError::TooManyFields);
            }
            match field.letter {
                b'F' => self.fields(Fields::new(field.value), depth + 1)?,
                b'A' => self.fields(Values::new(field.value), depth + 1)?,
                _ => {}
            }
        }
        Ok(())
    }
}
