//! Workers are killed while they work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::pipeline::PipelineOptions;

use crate::soak::amount;
use crate::{LONG, ends, part};

const WORKERS: usize = 4;

#[test]
fn each_result_comes_once_although_a_worker_is_killed_again_and_again() {
    let count = amount(100_000, 1_000_000);
    let pause = Duration::from_millis(amount(40, 200) as u64);
    for window in [10, 10_000] {
        // A window of 10 has as much to go wrong in a tenth of the tasks.
        let count = if window == 10 { count / 10 } else { count };
        let options =
            PipelineOptions { window: window.into(), deliveries_max: 0, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let mut seen = vec![0u8; count];
        // The ventilator stays for those who come late, and want to know that there is nothing to be done.
        let is_done = AtomicBool::new(false);
        let kills = thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                ventilator.finish(LONG).unwrap();
                is_done.store(true, Ordering::Release);
            });
            let killer =
                scope.spawn(|| kill_workers(&from, &to, window, pause, || is_done.load(Ordering::Acquire)));
            while let Some(done) = sink.recv().unwrap() {
                let number = std::str::from_utf8(done.message.body()).unwrap();
                seen[number.parse::<usize>().unwrap()] += 1;
            }
            killer.join().unwrap()
        });
        let completion = sink.completion();
        let wrong: Vec<_> = seen.iter().enumerate().filter(|(_, count)| **count != 1).take(10).collect();
        assert!(wrong.is_empty(), "window {window}: {wrong:?}, {completion:?}");
        assert_eq!(completion.task_count, Some(count as u64));
        println!("window {window}: {kills} kills, {completion}, {} duplicates", completion.duplicate_count);
    }
}

/// Keeps so many workers, kills one after each pause and starts another, until the work is done. Returns how many it
/// killed.
fn kill_workers(from: &str, to: &str, window: usize, pause: Duration, is_done: impl Fn() -> bool) -> usize {
    let start = || part::worker(from, to, window);
    let mut workers: Vec<_> = (0..WORKERS).map(|_| start()).collect();
    let mut kills = 0;
    let mut next = Instant::now() + pause;
    while !is_done() {
        thread::sleep(Duration::from_millis(1)); // tidy: allow(sleeps) deaths come at intervals, whatever happens
        if Instant::now() >= next {
            let victim = kills % WORKERS;
            workers[victim].kill();
            workers[victim] = start();
            kills += 1;
            next = Instant::now() + pause;
        }
    }
    for worker in workers {
        let said = worker.last_words();
        assert!(said.starts_with("ended"), "{said}");
    }
    kills
}
