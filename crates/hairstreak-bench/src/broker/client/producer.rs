//! Publishes through a connection: as fast as the socket takes it, by confirms, or at a rate.
//!
//! At a rate, a message carries the due time of its batch, and not the time of its write: a broker that holds its
//! producer up does not improve its own latencies.

use std::collections::BTreeSet;
use std::io::Write;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hairstreak_wire::amqp::basic;
use rustix::thread::set_current_timer_slack;

use super::super::amqp::{
    AmqpError, BASIC_ACK, BASIC_NACK, Link, MARKER, Visitor, Walk, push_persistent, push_publish,
};
use super::super::task::{End, Flow};
use super::super::timing::{Histogram, now_ns, sleep_until};

/// Bytes of a write, unless a single message has more.
const WRITE_SIZE: usize = 64 * 1024;
/// The least time between two batches.
const BATCH_INTERVAL_NS: f64 = 100_000.0;
const NS_PER_S: f64 = 1e9;
/// Otherwise the system puts wake-ups off by 50 us.
const TIMER_SLACK_NS: Option<NonZeroU64> = NonZeroU64::new(1);

/// Publishes as producer `number`, for the time or the count of the flow.
pub fn publish(link: &mut Link, flow: &Flow, number: u32) -> Result<End> {
    let mut block = Block::new(link, flow, number);
    let count = match (flow.confirm_window, flow.rate_per_s) {
        (Some(window), _) => {
            let mut confirms = Confirms::default();
            let published = publish_confirmed(link, &mut block, flow, window, &mut confirms);
            let told = || format!("{} of {} publishes are confirmed", confirms.count(), confirms.published);
            published.with_context(told)?;
            confirms.published
        }
        (None, Some(rate)) => publish_paced(link, &mut block, flow, rate)?,
        (None, None) => publish_all(link, &mut block, flow)?,
    };
    if flow.consumer_count > 0 {
        link.stream.write_all(&block.marker)?;
    }
    // Each message is confirmed, or the consumer has the marker.
    if flow.consumer_count > 0 || flow.confirm_window.is_some() {
        return Ok(End { count, ns: now_ns(), histogram: Histogram::new() });
    }
    // The confirm of one more message proves that all earlier messages are in the queue. The number of messages would
    // prove nothing: RabbitMQ's queues answer before they have taken the messages that wait.
    link.select_confirms()?;
    block.write(&mut link.stream, 1)?;
    link.wait_for_confirm()?;
    Ok(End { count: count + 1, ns: now_ns(), histogram: Histogram::new() })
}

fn publish_all(link: &mut Link, block: &mut Block, flow: &Flow) -> Result<u64> {
    let (start, duration) = (Instant::now(), Duration::from_secs_f64(flow.duration_s));
    let mut count = 0;
    while count < flow.message_count_max && start.elapsed() < duration {
        let part = block.message_count().min(flow.message_count_max - count);
        block.write(&mut link.stream, part)?;
        count += part;
    }
    Ok(count)
}

/// Publishes in small batches.
fn publish_paced(link: &mut Link, block: &mut Block, flow: &Flow, rate_per_s: f64) -> Result<u64> {
    set_current_timer_slack(TIMER_SLACK_NS)?;
    let interval_ns = (NS_PER_S / rate_per_s).max(BATCH_INTERVAL_NS);
    let batch_count = (flow.duration_s * NS_PER_S / interval_ns).ceil() as u64;
    let (start_ns, mut count) = (now_ns(), 0);
    for batch in 1..=batch_count {
        let elapsed_ns = batch as f64 * interval_ns;
        let due_ns = start_ns + elapsed_ns as u64;
        if now_ns() < due_ns {
            sleep_until(due_ns)?;
        }
        let due_count = ((elapsed_ns * rate_per_s / NS_PER_S).round() as u64).max(count);
        block.stamp(due_count - count, due_ns);
        block.write(&mut link.stream, due_count - count)?;
        count = due_count;
    }
    Ok(count)
}

/// Publishes with a window of messages that may be without their confirm, and waits for every confirm.
fn publish_confirmed(
    link: &mut Link,
    block: &mut Block,
    flow: &Flow,
    window: u32,
    confirms: &mut Confirms,
) -> Result<(), AmqpError> {
    let (start, duration) = (Instant::now(), Duration::from_secs_f64(flow.duration_s));
    let mut walk = Walk::new(u64::from(flow.body_size));
    loop {
        let left = flow.message_count_max - confirms.published;
        if left > 0 && start.elapsed() < duration {
            let room = (u64::from(window) - confirms.waiting_count()).min(left);
            block.write(&mut link.stream, room)?;
            confirms.published += room;
        } else if confirms.waiting_count() == 0 {
            return Ok(());
        }
        link.input.fill(&mut link.stream)?;
        let consumed = walk.frames(link.input.unread(), confirms)?;
        link.input.consume(consumed);
    }
}

/// Prebuilt publishes: as many as one write takes, the same bytes again and again. There is at least one for each queue.
#[derive(Debug)]
pub struct Block {
    bytes: Vec<u8>,
    message_size: usize,
    /// The place of the body in a message that has one frame of body.
    body_at: usize,
    marker: Vec<u8>,
    /// Queues that messages go to in turns, and the queue of the next message.
    queue_count: u64,
    next: u64,
}

