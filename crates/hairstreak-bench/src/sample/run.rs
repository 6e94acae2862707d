//! One sample: its worker processes from start to exit, and what they measured together.
//!
//! Invariants: when a sample returns, none of its processes is left; a worker that dies, answers nonsense or takes
//! longer than [`SAMPLE_TIME_MAX`] makes the sample an error that names it.

use std::env;
use std::io;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::scenario::{Scenario, Transport};
use super::task::{Answer, Calls, ContenderName, Measurement, Role, Task};
use crate::process::{Event, Worker};
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

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// A process could not be started or spoken to.
    #[error("{subject}: {error}")]
    Process {
        /// What was being measured.
        subject: String,
        /// What the system says.
        error: io::Error,
    },
    /// A worker ended before its part was done; it has said why on standard error.
    #[error("{subject}: the {role:?} worker ended before it had measured anything")]
    Ended {
        /// What was being measured.
        subject: String,
        /// Which end.
        role: Role,
    },
    /// A worker printed something that is no answer.
    #[error("{subject}: the {role:?} worker answered {line:?}")]
    Answer {
        /// What was being measured.
        subject: String,
        /// Which end.
        role: Role,
        /// What it printed.
        line: String,
    },
    /// No end in sight.
    #[error("{subject}: no result after {} s", SAMPLE_TIME_MAX.as_secs())]
    Hangs {
        /// What was being measured.
        subject: String,
    },
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
    parts: Vec<Part>,
    events: mpsc::Receiver<(usize, Event)>,
    event_sender: mpsc::Sender<(usize, Event)>,
}

/// One of its processes.
struct Part {
    role: Role,
    worker: Worker,
    count_file: CountFile,
    measurement: Option<Measurement>,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject<'a>, message_count: u64, counting: Option<Option<Tracer>>) -> Self {
        let (event_sender, events) = mpsc::channel();
        Self { subject, message_count, counting, parts: Vec::new(), events, event_sender }
    }

    fn run(mut self) -> Result<Sample, SampleError> {
        let deadline = Instant::now() + SAMPLE_TIME_MAX;
        let (first, part_count) = match self.subject.scenario.transport {
            Transport::Inproc => (Role::Both, 1),
            Transport::Tcp | Transport::Ipc | Transport::Shm => (Role::Measurer, 2),
        };
        self.start(first, Vec::new())?;
        while self.parts.len() < part_count || self.parts.iter().any(|part| part.measurement.is_none()) {
            let left = deadline.saturating_duration_since(Instant::now());
            let (index, event) = self
                .events
                .recv_timeout(left)
                .map_err(|_| SampleError::Hangs { subject: self.subject.text() })?;
            match event {
                Event::Line(line) => self.take_answer(index, line)?,
                Event::Ended if self.parts[index].measurement.is_none() => return Err(self.ended(index)),
                Event::Ended => {}
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
        let worker = env::current_exe()
            .and_then(|program| {
                let mut command = match self.counting.flatten() {
                    Some(tracer) => tracer.command(program.as_os_str(), &count_file),
                    None => Command::new(program),
                };
                command.arg("worker").arg(serde_json::to_string(&task)?);
                Worker::spawn(command, self.parts.len(), self.event_sender.clone())
            })
            .map_err(|error| self.failed(error))?;
        self.parts.push(Part { role, worker, count_file, measurement: None });
        Ok(())
    }

    fn take_answer(&mut self, index: usize, line: String) -> Result<(), SampleError> {
        let role = self.parts[index].role;
        match serde_json::from_str(&line) {
            Ok(Answer::Bound(endpoints)) => self.start(Role::Peer, endpoints),
            Ok(Answer::Measured(measurement)) => {
                self.parts[index].measurement = Some(measurement);
                match role {
                    // It has everything, so that its peer may stop and answer too.
                    Role::Measurer | Role::Both => self.finish_all(),
                    Role::Peer => Ok(()),
                }
            }
            Err(_) => Err(SampleError::Answer { subject: self.subject.text(), role, line }),
        }
    }

    fn finish_all(&mut self) -> Result<(), SampleError> {
        let finished = self.parts.iter_mut().try_for_each(|part| part.worker.finish());
        finished.map_err(|error| self.failed(error))
    }

    /// All have answered: reaps them and adds up.
    fn close(mut self) -> Result<Sample, SampleError> {
        for index in 0..self.parts.len() {
            match self.parts[index].worker.wait() {
                Ok(status) if status.success() => {}
                Ok(_) => return Err(self.ended(index)),
                Err(error) => return Err(self.failed(error)),
            }
        }
        let tracer = self.counting.flatten();
        let counts = self.parts.iter().map(|part| tracer.and_then(|tracer| tracer.read(&part.count_file)));
        let mut sample = Sample {
            message_count: self.message_count * self.subject.scenario.stream_count as u64,
            timed_count: 0,
            elapsed_s: 0.0,
            usage: Usage::default(),
            system_calls: counts.sum(),
        };
        for measurement in self.parts.iter().filter_map(|part| part.measurement.as_ref()) {
            sample.timed_count += measurement.timed_count;
            sample.elapsed_s += measurement.elapsed_s;
            sample.usage = sample.usage.plus(&measurement.usage);
        }
        Ok(sample)
    }

    fn ended(&self, index: usize) -> SampleError {
        SampleError::Ended { subject: self.subject.text(), role: self.parts[index].role }
    }

    fn failed(&self, error: io::Error) -> SampleError {
        SampleError::Process { subject: self.subject.text(), error }
    }
}
