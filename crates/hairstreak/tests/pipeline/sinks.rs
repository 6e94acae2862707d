//! Sinks are killed while the work runs, and started again.

use std::thread;

use hairstreak::pipeline::{PipelineOptions, Reply, Sink, Ventilator, Worker};

use crate::part::{self, Part, bounded};
use crate::soak::amount;
use crate::store::StoreFile;
use crate::{LONG, place};

const WORKERS: usize = 4;
/// Number of times that the sink is killed.
const KILLS: usize = 6;

struct Case {
    count: usize,
    window: usize,
    /// The seen tasks are stored with the results.
    remembers: bool,
    keep_order: bool,
    /// Results are taken many at a time.
    many: bool,
}

#[test]
fn a_sink_that_stores_what_it_has_seen_gets_each_result_exactly_once() {
    bounded(|| {
        let count = amount(100_000, 1_000_000);
        for (count, window, keep_order, many) in [
            (count, 10_000, false, true),
            (count / 10, 1000, true, true),
            (count / 50, 100, false, false),
            (count / 50, 100, true, false),
        ] {
            let case = Case { count, window, remembers: true, keep_order, many };
            let (numbers, said) = run(&case);
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            assert_eq!(numbers.len(), count, "window {window}, in order: {keep_order}");
            assert!(sorted.into_iter().eq(0..count as u64), "window {window}, in order: {keep_order}");
            assert!(!keep_order || numbers.is_sorted());
            assert!(said.contains(&format!("all {count} done")), "{said}");
            assert!(said.ends_with(&format!("; {count} results")), "{said}");
        }
    });
}

#[test]
fn a_sink_without_memory_gets_each_result_at_least_once_and_at_most_the_window_again() {
    bounded(|| {
        for (count, window) in [(amount(50_000, 1_000_000), 10_000), (amount(2000, 20_000), 10)] {
            let case = Case { count, window, remembers: false, keep_order: false, many: true };
            let (mut numbers, said) = run(&case);
            let all = numbers.len();
            numbers.sort_unstable();
            numbers.dedup();
            assert!(numbers.into_iter().eq(0..count as u64), "window {window}");
            let again = all - count;
            println!("window {window}: {KILLS} sinks killed, {again} results twice; {said}");
            assert!(again <= KILLS * window, "{again} with a window of {window}");
            assert!(said.contains(&format!("all {count} done")), "{said}");
        }
    });
}

/// Sends `count` tasks, and kills the sink after each of several equal shares. Returns the stored results, and the last
/// sink's last line.
fn run(case: &Case) -> (Vec<u64>, String) {
    let Case { count, window, .. } = *case;
    let file = StoreFile::new(&format!("sink-{count}-{window}-{}-{}", case.keep_order, case.remembers));
    let options = PipelineOptions { window: window.into(), deliveries_max: 0, ..PipelineOptions::default() };
    let ventilator = Ventilator::bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", &options).unwrap();
    let results = place();
    let words = format!(
        "sink results={results} control={} window={window} file={} remembers={} keep_order={} many={}",
        ventilator.control_endpoint(),
        file.path(),
        u8::from(case.remembers),
        u8::from(case.keep_order),
        u8::from(case.many)
    );
    let start = || {
        let mut sink = Part::start(&words);
        sink.is_ready();
        sink
    };
    let mut sink = start();
    let from = ventilator.endpoint().to_string();
    let workers = (0..WORKERS).map(|_| part::worker(&from, &results, window)).collect::<Vec<_>>();
    for number in 0..count {
        if number % (count / KILLS) == count / KILLS / 2 {
            sink.kill();
            sink = start();
        }
        ventilator.send(&number.to_string()).unwrap();
    }
    assert_eq!(ventilator.finish(LONG).unwrap().count, count as u64);
    for worker in workers {
        let said = worker.last_words();
        assert!(said.starts_with("ended"), "{said}");
    }
    let said = sink.last_words();
    (file.numbers(), said)
}

#[test]
fn a_sink_that_is_gone_pauses_nobody() {
    bounded(|| {
        let options = PipelineOptions::default();
        let ventilator = Ventilator::bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", &options).unwrap();
        let (from, control) = (ventilator.endpoint().to_string(), ventilator.control_endpoint().to_string());
        let place = place();
        let mut first = Sink::bind(&place, &control, &options).unwrap();
        let to = place.clone();
        let worker = thread::spawn(move || {
            let worker = Worker::connect(&from, &to, &PipelineOptions::default()).unwrap();
            worker.run(|task| Reply::Result(task.message.clone()))
        });
        ventilator.send("a task").unwrap();
        assert!(first.recv().unwrap().is_some());
        first.pause();
        drop(first);
        let mut second = Sink::bind(&place, &control, &options).unwrap();
        let sender = thread::spawn(move || {
            (0..1000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            ventilator.finish(LONG).unwrap()
        });
        while second.recv().unwrap().is_some() {}
        assert_eq!(sender.join().unwrap().count, 1001);
        worker.join().unwrap().unwrap();
    });
}
