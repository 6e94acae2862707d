//! The ventilator is killed: workers and sink report it, or go on with a ventilator that takes its place.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::pipeline::{PipelineOptions, Reply, Sink, SinkError, Ventilator, Worker};

use crate::part::{Part, bounded};
use crate::{LONG, place};

const WORKERS: usize = 4;
/// Short, but longer than a pause of the machine.
const LOST_AFTER_MS: u64 = 700;

fn options(window: usize) -> PipelineOptions {
    PipelineOptions {
        window: window.into(),
        deliveries_max: 0,
        lost_after: Duration::from_millis(LOST_AFTER_MS),
        ..PipelineOptions::default()
    }
}

fn ventilator(tasks: &str, control: &str, workers: usize, count: u64) -> Part {
    let words =
        format!("ventilator tasks={tasks} control={control} window=1000 workers={workers} count={count}");
    let mut part = Part::start(&words);
    part.is_ready();
    part
}

fn workers(from: &str, to: &str, lost_after: u64) -> Vec<Part> {
    let words = format!("worker from={from} to={to} window=1000 lost_after={lost_after}");
    let start = || {
        let mut worker = Part::start(&words);
        worker.is_ready();
        worker
    };
    (0..WORKERS).map(|_| start()).collect()
}

/// Checks that all parts report a lost ventilator, and nothing else.
fn are_bereft(workers: Vec<Part>, mut sink: Sink) {
    let lost = loop {
        match sink.recv() {
            Ok(Some(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(lost, Err(SinkError::VentilatorLost(_))), "{lost:?}");
    for worker in workers {
        let said = worker.last_words();
        assert!(said.starts_with("error nobody hands out tasks"), "{said}");
    }
}

#[test]
fn a_ventilator_that_is_killed_at_work_is_missed_by_all() {
    bounded(|| {
        let (tasks, control) = (place(), place());
        let mut dead = ventilator(&tasks, &control, 0, u64::MAX);
        let mut sink = Sink::bind("tcp://127.0.0.1:*", &control, &options(1000)).unwrap();
        let workers = workers(&tasks, &sink.endpoint().to_string(), LOST_AFTER_MS);
        (0..5000).for_each(|_| assert!(sink.recv().unwrap().is_some()));
        dead.kill();
        are_bereft(workers, sink);
    });
}

#[test]
fn a_ventilator_that_is_killed_before_anybody_came_is_missed_by_all() {
    bounded(|| {
        let (tasks, control) = (place(), place());
        ventilator(&tasks, &control, 0, 10).kill();
        let sink = Sink::bind("tcp://127.0.0.1:*", &control, &options(1000)).unwrap();
        let workers = workers(&tasks, &sink.endpoint().to_string(), LOST_AFTER_MS);
        are_bereft(workers, sink);
    });
}

#[test]
fn a_ventilator_that_is_killed_while_it_waits_for_the_end_is_missed_by_all() {
    bounded(|| {
        let (tasks, control) = (place(), place());
        let mut dead = ventilator(&tasks, &control, 0, 500);
        let sink = Sink::bind("tcp://127.0.0.1:*", &control, &options(1000)).unwrap();
        let workers = workers(&tasks, &sink.endpoint().to_string(), LOST_AFTER_MS);
        // Nothing is settled, because the sink takes nothing.
        assert_eq!(dead.says(), "sent");
        dead.kill();
        are_bereft(workers, sink);
    });
}

#[test]
fn a_worker_that_waits_for_its_dead_sink_misses_its_ventilator_too() {
    bounded(|| {
        let (tasks, control, results) = (place(), place(), place());
        let mut ventilator = ventilator(&tasks, &control, 0, 500);
        let sink = Sink::bind(&results, &control, &options(1000)).unwrap();
        let words =
            format!("worker from={tasks} to={results} window=10 lost_after={LOST_AFTER_MS} work_us=1");
        let mut worker = Part::start(&words);
        worker.is_ready();
        drop(sink);
        ventilator.kill();
        let said = worker.last_words();
        assert!(said.starts_with("error nobody hands out tasks"), "{said}");
    });
}

#[test]
fn a_ventilator_that_takes_the_place_of_a_dead_one_is_served_and_counted_alone() {
    bounded(|| {
        for keep_order in [false, true] {
            let (tasks, control) = (place(), place());
            let mut dead = ventilator(&tasks, &control, 0, u64::MAX);
            let options = PipelineOptions { keep_order, lost_after: LONG, ..options(1000) };
            let mut sink = Sink::bind("tcp://127.0.0.1:*", &control, &options).unwrap();
            let workers = workers(&tasks, &sink.endpoint().to_string(), LONG.as_millis() as u64);
            let first = sink.recv().unwrap().unwrap().task.epoch;
            (0..2000).for_each(|_| assert!(sink.recv().unwrap().is_some()));
            dead.kill();
            let next = ventilator(&tasks, &control, WORKERS, 5000);
            let (mut earlier, mut numbers) = (2001, Vec::new());
            while let Some(done) = sink.recv().unwrap() {
                if done.task.epoch == first {
                    earlier += 1;
                } else {
                    numbers.push(done.task.sequence);
                }
            }
            assert!(!keep_order || numbers.is_sorted());
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..5000), "in order: {keep_order}");
            let completion = sink.completion();
            assert_eq!(completion.to_string(), "all 5000 done, 0 redelivered, 0 rejected");
            assert_eq!((completion.result_count, completion.earlier_result_count), (5000, earlier));
            assert_eq!(next.last_words(), "ended 5000 0");
            for worker in workers {
                let said = worker.last_words();
                assert!(said.starts_with("ended"), "{said}");
            }
        }
    });
}

#[test]
fn late_results_for_a_dead_ventilator_are_dropped_when_another_has_its_place() {
    bounded(|| {
        let (tasks, control) = (place(), place());
        let options = PipelineOptions { lost_after: LONG, ..options(100) };
        let open = || Ventilator::bind(&tasks, &control, &options).unwrap();
        let ventilator = open();
        let mut sink = Sink::bind("tcp://127.0.0.1:*", &control, &options).unwrap();
        let results = sink.endpoint().to_string();
        let late = Worker::connect(&tasks, &results, &options).unwrap();
        let (take, taken) = mpsc::channel();
        let (go_on, goes_on) = mpsc::channel::<()>();
        let late = thread::spawn(move || {
            let mut is_first = true;
            late.run(|task| {
                if std::mem::take(&mut is_first) {
                    take.send(task.id.epoch).unwrap();
                    let _ = goes_on.recv();
                }
                Reply::Result(task.message.clone())
            })
        });
        assert!(ventilator.wait_for_workers(1, LONG));
        ventilator.send("late").unwrap();
        let epoch = taken.recv_timeout(LONG).unwrap();
        let quick = Worker::connect(&tasks, &results, &options).unwrap();
        let quick = thread::spawn(move || quick.run(|task| Reply::Result(task.message.clone())));
        assert!(ventilator.wait_for_workers(2, LONG));
        // The late worker may get some of these too.
        (0..50).for_each(|_| ventilator.send("quick").unwrap());
        assert_eq!(sink.recv().unwrap().unwrap().message.body(), b"quick");
        drop(ventilator);
        let ventilator = open();
        assert!(ventilator.wait_for_workers(2, LONG));
        // Sends until the sink knows of the new ventilator.
        let (stop, is_stopped) = mpsc::channel::<()>();
        let sender = thread::spawn(move || {
            while is_stopped.try_recv().is_err() {
                ventilator.send("new").unwrap();
            }
            // Both workers work again, so that late results have come when all tasks are settled.
            (0..1000).for_each(|_| ventilator.send("more").unwrap());
            ventilator.finish(LONG).unwrap()
        });
        let (mut earlier, mut new) = (1, 0);
        while new <= earlier || sink.completion().earlier_result_count != earlier {
            let is_new = sink.recv().unwrap().unwrap().task.epoch != epoch;
            *(if is_new { &mut new } else { &mut earlier }) += 1;
        }
        go_on.send(()).unwrap();
        stop.send(()).unwrap();
        while let Some(done) = sink.recv().unwrap() {
            assert_ne!(done.task.epoch, epoch);
        }
        let completion = sink.completion();
        assert_eq!(Some(sender.join().unwrap().count), completion.task_count);
        assert_eq!(
            (Some(completion.result_count), completion.earlier_result_count),
            (completion.task_count, earlier)
        );
        assert!(late.join().unwrap().unwrap().result_count >= 1);
        quick.join().unwrap().unwrap();
    });
}

#[test]
fn what_a_sink_wants_is_said_again_to_a_ventilator_that_comes_later() {
    bounded(|| {
        let (tasks, control) = (place(), place());
        let patient = PipelineOptions { lost_after: LONG, ..options(100) };
        let open = || Ventilator::bind(&tasks, &control, &patient).unwrap();
        let ventilator = open();
        let mut sink = Sink::bind("tcp://127.0.0.1:*", &control, &options(100)).unwrap();
        let worker = Worker::connect(&tasks, &sink.endpoint().to_string(), &patient).unwrap();
        let worker = thread::spawn(move || worker.run(|task| Reply::Result(task.message.clone())));
        ventilator.send("first").unwrap();
        assert!(sink.recv().unwrap().is_some());
        drop(ventilator);
        // The sink has noticed the absence when it asks for no more tasks.
        assert!(matches!(sink.recv(), Err(SinkError::VentilatorLost(_))));
        sink.stop();
        let receiver = thread::spawn(move || {
            loop {
                match sink.recv() {
                    Ok(None) => return,
                    Ok(Some(_)) | Err(SinkError::VentilatorLost(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        let ventilator = open();
        assert!(ventilator.wait_for_workers(1, LONG));
        while ventilator.send("more").is_ok() {}
        ventilator.finish(LONG).unwrap();
        receiver.join().unwrap();
        worker.join().unwrap().unwrap();
    });
}
