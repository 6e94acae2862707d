//! Consumes until the marker comes, a connection for each thread.
//!
//! Where several connections share a queue only one of them gets its marker: they are done when all markers have come
//! and nothing else comes.

use std::io::{ErrorKind, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::super::amqp::{AmqpError, Argument, BASIC_ACK, CHANNEL, Link, Visitor, Walk, push_method};
use super::super::histogram::Histogram;
use super::super::task::{Answer, Flow, Task, queue_name};
use super::clock::now_ns;
use super::error::ClientError;
use super::meter::Meter;

/// Deliveries that may be without acknowledgement.
const PREFETCH_COUNT: u16 = 500;
/// How often to look whether another connection has had the last marker.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// Consumes what comes and answers.
pub fn run(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), ClientError> {
    let flow = &task.flow;
    let mut links = Vec::new();
    for number in 0..flow.consumer_count {
        let mut link = Link::open(task.address)?;
        if flow.ack_each.is_some() {
            link.set_prefetch(PREFETCH_COUNT)?;
        }
        link.consume(&queue_name(number % flow.queue_count), flow.ack_each.is_none())?;
        links.push(link);
    }
    Answer::Bound(Vec::new()).print()?;
    let meter = Meter::start()?;
    let markers_left = AtomicU64::new(marker_count(flow));
    let ends = thread::scope(|scope| {
        let markers_left = &markers_left;
        let consume = |link| scope.spawn(move || Consumer::new(link, flow).run(markers_left));
        let threads: Vec<_> = links.iter_mut().map(consume).collect();
        let ends = threads.into_iter().map(|thread| thread.join().map_err(|_| ClientError::Thread)?);
        ends.collect::<Result<Vec<End>, ClientError>>()
    })?;
    let mut histogram = Histogram::new();
    ends.iter().for_each(|end| histogram.add(&end.histogram));
    let (count, end_ns) = (ends.iter().map(|end| end.count).sum(), ends.iter().map(|end| end.ns).max());
    meter.end(count, end_ns.unwrap_or_default(), &histogram, orders)
}

/// Markers that come to all connections together.
fn marker_count(flow: &Flow) -> u64 {
    let copies = if flow.is_fanout { flow.queue_count } else { 1 };
    u64::from(flow.producer_count * copies)
}

/// Deliveries of one connection.
struct End {
    count: u64,
    /// When the last of it came.
    ns: u64,
    histogram: Histogram,
}

struct Consumer<'a> {
    link: &'a mut Link,
    flow: &'a Flow,
    walk: Walk,
    stamps: Stamps,
    acknowledged: u64,
    acks: Vec<u8>,
}

impl<'a> Consumer<'a> {
    fn new(link: &'a mut Link, flow: &'a Flow) -> Self {
        let walk = Walk::new(u64::from(flow.body_size));
        let stamps = Stamps { are_there: flow.rate_per_s.is_some(), now_ns: 0, histogram: Histogram::new() };
        Self { link, flow, walk, stamps, acknowledged: 0, acks: Vec::new() }
    }

    fn run(mut self, markers_left: &AtomicU64) -> Result<End, ClientError> {
        let is_shared = self.flow.consumer_count > self.flow.queue_count;
        if is_shared {
            self.link.stream.set_read_timeout(Some(LOOK_INTERVAL))?;
        }
        let mut last_ns = 0;
        loop {
            match self.link.input.fill(&mut self.link.stream) {
                Ok(()) => {}
                Err(AmqpError::Io(error)) if is_shared && error.kind() == ErrorKind::WouldBlock => {
                    if markers_left.load(Ordering::Relaxed) == 0 {
                        break;
                    }
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            let marker_count = self.walk.marker_count;
            self.take()?;
            last_ns = self.stamps.now_ns;
            let more = self.walk.marker_count - marker_count;
            if more > 0 {
                markers_left.fetch_sub(more, Ordering::Relaxed);
                if !is_shared {
                    break;
                }
            }
        }
        Ok(End { count: self.walk.message_count, ns: last_ns, histogram: self.stamps.histogram })
    }

    /// Walks what was read, and acknowledges it.
    fn take(&mut self) -> Result<(), ClientError> {
        self.stamps.now_ns = now_ns();
        let consumed = self.walk.frames(self.link.input.unread(), &mut self.stamps)?;
        self.link.input.consume(consumed);
        let Some(each) = self.flow.ack_each.map(u64::from) else { return Ok(()) };
        let tag = self.walk.message_count + self.walk.marker_count;
        while tag - self.acknowledged >= each {
            self.acknowledge(self.acknowledged + each);
        }
        if self.walk.marker_count > 0 && tag > self.acknowledged {
            self.acknowledge(tag);
        }
        if !self.acks.is_empty() {
            self.link.stream.write_all(&self.acks)?;
            self.acks.clear();
        }
        Ok(())
    }

    /// Acknowledges all deliveries up to `tag`.
    fn acknowledge(&mut self, tag: u64) {
        push_method(&mut self.acks, CHANNEL, BASIC_ACK, &[Argument::U64(tag), Argument::U8(1)]);
        self.acknowledged = tag;
    }
}

/// Looks when messages were due, where they say it.
struct Stamps {
    are_there: bool,
    /// When the last read returned.
    now_ns: u64,
    histogram: Histogram,
}

impl Visitor for Stamps {
    #[inline]
    fn message(&mut self, body: &[u8]) {
        if !self.are_there {
            return;
        }
        if let Some(due) = body.first_chunk() {
            self.histogram.record(self.now_ns.saturating_sub(u64::from_le_bytes(*due)));
        }
    }

    fn method(&mut self, _: u32, _: &[u8]) -> Result<(), AmqpError> {
        Ok(())
    }
}
