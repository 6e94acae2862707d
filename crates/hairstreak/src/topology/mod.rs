//! Topologies: a pipeline of stages as a file, its plan, and its run as processes.
//!
//! [`Topology::load`] reads the file, [`Topology::pipeline`] gives the model that predicts it,
//! [`run`] starts it. The format is described in `docs/topology.md`.
//!
//! Reading order: [`Topology`], `file`, [`run`], [`stage`].

mod definition;
mod duration;
mod file;
mod framing;
mod run;
pub mod stage;

pub use definition::{
    CommandLine, Framing, INSTANCES_TOTAL_MAX, Input, MESSAGE_SIZE_MAX, MESSAGES_MAX, Machine, NAME_SIZE_MAX,
    Output, PlanError, Stage, Stream, Topology, Work,
};
pub use duration::{DurationError, parse_duration};
pub use file::{FILE_SIZE_MAX, LoadError};
pub use run::{Observer, Progress, RunError, RunOptions, RunReport, StageProgress, StageReport, run};
