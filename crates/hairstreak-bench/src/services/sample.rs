//! One sample: the tasks of its processes, and their measurements together.
//!
//! A broker listens before workers and client connect. The client has the clock; the others measure when they finish.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::plan::{Row, Scheme};
use crate::frame::Measurement;
use crate::frame::processes::{Processes, play};

/// The longest time of a sample. The slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(300);

/// A process of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Client, proxy and worker in one.
    All,
    /// Passes requests to workers, and replies back.
    Broker,
    /// Sends the requests, and has the clock.
    Client,
    /// Replies; this one has this number.
    Worker(u8),
}

impl Role {
    /// The name in reports, the same for all workers.
    pub fn text(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Broker => "broker",
            Self::Client => "client",
            Self::Worker(_) => "workers",
        }
    }
}

/// The task of a process. The client's stands for the sample: the others differ in `role` and `endpoint`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The programs.
    pub scheme: Scheme,
    /// The process.
    pub role: Role,
    /// The order of requests and replies, and the number of workers.
    #[serde(flatten)]
    pub row: Row,
    /// Requests of the sample.
    pub request_count: u64,
    /// The endpoint of the broker, empty for the broker itself.
    pub endpoint: String,
    /// The libzmq to load.
    pub libzmq: String,
}

/// The measurements of all processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The measurement of the client, which has the clock and the requests.
    pub client: Measurement,
    /// The measurement of each kind of process, in the order of start: the longest time, and the sum of the usage.
    pub processes: Vec<(&'static str, Measurement)>,
}

impl Task {
    /// Measures in fresh processes.
    pub fn sample(&self) -> Result<Sample> {
        let workers = (0..self.row.worker_count).map(Role::Worker);
        let apart = vec![vec![Role::Broker], workers.chain([Role::Client]).collect()];
        let waves = if self.row.case == Scheme::Tripping { vec![vec![Role::All]] } else { apart };
        let has_clock = |role| matches!(role, Role::All | Role::Client);
        let processes: Processes<Role, Measurement> = Processes::new(self.to_string(), SAMPLE_TIME_MAX);
        let measurements = play(processes, &waves, has_clock, |processes, role, endpoints| {
            let endpoint = endpoints.first().cloned().unwrap_or_default();
            processes.start(role, Command::new, "services", &Task { role, endpoint, ..self.clone() })
        })?;
        let mut sample = Sample::default();
        for (role, measurement) in measurements {
            if has_clock(role) {
                sample.client = measurement;
            }
            match sample.processes.last_mut() {
                Some((text, all)) if *text == role.text() => {
                    all.elapsed_s = all.elapsed_s.max(measurement.elapsed_s);
                    all.usage = all.usage.plus(&measurement.usage);
                }
                _ => sample.processes.push((role.text(), measurement)),
            }
        }
        Ok(sample)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, row, request_count, .. } = self;
        write!(out, "{}, {}, {request_count} requests", scheme.owner(), row.text())
    }
}
