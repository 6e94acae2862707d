//! There and back over two PUSH/PULL pairs, one message at a time.

use std::sync::mpsc;
use std::time::Instant;

use super::work::{WARM_UP_SHARE, WorkerError, blame, check_size, keep_apart};
use crate::sample::contender::{Component, Contender, Receiving, Sending};
use crate::sample::task::{Measurement, Task};
use crate::usage::Usage;

/// The measurer: sends, waits for the answer, and again.
pub fn measure<C: Contender>(
    contender: &C,
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<(), WorkerError>,
) -> Result<Measurement, WorkerError> {
    keep_apart(task, 0, false);
    let component = contender.component().map_err(blame(task))?;
    let (mut receiver, endpoint) = component.bind_receiver(0).map_err(blame(task))?;
    let (mut sender, back) = component.bind_sender(1).map_err(blame(task))?;
    announce(vec![endpoint, back])?;
    receiver.wait_ready().map_err(blame(task))?;
    sender.wait_ready().map_err(blame(task))?;
    let body = vec![b'h'; task.size];
    let warm_up_count = task.message_count / WARM_UP_SHARE;
    let before = Usage::now()?;
    let mut start = Instant::now();
    for index in 0..task.message_count {
        if index == warm_up_count {
            start = Instant::now();
        }
        sender.send(&body).and_then(|()| sender.flush()).map_err(blame(task))?;
        check_size(receiver.receive().map_err(blame(task))?, index, task)?;
    }
    let elapsed_s = start.elapsed().as_secs_f64();
    let timed_count = task.message_count - warm_up_count;
    Ok(Measurement { timed_count, elapsed_s, usage: Usage::now()?.since(&before) })
}

/// The peer: returns what it gets.
pub fn serve<C: Contender>(
    contender: &C,
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement, WorkerError> {
    keep_apart(task, 0, true);
    let [endpoint, back] = endpoints else { return Err(WorkerError::Endpoints(endpoints.len())) };
    let component = contender.component().map_err(blame(task))?;
    let mut sender = component.connect_sender(endpoint).map_err(blame(task))?;
    let mut receiver = component.connect_receiver(back).map_err(blame(task))?;
    receiver.wait_ready().map_err(blame(task))?;
    sender.wait_ready().map_err(blame(task))?;
    let before = Usage::now()?;
    let body = vec![b'h'; task.size];
    for index in 0..task.message_count {
        check_size(receiver.receive().map_err(blame(task))?, index, task)?;
        sender.send(&body).and_then(|()| sender.flush()).map_err(blame(task))?;
    }
    let _ = orders.recv();
    Ok(Measurement { usage: Usage::now()?.since(&before), ..Measurement::default() })
}
