//! `hairstreak consume`: messages of a queue to standard output, or to files.
//!
//! - `arguments`: the arguments
//! - `output`: the destination of messages
//! - `command`: the work

mod arguments;
mod command;
mod output;

pub use arguments::ConsumeArguments;
pub use command::consume;
