//! Tasks that are not done in their time are given up, and the work ends.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::pipeline::{
    DeadLetter, DeadLetterSink, Finished, PipelineOptions, RefusalCause, Reply, Sink, Task, Worker,
};
use hairstreak_socket::RecvError;
use hairstreak_testkit::{until, until_at_least};

use crate::part::{Part, bounded};
use crate::{LONG, ends};

/// Far more than a task takes if a worker does it.
const TIME: Duration = Duration::from_secs(2);
/// So short that it is over before anything else is.
const SOON: Duration = Duration::from_millis(20);

fn number(body: &[u8]) -> u64 {
    std::str::from_utf8(body).unwrap().parse().unwrap()
}

fn with_letters(options: PipelineOptions) -> (DeadLetterSink, PipelineOptions) {
    let letters = DeadLetterSink::bind("tcp://127.0.0.1:*", &options).unwrap();
    let dead_letters = Some(letters.endpoint().to_string());
    (letters, PipelineOptions { dead_letters, ..options })
}

/// Waits for the next letter, of a task whose time was over.
fn expired(letters: &mut DeadLetterSink) -> (u64, u16) {
    let DeadLetter { task, message, deliveries, cause } = letters.recv_timeout(LONG).unwrap();
    assert_eq!((cause, task.sequence), (RefusalCause::Deadline, number(message.body())));
    (task.sequence, deliveries)
}

/// Receives the results until the end.
fn results(mut sink: Sink) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some(done) = sink.recv().unwrap() {
        numbers.push(number(done.message.body()));
    }
    numbers
}

#[test]
fn a_task_on_which_a_worker_hangs_is_given_up_and_all_others_are_done() {
    bounded(|| {
        for keep_order in [false, true] {
            // Each worker has one task, so that nothing waits behind the endless task.
            let options = PipelineOptions {
                window: 2.into(),
                keep_order,
                deadline: Some(TIME),
                // The worker is alive, and its heartbeats say so.
                heartbeat_ms: 100,
                heartbeat_timeout_ms: 60_000,
                ..PipelineOptions::default()
            };
            let (mut letters, options) = with_letters(options);
            let (ventilator, sink) = ends(&options);
            let (from, to) = (ventilator.endpoint(), sink.endpoint());
            let words = format!(
                "worker from={from} to={to} window=2 keep_order={} hangs_on=50",
                u8::from(keep_order)
            );
            let workers = [Part::start(&words), Part::start(&words)];
            assert!(ventilator.wait_for_workers(2, LONG));
            let results = thread::spawn(|| results(sink));
            (0..500).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            assert_eq!(expired(&mut letters), (50, 1));
            assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 500, rejected: 1, unnamed: 0 });
            let mut numbers = results.join().unwrap();
            assert!(!keep_order || numbers.is_sorted());
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq((0..500).filter(|number| *number != 50)));
            drop(workers);
        }
    });
}

#[test]
fn each_task_has_a_result_or_is_named_though_a_whole_window_is_refused_at_once() {
    bounded(|| {
        let (count, hangs_on) = (12_000, 3_000);
        let options =
            PipelineOptions { deadline: Some(Duration::from_millis(300)), ..PipelineOptions::default() };
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let (go_on, goes_on) = mpsc::channel::<()>();
        let worker = thread::spawn(move || {
            let work = |task: Task<'_>| {
                if number(task.message.body()) == hangs_on {
                    goes_on.recv().unwrap();
                }
                Reply::Same
            };
            Worker::connect(&from, &to, &options).unwrap().run(work)
        });
        let results = thread::spawn(|| results(sink));
        let mut named = Vec::new();
        let mut take = || {
            let refusals = ventilator.take_refusals();
            named.extend(refusals.iter().map(|refusal| number(refusal.message.body())));
            named.len()
        };
        for number in 0..count {
            ventilator.send(&number.to_string()).unwrap();
            take();
        }
        // More than a list of the default length would keep. The hanging worker has them all.
        until_at_least("refusals", 1_001, &mut take);
        go_on.send(()).unwrap();
        let finished = ventilator.finish(LONG).unwrap();
        take();
        assert_eq!((finished.count, finished.unnamed), (count, 0));
        // Tasks whose results the sink delivers late are removed from the list, even after the end.
        assert!(finished.rejected >= named.len() as u64, "{finished:?}: {} are named", named.len());
        // A task whose result was delivered before it was given up has a result and a name.
        named.extend(results.join().unwrap());
        named.sort_unstable();
        named.dedup();
        assert!(named.into_iter().eq(0..count));
        worker.join().unwrap().unwrap();
    });
}

