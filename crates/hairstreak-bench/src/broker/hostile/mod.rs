//! Hostile company: the rate of good clients beside clients that try to harm the broker.
//!
//! - `company`: the connections of each kind of company
//! - `row`: samples alone and in company, in turns, and their figures

mod company;
mod row;

pub use row::{HostileError, HostileRow, PERCENT_WANTED, measure};
