//! Results that the sink's application rejects: the ventilator refuses their tasks, each once, in spite of all deaths.

use std::thread;

use hairstreak::Message;
use hairstreak::pipeline::{PipelineOptions, Refusal, RefusalCause, Reply, Sink, Ventilator, Worker};

use crate::deaths::kill_in_turn;
use crate::part::bounded;
use crate::{LONG, ends, place};

fn number(message: &Message) -> u64 {
    std::str::from_utf8(message.body()).unwrap().parse().unwrap()
}

fn is_bad(number: u64) -> bool {
    number % 3 == 1
}

/// Returns the tasks that were refused because the sink rejected their results.
fn unwanted(refusals: Vec<Refusal>) -> Vec<u64> {
    let each = |refusal: Refusal| {
        assert_eq!(refusal.cause, RefusalCause::Rejected(b"one in three".to_vec()));
        number(&refusal.message)
    };
    refusals.into_iter().map(each).collect()
}

/// Takes all results, singly or many at a time, and rejects a third of them. Returns their numbers.
fn take_all(sink: &mut Sink, many: bool, mut after_each: impl FnMut()) -> Vec<u64> {
    let (mut numbers, mut results) = (Vec::new(), Vec::new());
    loop {
        match many {
            true => drop(sink.recv_many(&mut results).unwrap()),
            false => results.extend(sink.recv().unwrap()),
        }
        if results.is_empty() {
            return numbers;
        }
        for done in results.drain(..) {
            numbers.push(number(&done.message));
            let is_rejected = is_bad(number(&done.message)) && sink.reject(done.task, "one in three");
            assert_eq!(is_rejected, is_bad(number(&done.message)));
            assert!(!is_rejected || !sink.reject(done.task, "again"));
            after_each();
        }
    }
}

/// Sends `count` numbers and waits for their end. Returns the refused numbers.
fn send_all(ventilator: &Ventilator, count: u64) -> Vec<u64> {
    let mut refused = Vec::new();
    for number in 0..count {
        ventilator.send(&number.to_string()).unwrap();
        if number % 100 == 0 {
            refused.extend(unwanted(ventilator.take_refusals()));
        }
    }
    let finished = ventilator.finish(LONG).unwrap();
    refused.extend(unwanted(ventilator.take_refusals()));
    assert_eq!((finished.count, finished.rejected), (count, refused.len() as u64));
    refused.sort_unstable();
    refused
}

#[test]
fn what_the_sink_rejects_the_ventilator_has_with_the_reason() {
    for (window, keep_order, many, has_stages) in [
        (100, false, false, false),
        (100, true, false, true),
        (1, false, true, true),
        (100, true, true, false),
    ] {
        bounded(move || {
            let options = PipelineOptions { window: window.into(), keep_order, ..PipelineOptions::default() };
            let (ventilator, mut sink) = ends(&options);
            let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
            let count = 3000;
            thread::scope(|scope| {
                let work = |from: String, to: String| {
                    let worker = Worker::connect(&from, &to, &options).unwrap();
                    scope.spawn(move || worker.run(|_| Reply::Same).unwrap());
                };
                if has_stages {
                    let between = place();
                    let worker = Worker::new(&options).unwrap();
                    worker.bind_tasks(&between).unwrap();
                    worker.connect_results(&to).unwrap();
                    scope.spawn(move || worker.run(|_| Reply::Same).unwrap());
                    work(from, between);
                } else {
                    work(from.clone(), to.clone());
                    work(from, to);
                }
                let sending = scope.spawn(|| send_all(&ventilator, count));
                let mut numbers = take_all(&mut sink, many, || {});
                assert!(!keep_order || numbers.is_sorted());
                numbers.sort_unstable();
                assert!(numbers.into_iter().eq(0..count));
                assert!(sending.join().unwrap().into_iter().eq((0..count).filter(|number| is_bad(*number))));
            });
            assert_eq!(sink.completion().to_string(), "all 3000 done, 0 redelivered, 1000 rejected");
        });
    }
}

#[test]
fn what_was_rejected_stays_so_though_its_worker_dies_before_it_has_said_so() {
    bounded(|| {
        let options = PipelineOptions { window: 500.into(), deliveries_max: 0, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let count = 30_000;
        let words = vec![format!("worker from={from} to={to} window=500"); 3];
        let (kill, kills) = std::sync::mpsc::sync_channel(1);
        thread::scope(|scope| {
            let killer = scope.spawn(|| kill_in_turn(&words, kills));
            let sending = scope.spawn(|| send_all(&ventilator, count));
            let mut taken = 0;
            let mut numbers = take_all(&mut sink, false, || {
                taken += 1;
                if taken % 1500 == 0 {
                    kill.send(()).unwrap();
                }
            });
            drop(kill);
            killer.join().unwrap();
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..count));
            assert!(sending.join().unwrap().into_iter().eq((0..count).filter(|number| is_bad(*number))));
        });
        let completion = sink.completion();
        assert_eq!((completion.result_count, completion.rejected_count), (count, count / 3));
        assert!(completion.redelivered_count > 0, "nobody died of it");
    });
}

#[test]
fn of_a_task_that_is_rejected_no_further_result_comes() {
    bounded(|| {
        let options = PipelineOptions::default();
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            let worker = Worker::connect(&from, &to, &options).unwrap();
            scope.spawn(move || worker.run(|task| Reply::Results(vec![task.message.clone(); 3])).unwrap());
            let sending = scope.spawn(|| send_all(&ventilator, 4));
            let first = sink.recv().unwrap().unwrap();
            assert_eq!((number(&first.message), first.index), (0, 0));
            let mut further = Vec::new();
            while let Some(done) = sink.recv().unwrap() {
                further.push((number(&done.message), done.index));
                if done.index == 1 && is_bad(number(&done.message)) {
                    assert!(sink.reject(done.task, "one in three"));
                }
            }
            assert_eq!(
                further,
                [(0, 1), (0, 2), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1), (3, 2)]
            );
            assert!(!sink.reject(first.task, "too late"));
            assert_eq!(sending.join().unwrap(), [1]);
        });
        let completion = sink.completion();
        assert_eq!((completion.result_count, completion.rejected_count), (11, 1));
    });
}
