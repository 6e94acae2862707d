//! One sample: queues are declared, consumers started, then producers; broker and clients are measured meanwhile.
//!
//! A sample counts only if every published message was received, or is in its queue if the queue has no consumer.

use std::fmt;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;
use std::{env, thread};

use anyhow::{Context, Result, bail, ensure};

use super::amqp::Link;
use super::client::Block;
use super::plan::{CaseName, Scenario};
use super::server::Running;
use super::task::{Flow, Measurement, Role, Task, queue_name};
use super::timing::Latency;
use crate::frame::cores::CoreRange;
use crate::frame::disk::{DiskProbe, DiskSpeed, written_bytes};
use crate::frame::processes::Processes;
use crate::frame::tracer::Tracer;
use crate::frame::usage::Usage;

/// The longest time of a sample beyond its publishing. A slow broker has megabytes in its sockets to go through.
const SAMPLE_TIME_MAX: Duration = Duration::from_secs(120);
/// The part of the peak rate that a paced sample keeps to.
const PACED_SHARE: f64 = 0.5;
/// A paced sample publishes for a multiple of the time, because its percentiles need messages.
const PACED_TIMES: f64 = 2.0;
/// The warm-up publishes for a multiple of the time, because fresh memory makes it slower by as much.
const WARM_UP_TIMES: f64 = 5.0;
/// System calls are counted in samples of this part of the usual time, because a tracer may slow everything down.
const COUNTED_SHARE: f64 = 0.25;
/// Records that need no sync are written within this time.
const LAZY_TIME: Duration = Duration::from_millis(50);
/// The name of the broker's process in reports.
pub const BROKER: &str = "broker";

/// The subject of a sample.
#[derive(Debug)]
pub struct Subject {
    /// The broker.
    pub server: Rc<Running>,
    /// Case, size and loops.
    pub scenario: Scenario,
    /// Time in which a producer publishes.
    pub sample_s: f64,
    /// Measures the disk, if messages go there.
    pub probe: Option<Rc<DiskProbe>>,
}

/// The disk's part of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskUse {
    /// The speed of the disk just before.
    pub speed: DiskSpeed,
    /// Bytes of publishes on the wire.
    pub wire_bytes: u64,
    /// Bytes that the device wrote, for all processes.
    pub device_bytes: Option<u64>,
}

/// Measurements of broker and clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Messages, deliveries or round trips.
    pub count: u64,
    /// Time from the first publish to the last message received, or stored, in seconds.
    pub elapsed_s: f64,
    /// Consumption of the broker, if its process is known, and of each kind of client.
    pub processes: Vec<(&'static str, Usage)>,
    /// Times that messages took.
    pub latency: Option<Latency>,
    /// The disk's part, if messages go there.
    pub disk: Option<DiskUse>,
}

impl Sample {
    /// Returns messages, deliveries or round trips in a second.
    pub fn rate(&self) -> f64 {
        self.count as f64 / self.elapsed_s
    }
}

impl Subject {
    /// Measures the scenario. A paced one measures the peak rate first. Where messages stay in the broker, a warm-up goes
    /// before: memory that is used for the first time costs many times more than the broker's work.
    pub fn sample(&self) -> Result<Sample> {
        let flow = |times, rate| self.scenario.flow(times * self.sample_s, rate);
        if self.scenario.case == CaseName::Publish {
            self.run(flow(WARM_UP_TIMES, None))?;
        }
        let sample = self.run(flow(1.0, None))?;
        if self.scenario.case != CaseName::Latency {
            return Ok(sample);
        }
        self.run(flow(PACED_TIMES, Some(sample.rate() * PACED_SHARE)))
    }

    /// Publishes and consumes until the files of the broker have their sizes, and are used again.
    pub fn warm_up(&self) -> Result<()> {
        eprintln!("broker, warm-up: {self}");
        self.run(self.scenario.flow(WARM_UP_TIMES * self.sample_s, None)).map(drop)
    }

