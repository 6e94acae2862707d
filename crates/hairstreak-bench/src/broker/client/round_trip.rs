//! Publishes one message through one connection, consumes it through another, and publishes the next.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::super::amqp::{AmqpError, Link, Visitor, Walk};
use super::super::histogram::Histogram;
use super::super::task::{Task, queue_name};
use super::block::Block;
use super::clock::now_ns;
use super::error::ClientError;
use super::meter::Meter;

/// Makes round trips for as long as the task says and answers.
pub fn run(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), ClientError> {
    let (flow, duration) = (&task.flow, Duration::from_secs_f64(task.flow.duration_s));
    let mut publisher = Link::open(task.address)?;
    let mut consumer = Link::open(task.address)?;
    consumer.consume(&queue_name(0), true)?;
    let block = Block::new(&publisher, flow, 0);
    let (mut walk, mut histogram) = (Walk::new(u64::from(flow.body_size)), Histogram::new());
    let (meter, start) = (Meter::start()?, Instant::now());
    let (mut count, mut before_ns) = (0, now_ns());
    while start.elapsed() < duration {
        block.write(&mut publisher.stream, 1)?;
        count += 1;
        while walk.message_count < count {
            consumer.input.fill(&mut consumer.stream)?;
            let consumed = walk.frames(consumer.input.unread(), &mut Nothing)?;
            consumer.input.consume(consumed);
        }
        let after_ns = now_ns();
        histogram.record(after_ns - before_ns);
        before_ns = after_ns;
    }
    meter.end(count, before_ns, &histogram, orders)
}

struct Nothing;

impl Visitor for Nothing {
    fn message(&mut self, _: &[u8]) {}

    fn method(&mut self, _: u32, _: &[u8]) -> Result<(), AmqpError> {
        Ok(())
    }
}
