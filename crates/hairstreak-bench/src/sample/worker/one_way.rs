//! Messages in one direction: streams of one sender and one receiver each, or one publisher and its subscribers.
//! Every end has a thread of its own.
//!
//! The clock of all runs from the first message that any of them received to the last.

use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, ensure};

use super::calls::{Announce, Orders, batch_count, keep_apart, metered, or_exit, receive_some};
use crate::sample::contender::{
    Contender, End, Opens, PubPattern, PullPattern, PushPattern, Receiving, Sending, SubPattern, check_size,
};
use crate::sample::task::{Calls, CaseName, Measurement, Subject, Task};

/// Gets the numbers of the receivers, and their endpoints.
type Bound = mpsc::Sender<(usize, String)>;

/// A thread with an end of its own, which waits at the gate until all are ready.
struct Thread<'a, C> {
    contender: &'a C,
    task: &'a Task,
    index: usize,
    gate: &'a Barrier,
}

/// From the first message of a receiver to its last.
struct Span {
    start: Instant,
    end: Instant,
    timed_count: u64,
}

/// The measurer: all receivers of the sample.
pub fn measure<C: Contender>(contenders: &[C], task: &Task, announce: &Announce) -> Result<Measurement> {
    let is_pub_sub = task.subject.case == CaseName::PubSub;
    let run = if is_pub_sub { run_receiver::<C, SubPattern> } else { run_receiver::<C, PullPattern> };
    let count = task.subject.endpoint_count();
    // Passed twice: all are ready; all begin.
    let gate = &Barrier::new(count + 1);
    let (bound, endpoints) = mpsc::channel();
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..count)
            .map(|index| {
                let (bound, contender) = (bound.clone(), &contenders[index % contenders.len()]);
                scope.spawn(move || or_exit(run(Thread { contender, task, index, gate }, &bound)))
            })
            .collect();
        let mut bound: Vec<(usize, String)> = endpoints.iter().take(count).collect();
        bound.sort_unstable();
        or_exit(announce(bound.into_iter().map(|(_, endpoint)| endpoint).collect()));
        gate.wait();
        Ok(or_exit(metered(|| {
            gate.wait();
            let spans = receivers.into_iter().map(|receiver| receiver.join()).collect::<Result<Vec<_>, _>>();
            let spans = spans.map_err(|_| anyhow!("a receiver's thread panicked"))?;
            let start = spans.iter().map(|span: &Span| span.start).min();
            let end = spans.iter().map(|span| span.end).max();
            let elapsed = start.zip(end).map(|(start, end)| end - start).context("there is no receiver")?;
            // Subscribers receive the same messages.
            let streams = if is_pub_sub { &spans[..1] } else { &spans[..] };
            Ok((streams.iter().map(|span| span.timed_count).sum(), elapsed.as_secs_f64()))
        })))
    })
}

fn run_receiver<C: Opens<P, End: Receiving>, P>(thread: Thread<'_, C>, bound: &Bound) -> Result<Span> {
    let Thread { contender, task, index, gate } = thread;
    keep_apart(task, index, false);
    let (mut receiver, endpoint) = contender.bind(index)?;
    bound.send((index, endpoint)).context("the worker is gone")?;
    receiver.wait_ready()?;
    gate.wait();
    gate.wait();
    receive_all(&mut receiver, &task.subject)
}

fn receive_all<R: Receiving>(receiver: &mut R, subject: &Subject) -> Result<Span> {
    let first_count = receive_some(receiver, subject, 0)?;
    let start = Instant::now();
    let mut count = first_count;
    match subject.calls {
        Calls::One | Calls::Handle | Calls::Spin => {
            while count < subject.message_count {
                check_size(receiver.receive()?, subject.size)?;
                count += 1;
            }
        }
        Calls::Batch => {
            while count < subject.message_count {
                count += receive_some(receiver, subject, count)?;
            }
        }
    }
    let end = Instant::now();
    let message_count = subject.message_count;
    ensure!(count <= message_count, "{} messages more arrived than were sent", count - message_count);
    Ok(Span { start, end, timed_count: count - first_count })
}

/// The peer: all senders of the sample.
pub fn serve<C: Contender>(contenders: &[C], task: &Task, orders: &Orders) -> Result<Measurement> {
    let is_pub_sub = task.subject.case == CaseName::PubSub;
    let run = if is_pub_sub { run_sender::<C, PubPattern> } else { run_sender::<C, PushPattern> };
    let endpoint_count = if is_pub_sub { task.endpoints.len() } else { 1 };
    let endpoints = task.endpoints.chunks(endpoint_count);
    // Passed three times: all are ready; all begin; the measurer has everything.
    let gate = &Barrier::new(endpoints.len() + 1);
    thread::scope(|scope| {
        for (index, endpoints) in endpoints.enumerate() {
            let contender = &contenders[index % contenders.len()];
            scope.spawn(move || or_exit(run(Thread { contender, task, index, gate }, endpoints)));
        }
        gate.wait();
        let measurement = or_exit(metered(|| {
            gate.wait();
            let _ = orders.recv();
            Ok((0, 0.0))
        }));
        gate.wait();
        Ok(measurement)
    })
}

/// The socket stays open until the measurer has everything.
fn run_sender<C: Opens<P, End: Sending>, P>(thread: Thread<'_, C>, endpoints: &[String]) -> Result<()> {
    let Thread { contender, task, index, gate } = thread;
    keep_apart(task, index, true);
    let mut sender = contender.connect(endpoints)?;
    sender.wait_ready()?;
    gate.wait();
    gate.wait();
    send_all(&mut sender, &task.subject)?;
    gate.wait();
    Ok(())
}

fn send_all<S: Sending>(sender: &mut S, subject: &Subject) -> Result<()> {
    let body = vec![b'h'; subject.size];
    match subject.calls {
        Calls::One | Calls::Spin => {
            for _ in 0..subject.message_count {
                sender.send(&body)?;
            }
        }
        Calls::Handle => sender.send_handles(&body, subject.message_count)?,
        Calls::Batch => {
            let mut sent = 0;
            while sent < subject.message_count {
                let count = batch_count(subject, sent);
                sender.send_batch(&body, count)?;
                sent += count as u64;
            }
        }
    }
    sender.flush()
}
