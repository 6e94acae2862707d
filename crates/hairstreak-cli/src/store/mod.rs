//! `hairstreak store`: tools for the messages of a data directory that no node uses.
//!
//! - `arguments`: the arguments
//! - `queue_names`: the directory, and the names of its queues
//! - `check`, `dump`: one command each
//! - `command`: the choice of the command, and `salvage`

mod arguments;
mod check;
mod command;
mod dump;
mod queue_names;

pub use command::{StoreArguments, store};
