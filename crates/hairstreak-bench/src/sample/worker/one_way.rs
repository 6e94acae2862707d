//! Messages in one direction: streams of one sender and one receiver each, or one publisher and its subscribers.
//! Every end has a thread and a component of its own.
//!
//! The clock of all runs from the first message that any of them received to the last.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};

use super::work::{check_size, keep_apart, or_exit};
use crate::frame::usage::Usage;
use crate::sample::contender::{Component, Contender, Receiving, Sending};
use crate::sample::task::{BATCH_COUNT, Calls, CaseName, Measurement, Task};

/// From the first message of a receiver to its last.
#[derive(Clone, Copy)]
struct Span {
    start: Instant,
    end: Instant,
    timed_count: u64,
}

/// The measurer: all receivers of the sample.
pub fn measure<C: Contender>(
    contenders: &[C],
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<()>,
) -> Result<Measurement> {
    let count = task.receiver_count();
    // Passed twice: all are ready; all begin.
    let gate = &Barrier::new(count + 1);
    let (bound, endpoints) = mpsc::channel();
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..count)
            .map(|index| {
                let (bound, contender) = (bound.clone(), &contenders[index % contenders.len()]);
                scope.spawn(move || or_exit(run_receiver(contender, task, index, &bound, gate)))
            })
            .collect();
        let mut bound: Vec<(usize, String)> = endpoints.iter().take(count).collect();
        bound.sort_unstable();
        or_exit(announce(bound.into_iter().map(|(_, endpoint)| endpoint).collect()));
        gate.wait();
        let before = or_exit(Usage::now());
        gate.wait();
        let spans: Vec<Span> = receivers.into_iter().filter_map(|receiver| receiver.join().ok()).collect();
        let usage = Usage::now()?.since(&before);
        let start = spans.iter().map(|span| span.start).min();
        let end = spans.iter().map(|span| span.end).max();
        let elapsed = start.zip(end).filter(|_| spans.len() == count).map(|(start, end)| end - start);
        let elapsed = elapsed.context("a receiver's thread panicked")?;
        // Subscribers receive the same messages.
        let streams = if task.case == CaseName::PubSub { &spans[..1] } else { &spans[..] };
        let timed_count = streams.iter().map(|span| span.timed_count).sum();
        Ok(Measurement { timed_count, elapsed_s: elapsed.as_secs_f64(), usage })
    })
}

fn run_receiver<C: Contender>(
    contender: &C,
    task: &Task,
    index: usize,
    bound: &mpsc::Sender<(usize, String)>,
    gate: &Barrier,
) -> Result<Span> {
    keep_apart(task, index, false);
    let component = contender.component()?;
    let gone = |_| anyhow!("the worker is gone");
    if task.case == CaseName::PubSub {
        let (subscriber, endpoint) = component.bind_subscriber(index)?;
        bound.send((index, endpoint)).map_err(gone)?;
        receive_all(subscriber, task, gate)
    } else {
        let (receiver, endpoint) = component.bind_receiver(index)?;
        bound.send((index, endpoint)).map_err(gone)?;
        receive_all(receiver, task, gate)
    }
}

fn receive_all<R: Receiving>(mut receiver: R, task: &Task, gate: &Barrier) -> Result<Span> {
    receiver.wait_ready()?;
    gate.wait();
    gate.wait();
    let first_count = receive_some(&mut receiver, task, 0)?;
    let start = Instant::now();
    let mut count = first_count;
    match task.calls {
        Calls::One | Calls::Handle | Calls::Spin => {
            while count < task.message_count {
                check_size(receiver.receive()?, count, task)?;
                count += 1;
            }
        }
        Calls::Batch => {
            while count < task.message_count {
                count += receive_some(&mut receiver, task, count)?;
            }
        }
    }
    let end = Instant::now();
    ensure!(
        count <= task.message_count,
        "{} messages more arrived than were sent",
        count - task.message_count
    );
    Ok(Span { start, end, timed_count: count - first_count })
}

/// Makes one call of the task's kind. Returns the number of messages received.
fn receive_some<R: Receiving>(receiver: &mut R, task: &Task, count: u64) -> Result<u64> {
    match task.calls {
        Calls::One | Calls::Handle | Calls::Spin => {
            check_size(receiver.receive()?, count, task)?;
            Ok(1)
        }
        Calls::Batch => {
            let max = (task.message_count - count).min(BATCH_COUNT as u64) as usize;
            Ok(receiver.receive_batch(task.size, max)? as u64)
        }
    }
}

/// The peer: all senders of the sample.
pub fn serve<C: Contender>(
    contenders: &[C],
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement> {
    ensure!(
        endpoints.len() >= task.receiver_count(),
        "the task names too few endpoints: {}",
        endpoints.len()
    );
    let endpoints: Vec<&[String]> = match task.case {
        CaseName::PubSub => vec![endpoints],
        _ => endpoints.chunks(1).take(task.stream_count).collect(),
    };
    // Passed three times: all are ready; all begin; the measurer has everything.
    let gate = &Barrier::new(endpoints.len() + 1);
    thread::scope(|scope| {
        for (index, &endpoints) in endpoints.iter().enumerate() {
            let contender = &contenders[index % contenders.len()];
            scope.spawn(move || or_exit(run_sender(contender, task, index, endpoints, gate)));
        }
        gate.wait();
        let before = or_exit(Usage::now());
        gate.wait();
        let _ = orders.recv();
        let after = Usage::now();
        gate.wait();
        Ok(Measurement { usage: after?.since(&before), ..Measurement::default() })
    })
}

fn run_sender<C: Contender>(
    contender: &C,
    task: &Task,
    index: usize,
    endpoints: &[String],
    gate: &Barrier,
) -> Result<()> {
    keep_apart(task, index, true);
    let component = contender.component()?;
    if task.case == CaseName::PubSub {
        let publisher = component.connect_publisher(endpoints)?;
        send_when_ready(publisher, task, gate)
    } else {
        let sender = component.connect_sender(&endpoints[0])?;
        send_when_ready(sender, task, gate)
    }
}

/// The socket stays open until the measurer has everything.
fn send_when_ready<S: Sending>(mut sender: S, task: &Task, gate: &Barrier) -> Result<()> {
    sender.wait_ready()?;
    gate.wait();
    gate.wait();
    send_all(&mut sender, task)?;
    gate.wait();
    Ok(())
}

fn send_all<S: Sending>(sender: &mut S, task: &Task) -> Result<()> {
    let body = vec![b'h'; task.size];
    match task.calls {
        Calls::One | Calls::Spin => {
            for _ in 0..task.message_count {
                sender.send(&body)?;
            }
        }
        Calls::Handle => sender.send_handles(&body, task.message_count)?,
        Calls::Batch => {
            let mut left = task.message_count;
            while left > 0 {
                let count = left.min(BATCH_COUNT as u64);
                sender.send_batch(&body, count as usize)?;
                left -= count;
            }
        }
    }
    sender.flush()
}
