//! A worker that is much slower than the others gets the tasks that it can do, and the others do not wait for it.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use hairstreak::pipeline::{PipelineOptions, Reply, Worker};

use crate::part::bounded;
use crate::soak::amount;
use crate::{LONG, ends};

const QUICK: Duration = Duration::from_micros(50);
/// A hundred times slower, including the overhead of a sleep.
const SLOW: Duration = Duration::from_millis(10);
/// Largest number of tasks that the slow worker may have left when all others are done. An equal part of the window of
/// 100 is 25, which it has until its pace is known.
const LEFT_MAX: usize = 12;

/// The time at which each task of each worker was begun.
type Begun = Vec<Vec<Instant>>;

#[test]
fn a_worker_that_is_a_hundred_times_slower_holds_up_nobody() {
    bounded(|| {
        for window in [100, 40] {
            let count = amount(16_000, 500_000);
            let (alone, _) = run(window, count, &[QUICK; 3]);
            let (with_slow, begun) = run(window, count, &[QUICK, QUICK, QUICK, SLOW]);
            let (slow, quick) = begun.split_last().unwrap();
            let last = quick.iter().filter_map(|begun| begun.last()).max().unwrap();
            let left = slow.iter().filter(|begun| *begun > last).count();
            let shares = begun.iter().map(Vec::len).collect::<Vec<_>>();
            println!(
                "window {window}: three do {alone:.0}/s, with a slow one {with_slow:.0}/s; {shares:?}, {left} left"
            );
            assert_eq!(shares.iter().sum::<usize>(), count);
            assert!(!slow.is_empty());
            assert!(left <= LEFT_MAX, "window {window}: it had {left} of {} left", slow.len());
        }
    });
}

#[test]
fn who_comes_later_gets_all_but_what_the_first_has_ahead() {
    // The limit that the first worker states, the number of its tasks before the long task, and the largest number of
    // tasks left when the others are done. Without a limit that is sixteen until its pace is known, and later the
    // number that it does in half a second.
    for (ahead, tasks_before, left_max) in [(None, 0, 16), (Some(3), 0, 3), (None, 4, 6), (Some(1), 0, 1)] {
        bounded(move || {
            let options = PipelineOptions::default();
            let (ventilator, mut sink) = ends(&options);
            let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
            let (release, released) = mpsc::channel::<()>();
            let first = Worker::connect(&from, &to, &PipelineOptions { ahead, ..options.clone() }).unwrap();
            let mut begun = 0;
            let first = thread::spawn(move || {
                first.run(|_| {
                    begun += 1;
                    match begun > tasks_before {
                        true => drop(released.recv()),
                        false => thread::sleep(SLOW * 12), // tidy: allow(sleeps) this is the work
                    }
                    Reply::Same
                })
            });
            assert!(ventilator.wait_for_workers(1, LONG));
            let count = 1_000 + tasks_before;
            // Singly, so that the pace is known when the last task is done.
            for number in 0..tasks_before {
                ventilator.send(&number.to_string()).unwrap();
                assert!(sink.recv().unwrap().is_some());
            }
            let (results, done) = mpsc::channel();
            let sinking = thread::spawn(move || {
                while let Some(result) = sink.recv().unwrap() {
                    results.send(result.task).unwrap();
                }
            });
            let sending = thread::spawn(move || {
                (tasks_before..count).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                ventilator.finish(LONG).unwrap()
            });
            let second = Worker::connect(&from, &to, &options).unwrap();
            let second = thread::spawn(move || second.run(|_| Reply::Same));
            for number in 0..1_000 - left_max {
                done.recv_timeout(LONG).unwrap_or_else(|_| panic!("{ahead:?}: {number} results"));
            }
            drop(release);
            assert_eq!(sending.join().unwrap().count, count as u64);
            sinking.join().unwrap();
            assert_eq!(done.iter().count(), left_max);
            first.join().unwrap().unwrap();
            second.join().unwrap().unwrap();
        });
    }
}

/// Does `count` tasks with workers that take these times. Returns the tasks per second.
fn run(window: usize, count: usize, workers: &[Duration]) -> (f64, Begun) {
    let options = PipelineOptions { window: window.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    thread::scope(|scope| {
        let work = |time: Duration| {
            let (worker, mut begun) = (Worker::connect(&from, &to, &options).unwrap(), Vec::new());
            let done = worker.run(|task| {
                begun.push(Instant::now());
                thread::sleep(time); // tidy: allow(sleeps) this is the work
                Reply::Result(task.message.clone())
            });
            done.unwrap();
            begun
        };
        let workers = workers.iter().map(|&time| scope.spawn(move || work(time))).collect::<Vec<_>>();
        assert!(ventilator.wait_for_workers(workers.len(), LONG));
        let begin = Instant::now();
        let sinking = scope.spawn(move || while sink.recv().unwrap().is_some() {});
        (0..count).for_each(|number| ventilator.send(&number.to_string()).unwrap());
        ventilator.finish(LONG * amount(1, 60) as u32).unwrap();
        let rate = count as f64 / begin.elapsed().as_secs_f64();
        sinking.join().unwrap();
        (rate, workers.into_iter().map(|worker| worker.join().unwrap()).collect())
    })
}
