//! Checking a field table without decoding it: nothing is allocated. Depth and the count of fields are bounded, and
//! what lies in a table ends with it. A table that is built here passes the same check before it is kept.

use super::split::{Field, Fields, Values};
use super::value::{DEPTH_MAX, FIELD_COUNT_MAX, FieldTable};
use crate::amqp::error::DecodeError;

impl FieldTable {
    /// Checks that [`FieldTable::decode`] reads the encoded table again. A table that was decoded has passed this check.
    ///
    /// # Errors
    ///
    /// Tables and arrays lie too deep in each other, or there are too many fields.
    pub fn check(&self) -> Result<(), DecodeError> {
        let mut fields = Vec::new();
        self.encode_fields(&mut fields);
        check_table(&fields)
    }
}

/// Checks a table without its size, with all tables and arrays in it.
pub(in crate::amqp) fn check_table(fields: &[u8]) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(Fields::new(fields), 1)
}

/// Checks the tables and arrays in a value.
pub(super) fn check_value(field: Field<'_>) -> Result<(), DecodeError> {
    Check { field_count: 0 }.fields(std::iter::once(Ok(field)), 0)
}

struct Check {
    /// How many fields there were so far.
    field_count: usize,
}

impl Check {
    /// Checks what lies in a table or an array of that depth.
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
