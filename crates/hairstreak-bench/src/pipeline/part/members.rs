//! Ours: `hairstreak::pipeline` with default options but for its window, a number or `auto`. The sink checks that it has each task once.

use std::sync::mpsc;

use anyhow::{Context as _, Result, bail, ensure};
use hairstreak::pipeline::{PipelineOptions, Reply, Sink, Ventilator, Window, Worker};

use super::super::plan::{Scheme, WORKER_COUNT};
use super::super::sample::{Role, Task};
use super::libzmq::{self, PATIENCE};
use super::work::Work;
use crate::frame::Meter;
use crate::frame::processes::{Answer, orders, report};

/// Takes part in a sample with `task`, which is JSON.
pub fn take_part(task: &str) -> Result<()> {
    let task: Task = serde_json::from_str(task).context("not a task")?;
    let orders = orders();
    if task.scheme != Scheme::Window {
        return libzmq::take_part(&task, &orders).context("libzmq");
    }
    let window = task.row.window().map_or(Window::Auto, |count| Window::Count(count as usize));
    let options = PipelineOptions { window, ..PipelineOptions::default() };
    let part = match task.role {
        Role::Ventilator => ventilate,
        Role::Sink => collect,
        Role::Worker(_) => work,
    };
    part(&task, &options, &orders).context("hairstreak")
}

fn ventilate(task: &Task, options: &PipelineOptions, orders: &mpsc::Receiver<()>) -> Result<()> {
    let endpoints = ["tasks", "control"].map(|name| task.transport.free_endpoint(name));
    let ventilator = Ventilator::bind(&endpoints[0], &endpoints[1], options)?;
    let endpoints = [ventilator.endpoint(), ventilator.control_endpoint()];
    Answer::<()>::Bound(endpoints.map(|endpoint| endpoint.to_string()).to_vec()).print()?;
    let has_workers = ventilator.wait_for_workers(WORKER_COUNT, PATIENCE);
    ensure!(has_workers, "not all workers came in {} s", PATIENCE.as_secs());
    let mut meter = Meter::default();
    meter.begin()?;
    (0..task.task_count).try_for_each(|number: u64| ventilator.send(&number.to_le_bytes()))?;
    let finished = ventilator.finish(PATIENCE)?;
    report(meter.end(finished.count)?, orders)
}

fn work(task: &Task, options: &PipelineOptions, orders: &mpsc::Receiver<()>) -> Result<()> {
    let [tasks, .., results] = &task.endpoints[..] else { bail!("a worker has no endpoints") };
    let worker = Worker::connect(tasks, results, options)?;
    let (mut meter, mut work, mut outcome) = (Meter::default(), Work::new(task.row.task_us)?, Ok(()));
    let done = worker.run(|_| {
        if outcome.is_ok() {
            outcome = meter.begin();
        }
        work.carry_out();
        Reply::Same
    })?;
    outcome?;
    report(meter.end(done.result_count)?, orders)
}

fn collect(task: &Task, options: &PipelineOptions, orders: &mpsc::Receiver<()>) -> Result<()> {
    let [.., control] = &task.endpoints[..] else { bail!("a sink has no endpoints") };
    let mut sink = Sink::bind(&task.transport.free_endpoint("results"), control, options)?;
    Answer::<()>::Bound(vec![sink.endpoint().to_string()]).print()?;
    let (mut meter, mut roll) = (Meter::default(), Roll::new(task.task_count));
    let (mut count, mut results) = (0, Vec::new());
    while sink.recv_many(&mut results)? > 0 {
        meter.begin()?;
        for done in &results {
            let body = done.message.body();
            let Ok(number) = body.try_into() else { bail!("a result of {} bytes came", body.len()) };
            roll.mark(u64::from_le_bytes(number));
        }
        count += results.len() as u64;
        results.clear();
    }
    roll.verify()?;
    report(meter.end(count)?, orders)
}

/// The tasks that had a result, a bit each.
struct Roll {
    words: Vec<u64>,
    task_count: u64,
    surplus: u64,
    first_surplus: Option<u64>,
}

impl Roll {
    fn new(task_count: u64) -> Self {
        let words = vec![0; task_count.div_ceil(64) as usize];
        Self { words, task_count, surplus: 0, first_surplus: None }
    }

    #[inline]
    fn mark(&mut self, number: u64) {
        let bit = 1 << (number % 64);
        match self.words.get_mut((number / 64) as usize) {
            Some(word) if number < self.task_count && *word & bit == 0 => *word |= bit,
            _ => {
                self.surplus += 1;
                self.first_surplus.get_or_insert(number);
            }
        }
    }

    fn verify(&self) -> Result<()> {
        let come: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        let missing = self.task_count - come;
        if missing == 0 && self.surplus == 0 {
            return Ok(());
        }
        let is_missing = |number: &u64| self.words[(number / 64) as usize] & (1 << (number % 64)) == 0;
        let first = self.first_surplus.or_else(|| (0..self.task_count).find(is_missing)).unwrap_or_default();
        let surplus = self.surplus;
        bail!(
            "{missing} tasks never reached the sink and {surplus} results were too many; the first wrong one is {first}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Roll;

    fn check(numbers: &[u64], expected: Option<&str>) {
        let mut roll = Roll::new(70);
        (0..70).filter(|number| *number != 66).for_each(|number| roll.mark(number));
        numbers.iter().for_each(|&number| roll.mark(number));
        assert_eq!(roll.verify().err().map(|error| error.to_string()).as_deref(), expected);
    }

    #[test]
    fn each_task_once_is_what_is_wanted() {
        check(&[66], None);
    }

    #[test]
    fn what_is_missing_or_came_again_or_was_never_sent_is_counted() {
        let text = |missing: u64, surplus: u64, first: u64| {
            format!(
                "{missing} tasks never reached the sink and {surplus} results were too many; the first wrong one is {first}"
            )
        };
        check(&[], Some(&text(1, 0, 66)));
        check(&[66, 3, 3], Some(&text(0, 2, 3)));
        check(&[66, 70], Some(&text(0, 1, 70)));
        check(&[u64::MAX], Some(&text(1, 1, u64::MAX)));
    }
}
