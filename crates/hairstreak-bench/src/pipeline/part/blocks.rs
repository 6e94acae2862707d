//! What the article's readers asked for, on libzmq: a block of tasks is one message of a REQ, and its reply comes from the
//! sink through the worker, so that the ventilator sends the next one when it knows that this one is done. Blocks of one
//! task are REQ/REP per message.
//!
//! ```text
//! ventilator REQ -> REP worker REQ -> REP sink     and the replies, empty, the same way back
//! ```

use std::sync::mpsc;

use super::entry::{LOOK_INTERVAL, PATIENCE, check_size, end, endpoint, next};
use super::error::PartError;
use super::greetings::{GREETING, Greetings};
use super::meter::Meter;
use crate::pipeline::task::{Answer, TASK_SIZE, Task};
use crate::sample::{LibzmqContext, LibzmqType};

pub(super) fn ventilate(
    context: &LibzmqContext,
    task: &Task,
    orders: &mpsc::Receiver<()>,
) -> Result<(), PartError> {
    let mut tasks = context.socket(LibzmqType::Req)?;
    tasks.set_patience(PATIENCE)?;
    // The sink connects to nothing here; the second endpoint is only for those who expect two.
    let bound = tasks.bind(&task.transport.free_endpoint("tasks"))?;
    Answer::Bound(vec![bound.clone(), bound]).print()?;
    let mut greetings = Greetings::default();
    while !greetings.are_complete() {
        tasks.send(GREETING)?;
        greetings.hear(next(&mut tasks, "greetings", 0, 1)?)?;
    }
    let mut meter = Meter::default();
    meter.begin()?;
    let mut sent = 0;
    let mut block = Vec::new();
    while sent < task.task_count {
        let end = task.task_count.min(sent + task.in_flight_count);
        block.clear();
        (sent..end).for_each(|number: u64| block.extend_from_slice(&number.to_le_bytes()));
        tasks.send(&block)?;
        check_size("a reply", next(&mut tasks, "tasks replied to", sent, task.task_count)?, 0)?;
        sent = end;
    }
    end(&meter, sent, orders)
}

pub(super) fn work(
    context: &LibzmqContext,
    task: &Task,
    number: usize,
    orders: &mpsc::Receiver<()>,
) -> Result<(), PartError> {
    let mut tasks = context.socket(LibzmqType::Rep)?;
    let mut results = context.socket(LibzmqType::Req)?;
    results.set_patience(PATIENCE)?;
    results.connect(endpoint(task, 1)?)?;
    tasks.set_patience(LOOK_INTERVAL)?;
    tasks.connect(endpoint(task, 0)?)?;
    let mut meter = Meter::default();
    let mut count = 0;
    loop {
        match tasks.receive_in_time()? {
            Some(size) if Greetings::includes(size) => {
                results.send(GREETING)?;
                check_size("a reply", next(&mut results, "greetings", 0, 1)?, 0)?;
                tasks.send(Greetings::of_worker(number))?;
            }
            Some(size) => {
                meter.begin()?;
                tasks.pass_on(&results)?;
                check_size("a reply", next(&mut results, "results taken", count, task.task_count)?, 0)?;
                results.pass_on(&tasks)?;
                count += (size / TASK_SIZE) as u64;
            }
            None if orders.try_recv().is_ok() => return Ok(Answer::Measured(meter.end(count)?).print()?),
            None => {}
        }
    }
}

pub(super) fn collect(
    context: &LibzmqContext,
    task: &Task,
    orders: &mpsc::Receiver<()>,
) -> Result<(), PartError> {
    let mut results = context.socket(LibzmqType::Rep)?;
    results.set_patience(PATIENCE)?;
    Answer::Bound(vec![results.bind(&task.transport.free_endpoint("results"))?]).print()?;
    let mut meter = Meter::default();
    let mut count = 0;
    while count < task.task_count {
        let size = next(&mut results, "results", count, task.task_count)?;
        if !Greetings::includes(size) {
            meter.begin()?;
            let expected = task.in_flight_count.min(task.task_count - count);
            check_size("a block of results", size, expected as usize * TASK_SIZE)?;
            count += expected;
        }
        results.send(&[])?;
    }
    end(&meter, count, orders)
}