    /// Counts the system calls of the broker for each message, in a sample of its own. A paced sample is two in one, and
    /// has no count.
    pub fn count_system_calls(&self, tracer: Tracer) -> Result<Option<f64>> {
        let process_id = self.server.process_id.filter(|_| self.scenario.case != CaseName::Latency);
        let Some(attached) = process_id.and_then(|id| tracer.attach(id).ok()) else { return Ok(None) };
        eprintln!("broker, system calls by {}: {self}", tracer.name());
        let sample = self.run(self.scenario.flow(COUNTED_SHARE * self.sample_s, None))?;
        Ok(attached.stop().map(|count| count as f64 / sample.count as f64))
    }

    fn run(&self, flow: Flow) -> Result<Sample> {
        let subject = || self.to_string();
        let mut topology = Link::open(self.server.address).with_context(subject)?;
        flow.declare(&mut topology).with_context(subject)?;
        let speed = self.probe.as_ref().map(|probe| probe.measure()).transpose().with_context(subject)?;
        let written = || written_bytes(&env::temp_dir());
        let before = written();
        let mut sample = self.measure(flow)?;
        if let Some(speed) = speed {
            thread::sleep(LAZY_TIME);
            let device_bytes = written().zip(before).map(|(after, before)| after - before);
            let message_size = Block::new(&topology, &flow, 0).message_size() as u64;
            sample.disk = Some(DiskUse { speed, wire_bytes: sample.count * message_size, device_bytes });
        }
        let mut queues = 0..flow.queue_count;
        if flow.consumer_count == 0 {
            let counts = queues.clone().map(|queue| topology.count_messages(&queue_name(queue)));
            let counts: Vec<u32> = counts.collect::<Result<_, _>>().with_context(subject)?;
            let found: u64 = counts.into_iter().map(u64::from).sum();
            ensure!(found == sample.count, "{self}: {found} messages are in the queues of {}", sample.count);
        }
        queues.try_for_each(|queue| topology.delete_queue(&queue_name(queue))).with_context(subject)?;
        Ok(sample)
    }

    fn measure(&self, flow: Flow) -> Result<Sample> {
        let time_max = SAMPLE_TIME_MAX + Duration::from_secs_f64(flow.duration_s);
        let mut processes = Processes::new(self.to_string(), time_max);
        // Clients of a node that keeps to some cores have the others.
        let cores = self.scenario.loop_count.map(|n| CoreRange { start: n as usize, end: usize::MAX });
        let start = |processes: &mut Processes<Role, Measurement>, role| {
            let task = Task { role, address: self.server.address, flow, cores };
            processes.start(role, Command::new, "broker-client", &task)
        };
        let is_round_trip = self.scenario.case.is_round_trip();
        if !is_round_trip && flow.consumer_count > 0 {
            start(&mut processes, Role::Consumer)?;
            if let (role, None) = processes.next_answer()? {
                bail!("{self}: {role:?} has measured before it was bound");
            }
        }
        let before = self.server.usage()?;
        start(&mut processes, if is_round_trip { Role::RoundTrip } else { Role::Producer })?;
        while !processes.has_measured(|_| true) {
            processes.next_answer()?;
        }
        let after = self.server.usage()?;
        processes.finish(|_| true)?;
        let broker = after.zip(before).map(|(after, mut before)| {
            // A thread that has ended took its switches along.
            before.voluntary_switches = before.voluntary_switches.min(after.voluntary_switches);
            (BROKER, after.since(&before))
        });
        let clients = processes.close()?;
        // The publisher is the last client, and the consumer the first.
        let (Some((_, last)), Some((_, published))) = (clients.first(), clients.last()) else {
            bail!("{self}: no client has measured");
        };
        let count = published.message_count * u64::from(flow.copy_count());
        let is_whole = clients.len() == 1 || last.message_count == count;
        ensure!(is_whole, "{self}: {} messages came of {count}", last.message_count);
        let end_ns = last.end_ns.max(published.end_ns);
        let clients = clients.iter().map(|(role, measured)| (role.text(), measured.usage));
        Ok(Sample {
            count,
            elapsed_s: end_ns.saturating_sub(published.begin_ns) as f64 / 1e9,
            processes: broker.into_iter().chain(clients).collect(),
            latency: last.latency,
            disk: None,
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}", self.scenario, self.server.kind.text())
    }
}
