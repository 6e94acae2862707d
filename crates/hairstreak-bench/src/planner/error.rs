//! `PlannerError`: why the planner could not be compared with a run.

use std::io;

use hairstreak::calibration::CalibrationError;
use hairstreak::topology::{LoadError, PlanError, RunError};
use thiserror::Error;

/// Why the planner could not be compared with a run.
#[derive(Debug, Error)]
pub enum PlannerError {
    /// The machine could not be measured.
    #[error("cannot calibrate: {0}")]
    Calibration(#[from] CalibrationError),
    /// A topology is none.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A topology has no plan.
    #[error("{name}: {source}")]
    Plan {
        /// The topology.
        name: &'static str,
        /// Why.
        source: PlanError,
    },
    /// A topology did not run.
    #[error("{name}: {source}")]
    Run {
        /// The topology.
        name: &'static str,
        /// Why.
        source: Box<RunError>,
    },
    /// There is no program to run stages with.
    #[error("cannot find the program hairstreak: {0}; cargo build --release -p hairstreak-cli builds it")]
    Program(io::Error),
    /// No topology has that name.
    #[error("there is no topology \"{0}\"; there are {1}")]
    Unknown(String, String),
    /// The report cannot be written.
    #[error("cannot write the report: {0}")]
    Write(#[from] io::Error),
    /// Predictions that are further off than they may be.
    #[error("{count} of {of} predictions are more than {percent}% off the median of their runs")]
    Off {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
        /// The tolerance, in percent.
        percent: f64,
    },
}
