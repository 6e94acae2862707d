//! Values of AMQP as typed text, and as JSON.
//!
//! - `json`: field tables and JSON objects
//! - `typed`: NAME=VALUE on the command line
//! - `properties`: the properties of a message
//! - `text`: short strings
//! - `record`: a message as one JSON object

mod json;
mod properties;
mod record;
mod text;
mod typed;

pub use properties::PropertyValues;
pub use record::{Record, from_record, to_record};
pub use text::Text;
pub use typed::{NamedValue, short_string, table};
