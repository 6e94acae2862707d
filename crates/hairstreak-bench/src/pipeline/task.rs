//! What a part of a pipeline is told (a [`Task`], one JSON argument) and what it answers (one [`Answer`] a line).

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::processes;
use crate::usage::Usage;

/// Bytes of a task: its number.
pub const TASK_SIZE: usize = 8;
/// Workers of every pipeline.
pub const WORKER_COUNT: usize = 4;

/// How the ventilator knows what is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Ours: each task is settled by itself, and so many may be unsettled.
    Window,
    /// libzmq, PUSH and PULL: so many tasks, then one acknowledgement from the sink.
    Batches,
    /// libzmq, REQ and REP: so many tasks in one message, then its reply, from the sink through the worker.
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

/// What tasks and results travel over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// TCP on the loopback interface
    Tcp,
    /// Unix sockets with abstract names; ours go on in shared memory
    Ipc,
}

impl Transport {
    /// Its name in endpoints, reports and options.
    pub fn text(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Ipc => "ipc",
        }
    }

    /// Where this process may listen; `name` tells its sockets apart.
    pub fn free_endpoint(self, name: &str) -> String {
        match self {
            Self::Tcp => "tcp://127.0.0.1:*".to_owned(),
            Self::Ipc => format!("ipc://@hairstreak-bench-{}-{name}", std::process::id()),
        }
    }
}

/// Which process of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Hands out tasks and has the clock.
    Ventilator,
    /// Has the results.
    Sink,
    /// Makes a result of each task; this one has this number.
    Worker(usize),
}

/// One part of one sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// How.
    pub scheme: Scheme,
    /// Which part.
    pub role: Role,
    /// Over what.
    pub transport: Transport,
    /// The window, the batch or the block; unbounded, a window that grows by itself.
    pub in_flight_count: u64,
    /// Tasks of the sample.
    pub task_count: u64,
    /// How long a worker has each, in microseconds.
    pub task_us: u64,
    /// To connect to. Worker: tasks, results. Sink: the ventilator's second one. Ventilator: none.
    pub endpoints: Vec<String>,
    /// The libzmq to load.
    pub libzmq: String,
}

/// A line a part prints. It listens: ventilator, for workers, for the sink; sink, for workers.
pub type Answer = processes::Answer<Measurement>;

/// What a part measured.
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
