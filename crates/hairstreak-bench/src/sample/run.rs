//! One sample: its processes, and their measurements together.

use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::task::{Calls, ContenderName, Measurement, Role, Scenario, Task, Transport};
use crate::frame::processes::{Processes, play};
use crate::frame::tracer::{CountFile, Tracer};
use crate::frame::usage::Usage;

/// The longest time of a sample. The slowest take a few seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(60);

/// One contender in one scenario.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Case, transport and size.
    pub scenario: &'a Scenario,
    /// The contender.
    pub contender: ContenderName,
    /// The calls of the application.
    pub calls: Calls,
    /// Messages, or round trips, of each stream.
    pub message_count: u64,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

/// The measurements of all members of a sample together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Messages, or round trips, of the whole sample.
    pub message_count: u64,
    /// Messages, or round trips, while the clock ran.
    pub timed_count: u64,
    /// The clock, in seconds.
    pub elapsed_s: f64,
    /// Usage of all processes, for all messages.
    pub usage: Usage,
    /// System calls of all processes from start to exit, if a tracer counted them.
    pub system_calls: Option<u64>,
}

impl Sample {
    /// Messages, or round trips, per second.
    pub fn rate(&self) -> f64 {
        self.timed_count as f64 / self.elapsed_s
    }

    /// Processor seconds per million messages or round trips.
    pub fn cpu_s_per_million(&self) -> f64 {
        self.usage.cpu_s * 1e6 / self.message_count as f64
    }

    /// Voluntary context switches per message or round trip.
    pub fn wake_ups(&self) -> f64 {
        self.usage.voluntary_switches as f64 / self.message_count as f64
    }
}

impl Subject<'_> {
    /// Measures in fresh processes.
    pub fn sample(&self) -> Result<Sample> {
        self.run(None)
    }

    /// Counts allocations and, if there is a tracer, system calls. The rate of such a sample means nothing.
    pub fn count(&self, tracer: Option<Tracer>) -> Result<Sample> {
        self.run(Some(tracer))
    }

    fn run(&self, counting: Option<Option<Tracer>>) -> Result<Sample> {
        let Scenario { case, transport, size, stream_count, .. } = *self.scenario;
        let waves = match transport {
            Transport::Inproc => vec![vec![Role::Both]],
            Transport::Tcp | Transport::Ipc | Transport::Shm => vec![vec![Role::Measurer], vec![Role::Peer]],
        };
        let tracer = counting.flatten();
        let mut count_files = Vec::new();
        let processes = Processes::new(self.to_string(), SAMPLE_TIME_MAX);
        let measurements = play(
            processes,
            &waves,
            |role| role != Role::Peer,
            |processes, role, endpoints| {
                let task = Task {
                    case,
                    transport,
                    size,
                    calls: self.calls,
                    contender: self.contender,
                    role,
                    stream_count,
                    message_count: self.message_count,
                    endpoints: endpoints.to_vec(),
                    is_counting: counting.is_some(),
                    libzmq: self.libzmq.to_owned(),
                };
                let count_file = CountFile::new();
                let wrap = |program: PathBuf| match tracer {
                    Some(tracer) => tracer.command(program.as_os_str(), &count_file),
                    None => Command::new(program),
                };
                processes.start(role, wrap, "sockets", &task)?;
                count_files.push(count_file);
                Ok(())
            },
        )?;
        let counts = count_files.iter().map(|file| tracer.and_then(|tracer| tracer.read(file)));
        let mut sample = Sample {
            message_count: self.message_count * stream_count as u64,
            timed_count: 0,
            elapsed_s: 0.0,
            usage: Usage::default(),
            system_calls: counts.sum(),
        };
        for (_, Measurement { timed_count, elapsed_s, usage }) in measurements {
            sample.timed_count += timed_count;
            sample.elapsed_s += elapsed_s;
            sample.usage = sample.usage.plus(&usage);
        }
        Ok(sample)
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.contender.text(), self.scenario)
    }
}
