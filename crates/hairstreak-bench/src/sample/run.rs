//! One sample: its processes, and their measurements together.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::task::{Measurement, Role, Subject, Task, Transport};
use crate::frame::Spread;
use crate::frame::processes::{Processes, play};
use crate::frame::tracer::{CountFile, Tracer};
use crate::frame::usage::Usage;

/// The longest time of a sample. The slowest take a few seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(60);

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
    /// Measures in fresh processes.
    pub fn of(subject: &Subject) -> Result<Sample> {
        Sample::run(subject, false, None)
    }

    /// Counts allocations and, if there is a tracer, system calls. The rate of such a sample means nothing.
    pub fn count(subject: &Subject, tracer: Option<Tracer>) -> Result<Sample> {
        Sample::run(subject, true, tracer)
    }

    fn run(subject: &Subject, is_counting: bool, tracer: Option<Tracer>) -> Result<Sample> {
        let waves = match subject.transport {
            Transport::Inproc => vec![vec![Role::Both]],
            Transport::Tcp | Transport::Ipc | Transport::Shm => vec![vec![Role::Measurer], vec![Role::Peer]],
        };
        let mut count_files = Vec::new();
        let processes = Processes::new(subject.to_string(), SAMPLE_TIME_MAX);
        let measurements = play(
            processes,
            &waves,
            |role| role != Role::Peer,
            |processes, role, endpoints| {
                let (subject, endpoints) = (subject.clone(), endpoints.to_vec());
                let task = Task { subject, role, endpoints, is_counting };
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
        let members = || measurements.iter().map(|(_, measurement): &(Role, Measurement)| measurement);
        Ok(Sample {
            message_count: subject.message_count * subject.stream_count as u64,
            timed_count: members().map(|member| member.timed_count).sum(),
            elapsed_s: members().map(|member| member.elapsed_s).sum(),
            usage: members().fold(Usage::default(), |usage, member| usage.plus(&member.usage)),
            system_calls: counts.sum(),
        })
    }

    /// Summarises a figure of samples. `None` without a sample.
    pub fn spread(samples: &[Sample], figure: fn(&Sample) -> f64) -> Option<Spread> {
        Spread::of(samples.iter().map(figure))
    }

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
