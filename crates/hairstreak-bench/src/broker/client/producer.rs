//! Publishes as fast as the socket takes it, by confirms, or at a rate; a connection for each thread.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::super::amqp::Link;
use super::super::histogram::Histogram;
use super::super::task::{Flow, Task, queue_name};
use super::block::Block;
use super::clock::now_ns;
use super::error::ClientError;
use super::meter::Meter;
use super::{confirms, paced};

/// Publishes what the task says and answers.
pub fn run(task: &Task, orders: &mpsc::Receiver<()>) -> Result<(), ClientError> {
    let mut links = Vec::new();
    for _ in 0..task.flow.producer_count {
        let mut link = Link::open(task.address)?;
        if task.flow.confirm_window.is_some() {
            link.select_confirms()?;
        }
        links.push(link);
    }
    let meter = Meter::start()?;
    let ends = thread::scope(|scope| {
        let threads: Vec<_> = links
            .iter_mut()
            .zip(0..)
            .map(|(link, number)| scope.spawn(move || publish(link, &task.flow, number)))
            .collect();
        let ends = threads.into_iter().map(|thread| thread.join().map_err(|_| ClientError::Thread)?);
        ends.collect::<Result<Vec<End>, ClientError>>()
    })?;
    let (count, end_ns) = (ends.iter().map(|end| end.count).sum(), ends.iter().map(|end| end.ns).max());
    meter.end(count, end_ns.unwrap_or_default(), &Histogram::new(), orders)
}

/// Publishes of one connection.
struct End {
    count: u64,
    /// When the last of it was written, confirmed or stored.
    ns: u64,
}

/// Publishes through one connection.
fn publish(link: &mut Link, flow: &Flow, number: u32) -> Result<End, ClientError> {
    let mut block = Block::new(link, flow, number);
    let count = match (flow.confirm_window, flow.rate_per_s) {
        (Some(window), _) => confirms::publish(link, &block, flow, window)?,
        (None, Some(rate)) => paced::publish(link, &mut block, flow, rate)?,
        (None, None) => publish_all(link, &block, flow)?,
    };
    if flow.consumer_count > 0 {
        block.write_marker(&mut link.stream)?;
        return Ok(End { count, ns: now_ns() });
    }
    let count = count + publish_confirmed(link, &block)?;
    let ns = now_ns();
    let found = u64::from(link.count_messages(&queue_name(number % flow.queue_count))?);
    if found != count {
        return Err(ClientError::Stored { found, expected: count });
    }
    Ok(End { count, ns })
}

/// Publishes one more message, and waits until it is confirmed: then all before it are in the queue. To ask for the
/// number of messages would not do, because RabbitMQ's queues answer that before they have taken what waits.
fn publish_confirmed(link: &mut Link, block: &Block) -> Result<u64, ClientError> {
    link.select_confirms()?;
    let count = block.write(&mut link.stream, 1)?;
    link.wait_for_confirm()?;
    Ok(count)
}

fn publish_all(link: &mut Link, block: &Block, flow: &Flow) -> Result<u64, ClientError> {
    let (start, duration) = (Instant::now(), Duration::from_secs_f64(flow.duration_s));
    let mut count = 0;
    while count < flow.message_count_max && start.elapsed() < duration {
        count += block.write(&mut link.stream, flow.message_count_max - count)?;
    }
    Ok(count)
}
