//! `Failure`: whatever ends the job; displays as one line.

use std::error::Error;

/// Nobody decides by its kind, so it has none.
pub type Failure = Box<dyn Error + Send + Sync>;
