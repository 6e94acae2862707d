//! Messages that come back: one at a time over two PUSH/PULL pairs, and many under way between a DEALER and a ROUTER.

use std::sync::mpsc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use super::work::{WARM_UP_SHARE, check_size, keep_apart};
use crate::frame::usage::Usage;
use crate::sample::contender::{Component, Contender, Echoing, Receiving, Sending};
use crate::sample::task::{BATCH_COUNT, Calls, Measurement, Task};

/// The measurer: sends, waits for the answer, and again.
pub fn measure_round_trips<C: Contender>(
    contender: &C,
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<()>,
) -> Result<Measurement> {
    keep_apart(task, 0, false);
    let component = contender.component()?;
    let (mut receiver, endpoint) = component.bind_receiver(0)?;
    let (mut sender, back) = component.bind_sender(1)?;
    announce(vec![endpoint, back])?;
    receiver.wait_ready()?;
    sender.wait_ready()?;
    let body = vec![b'h'; task.size];
    let warm_up_count = task.message_count / WARM_UP_SHARE;
    let before = Usage::now()?;
    let mut start = Instant::now();
    for index in 0..task.message_count {
        if index == warm_up_count {
            start = Instant::now();
        }
        sender.send(&body).and_then(|()| sender.flush())?;
        check_size(receiver.receive()?, index, task)?;
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    let timed_count = task.message_count - warm_up_count;
    Ok(Measurement { timed_count, elapsed_s, usage: Usage::now()?.since(&before) })
}

/// The peer: returns the messages that it gets.
pub fn serve_round_trips<C: Contender>(
    contender: &C,
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement> {
    keep_apart(task, 0, true);
    let [endpoint, back] = endpoints else { bail!("the task names {} endpoints", endpoints.len()) };
    let component = contender.component()?;
    let mut sender = component.connect_sender(endpoint)?;
    let mut receiver = component.connect_receiver(back)?;
    receiver.wait_ready()?;
    sender.wait_ready()?;
    let before = Usage::now()?;
    let body = vec![b'h'; task.size];
    for index in 0..task.message_count {
        check_size(receiver.receive()?, index, task)?;
        sender.send(&body).and_then(|()| sender.flush())?;
    }
    let _ = orders.recv();
    Ok(Measurement { usage: Usage::now()?.since(&before), ..Measurement::default() })
}

/// The measurer: keeps the task's number of messages under way.
pub fn measure_echoes<C: Contender>(
    contender: &C,
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<()>,
) -> Result<Measurement> {
    keep_apart(task, 0, false);
    let component = contender.component()?;
    let (mut client, endpoint) = component.bind_client(0)?;
    announce(vec![endpoint])?;
    Sending::wait_ready(&mut client)?;
    Receiving::wait_ready(&mut client)?;
    let body = vec![b'h'; task.size];
    let warm_up_count = task.message_count / WARM_UP_SHARE;
    let before = Usage::now()?;
    let (mut sent, mut received) = (task.outstanding_count(), 0);
    send(&mut client, task, &body, sent)?;
    let mut start = (0, Instant::now());
    while received < task.message_count {
        let count = receive(&mut client, task, received)?;
        received += count;
        let next = count.min(task.message_count - sent);
        send(&mut client, task, &body, next)?;
        sent += next;
        if start.0 < warm_up_count && received >= warm_up_count {
            start = (received, Instant::now());
        }
    }
    let elapsed_s = start.1.elapsed().as_secs_f64();
    Ok(Measurement { timed_count: received - start.0, elapsed_s, usage: Usage::now()?.since(&before) })
}

fn send<S: Sending>(client: &mut S, task: &Task, body: &[u8], count: u64) -> Result<()> {
    match task.calls {
        Calls::Batch if count > 0 => client.send_batch(body, count as usize),
        _ => (0..count).try_for_each(|_| client.send(body)),
    }
}

/// Makes one call. Returns the number of messages received.
fn receive<R: Receiving>(client: &mut R, task: &Task, received: u64) -> Result<u64> {
    match task.calls {
        Calls::Batch => {
            let max = (task.message_count - received).min(BATCH_COUNT as u64) as usize;
            Ok(client.receive_batch(task.size, max)? as u64)
        }
        _ => {
            check_size(client.receive()?, received, task)?;
            Ok(1)
        }
    }
}

/// The peer: returns the messages that it gets.
pub fn serve_echoes<C: Contender>(
    contender: &C,
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement> {
    keep_apart(task, 0, true);
    let endpoint = endpoints.first().context("the task names no endpoint")?;
    let component = contender.component()?;
    let mut server = component.connect_server(endpoint)?;
    server.wait_ready()?;
    let before = Usage::now()?;
    let mut count = 0;
    while count < task.message_count {
        count += match task.calls {
            Calls::Batch => {
                let max = (task.message_count - count).min(BATCH_COUNT as u64) as usize;
                server.echo_batch(task.size, max)? as u64
            }
            _ => {
                check_size(server.echo()?, count, task)?;
                1
            }
        };
    }
    server.flush()?;
    let _ = orders.recv();
    Ok(Measurement { usage: Usage::now()?.since(&before), ..Measurement::default() })
}
