//! `hairstreak publish`: messages to an exchange, each confirmed by the broker.
//!
//! - `arguments`: the arguments
//! - `source`: the source of the messages
//! - `tally`: the count of confirmed messages
//! - `command`: the work

mod arguments;
mod command;
mod source;
mod tally;

pub use arguments::PublishArguments;
pub use command::publish;
