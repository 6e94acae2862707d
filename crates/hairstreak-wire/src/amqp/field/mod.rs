//! Field tables: the arguments of declarations, the headers of messages, the properties of peers.
//!
//! ```text
//! table:  size (4) | field ...
//! field:  name size (1) | name | type letter (1) | value
//! array:  size (4) | { type letter (1) | value } ...
//! ```
//!
//! - `value`: `FieldTable` and `FieldValue`
//! - `split`: undecoded fields, without allocation
//! - `check`: checks of a whole table, without allocation
//! - `decode`, `encode`: owned tables from bytes, and back
//! - `encoded`: `EncodedTable`, a stored table

mod check;
mod decode;
mod encode;
mod encoded;
mod split;
mod value;

pub(super) use check::check_table;
pub(super) use decode::decode_table;
pub use encoded::EncodedTable;
pub use split::{Field, Fields, Values};
pub use value::{DEPTH_MAX, FIELD_COUNT_MAX, FieldTable, FieldValue};
