//! The report of the benchmark: JSON, tables for a terminal, one HTML file, and CSV.
//!
//! ```text
//!   record (one run) --> report --> sections --> text, html
//!                               --> json, csv;  charts --> html
//! ```

mod charts;
mod comparison;
mod csv;
mod escape;
mod html;
mod paper;
mod record;
mod report;
mod sections;
mod table;
mod write;

pub use record::Record;
pub use report::Report;
pub use write::{render, write};
