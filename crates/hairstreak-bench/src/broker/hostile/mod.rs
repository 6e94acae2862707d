//! Hostile company: the rate of good clients beside clients that harm the broker as far as the broker lets them.
//!
//! - `company`: the connections of each kind of company
//! - `row`: a sample alone and one in company, in turns, and the figures

mod company;
mod row;

pub use row::{HostileError, HostileRow, PERCENT_WANTED, measure};
