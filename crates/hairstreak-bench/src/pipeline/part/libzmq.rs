//! The rival's two pipelines on libzmq: batches with an acknowledgement each, and blocks by REQ and REP.
//!
//! A batch is a message for each task, and one acknowledgement, from the sink to the ventilator. A block is one message
//! with its tasks; its reply goes from the sink through the worker to the ventilator.
//!
//! Members greet each other before the clock starts, so that all workers are there: the ventilator sends a greeting at a time,
//! and hears from the sink which worker got the greeting. A greeting is shorter than any task; that of a worker has one
//! byte more than there are workers before it.

use std::collections::BTreeSet;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::super::plan::{Scheme, TASK_SIZE, WORKER_COUNT};
use super::super::sample::{Role, Task};
use super::work::Work;
use crate::frame::Meter;
use crate::frame::processes::{Answer, report};
use crate::sample::{LibzmqContext, LibzmqHandle, LibzmqType};

/// The longest wait for a message. Nothing takes that long: the message was lost.
pub(super) const PATIENCE: Duration = Duration::from_secs(40);
/// Interval at which a worker without tasks looks for the order to finish.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

pub(super) fn take_part(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let context = LibzmqContext::new(&task.libzmq)?;
    match task.role {
        Role::Ventilator => ventilate(&context, task, orders),
        Role::Sink => collect(&context, task, orders),
        Role::Worker(number) => work(&context, task, number, orders),
    }
}

fn ventilate(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let is_block = task.scheme == Scheme::Blocks;
    // Tasks leave by the first socket, and acknowledgements come to the last one.
    let types: &[_] = match is_block {
        true => &[(LibzmqType::Req, "tasks")],
        false => &[(LibzmqType::Push, "tasks"), (LibzmqType::Pull, "acknowledgements")],
    };
    let (mut sockets, mut bound, last) = (Vec::new(), Vec::new(), types.len() - 1);
    for &(socket_type, name) in types {
        let socket = context.socket(socket_type)?;
        socket.set_patience(PATIENCE)?;
        bound.push(socket.bind(&task.transport.free_endpoint(name))?);
        sockets.push(socket);
    }
    Answer::<()>::Bound(bound).print()?;
    let mut heard_sizes = BTreeSet::new();
    while heard_sizes.len() < WORKER_COUNT {
        sockets[0].send(greeting(0))?;
        let size = next(&mut sockets[last], "greetings", 0, 1)?;
        ensure!(is_greeting(size), "a greeting of {size} bytes came");
        heard_sizes.insert(size);
    }
    let mut meter = Meter::default();
    meter.begin()?;
    let (mut sent, mut block) = (0, Vec::new());
    while sent < task.task_count {
        let end = task.task_count.min(sent + task.row.in_flight_count);
        if is_block {
            block.clear();
            (sent..end).for_each(|number: u64| block.extend_from_slice(&number.to_le_bytes()));
            sockets[0].send(&block)?;
        } else {
            let tasks = &sockets[0];
            (sent..end).try_for_each(|number: u64| tasks.send(&number.to_le_bytes()))?;
        }
        let size = next(&mut sockets[last], "tasks acknowledged", sent, task.task_count)?;
        ensure!(size == 0, "an acknowledgement of {size} bytes came");
        sent = end;
    }
    report(meter.end(sent)?, orders)
}

fn work(context: &LibzmqContext, task: &Task, number: usize, orders: &mpsc::Receiver<()>) -> Result<()> {
    let is_block = task.scheme == Scheme::Blocks;
    let [from, .., to] = &task.endpoints[..] else { bail!("a worker has no endpoints") };
    let types =
        if is_block { [LibzmqType::Rep, LibzmqType::Req] } else { [LibzmqType::Pull, LibzmqType::Push] };
    let (mut tasks, mut results) = (context.socket(types[0])?, context.socket(types[1])?);
    results.set_patience(PATIENCE)?;
    results.connect(to)?;
    tasks.set_patience(LOOK_INTERVAL)?;
    tasks.connect(from)?;
    let (mut meter, mut work, mut count) = (Meter::default(), Work::new(task.row.task_us)?, 0);
    loop {
        match tasks.receive_in_time()? {
            None if orders.try_recv().is_ok() => return report(meter.end(count)?, orders),
            None => continue,
            Some(size) if is_greeting(size) => results.send(greeting(number))?,
            Some(size) => {
                meter.begin()?;
                work.carry_out();
                tasks.pass_on(&results)?;
                count += (size / TASK_SIZE) as u64;
            }
        }
        if is_block {
            next(&mut results, "tasks replied to", count, task.task_count)?;
            results.pass_on(&tasks)?;
        }
    }
}

fn collect(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let is_block = task.scheme == Scheme::Blocks;
    let mut results = context.socket(if is_block { LibzmqType::Rep } else { LibzmqType::Pull })?;
    let acknowledgements = match &task.endpoints[..] {
        [_, to] if !is_block => {
            let socket = context.socket(LibzmqType::Push)?;
            socket.connect(to)?;
            Some(socket)
        }
        _ => None,
    };
    results.set_patience(PATIENCE)?;
    Answer::<()>::Bound(vec![results.bind(&task.transport.free_endpoint("results"))?]).print()?;
    let (mut meter, mut count) = (Meter::default(), 0);
    while count < task.task_count {
        let size = next(&mut results, "results", count, task.task_count)?;
        if is_greeting(size) {
            match &acknowledgements {
                Some(acknowledgements) => results.pass_on(acknowledgements)?,
                None => results.send_back()?,
            }
            continue;
        }
        meter.begin()?;
        let expected = if is_block { task.row.in_flight_count.min(task.task_count - count) } else { 1 };
        ensure!(size == expected as usize * TASK_SIZE, "results of {size} bytes came");
        count += expected;
        if count.is_multiple_of(task.row.in_flight_count) || count == task.task_count {
            acknowledgements.as_ref().unwrap_or(&results).send(&[])?;
        }
    }
    report(meter.end(count)?, orders)
}

/// Receives a message and returns its size. `came` of `expected` messages came before.
fn next(socket: &mut LibzmqHandle, what: &'static str, came: u64, expected: u64) -> Result<usize> {
    socket.receive_in_time()?.with_context(|| {
        format!("nothing came for {} s, {came} of {expected} {what} did", PATIENCE.as_secs())
    })
}

/// The greeting of worker `number`. That of the first one is the ventilator's, too.
fn greeting(number: usize) -> &'static [u8] {
    const BYTES: &[u8] = &[0; WORKER_COUNT];
    &BYTES[..=number]
}

/// Returns `true` if a message of this size is a greeting.
fn is_greeting(size: usize) -> bool {
    (1..=WORKER_COUNT).contains(&size)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{TASK_SIZE, WORKER_COUNT, greeting, is_greeting};

    #[test]
    fn each_worker_has_a_greeting_of_its_own() {
        let sizes: BTreeSet<usize> = (0..WORKER_COUNT).map(|number| greeting(number).len()).collect();
        assert_eq!(sizes.len(), WORKER_COUNT);
        assert!(sizes.into_iter().all(is_greeting));
    }

    #[test]
    fn no_task_and_no_reply_is_taken_for_a_greeting() {
        assert!(!is_greeting(TASK_SIZE) && !is_greeting(0) && !is_greeting(WORKER_COUNT + 1));
    }
}
