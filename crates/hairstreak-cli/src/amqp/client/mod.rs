//! A small client of AMQP 0-9-1: one connection, one channel, one thread.
//!
//! ```text
//! Address -> Stream -> Connection: login, calls, events
//! ```
//!
//! The connection has no heartbeats: a command whose output waits for a reader could send none. TCP's keepalive notices
//! a broker whose host is gone.
//!
//! - `address`: where the broker is and who logs in
//! - `stream`: the bytes, and `secured`: those of TLS
//! - `assembler`: events out of frames
//! - `connection`: buffers, waiting, calls
//! - `login`: from the protocol header to an open channel
//! - `error`: why it did not work

mod address;
mod assembler;
mod connection;
mod error;
mod event;
mod login;
mod secured;
mod stream;

pub use address::{Address, Place, UrlTls};
pub use connection::{CHANNEL, Connection};
pub use error::ClientError;
pub use event::{Content, Event};
pub use login::open;
pub use secured::ClientTls;
pub use stream::Stream;
