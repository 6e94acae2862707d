//! Hostile load: the rate of good clients beside clients that try to harm the broker.
//!
//! - `load`: the connections of each kind of load
//! - `elsewhere`: the attacks from another virtual host
//! - `http`: the requests of load over HTTP
//! - `row`: samples alone and beside the load, in turns, and their figures

mod elsewhere;
mod http;
mod load;
mod row;

pub use row::{HostileError, HostileRow, P999_MS_WANTED, PERCENT_WANTED, measure};
