//! One sample: the tasks of its processes, and their measurements together.
//!
//! The ventilator listens first, then the sink, and then the workers connect. The ventilator has the clock.

use std::array;
use std::fmt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::plan::{Row, Scheme, Transport, WORKER_COUNT};
use crate::frame::processes::{Processes, play};
use crate::frame::{Measurement, name};

/// The longest time of a sample. The slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(150);

/// A process of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Hands out tasks and has the clock.
    Ventilator,
    /// Receives the results.
    Sink,
    /// Makes a result of each task; this one has this number.
    Worker(usize),
}

/// The task of a process. The ventilator's stands for the sample: the others differ in `role` and `endpoints`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The scheme.
    pub scheme: Scheme,
    /// The process.
    pub role: Role,
    /// The transport.
    pub transport: Transport,
    /// Tasks in flight, and the time of a task.
    #[serde(flatten)]
    pub row: Row,
    /// Tasks of the sample.
    pub task_count: u64,
    /// The endpoints of the members that listen already: tasks and control of the ventilator, results of the sink.
    pub endpoints: Vec<String>,
    /// The libzmq to load.
    pub libzmq: String,
}

/// The measurements of the ventilator, which has the clock and all tasks, of the sink, and of each worker.
pub type Sample = [Measurement; 2 + WORKER_COUNT];

impl Task {
    /// Measures in fresh processes.
    pub fn sample(&self) -> Result<Sample> {
        let workers = (0..WORKER_COUNT).map(Role::Worker).collect();
        let waves = [vec![Role::Ventilator], vec![Role::Sink], workers];
        let has_clock = |role| !matches!(role, Role::Worker(_));
        let processes: Processes<Role, Measurement> = Processes::new(self.to_string(), SAMPLE_TIME_MAX);
        let measurements = play(processes, &waves, has_clock, |processes, role, endpoints| {
            let task = Task { role, endpoints: endpoints.to_vec(), ..self.clone() };
            processes.start(role, Command::new, "pipeline", &task)
        })?;
        let sample: Sample = array::from_fn(|index| measurements[index].1);
        let found = [sample[0].count, sample[2..].iter().map(|worker| worker.count).sum()];
        ensure!(found == [self.task_count; 2], "{self}: ventilator and workers had {found:?} tasks");
        Ok(sample)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, transport, row: Row { in_flight_count, task_us }, task_count, .. } = self;
        write!(out, "{} over {}, {in_flight_count} in flight, ", scheme.text(), name(transport))?;
        write!(out, "{task_count} tasks of {task_us} us")
    }
}
