//! The article's scheme on libzmq: PUSH a batch, PULL the one acknowledgement, which the sink sends when it has counted
//! the batch. It counts and does not look: libzmq's messages are told apart by their size only.
//!
//! Where the article leaves the last tasks without an acknowledgement (if they are less than a batch), here the last
//! result is acknowledged too. Water marks are libzmq's, 1000 messages at each end of each link.

use std::sync::mpsc;

use super::entry::{LOOK_INTERVAL, PATIENCE, check_size, end, endpoint, next};
use super::error::PartError;
use super::greetings::{GREETING, Greetings};
use super::meter::Meter;
use super::work::Work;
use crate::pipeline::task::{Answer, TASK_SIZE, Task};
use crate::sample::{LibzmqContext, LibzmqType};

pub(super) fn ventilate(
    context: &LibzmqContext,
    task: &Task,
    orders: &mpsc::Receiver<()>,
) -> Result<(), PartError> {
    let tasks = context.socket(LibzmqType::Push)?;
    let mut acknowledgements = context.socket(LibzmqType::Pull)?;
    acknowledgements.set_patience(PATIENCE)?;
    let bound = vec![
        tasks.bind(&task.transport.free_endpoint("tasks"))?,
        acknowledgements.bind(&task.transport.free_endpoint("acknowledgements"))?,
    ];
    Answer::Bound(bound).print()?;
    let mut greetings = Greetings::default();
    while !greetings.are_complete() {
        tasks.send(GREETING)?;
        greetings.hear(next(&mut acknowledgements, "greetings", 0, 1)?)?;
    }
    let mut meter = Meter::default();
    meter.begin()?;
    let mut sent = 0;
    while sent < task.task_count {
        let end = task.task_count.min(sent + task.in_flight_count);
        (sent..end).try_for_each(|number: u64| tasks.send(&number.to_le_bytes()))?;
        let size = next(&mut acknowledgements, "tasks acknowledged", sent, task.task_count)?;
        check_size("an acknowledgement", size, 0)?;
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
    let mut tasks = context.socket(LibzmqType::Pull)?;
    let results = context.socket(LibzmqType::Push)?;
    results.connect(endpoint(task, 1)?)?;
    tasks.set_patience(LOOK_INTERVAL)?;
    tasks.connect(endpoint(task, 0)?)?;
    let mut meter = Meter::default();
    let mut work = Work::new(task.task_us)?;
    let mut count = 0;
    loop {
        match tasks.receive_in_time()? {
            Some(TASK_SIZE) => {
                meter.begin()?;
                work.carry_out()?;
                tasks.pass_on(&results)?;
                count += 1;
            }
            Some(size) => {
                check_size("a task", size, GREETING.len())?;
                results.send(Greetings::of_worker(number))?;
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
    let mut results = context.socket(LibzmqType::Pull)?;
    let acknowledgements = context.socket(LibzmqType::Push)?;
    acknowledgements.connect(endpoint(task, 0)?)?;
    results.set_patience(PATIENCE)?;
    Answer::Bound(vec![results.bind(&task.transport.free_endpoint("results"))?]).print()?;
    let mut meter = Meter::default();
    let mut count = 0;
    while count < task.task_count {
        match next(&mut results, "results", count, task.task_count)? {
            TASK_SIZE => {
                meter.begin()?;
                count += 1;
                if count.is_multiple_of(task.in_flight_count) || count == task.task_count {
                    acknowledgements.send(&[])?;
                }
            }
            size if Greetings::includes(size) => results.pass_on(&acknowledgements)?,
            size => check_size("a result", size, TASK_SIZE)?,
        }
    }
    end(&meter, count, orders)
}
