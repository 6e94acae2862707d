//! The results of the benchmark: tables for a terminal, one HTML file, JSON, and CSV.
//!
//! ```text
//!   record (one run) --> report --> json, csv
//!                        report --> sections (words and tables, with the paper's) --> output (text, html)
//!                        report --> charts                                        --> output (html)
//! ```

mod charts;
mod figures;
mod output;
mod paper;
mod record;
mod report;
mod sections;

pub use output::publish;
pub use record::Record;
pub use report::Report;
