//! A client process: it reads its task, opens its connections, works on each in a thread, and answers. It publishes (see
//! `producer`), consumes until the marker comes, or makes round trips.
//!
//! If several consumers share a queue, only one of them gets its marker: they are done when all markers have come and
//! nothing else comes.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use hairstreak_wire::amqp::encode_ack;

use super::super::amqp::{AmqpError, CHANNEL, Link, Visitor, Walk};
use super::super::task::{Answer, End, Flow, Measurement, Role, Task, queue_name};
use super::super::timing::{Histogram, now_ns};
use super::producer::{Block, publish};
use crate::frame::cores::keep_to_range;
use crate::frame::processes::orders;
use crate::frame::usage::Usage;

/// Deliveries that may be without acknowledgement.
const PREFETCH_COUNT: u16 = 500;
/// The time between two looks whether another connection has had the last marker.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Does `task`, a `Task` in JSON, and prints the answers.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let (orders, flow) = (orders(), &task.flow);
    if let Some(range) = task.cores {
        keep_to_range(range);
    }
    let mut links = open(&task)?;
    if task.role == Role::Consumer {
        Answer::Bound(Vec::new()).print()?;
    }
    let (before, begin_ns) = (Usage::now()?, now_ns());
    let End { count, ns, histogram } = match task.role {
        Role::Producer => in_threads(&mut links, |link, number| publish(link, flow, number))?,
        Role::Consumer => {
            let markers_left = AtomicU64::new(u64::from(flow.producer_count * flow.copy_count()));
            in_threads(&mut links, |link, _| consume(link, flow, &markers_left))?
        }
        Role::RoundTrip => make_round_trips(&mut links, flow)?,
    };
    let (usage, latency) = (Usage::now()?.since(&before), histogram.latency());
    let measurement = Measurement { message_count: count, begin_ns, end_ns: ns, usage, latency };
    Answer::Measured(measurement).print()?;
    // Others may need the connections until then. The thread that passes orders on ends after the first order.
    let _ = orders.recv();
    Ok(())
}

/// Opens the connections of a client. Round trips have a publisher and a consumer.
fn open(task: &Task) -> Result<Vec<Link>> {
    let flow = &task.flow;
    let count = match task.role {
        Role::Producer => flow.producer_count,
        Role::Consumer => flow.consumer_count,
        Role::RoundTrip => 2,
    };
    let mut links = Vec::new();
    for number in 0..count {
        let mut link = Link::open(task.address)?;
        if task.role == Role::Producer && flow.confirm_window.is_some() {
            link.select_confirms()?;
        }
        if task.role == Role::Consumer && flow.ack_each.is_some() {
            link.set_prefetch(PREFETCH_COUNT)?;
        }
        if task.role == Role::Consumer || (task.role == Role::RoundTrip && number == 1) {
            link.consume(&queue_name(number % flow.queue_count), flow.ack_each.is_none())?;
        }
        links.push(link);
    }
    Ok(links)
}

/// Works on each connection in a thread of its own.
fn in_threads(links: &mut [Link], work: impl Fn(&mut Link, u32) -> Result<End> + Sync) -> Result<End> {
    let work = &work;
    thread::scope(|scope| {
        let start = |(link, number)| scope.spawn(move || work(link, number));
        let threads: Vec<_> = links.iter_mut().zip(0..).map(start).collect();
        let mut all = End { count: 0, ns: 0, histogram: Histogram::new() };
        for thread in threads {
            let end = thread.join().map_err(|_| anyhow!("a thread of this process panicked"))??;
            all.count += end.count;
            all.ns = all.ns.max(end.ns);
            all.histogram.add(&end.histogram);
        }
        Ok(all)
    })
}

/// Consumes the deliveries of a connection. `markers_left` counts the markers that are still expected on all
/// connections.
fn consume(link: &mut Link, flow: &Flow, markers_left: &AtomicU64) -> Result<End> {
    let is_shared = flow.consumer_count > flow.queue_count;
    if is_shared {
        link.stream.set_read_timeout(Some(LOOK_INTERVAL))?;
    }
    let are_there = flow.rate_per_s.is_some();
    let mut stamps = Stamps { are_there, now_ns: 0, histogram: Histogram::new() };
    let mut walk = Walk::new(u64::from(flow.body_size));
    let (mut acknowledged, mut acks) = (0, Vec::new());
    loop {
        match link.input.fill(&mut link.stream) {
            Ok(()) => {}
            Err(AmqpError::Io(error)) if is_shared && error.kind() == ErrorKind::WouldBlock => {
                if markers_left.load(Ordering::Relaxed) == 0 {
                    break;
                }
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        let marker_count = walk.marker_count;
        stamps.now_ns = now_ns();
        let consumed = walk.frames(link.input.unread(), &mut stamps)?;
        link.input.consume(consumed);
        if let Some(each) = flow.ack_each.map(u64::from) {
            let tag = walk.message_count + walk.marker_count;
            while tag - acknowledged >= each {
                acknowledged += each;
                encode_ack(CHANNEL, acknowledged, true, &mut acks);
            }
            if walk.marker_count > 0 && tag > acknowledged {
                acknowledged = tag;
                encode_ack(CHANNEL, tag, true, &mut acks);
            }
            link.stream.write_all(&acks)?;
            acks.clear();
        }
        let more = walk.marker_count - marker_count;
        if more > 0 {
            markers_left.fetch_sub(more, Ordering::Relaxed);
            if !is_shared {
                break;
            }
        }
    }
    Ok(End { count: walk.message_count, ns: stamps.now_ns, histogram: stamps.histogram })
}

/// The times at which messages were due, where messages have them.
struct Stamps {
    are_there: bool,
    /// The time at which the last read returned.
    now_ns: u64,
    histogram: Histogram,
}

impl Visitor for Stamps {
    #[inline]
    fn message(&mut self, body: &[u8]) {
        if let (true, Some(due)) = (self.are_there, body.first_chunk()) {
            self.histogram.record(self.now_ns.saturating_sub(u64::from_le_bytes(*due)));
        }
    }
}

/// Publishes one message through the first connection, consumes it through the second one, and publishes the next.
fn make_round_trips(links: &mut [Link], flow: &Flow) -> Result<End> {
    let [publisher, consumer] = links else { bail!("round trips take two connections") };
    let (mut block, duration) = (Block::new(publisher, flow, 0), Duration::from_secs_f64(flow.duration_s));
    let (mut walk, mut histogram) = (Walk::new(u64::from(flow.body_size)), Histogram::new());
    let (start, mut count, mut before_ns) = (Instant::now(), 0, now_ns());
    while start.elapsed() < duration {
        block.write(&mut publisher.stream, 1)?;
        count += 1;
        while walk.message_count < count {
            consumer.input.fill(&mut consumer.stream)?;
            let consumed = walk.frames(consumer.input.unread(), &mut ())?;
            consumer.input.consume(consumed);
        }
        let after_ns = now_ns();
        histogram.record(after_ns - before_ns);
        before_ns = after_ns;
    }
    Ok(End { count, ns: before_ns, histogram })
}
