//! The results of the benchmark: tables for a terminal, one HTML file, JSON, and CSV.
//!
//! ```text
//!   record (one run) --> report (tables, with the paper's) --> output (text, html, json, csv)
//!                        charts                            --> output (html)
//! ```

mod charts;
mod figures;
mod output;
mod paper;
mod record;
mod report;

pub use output::publish;
pub use record::Record;
pub use report::Results;
