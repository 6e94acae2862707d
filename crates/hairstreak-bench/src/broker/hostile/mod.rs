//! Hostile load: the rate of good clients beside clients that try to harm the broker.
//!
//! - `measure`: samples alone and beside the load, in turns, and their figures
//! - `load`: the table of all loads, and the repetition of their steps
//! - `attacker`: the actions of loads
//! - `http`: the requests of load over HTTP

mod attacker;
mod http;
mod load;
mod measure;

pub use measure::measure;