impl Block {
    /// The bytes that producer `number` writes through `link`.
    pub fn new(link: &Link, flow: &Flow, number: u32) -> Block {
        let ((exchange, _), push) =
            (flow.exchange(), if flow.is_persistent { push_persistent } else { push_publish });
        let publish = |bytes: &mut Vec<u8>, queue, body: &[u8]| {
            push(bytes, (exchange, &flow.routing_key(queue)), body, link.frame_size_max);
        };
        let body_size = flow.body_size as usize;
        let (body, mut round, mut marker, mut queue_count) =
            (vec![b'x'; body_size], Vec::new(), Vec::new(), 0);
        for queue in flow.queues_of(number) {
            publish(&mut round, queue, &body);
            queue_count += 1;
        }
        publish(&mut marker, number % flow.queue_count, MARKER);
        let message_size = round.len() / queue_count as usize;
        let bytes = round.repeat((WRITE_SIZE / round.len()).max(1));
        Block { bytes, message_size, body_at: message_size - 1 - body_size, marker, queue_count, next: 0 }
    }

    /// Returns the bytes of a message on the wire.
    pub fn message_size(&self) -> usize {
        self.message_size
    }

    /// Returns the number of messages of one write.
    fn message_count(&self) -> u64 {
        (self.bytes.len() / self.message_size) as u64
    }

    /// Writes `count` messages, as many at once as the block has.
    pub fn write(&mut self, stream: &mut impl Write, mut count: u64) -> Result<(), AmqpError> {
        while count > 0 {
            let part = count.min(self.message_count() - self.next);
            let bytes = &self.bytes[self.next as usize * self.message_size..];
            stream.write_all(&bytes[..part as usize * self.message_size])?;
            self.next = (self.next + part) % self.queue_count;
            count -= part;
        }
        Ok(())
    }

    /// Writes the due time into the next `count` messages, at most the messages of one write.
    fn stamp(&mut self, count: u64, due_ns: u64) {
        for message in self.bytes.chunks_exact_mut(self.message_size).take(count as usize) {
            message[self.body_at..self.body_at + 8].copy_from_slice(&due_ns.to_le_bytes());
        }
    }
}

/// The confirmed publishes: all up to a number, and some beyond that number.
#[derive(Debug, Default)]
struct Confirms {
    published: u64,
    /// The number up to which all are confirmed.
    base: u64,
    /// Confirmed publishes beyond `base`.
    beyond: BTreeSet<u64>,
}

impl Confirms {
    fn count(&self) -> u64 {
        self.base + self.beyond.len() as u64
    }

    fn waiting_count(&self) -> u64 {
        self.published - self.count()
    }

    fn confirm(&mut self, tag: u64, is_multiple: bool) -> Result<(), AmqpError> {
        if tag <= self.base || tag > self.published {
            return Err(AmqpError::Confirm(format!("confirmed {tag} after {} publishes", self.published)));
        }
        if is_multiple {
            self.base = tag;
            self.beyond.retain(|beyond| *beyond > tag);
        } else if tag == self.base + 1 {
            self.base = tag;
        } else {
            self.beyond.insert(tag);
        }
        // Publishes that follow without a gap are confirmed, too.
        while self.beyond.remove(&(self.base + 1)) {
            self.base += 1;
        }
        Ok(())
    }
}

impl Visitor for Confirms {
    fn method(&mut self, id: u32, arguments: &[u8]) -> Result<(), AmqpError> {
        match id {
            BASIC_ACK => {
                let ack = basic::Ack::decode(arguments)?;
                self.confirm(ack.delivery_tag, ack.multiple)
            }
            BASIC_NACK => Err(AmqpError::Confirm("refused a message (basic.nack)".to_owned())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Confirms;

    fn check(confirms: &[(u64, bool)], waiting: u64, base: u64) {
        let mut state = Confirms { published: 10, ..Confirms::default() };
        confirms.iter().for_each(|&(tag, is_multiple)| state.confirm(tag, is_multiple).unwrap());
        assert_eq!((state.waiting_count(), state.base), (waiting, base), "{confirms:?}");
    }

    #[test]
    fn confirms_come_one_by_one_or_together_in_any_order() {
        check(&[], 10, 0);
        check(&[(1, false), (2, false)], 8, 2);
        check(&[(7, true)], 3, 7);
        check(&[(3, false), (2, false)], 8, 0);
        check(&[(3, false), (2, false), (1, false)], 7, 3);
        check(&[(9, false), (5, true)], 4, 5);
        check(&[(6, false), (5, true), (10, true)], 0, 10);
    }

    #[test]
    fn a_confirm_of_nothing_is_noticed() {
        for tag in [0, 3, 11] {
            let mut state = Confirms { published: 10, ..Confirms::default() };
            state.confirm(3, true).unwrap();
            let error = state.confirm(tag, false).unwrap_err();
            assert_eq!(error.to_string(), format!("the broker confirmed {tag} after 10 publishes"));
        }
    }
}
