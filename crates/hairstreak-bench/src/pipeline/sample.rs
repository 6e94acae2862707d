//! One sample: the six processes of a pipeline, and what they measured.
//!
//! The ventilator is started first, then the sink, then the workers, each when what it connects to is bound. Workers are
//! told to finish when ventilator and sink have measured, these when the workers have: until then they may be needed.

use std::process::Command;
use std::time::Duration;

use super::task::{Measurement, Role, Scheme, Task, Transport, WORKER_COUNT};
use crate::processes::{ProcessError, Processes};
use crate::usage::Usage;

/// Beyond this a sample hangs; the slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(150);

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// How.
    pub scheme: Scheme,
    /// Over what.
    pub transport: Transport,
    /// The window, the batch or the block; unbounded, a window that grows by itself.
    pub in_flight_count: u64,
    /// Tasks.
    pub task_count: u64,
    /// How long a worker has each, in microseconds.
    pub task_us: u64,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

/// What all parts measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Tasks.
    pub task_count: u64,
    /// The ventilator's clock, in seconds.
    pub elapsed_s: f64,
    /// Of all processes.
    pub usage: Usage,
    /// The most memory the ventilator had, in bytes.
    pub ventilator_peak_size: u64,
    /// That of the worker that had most.
    pub worker_peak_size: u64,
    /// That of the sink.
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

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Its processes did not do what they had to.
    #[error(transparent)]
    Processes(#[from] ProcessError),
    /// The tasks that the workers had are not those of the sample.
    #[error("{subject}: the workers had {found} tasks of {expected}")]
    Shares {
        /// What was being measured.
        subject: String,
        /// Tasks the workers say they had.
        found: u64,
        /// Tasks of the sample.
        expected: u64,
    },
}

impl Subject<'_> {
    /// Measures it in fresh processes.
    pub fn sample(&self) -> Result<Sample, SampleError> {
        Run::new(self).run()
    }

    /// In words, for progress and errors.
    pub fn text(&self) -> String {
        let Self { scheme, transport, in_flight_count, task_count, task_us, .. } = self;
        let (scheme, transport) = (scheme.text(), transport.text());
        format!("{scheme} over {transport}, {in_flight_count} in flight, {task_count} tasks of {task_us} us")
    }
}

/// A sample under way.
struct Run<'a> {
    subject: &'a Subject<'a>,
    processes: Processes<Role, Measurement>,
    /// Where workers get tasks.
    tasks_endpoint: String,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject<'a>) -> Self {
        let processes = Processes::new(subject.text(), SAMPLE_TIME_MAX);
        Self { subject, processes, tasks_endpoint: String::new() }
    }

    fn run(mut self) -> Result<Sample, SampleError> {
        let is_worker = |role: Role| matches!(role, Role::Worker(_));
        self.start(Role::Ventilator, Vec::new())?;
        while self.processes.count() < WORKER_COUNT + 2 || !self.processes.has_measured(|_| true) {
            match self.processes.next_answer()? {
                (role, Some(endpoints)) => self.start_next(role, endpoints)?,
                (_, None) if self.processes.has_measured(|role| !is_worker(role)) => {
                    self.processes.finish(is_worker)?
                }
                (_, None) => {}
            }
        }
        self.processes.finish(|_| true)?;
        self.close()
    }

    fn start(&mut self, role: Role, endpoints: Vec<String>) -> Result<(), ProcessError> {
        let task = Task {
            scheme: self.subject.scheme,
            role,
            transport: self.subject.transport,
            in_flight_count: self.subject.in_flight_count,
            task_count: self.subject.task_count,
            task_us: self.subject.task_us,
            endpoints,
            libzmq: self.subject.libzmq.to_owned(),
        };
        self.processes.start(role, Command::new, "part", &task)
    }

    /// A part listens: starts those that connect to it.
    fn start_next(&mut self, role: Role, endpoints: Vec<String>) -> Result<(), ProcessError> {
        match (role, &endpoints[..]) {
            (Role::Ventilator, [tasks, control]) => {
                self.tasks_endpoint.clone_from(tasks);
                self.start(Role::Sink, vec![control.clone()])
            }
            (Role::Sink, [results]) => {
                let places = vec![self.tasks_endpoint.clone(), results.clone()];
                (0..WORKER_COUNT).try_for_each(|number| self.start(Role::Worker(number), places.clone()))
            }
            _ => Err(self.processes.misbound(role, &endpoints)),
        }
    }

    /// All have answered: adds up.
    fn close(self) -> Result<Sample, SampleError> {
        let mut sample = Sample {
            task_count: self.subject.task_count,
            elapsed_s: 0.0,
            usage: Usage::default(),
            ventilator_peak_size: 0,
            worker_peak_size: 0,
            sink_peak_size: 0,
            worker_task_counts: [0; WORKER_COUNT],
        };
        for (role, measurement) in self.processes.close()? {
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
        let (found, expected) = (sample.worker_task_counts.iter().sum(), sample.task_count);
        if found != expected {
            return Err(SampleError::Shares { subject: self.subject.text(), found, expected });
        }
        Ok(sample)
    }
}
