//! The log of the node: lines with fields, as text or JSON, on standard error.
//!
//! ```text
//!   log::info!(peer = name; "accepting AMQP connection")
//!     --> Logger: below the level? --> Line: one line of text or JSON --> LineQueue --> thread "log" --> standard error
//! ```
//!
//! Writing a line never waits, because a stopped reader of standard error must not stop the loops of the node. Lines without
//! room are dropped, and a line of its own reports their number.
//!
//! The crate `log` has the macros. Keys stand before a semicolon: `log::warn!(endpoint:% = endpoint, reason = &*reason; "nothing can be accepted")`.
//! `:%` takes what can be displayed, `:?` what can be debugged, and a plain value is a text, a number or a truth value. The keys `time`, `level` and `msg`
//! are the log's own.
//!
//! Reading order: `line`, `line_queue`, `logger`.

mod line;
mod line_queue;
mod logger;

pub use logger::{Logging, start};
