//! `hairstreak consume`: messages of a queue to standard output, or to files.
//!
//! - `arguments`: what may be typed
//! - `output`: where messages go
//! - `command`: the work

mod arguments;
mod command;
mod output;

pub use arguments::ConsumeArguments;
pub use command::consume;
