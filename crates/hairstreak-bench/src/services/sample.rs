//! One sample: the processes of a service, and what they measured.
//!
//! Where there is a broker it is started first, and when it listens the workers and the client. The client has the clock.
//! When it has measured, the others are told to finish: they measure only then.

use std::process::Command;
use std::time::Duration;

use super::plan::Row;
use super::task::{Measurement, Role, Scheme, ServiceCase, Task};
use crate::processes::{ProcessError, Processes};

/// Beyond this a sample hangs; the slowest take some twenty seconds.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(300);

/// What is sampled.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// How.
    pub scheme: Scheme,
    /// Of which row.
    pub row: Row,
    /// Requests.
    pub request_count: u64,
    /// The libzmq to load.
    pub libzmq: &'a str,
}

/// What all parts measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Requests, each with its reply.
    pub request_count: u64,
    /// The client's clock, in seconds.
    pub elapsed_s: f64,
    /// What each kind of process measured, in the order they were started: the longest time, and all that was used.
    pub processes: Vec<(&'static str, Measurement)>,
}

impl Sample {
    /// Requests per second.
    pub fn rate(&self) -> f64 {
        self.request_count as f64 / self.elapsed_s
    }
}

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// Its processes did not do what they had to.
    #[error(transparent)]
    Processes(#[from] ProcessError),
}

impl Subject<'_> {
    /// Measures it in fresh processes.
    pub fn sample(&self) -> Result<Sample, SampleError> {
        let processes = Processes::new(self.text(), SAMPLE_TIME_MAX);
        Run { subject: self, processes }.run()
    }

    /// In words, for errors.
    fn text(&self) -> String {
        let Self { scheme, row, request_count, .. } = self;
        format!("{}, {}, {request_count} requests", scheme.text(), row.text())
    }
}

/// A sample under way.
struct Run<'a> {
    subject: &'a Subject<'a>,
    processes: Processes<Role, Measurement>,
}

impl Run<'_> {
    fn run(mut self) -> Result<Sample, SampleError> {
        match self.subject.row.case {
            ServiceCase::Tripping => self.start(Role::All, "")?,
            ServiceCase::Services | ServiceCase::PlainWorkers | ServiceCase::StockedPlainWorkers => {
                self.start(Role::Broker, "")?;
            }
        }
        let has_clock = |role: Role| matches!(role, Role::All | Role::Client);
        loop {
            match self.processes.next_answer()? {
                (role, Some(endpoints)) => self.start_others(role, &endpoints)?,
                (role, None) if has_clock(role) => break,
                // Nobody else was told to finish.
                (role, None) => return Err(self.processes.misbound(role, &[]).into()),
            }
        }
        self.processes.finish(|_| true)?;
        while !self.processes.has_measured(|_| true) {
            self.processes.next_answer()?;
        }
        self.close()
    }

    fn start(&mut self, role: Role, endpoint: &str) -> Result<(), ProcessError> {
        let task = Task {
            scheme: self.subject.scheme,
            role,
            mode: self.subject.row.mode,
            request_count: self.subject.request_count,
            worker_count: self.subject.row.worker_count,
            endpoint: endpoint.to_owned(),
            libzmq: self.subject.libzmq.to_owned(),
        };
        self.processes.start(role, Command::new, "service-part", &task)
    }

    /// The broker listens.
    fn start_others(&mut self, role: Role, endpoints: &[String]) -> Result<(), ProcessError> {
        match (role, endpoints) {
            (Role::Broker, [endpoint]) => {
                let mut workers = 0..self.subject.row.worker_count;
                workers.try_for_each(|number| self.start(Role::Worker(number), endpoint))?;
                self.start(Role::Client, endpoint)
            }
            _ => Err(self.processes.misbound(role, endpoints)),
        }
    }

    /// All have answered: adds up.
    fn close(self) -> Result<Sample, SampleError> {
        let request_count = self.subject.request_count;
        let mut sample = Sample { request_count, elapsed_s: 0.0, processes: Vec::new() };
        for (role, measurement) in self.processes.close()? {
            if matches!(role, Role::All | Role::Client) {
                sample.elapsed_s = measurement.elapsed_s;
            }
            match sample.processes.iter_mut().find(|(text, _)| *text == role.text()) {
                Some((_, all)) => *all = all.beside(&measurement),
                None => sample.processes.push((role.text(), measurement)),
            }
        }
        Ok(sample)
    }
}
