//! The node, `hairstreak serve`: the directory, and the broker of services.
//!
//! Here are listeners, threads and clocks; what is decided is decided in the broker crate, what is
//! read and written in the wire crate. Reading order: [`Server`], then zmq/.

mod options;
mod server;
mod zmq;

pub use hairstreak_broker::directory::{Change, Options as DirectoryOptions};
pub use hairstreak_broker::service::{Limits as ServiceLimits, Options as ServiceOptions};
pub use options::{DEFAULT_PORT, SERVICES_PORT, ServeOptions};
pub use server::{Server, StartError};
