//! A client of AMQP 0-9-1: one connection with one channel, driven by the thread that calls.
//!
//! ```text
//! Address --open--> Connection: call a method, wait for events, put frames into the output
//! ```
//!
//! The connection has no heartbeats: a program that is blocked on its own output could not send any. TCP's keepalive detects a
//! broker whose host has failed.
//!
//! - `address`: the URL of a broker; `url`: the parts and the percent escapes of any URL
//! - `stream`: tcp and unix sockets; `secured`: TLS
//! - `assembler`: events from frames
//! - `connection`: buffers, waiting, calls
//! - `login`: from the protocol header to an open channel

mod address;
mod assembler;
mod connection;
mod error;
mod event;
mod login;
mod secured;
mod stream;
mod url;

pub use address::{Address, Place, UrlTls};
pub use connection::{CHANNEL, Connection};
pub use error::ClientError;
pub use event::{Content, Event};
pub use login::open;
pub use secured::ClientTls;
pub use stream::Stream;
pub use url::{Url, escape};
