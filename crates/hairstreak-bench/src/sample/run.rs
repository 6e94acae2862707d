//! One sample: its worker processes, and what they measured together.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use super::scenario::{Scenario, Transport};
use super::task::{Calls, ContenderName, Measurement, Role, Task};
pub use crate::processes::ProcessError as SampleError;
use crate::processes::Processes;
use crate::tracer::{CountFile, Tracer};
use crate::usage::Usage;

/// Beyond this a sample hangs; the slowest take a few seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(60);

/// What is sampled: one contender in one scenario.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Case, transport and size.
    pub scenario: &'a Scenario,
    /// Whose sockets.
    pub contender: ContenderName,
    /// How they are called.
    pub calls: Calls,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

/// What all workers of a sample measured together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Messages, or round trips, of the whole sample.
    pub message_count: u64,
    /// The same while the clock ran.
    pub timed_count: u64,
    /// The clock, in seconds.
    pub elapsed_s: f64,
    /// Of all processes, for all messages.
    pub usage: Usage,
    /// Of all processes from start to exit, if a tracer counted them.
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
    /// Measures `message_count` messages or round trips (of each stream) in fresh processes.
    pub fn sample(&self, message_count: u64) -> Result<Sample, SampleError> {
        Run::new(self, message_count, None).run()
    }

    /// The same, with allocations and, if there is a tracer, system calls counted; its rate means nothing.
    pub fn count(&self, message_count: u64, tracer: Option<Tracer>) -> Result<Sample, SampleError> {
        Run::new(self, message_count, Some(tracer)).run()
    }

    /// In words, for progress and errors.
    pub fn text(&self) -> String {
        format!("{} {}", self.contender.text(), self.scenario.text())
    }
}

/// A sample under way.
struct Run<'a> {
    subject: &'a Subject<'a>,
    message_count: u64,
    /// Some: a counting run, perhaps with a tracer.
    counting: Option<Option<Tracer>>,
    processes: Processes<Role, Measurement>,
    /// One for each process.
    count_files: Vec<CountFile>,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject<'a>, message_count: u64, counting: Option<Option<Tracer>>) -> Self {
        let processes = Processes::new(subject.text(), SAMPLE_TIME_MAX);
        Self { subject, message_count, counting, processes, count_files: Vec::new() }
    }

    fn run(mut self) -> Result<Sample, SampleError> {
        let (first, worker_count) = match self.subject.scenario.transport {
            Transport::Inproc => (Role::Both, 1),
            Transport::Tcp | Transport::Ipc | Transport::Shm => (Role::Measurer, 2),
        };
        self.start(first, Vec::new())?;
        while self.processes.count() < worker_count || !self.processes.has_measured(|_| true) {
            match self.processes.next_answer()? {
                (_, Some(endpoints)) => self.start(Role::Peer, endpoints)?,
                // It has everything, so that its peer may stop and answer too.
                (Role::Measurer | Role::Both, None) => self.processes.finish(|_| true)?,
                (Role::Peer, None) => {}
            }
        }
        self.close()
    }

    fn start(&mut self, role: Role, endpoints: Vec<String>) -> Result<(), SampleError> {
        let task = Task {
            case: self.subject.scenario.case,
            transport: self.subject.scenario.transport,
            size: self.subject.scenario.size,
            calls: self.subject.calls,
            contender: self.subject.contender,
            role,
            stream_count: self.subject.scenario.stream_count,
            message_count: self.message_count,
            endpoints,
            is_counting: self.counting.is_some(),
            libzmq: self.subject.libzmq.to_owned(),
        };
        let count_file = CountFile::new();
        let wrap = |program: PathBuf| match self.counting.flatten() {
            Some(tracer) => tracer.command(program.as_os_str(), &count_file),
            None => Command::new(program),
        };
        self.processes.start(role, wrap, "worker", &task)?;
        self.count_files.push(count_file);
        Ok(())
    }

    /// All have answered: adds up.
    fn close(self) -> Result<Sample, SampleError> {
        let measurements = self.processes.close()?;
        let tracer = self.counting.flatten();
        let counts = self.count_files.iter().map(|file| tracer.and_then(|tracer| tracer.read(file)));
        let mut sample = Sample {
            message_count: self.message_count * self.subject.scenario.stream_count as u64,
            timed_count: 0,
            elapsed_s: 0.0,
            usage: Usage::default(),
            system_calls: counts.sum(),
        };
        for (_, measurement) in measurements {
            sample.timed_count += measurement.timed_count;
            sample.elapsed_s += measurement.elapsed_s;
            sample.usage = sample.usage.plus(&measurement.usage);
        }
        Ok(sample)
    }
}
