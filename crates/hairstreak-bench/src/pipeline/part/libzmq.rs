//! The rival's two pipelines on libzmq: batches with an acknowledgement each, and blocks by REQ and REP.
//!
//! Members greet each other before the clock starts, so that all workers are there: the ventilator sends a greeting at a time,
//! and hears from the sink which worker got the greeting. A greeting is shorter than any task; that of a worker has one
//! byte more than there are workers before it.

use std::sync::mpsc;

use anyhow::Result;

use super::super::sample::{Measurement, Role, Scheme, TASK_SIZE, Task, WORKER_COUNT};
use super::entry::{LOOK_INTERVAL, Meter, PATIENCE, check_size, end, endpoint, next};
use super::work::Work;
use crate::frame::processes::Answer;
use crate::sample::{LibzmqContext, LibzmqType};

pub(super) fn take_part(task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let context = LibzmqContext::new(&task.libzmq)?;
    match (task.scheme, task.role) {
        (Scheme::Blocks, Role::Ventilator) => ventilate_blocks(&context, task, orders),
        (Scheme::Blocks, Role::Sink) => collect_blocks(&context, task, orders),
        (Scheme::Blocks, Role::Worker(number)) => work_blocks(&context, task, number, orders),
        (_, Role::Ventilator) => ventilate_batches(&context, task, orders),
        (_, Role::Sink) => collect_batches(&context, task, orders),
        (_, Role::Worker(number)) => work_batches(&context, task, number, orders),
    }
}

fn ventilate_batches(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let tasks = context.socket(LibzmqType::Push)?;
    let mut acknowledgements = context.socket(LibzmqType::Pull)?;
    acknowledgements.set_patience(PATIENCE)?;
    let bound = vec![
        tasks.bind(&task.transport.free_endpoint("tasks"))?,
        acknowledgements.bind(&task.transport.free_endpoint("acknowledgements"))?,
    ];
    Answer::<Measurement>::Bound(bound).print()?;
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

fn work_batches(
    context: &LibzmqContext,
    task: &Task,
    number: usize,
    orders: &mpsc::Receiver<()>,
) -> Result<()> {
    let mut tasks = context.socket(LibzmqType::Pull)?;
    let results = context.socket(LibzmqType::Push)?;
    results.connect(endpoint(task, 2)?)?;
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
            None if orders.try_recv().is_ok() => return Answer::Measured(meter.end(count)?).print(),
            None => {}
        }
    }
}

fn collect_batches(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let mut results = context.socket(LibzmqType::Pull)?;
    let acknowledgements = context.socket(LibzmqType::Push)?;
    acknowledgements.connect(endpoint(task, 1)?)?;
    results.set_patience(PATIENCE)?;
    Answer::<Measurement>::Bound(vec![results.bind(&task.transport.free_endpoint("results"))?]).print()?;
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

fn ventilate_blocks(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let mut tasks = context.socket(LibzmqType::Req)?;
    tasks.set_patience(PATIENCE)?;
    // The sink connects to nothing here; the second endpoint is only for receivers that expect two.
    let bound = tasks.bind(&task.transport.free_endpoint("tasks"))?;
    Answer::<Measurement>::Bound(vec![bound.clone(), bound]).print()?;
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

fn work_blocks(
    context: &LibzmqContext,
    task: &Task,
    number: usize,
    orders: &mpsc::Receiver<()>,
) -> Result<()> {
    let mut tasks = context.socket(LibzmqType::Rep)?;
    let mut results = context.socket(LibzmqType::Req)?;
    results.set_patience(PATIENCE)?;
    results.connect(endpoint(task, 2)?)?;
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
            None if orders.try_recv().is_ok() => return Answer::Measured(meter.end(count)?).print(),
            None => {}
        }
    }
}

fn collect_blocks(context: &LibzmqContext, task: &Task, orders: &mpsc::Receiver<()>) -> Result<()> {
    let mut results = context.socket(LibzmqType::Rep)?;
    results.set_patience(PATIENCE)?;
    Answer::<Measurement>::Bound(vec![results.bind(&task.transport.free_endpoint("results"))?]).print()?;
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

/// The workers that the ventilator has heard of.
#[derive(Debug, Default)]
struct Greetings {
    heard: [bool; WORKER_COUNT],
}

/// The greeting of the ventilator.
const GREETING: &[u8] = &[0];

impl Greetings {
    /// The greeting of worker `number`.
    fn of_worker(number: usize) -> &'static [u8] {
        const BYTES: [u8; WORKER_COUNT] = [0; WORKER_COUNT];
        &BYTES[..=number.min(WORKER_COUNT - 1)]
    }

    /// Returns `true` if a message of this size is a greeting.
    fn includes(size: usize) -> bool {
        (1..=WORKER_COUNT).contains(&size)
    }

    /// Notes the greeting of this size.
    fn hear(&mut self, size: usize) -> Result<()> {
        match size.checked_sub(1).and_then(|number| self.heard.get_mut(number)) {
            Some(heard) => *heard = true,
            None => check_size("a greeting", size, WORKER_COUNT)?,
        }
        Ok(())
    }

    /// Returns `true` if all workers have sent their greeting.
    fn are_complete(&self) -> bool {
        self.heard.iter().all(|&heard| heard)
    }
}

#[cfg(test)]
mod tests {
    use super::{Greetings, TASK_SIZE, WORKER_COUNT};

    #[test]
    fn greetings_are_complete_when_each_worker_was_heard_of() {
        let mut greetings = Greetings::default();
        for number in [0, 2, 1, 1, 3] {
            assert!(!greetings.are_complete());
            let greeting = Greetings::of_worker(number);
            assert!(Greetings::includes(greeting.len()));
            greetings.hear(greeting.len()).unwrap();
        }
        assert!(greetings.are_complete());
        assert!(greetings.hear(0).is_err() && greetings.hear(WORKER_COUNT + 1).is_err());
    }

    #[test]
    fn no_task_and_no_reply_is_taken_for_a_greeting() {
        assert!(!Greetings::includes(TASK_SIZE) && !Greetings::includes(0));
    }
}
