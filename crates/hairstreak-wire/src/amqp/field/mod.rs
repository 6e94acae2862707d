//! Field tables: the arguments of declarations, the headers of messages, the properties of peers.
//!
//! ```text
//! table:  size (4) | field ...
//! field:  name size (1) | name | type letter (1) | value
//! array:  size (4) | { type letter (1) | value } ...
//! ```
//!
//! - `value`: `FieldTable` and `FieldValue`, from bytes and back
//! - `split`: undecoded fields and the check of a whole table, without allocation
//! - `encoded`: `EncodedTable`, a stored table

mod encoded;
mod split;
mod value;

pub use encoded::EncodedTable;
pub(super) use split::check_table;
pub use split::{Field, Fields, Values};
pub use value::{FieldTable, FieldValue};
