//! Hostile company: the rate of good clients beside clients that try to harm the broker.
//!
//! - `company`: the connections of each kind of company
//! - `http`: the requests of company over HTTP
//! - `row`: samples alone and in company, in turns, and their figures

mod company;
mod http;
mod row;

pub use row::{HostileError, HostileRow, P999_MS_WANTED, PERCENT_WANTED, measure};
