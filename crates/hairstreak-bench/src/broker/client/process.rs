//! A client process: it reads its task, opens its connections, works on each in a thread, and answers. It publishes (see
//! `producer`), consumes until the marker comes, or makes round trips.
//!
//! If several consumers share a queue, only one of them gets its marker: they are done when all markers have come and
//! nothing else comes.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use hairstreak_wire::amqp::encode_ack;

use super::super::amqp::{AmqpError, CHANNEL, Link, SILENCE_MAX, Visitor, Walk};
use super::super::task::{Answer, End, Flow, Measurement, Role, Task, queue_name};
use super::super::timing::{Histogram, now_ns};
use super::producer::{Block, publish};
use crate::frame::cores::keep_to_range;
use crate::frame::processes::orders;
use crate::frame::usage::Usage;

/// Deliveries of a connection that may be without acknowledgement, unless that is less than the minimum for each queue.
const PREFETCH_COUNT: u16 = 500;
const PREFETCH_COUNT_MIN: u16 = 10;
/// The time between two looks whether another connection has had the last marker.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Does `task`, a `Task` in JSON, and prints the answers.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    if let Some(range) = task.cores {
        keep_to_range(range);
    }
    let mut links = open(&task)?;
    if task.role == Role::Consumer {
        Answer::Bound(Vec::new()).print()?;
    }
    Answer::Measured(work(&task, &mut links)?).print()?;
    // Others may need the connections until then. The thread that passes orders on ends after the first order.
    let _ = orders.recv();
    Ok(())
}

/// Does `task` over its connections, and measures the time and the consumption of this process.
pub fn work(task: &Task, links: &mut [Link]) -> Result<Measurement> {
    let flow = &task.flow;
    let (before, begin_ns) = (Usage::now()?, now_ns());
    let End { count, ns, histogram } = match task.role {
        Role::Producer => in_threads(links, |link, number| publish(link, flow, number))?,
        Role::Consumer => {
            let marker_count = u64::from(flow.producer_count * flow.copy_count());
            let left = AtomicU64::new(if flow.is_stored { flow.count_max() } else { marker_count });
            in_threads(links, |link, number| {
                if flow.is_stored {
                    let mut queues = flow.consumed_queues(number).zip(0..);
                    queues.try_for_each(|(queue, tag)| {
                        link.ask_to_consume(&queue_name(queue), tag, flow.ack_each.is_none())
                    })?;
                }
                consume(link, flow, &left)
            })?
        }
        Role::RoundTrip => make_round_trips(links, flow)?,
    };
    let (usage, latency) = (Usage::now()?.since(&before), histogram.latency());
    Ok(Measurement { message_count: count, begin_ns, end_ns: ns, usage, latency })
}

/// Opens the connections of a client. Round trips have a publisher and a consumer.
pub fn open(task: &Task) -> Result<Vec<Link>> {
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
            let queue_count = if flow.is_stored { flow.consumed_queues(number).count() as u16 } else { 1 };
            link.set_prefetch((PREFETCH_COUNT / queue_count).max(PREFETCH_COUNT_MIN))?;
        }
        if (task.role == Role::Consumer && !flow.is_stored) || (task.role == Role::RoundTrip && number == 1) {
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

/// Consumes the deliveries of a connection. `left` counts what is still to come on all connections: stored messages, or markers.
fn consume(link: &mut Link, flow: &Flow, left: &AtomicU64) -> Result<End> {
    let is_alone = !flow.is_stored && flow.consumer_count <= flow.queue_count;
    if !is_alone {
        link.stream.set_read_timeout(Some(LOOK_INTERVAL))?;
    }
    let are_there = flow.rate_per_s.is_some();
    let mut stamps = Stamps { are_there, now_ns: 0, histogram: Histogram::new() };
    let mut walk = Walk::new(u64::from(flow.body_size));
    let (mut acknowledged, mut acks) = (0, Vec::new());
    let (start, mut seen, mut seen_at) = (Instant::now(), u64::MAX, Instant::now());
    loop {
        match link.input.fill(&mut link.stream) {
            Ok(()) => {}
            Err(AmqpError::Silent) if !is_alone => {
                let now_left = left.load(Ordering::Relaxed);
                if now_left == 0 {
                    break;
                }
                if now_left != seen {
                    (seen, seen_at) = (now_left, Instant::now());
                }
                let is_late = flow.is_stored && seen_at.elapsed() > SILENCE_MAX;
                ensure!(!is_late, "no message comes for {} s, and {now_left} are due", SILENCE_MAX.as_secs());
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        let due = |walk: &Walk| if flow.is_stored { walk.message_count } else { walk.marker_count };
        let before = due(&walk);
        stamps.now_ns = now_ns();
        let consumed = walk.frames(link.input.unread(), &mut stamps)?;
        link.input.consume(consumed);
        if let Some(each) = flow.ack_each.map(u64::from) {
            // A broker may have nothing more to deliver before the last few are acknowledged.
            let least = if flow.is_stored { 1 } else { each };
            while walk.message_count - acknowledged >= least {
                acknowledged = walk.message_count.min(acknowledged + each);
                encode_ack(CHANNEL, acknowledged, true, &mut acks);
            }
            link.stream.write_all(&acks)?;
            acks.clear();
        }
        let more = due(&walk) - before;
        let was_left = left.fetch_sub(more, Ordering::Relaxed);
        ensure!(was_left >= more, "more messages come than were stored");
        let is_late = flow.is_stored && start.elapsed().as_secs_f64() > flow.duration_s;
        ensure!(!is_late, "{} messages are due after {:.0} s", was_left - more, flow.duration_s);
        if more > 0 && is_alone {
            break;
        }
    }
    let tag = walk.message_count + walk.marker_count;
    if flow.ack_each.is_some() && tag > acknowledged {
        encode_ack(CHANNEL, tag, true, &mut acks);
    }
    link.stream.write_all(&acks)?;
    if flow.is_stored {
        link.stream.set_read_timeout(Some(SILENCE_MAX))?;
        link.settle(&[])?;
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

/// Publishes a window of messages through the first connection, consumes them through the second one, and publishes the next.
fn make_round_trips(links: &mut [Link], flow: &Flow) -> Result<End> {
    let [publisher, consumer] = links else { bail!("round trips take two connections") };
    let (mut block, duration) = (Block::new(publisher, flow, 0), Duration::from_secs_f64(flow.duration_s));
    let (mut walk, mut histogram) = (Walk::new(u64::from(flow.body_size)), Histogram::new());
    let (start, mut count, mut before_ns) = (Instant::now(), 0, now_ns());
    let window = u64::from(flow.confirm_window.unwrap_or(1));
    while start.elapsed() < duration {
        block.write(&mut publisher.stream, window)?;
        count += window;
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