#[test]
fn tasks_that_wait_for_a_worker_that_never_comes_are_given_up_while_nobody_asks() {
    bounded(|| {
        let (mut letters, options) =
            with_letters(PipelineOptions { deadline: Some(TIME), ..PipelineOptions::default() });
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint(), sink.endpoint());
        let mut worker = Part::start(&format!("worker from={from} to={to} window=100 hangs_on=0"));
        (0..20).for_each(|number| ventilator.send(&number.to_string()).unwrap());
        worker.kill();
        // No call of the ventilator is under way meanwhile.
        let mut late = (0..20).map(|_| expired(&mut letters).0).collect::<Vec<_>>();
        assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
        late.sort_unstable();
        assert!(late.into_iter().eq(0..20));
        let results = thread::spawn(|| results(sink));
        assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 20, rejected: 20, unnamed: 0 });
        assert!(results.join().unwrap().is_empty());
    });
}

#[test]
fn what_was_behind_a_task_that_had_its_time_is_done_when_its_worker_is_killed() {
    bounded(|| {
        let (mut letters, options) = with_letters(PipelineOptions::default());
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint(), sink.endpoint());
        let words = format!("worker from={from} to={to} window=1000 hangs_on=0");
        let mut hanging = Part::start(&words);
        ventilator.send_within("0", SOON).unwrap();
        // The number of tasks that a new worker has ahead.
        (1..16).for_each(|number| ventilator.send(&number.to_string()).unwrap());
        assert_eq!(expired(&mut letters), (0, 1));
        assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
        hanging.kill();
        let worker = Part::start(&words);
        let results = thread::spawn(|| results(sink));
        assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 16, rejected: 1, unnamed: 0 });
        let mut numbers = results.join().unwrap();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(1..16));
        assert!(worker.last_words().starts_with("ended"));
    });
}

#[test]
fn a_result_that_comes_too_late_is_not_delivered() {
    bounded(|| {
        let (mut letters, options) =
            with_letters(PipelineOptions { keep_order: true, ..PipelineOptions::default() });
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let (go_on, goes_on) = mpsc::channel::<()>();
        let late = Worker::connect(&from, &to, &options).unwrap();
        let late = thread::spawn(move || {
            late.run(|task| {
                if task.message.body() == b"0" {
                    goes_on.recv().unwrap();
                }
                Reply::Result(task.message.clone())
            })
        });
        assert!(ventilator.wait_for_workers(1, LONG));
        ventilator.send_within("0", SOON).unwrap();
        assert_eq!(expired(&mut letters), (0, 1));
        assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
        let quick = Part::start(&format!("worker from={from} to={to} window=100 keep_order=1"));
        assert!(ventilator.wait_for_workers(2, LONG));
        ventilator.send("1").unwrap();
        // With `keep_order`, the sink knows that the first task has no result.
        assert_eq!(sink.recv().unwrap().unwrap().message.body(), b"1");
        go_on.send(()).unwrap();
        until("the late result is known as a duplicate", || {
            assert_eq!(sink.try_recv().unwrap(), None);
            sink.completion().duplicate_count > 0
        });
        let results = thread::spawn(move || {
            assert_eq!(sink.recv().unwrap(), None);
            sink.completion()
        });
        assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 2, rejected: 1, unnamed: 0 });
        assert_eq!(results.join().unwrap().to_string(), "all 2 done, 0 redelivered, 1 rejected");
        assert_eq!(late.join().unwrap().unwrap().result_count, 1);
        assert!(quick.last_words().starts_with("ended"));
    });
}
