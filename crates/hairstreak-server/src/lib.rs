//! The node, `hairstreak serve`: the directory today, more services later.
//!
//! Here are listeners, threads and clocks; what is decided is decided in the broker crate, what is
//! read and written in the wire crate. Reading order: [`Server`], then directory/.

mod directory;
mod options;
mod server;

pub use hairstreak_broker::directory::{Change, Options as DirectoryOptions};
pub use options::{DEFAULT_PORT, ServeOptions};
pub use server::{Server, StartError};
