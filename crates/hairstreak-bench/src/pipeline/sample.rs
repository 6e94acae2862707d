//! One sample: the tasks of its processes, and their measurements together.
//!
//! The ventilator listens first, then the sink, and then the workers connect. The ventilator has the clock.

use std::fmt;
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::frame::name;
use crate::frame::processes::{Processes, play};
use crate::frame::usage::Usage;

/// The longest time of a sample. The slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(150);

/// Bytes of a task: its number.
pub const TASK_SIZE: usize = 8;
/// Workers of every pipeline.
pub const WORKER_COUNT: usize = 4;

/// The ventilator's way to learn of finished tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Ours: each task is settled by itself, and a window of tasks may be unsettled.
    Window,
    /// libzmq, PUSH and PULL: a batch of tasks, then one acknowledgement from the sink.
    Batches,
    /// libzmq, REQ and REP: a block of tasks in one message, then its reply, from the sink through the worker.
    Blocks,
}

impl Scheme {
    /// The name in messages to people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Window => "hairstreak, window",
            Self::Batches => "libzmq, batches",
            Self::Blocks => "libzmq, REQ/REP blocks",
        }
    }
}

/// The transport of tasks and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface
    Tcp,
    /// Unix sockets with abstract names; ours go on in shared memory
    Ipc,
}

impl Transport {
    /// Returns the transport's name in endpoints, reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ipc => "ipc",
        }
    }

    /// Returns an endpoint at which this process may listen. `name` distinguishes its sockets.
    pub fn free_endpoint(self, name: &str) -> String {
        match self {
            Self::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Self::Ipc => format!("ipc://@hairstreak-bench-{}-{name}", std::process::id()),
        }
    }
}

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

/// The task of a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The scheme.
    pub scheme: Scheme,
    /// The process.
    pub role: Role,
    /// The transport.
    pub transport: Transport,
    /// The window, the batch or the block; unbounded, a window that grows by itself.
    pub in_flight_count: u64,
    /// Tasks of the sample.
    pub task_count: u64,
    /// The time that a worker spends on a task, in microseconds.
    pub task_us: u64,
    /// The endpoints of the members that listen already: tasks and control of the ventilator, results of the sink.
    pub endpoints: Vec<String>,
    /// The libzmq to load.
    pub libzmq: String,
}

/// The measurement of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Tasks it sent, passed on or received.
    pub task_count: u64,
    /// The clock of this process since its first task, in seconds.
    pub elapsed_s: f64,
    /// Used by this process since its first task.
    pub usage: Usage,
    /// The most memory it ever had, in bytes.
    pub peak_size: u64,
}

/// The subject of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The scheme.
    pub scheme: Scheme,
    /// The transport.
    pub transport: Transport,
    /// The window, the batch or the block; unbounded, a window that grows by itself.
    pub in_flight_count: u64,
    /// Tasks.
    pub task_count: u64,
    /// The time that a worker spends on a task, in microseconds.
    pub task_us: u64,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

/// The measurements of all parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Tasks.
    pub task_count: u64,
    /// The ventilator's clock, in seconds.
    pub elapsed_s: f64,
    /// The usage of all processes.
    pub usage: Usage,
    /// The most memory the ventilator had, in bytes.
    pub ventilator_peak_size: u64,
    /// The largest peak memory of a worker, in bytes.
    pub worker_peak_size: u64,
    /// The peak memory of the sink, in bytes.
    pub sink_peak_size: u64,
    /// Tasks of each worker.
    pub worker_task_counts: [u64; WORKER_COUNT],
}

impl Sample {
    /// Tasks per second.
    pub fn rate(&self) -> f64 {
        self.task_count as f64 / self.elapsed_s
    }

    /// Processor seconds of all processes per million tasks.
    pub fn cpu_s_per_million(&self) -> f64 {
        self.usage.cpu_s * 1e6 / self.task_count as f64
    }
}

impl Subject<'_> {
    /// Measures in fresh processes.
    pub fn sample(&self) -> Result<Sample> {
        let workers = (0..WORKER_COUNT).map(Role::Worker).collect();
        let waves = [vec![Role::Ventilator], vec![Role::Sink], workers];
        let has_clock = |role| !matches!(role, Role::Worker(_));
        let processes: Processes<Role, Measurement> = Processes::new(self.to_string(), SAMPLE_TIME_MAX);
        let measurements = play(processes, &waves, has_clock, |processes, role, endpoints| {
            let task = Task {
                scheme: self.scheme,
                role,
                transport: self.transport,
                in_flight_count: self.in_flight_count,
                task_count: self.task_count,
                task_us: self.task_us,
                endpoints: endpoints.to_vec(),
                libzmq: self.libzmq.to_owned(),
            };
            processes.start(role, Command::new, "pipeline", &task)
        })?;
        let mut sample = Sample {
            task_count: self.task_count,
            elapsed_s: 0.0,
            usage: Usage::default(),
            ventilator_peak_size: 0,
            worker_peak_size: 0,
            sink_peak_size: 0,
            worker_task_counts: [0; WORKER_COUNT],
        };
        for (role, measurement) in measurements {
            sample.usage = sample.usage.plus(&measurement.usage);
            let peak = match role {
                Role::Ventilator => {
                    sample.elapsed_s = measurement.elapsed_s;
                    &mut sample.ventilator_peak_size
                }
                Role::Sink => &mut sample.sink_peak_size,
                Role::Worker(number) => {
                    sample.worker_task_counts[number] = measurement.task_count;
                    &mut sample.worker_peak_size
                }
            };
            *peak = measurement.peak_size.max(*peak);
        }
        let (found, expected) = (sample.worker_task_counts.iter().sum::<u64>(), sample.task_count);
        ensure!(found == expected, "{self}: the workers had {found} tasks of {expected}");
        Ok(sample)
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, transport, in_flight_count, task_count, task_us, .. } = self;
        let (scheme, transport) = (scheme.text(), name(transport));
        write!(
            out,
            "{scheme} over {transport}, {in_flight_count} in flight, {task_count} tasks of {task_us} us"
        )
    }
}
