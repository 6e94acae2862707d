//! What a pipeline of stages can do, computed before anything runs.
//!
//! [`plan`] holds the equations of the butterfly tutorial: a stage handles
//! `instances / (receive + process + send)` messages a second and the slowest stage decides.
//! [`simulate`] walks N messages through the same stages one by one, so that the fill of the
//! pipeline and its last round count too. Nothing here reads a file, a clock or a socket.
//!
//! Reading order: [`Pipeline`], [`plan`], [`simulate`].

mod pipeline;
mod plan;
mod simulate;

pub use pipeline::{CORES_MAX, INSTANCES_MAX, Pipeline, PipelineError, STAGES_MAX, Stage, TIME_MAX, Times};
pub use plan::{Layout, Limit, Plan, StagePlan, Target, plan};
pub use simulate::{EXACT_MESSAGES_MAX, Simulation, simulate};
