//! One sample: queues are declared, consumers started, then producers; broker and clients are measured meanwhile.
//!
//! A sample counts only if every message that was published was received, or is in its queue where nobody consumes.

use std::process::Command;
use std::time::Duration;

use super::amqp::{AmqpError, Link};
use super::case::CaseName;
use super::histogram::Latency;
use super::plan::Row;
use super::server::{ProcessUse, Running, ServerError};
use super::task::{FANOUT_EXCHANGE, Flow, Measurement, Role, TOPIC_EXCHANGE, Task, queue_name, routing_key};
use crate::cores::CoreRange;
use crate::processes::{ProcessError, Processes};
use crate::tracer::Tracer;
use crate::usage::Usage;

/// Beyond this a sample hangs, over what it publishes; a slow broker has megabytes in its sockets to go through.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(120);
const VERB: &str = "broker-client";
/// A paced sample keeps to this part of the peak rate.
const PACED_SHARE: f64 = 0.5;
/// And publishes so many times as long, because its percentiles need messages.
const PACED_TIMES: f64 = 2.0;

/// A sample that is not measured is so many times as long: fresh memory makes the sample slower by as much.
const WARM_UP_TIMES: f64 = 5.0;

/// The subject of a sample.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The broker.
    pub server: &'a Running,
    /// The row.
    pub row: Row,
    /// For how long a producer publishes.
    pub sample_s: f64,
    /// Where the clients run; `None`: anywhere.
    pub client_cores: Option<CoreRange>,
}

/// Measurements of broker and clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Messages, deliveries or round trips.
    pub count: u64,
    /// From the first publish to the last message received, or stored, in seconds.
    pub elapsed_s: f64,
    /// Used by the broker, if its process is known.
    pub broker: Option<ProcessUse>,
    /// Used by the processes of each kind of client.
    pub clients: Vec<(Role, Usage)>,
    /// How long messages took.
    pub latency: Option<Latency>,
}

impl Sample {
    /// Messages, deliveries or round trips in a second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed_s
    }
}

/// Why there is no sample.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// The clients did not do what they had to.
    #[error(transparent)]
    Processes(#[from] ProcessError),
    /// The broker's process is gone.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The queues could not be declared or deleted.
    #[error("{subject}: {error}")]
    Topology {
        /// The subject of the sample.
        subject: String,
        /// Why.
        error: AmqpError,
    },
    /// Not all messages came.
    #[error("{subject}: {found} messages came of {expected}")]
    Lost {
        /// The subject of the sample.
        subject: String,
        /// Messages that came.
        found: u64,
        /// Messages that had to.
        expected: u64,
    },
}

impl Subject<'_> {
    /// Measures the row. A paced row measures the peak rate first. Where messages stay in the broker, a sample that is not measured goes before: memory that is
    /// used for the first time costs many times more than the broker's work.
    pub fn sample(&self) -> Result<Sample, SampleError> {
        let flow = self.row.flow(self.sample_s, None);
        if flow.consumer_count == 0 {
            self.run(self.row.flow(WARM_UP_TIMES * self.sample_s, None))?;
        }
        if !self.row.case.is_paced() {
            return self.run(flow);
        }
        let peak = self.run(self.row.flow(self.sample_s, None))?.rate();
        self.run(self.row.flow(self.sample_s * PACED_TIMES, Some(peak * PACED_SHARE)))
    }

    /// System calls of the broker for each message, in a sample of its own.
    pub fn count_system_calls(&self, tracer: Tracer) -> Result<Option<f64>, SampleError> {
        let Some(process_id) = self.server.process_id else { return Ok(None) };
        let Ok(attached) = tracer.attach(process_id) else { return Ok(None) };
        let sample = self.run(self.row.flow(self.sample_s, None))?;
        Ok(attached.stop().map(|count| count as f64 / sample.count as f64))
    }

    /// In words, for progress and errors.
    pub fn text(&self) -> String {
        format!("{}, {}", self.row.text(), self.server.kind.text())
    }

    fn run(&self, flow: Flow) -> Result<Sample, SampleError> {
        let failed = |error| SampleError::Topology { subject: self.text(), error };
        let mut topology = Link::open(self.server.address).map_err(failed)?;
        declare(&mut topology, &flow).map_err(failed)?;
        let sample = self.measure(flow)?;
        (0..flow.queue_count)
            .try_for_each(|queue| topology.delete_queue(&queue_name(queue)))
            .map_err(failed)?;
        Ok(sample)
    }

    fn measure(&self, flow: Flow) -> Result<Sample, SampleError> {
        let mut processes =
            Processes::new(self.text(), SAMPLE_TIME_MAX + Duration::from_secs_f64(flow.duration_s));
        let start = |processes: &mut Processes<Role, Measurement>, role| {
            let task = Task { role, address: self.server.address, flow, cores: self.client_cores };
            processes.start(role, Command::new, VERB, &task)
        };
        let is_round_trip = self.row.case == CaseName::RoundTrip;
        if !is_round_trip && flow.consumer_count > 0 {
            start(&mut processes, Role::Consumer)?;
            if let (role, None) = processes.next_answer()? {
                return Err(processes.misbound(role, &[]).into());
            }
        }
        let before = self.server.usage()?;
        start(&mut processes, if is_round_trip { Role::RoundTrip } else { Role::Producer })?;
        while !processes.has_measured(|_| true) {
            processes.next_answer()?;
        }
        let after = self.server.usage()?;
        processes.finish(|_| true)?;
        let broker = after.zip(before).map(|(after, before)| after.since(&before));
        self.add_up(&flow, broker, &processes.close()?)
    }

    fn add_up(
        &self,
        flow: &Flow,
        broker: Option<ProcessUse>,
        clients: &[(Role, Measurement)],
    ) -> Result<Sample, SampleError> {
        let measured =
            |wanted| clients.iter().find(|(role, _)| *role == wanted).map(|(_, measured)| measured);
        let published = measured(Role::Producer).or(measured(Role::RoundTrip));
        let published = published.copied().unwrap_or_default();
        let copies = if flow.is_fanout { u64::from(flow.queue_count) } else { 1 };
        let expected = published.message_count * copies;
        let last = measured(Role::Consumer).unwrap_or(&published);
        let (found, end_ns) = (last.message_count, last.end_ns.max(published.end_ns));
        if measured(Role::Consumer).is_some() && found != expected {
            return Err(SampleError::Lost { subject: self.text(), found, expected });
        }
        Ok(Sample {
            count: expected,
            elapsed_s: end_ns.saturating_sub(published.begin_ns) as f64 / 1e9,
            broker,
            clients: clients.iter().map(|(role, measured)| (*role, measured.usage)).collect(),
            latency: last.latency,
        })
    }
}

/// Declares exchanges and queues, the latter empty.
fn declare(topology: &mut Link, flow: &Flow) -> Result<(), AmqpError> {
    topology.declare_exchange(TOPIC_EXCHANGE, "topic")?;
    topology.declare_exchange(FANOUT_EXCHANGE, "fanout")?;
    for index in 0..flow.queue_count {
        let queue = queue_name(index);
        topology.delete_queue(&queue)?;
        topology.declare_queue(&queue)?;
        match flow.is_fanout {
            true => topology.bind(&queue, FANOUT_EXCHANGE, &routing_key(0))?,
            false => topology.bind(&queue, TOPIC_EXCHANGE, &routing_key(index))?,
        }
    }
    Ok(())
}
