//! What the benchmark has to say, as JSON, as tables for a terminal, as one HTML file, and as CSV.
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
