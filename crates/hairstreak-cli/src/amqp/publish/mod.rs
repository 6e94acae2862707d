//! `hairstreak publish`: messages to an exchange, each confirmed by the broker.
//!
//! - `arguments`: what may be typed
//! - `source`: where the messages come from
//! - `tally`: which of them are confirmed
//! - `command`: the work

mod arguments;
mod command;
mod source;
mod tally;

pub use arguments::PublishArguments;
pub use command::publish;
