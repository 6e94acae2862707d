//! Hostile company: what is left of the rate of good clients while others harm the broker as far as it lets them.
//!
//! - `company`: the connections of each kind of company
//! - `row`: a sample alone and one in company, in turns, and the figures

mod company;
mod row;

pub use row::{HostileError, HostileRow, PERCENT_WANTED, measure};
