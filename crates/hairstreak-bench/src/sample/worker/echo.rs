//! From a DEALER to a ROUTER and back, with many messages under way: a reply received is a request sent.

use std::sync::mpsc;
use std::time::Instant;

use super::work::{WARM_UP_SHARE, WorkerError, blame, check_size, keep_apart};
use crate::sample::contender::{Component, Contender, ContenderError, Echoing, Receiving, Sending};
use crate::sample::task::{BATCH_COUNT, Calls, Measurement, Task};
use crate::usage::Usage;

/// The measurer: keeps as many under way as the task says.
pub fn measure<C: Contender>(
    contender: &C,
    task: &Task,
    announce: impl FnOnce(Vec<String>) -> Result<(), WorkerError>,
) -> Result<Measurement, WorkerError> {
    keep_apart(task, 0, false);
    let component = contender.component().map_err(blame(task))?;
    let (mut client, endpoint) = component.bind_client(0).map_err(blame(task))?;
    announce(vec![endpoint])?;
    Sending::wait_ready(&mut client).map_err(blame(task))?;
    Receiving::wait_ready(&mut client).map_err(blame(task))?;
    let body = vec![b'h'; task.size];
    let warm_up_count = task.message_count / WARM_UP_SHARE;
    let before = Usage::now()?;
    let (mut sent, mut received) = (task.outstanding_count(), 0);
    send(&mut client, task, &body, sent).map_err(blame(task))?;
    let mut start = (0, Instant::now());
    while received < task.message_count {
        let count = receive(&mut client, task, received)?;
        received += count;
        let next = count.min(task.message_count - sent);
        send(&mut client, task, &body, next).map_err(blame(task))?;
        sent += next;
        if start.0 < warm_up_count && received >= warm_up_count {
            start = (received, Instant::now());
        }
    }
    let elapsed_s = start.1.elapsed().as_secs_f64();
    Ok(Measurement { timed_count: received - start.0, elapsed_s, usage: Usage::now()?.since(&before) })
}

fn send<S: Sending>(client: &mut S, task: &Task, body: &[u8], count: u64) -> Result<(), ContenderError> {
    match task.calls {
        Calls::Batch if count > 0 => client.send_batch(body, count as usize),
        _ => (0..count).try_for_each(|_| client.send(body)),
    }
}

/// One call; gives how many messages it brought.
fn receive<R: Receiving>(client: &mut R, task: &Task, received: u64) -> Result<u64, WorkerError> {
    match task.calls {
        Calls::Batch => {
            let max = (task.message_count - received).min(BATCH_COUNT as u64) as usize;
            Ok(client.receive_batch(task.size, max).map_err(blame(task))? as u64)
        }
        _ => {
            check_size(client.receive().map_err(blame(task))?, received, task)?;
            Ok(1)
        }
    }
}

/// The peer: returns what it gets.
pub fn serve<C: Contender>(
    contender: &C,
    task: &Task,
    endpoints: &[String],
    orders: &mpsc::Receiver<()>,
) -> Result<Measurement, WorkerError> {
    keep_apart(task, 0, true);
    let endpoint = endpoints.first().ok_or(WorkerError::Endpoints(0))?;
    let component = contender.component().map_err(blame(task))?;
    let mut server = component.connect_server(endpoint).map_err(blame(task))?;
    server.wait_ready().map_err(blame(task))?;
    let before = Usage::now()?;
    let mut count = 0;
    while count < task.message_count {
        count += match task.calls {
            Calls::Batch => {
                let max = (task.message_count - count).min(BATCH_COUNT as u64) as usize;
                server.echo_batch(task.size, max).map_err(blame(task))? as u64
            }
            _ => {
                check_size(server.echo().map_err(blame(task))?, count, task)?;
                1
            }
        };
    }
    server.flush().map_err(blame(task))?;
    let _ = orders.recv();
    Ok(Measurement { usage: Usage::now()?.since(&before), ..Measurement::default() })
}
