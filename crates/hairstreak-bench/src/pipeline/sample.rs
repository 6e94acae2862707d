//! One sample: the six processes of a pipeline from start to exit, and what they measured.
//!
//! The ventilator is started first, then the sink, then the workers, each when what it connects to is bound. Workers are
//! told to finish when ventilator and sink have measured, these when the workers have: until then they may be needed.
//!
//! Invariants: when a sample returns, none of its processes is left; a part that dies, answers nonsense or takes longer
//! than [`SAMPLE_TIME_MAX`] makes the sample an error that names it.

use std::env;
use std::io;
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::task::{Answer, Measurement, Role, Scheme, Task, WORKER_COUNT};
use crate::process::{Event, Worker};
use crate::usage::Usage;

/// Beyond this a sample hangs; the slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(150);

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// How.
    pub scheme: Scheme,
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
    /// A process could not be started or spoken to.
    #[error("{subject}: {error}")]
    Process {
        /// What was being measured.
        subject: String,
        /// What the system says.
        error: io::Error,
    },
    /// A part ended before it was done; it has said why on standard error.
    #[error("{subject}: {role:?} ended before it had measured anything")]
    Ended {
        /// What was being measured.
        subject: String,
        /// Which part.
        role: Role,
    },
    /// A part printed something that is no answer.
    #[error("{subject}: {role:?} answered {line:?}")]
    Answer {
        /// What was being measured.
        subject: String,
        /// Which part.
        role: Role,
        /// What it printed.
        line: String,
    },
    /// No end in sight.
    #[error("{subject}: no result after {} s; still at work: {roles:?}", SAMPLE_TIME_MAX.as_secs())]
    Hangs {
        /// What was being measured.
        subject: String,
        /// Which parts have not answered.
        roles: Vec<Role>,
    },
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
        let Self { in_flight_count, task_count, task_us, .. } = self;
        format!("{}, {in_flight_count} in flight, {task_count} tasks of {task_us} us", self.scheme.text())
    }
}

/// A sample under way.
struct Run<'a> {
    subject: &'a Subject<'a>,
    parts: Vec<Part>,
    /// Where workers get tasks.
    tasks_endpoint: String,
    events: mpsc::Receiver<(usize, Event)>,
    event_sender: mpsc::Sender<(usize, Event)>,
}

/// One of its processes.
struct Part {
    role: Role,
    process: Worker,
    measurement: Option<Measurement>,
    is_finished: bool,
}

impl<'a> Run<'a> {
    fn new(subject: &'a Subject<'a>) -> Self {
        let (event_sender, events) = mpsc::channel();
        Self { subject, parts: Vec::new(), tasks_endpoint: String::new(), events, event_sender }
    }

    fn run(mut self) -> Result<Sample, SampleError> {
        let deadline = Instant::now() + SAMPLE_TIME_MAX;
        self.start(Role::Ventilator, Vec::new())?;
        while !self.is_complete() {
            let left = deadline.saturating_duration_since(Instant::now());
            let (index, event) = self.events.recv_timeout(left).map_err(|_| self.hangs())?;
            match event {
                Event::Line(line) => self.take_answer(index, line)?,
                Event::Ended if self.parts[index].measurement.is_none() => return Err(self.ended(index)),
                Event::Ended => {}
            }
        }
        self.finish(|_| true)?;
        self.close()
    }

    fn is_complete(&self) -> bool {
        self.parts.len() == WORKER_COUNT + 2 && self.parts.iter().all(|part| part.measurement.is_some())
    }

    fn start(&mut self, role: Role, endpoints: Vec<String>) -> Result<(), SampleError> {
        let task = Task {
            scheme: self.subject.scheme,
            role,
            in_flight_count: self.subject.in_flight_count,
            task_count: self.subject.task_count,
            task_us: self.subject.task_us,
            endpoints,
            libzmq: self.subject.libzmq.to_owned(),
        };
        let process = env::current_exe()
            .and_then(|program| {
                let mut command = Command::new(program);
                command.arg("part").arg(serde_json::to_string(&task)?);
                Worker::spawn(command, self.parts.len(), self.event_sender.clone())
            })
            .map_err(|error| self.failed(error))?;
        self.parts.push(Part { role, process, measurement: None, is_finished: false });
        Ok(())
    }

    fn take_answer(&mut self, index: usize, line: String) -> Result<(), SampleError> {
        let role = self.parts[index].role;
        let answer = serde_json::from_str(&line);
        match (role, answer) {
            (Role::Ventilator, Ok(Answer::Bound(endpoints))) if endpoints.len() == 2 => {
                let [tasks, control] = <[String; 2]>::try_from(endpoints).unwrap_or_default();
                self.tasks_endpoint = tasks;
                self.start(Role::Sink, vec![control])
            }
            (Role::Sink, Ok(Answer::Bound(endpoints))) if endpoints.len() == 1 => {
                let places: Vec<String> =
                    std::iter::once(self.tasks_endpoint.clone()).chain(endpoints).collect();
                (0..WORKER_COUNT).try_for_each(|number| self.start(Role::Worker(number), places.clone()))
            }
            (_, Ok(Answer::Measured(measurement))) => {
                self.parts[index].measurement = Some(measurement);
                let is_worker = |role: Role| matches!(role, Role::Worker(_));
                let others = self.parts.iter().filter(|part| !is_worker(part.role));
                if others.filter(|part| part.measurement.is_some()).count() == 2 {
                    self.finish(is_worker)?;
                }
                Ok(())
            }
            _ => Err(SampleError::Answer { subject: self.subject.text(), role, line }),
        }
    }

    /// Tells those to finish that have not been told.
    fn finish(&mut self, who: impl Fn(Role) -> bool) -> Result<(), SampleError> {
        for part in self.parts.iter_mut().filter(|part| who(part.role) && !part.is_finished) {
            part.is_finished = true;
            let told = part.process.finish();
            told.map_err(|error| SampleError::Process { subject: self.subject.text(), error })?;
        }
        Ok(())
    }

    /// All have answered: reaps them and adds up.
    fn close(mut self) -> Result<Sample, SampleError> {
        for index in 0..self.parts.len() {
            match self.parts[index].process.wait() {
                Ok(status) if status.success() => {}
                Ok(_) => return Err(self.ended(index)),
                Err(error) => return Err(self.failed(error)),
            }
        }
        let mut sample = Sample {
            task_count: self.subject.task_count,
            elapsed_s: 0.0,
            usage: Usage::default(),
            ventilator_peak_size: 0,
            worker_peak_size: 0,
            sink_peak_size: 0,
            worker_task_counts: [0; WORKER_COUNT],
        };
        for part in &self.parts {
            let Some(measurement) = part.measurement else { continue };
            sample.usage = sample.usage.plus(&measurement.usage);
            let peak = match part.role {
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

    fn hangs(&self) -> SampleError {
        let waiting = self.parts.iter().filter(|part| part.measurement.is_none());
        SampleError::Hangs { subject: self.subject.text(), roles: waiting.map(|part| part.role).collect() }
    }

    fn ended(&self, index: usize) -> SampleError {
        SampleError::Ended { subject: self.subject.text(), role: self.parts[index].role }
    }

    fn failed(&self, error: io::Error) -> SampleError {
        SampleError::Process { subject: self.subject.text(), error }
    }
}
