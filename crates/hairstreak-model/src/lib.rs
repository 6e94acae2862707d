//! The planner: the rates and times of a pipeline of stages, computed before anything runs.
//!
//! [`plan`] holds the equations of the butterfly tutorial: a stage handles
//! `instances / (receive + process + send)` messages a second and the slowest stage decides.
//! [`simulate`] passes N messages through the same stages event by event, with random times, queues, windows, the costs of a
//! network, and cores that all instances share. [`advise`] tries small changes and orders them by their gain. Nothing here
//! reads a file, a clock or a socket.
//!
//! Reading order: [`Pipeline`], [`plan`], [`Load`], [`simulate`], [`advise`].

mod advice;
mod distribution;
mod network;
mod pipeline;
mod plan;
mod simulate;

pub use advice::{Advice, Change, Copies, advise};
pub use distribution::{DEVIATION_MAX, Distribution, DistributionError};
pub use network::{
    Fabric, FabricError, FabricKind, LinkCost, Links, LinksError, Network, PORTS_MAX, SIZES_MAX,
};
pub use pipeline::{
    CORES_MAX, INSTANCES_MAX, Pipeline, PipelineError, QUEUE_DEFAULT, Routing, STAGES_MAX, Stage, TIME_MAX,
    Times, WINDOW_MAX, Window, Wiring, WordError,
};
pub use plan::{Layout, Limit, Plan, StagePlan, Target, plan};
pub use simulate::{
    Arrivals, Bottleneck, Depth, EXACT_MESSAGES_MAX, Latency, Load, Simulation, Station, simulate,
};
