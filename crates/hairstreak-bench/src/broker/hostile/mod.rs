//! Hostile company: the rate of good clients beside clients that try to harm the broker.
//!
//! - `company`: the connections of each kind of company
//! - `elsewhere`: the attacks from another virtual host
//! - `http`: the requests of company over HTTP
//! - `row`: samples alone and in company, in turns, and their figures

mod company;
mod elsewhere;
mod http;
mod row;

pub use row::{HostileError, HostileRow, P999_MS_WANTED, PERCENT_WANTED, measure};
