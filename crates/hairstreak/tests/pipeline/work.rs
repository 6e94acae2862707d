//! A pipeline without deaths: results, order, rejections, pauses, the end.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::pipeline::{
    Finished, PipelineOptions, RefusalCause, Reply, Sink, SinkError, Task, Window, Worker, WorkerError,
};
use hairstreak::{Message, SendError};

use crate::{LONG, ends};

fn number(message: &Message) -> u64 {
    std::str::from_utf8(message.body()).unwrap().parse().unwrap()
}

fn echo(_: Task<'_>) -> Reply {
    Reply::Same
}

/// Doubles the number. Odd numbers have no result, and 13 is rejected.
fn handle(task: Task<'_>) -> Reply {
    match number(task.message) {
        13 => Reply::Reject("bad luck".into()),
        number if number % 2 == 1 => Reply::Nothing,
        number => Reply::Result((number * 2).to_string().into()),
    }
}

#[test]
fn each_result_comes_once_and_the_end_has_the_count() {
    let cases = [(10_000, false, 4), (10, false, 4), (1, true, 2), (100, true, 4)];
    let cases = cases.map(|(window, keep_order, workers)| (Window::Count(window), keep_order, workers));
    for (window, keep_order, workers) in
        [&cases[..], &[(Window::Auto, false, 4), (Window::Auto, true, 2)]].concat()
    {
        let options = PipelineOptions { window, keep_order, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(handle).unwrap());
            }
            scope.spawn(|| {
                let ventilator = ventilator;
                assert!(ventilator.wait_for_workers(workers, LONG));
                (0..5000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                let finished = ventilator.finish(LONG).unwrap();
                assert_eq!((finished.count, finished.rejected), (5000, 1));
                let refusals = ventilator.take_refusals();
                assert_eq!(refusals[0].cause, RefusalCause::Rejected(b"bad luck".to_vec()));
                assert_eq!(refusals[0].message.body(), b"13");
            });
            let mut results = Vec::new();
            while let Some(done) = sink.recv().unwrap() {
                results.push(number(&done.message));
            }
            assert!(!keep_order || results.is_sorted(), "window {window:?}");
            results.sort_unstable();
            assert_eq!(results, (0..5000).step_by(2).map(|number| number * 2).collect::<Vec<_>>());
        });
        assert_eq!(sink.completion().to_string(), "all 5000 done, 0 redelivered, 1 rejected");
        assert_eq!(sink.completion().duplicate_count, 0);
    }
}

#[test]
fn a_worker_that_is_asked_to_leave_loses_nothing_and_one_may_join_at_any_time() {
    let options = PipelineOptions { window: 50.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    thread::scope(|scope| {
        let first = Worker::connect(&from, &to, &options).unwrap();
        let leaver = first.leaver();
        let first = scope.spawn(move || first.run(echo).unwrap());
        let sender = scope.spawn(|| {
            (0..2000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            ventilator.finish(LONG).unwrap()
        });
        let mut results =
            (0..500).map(|_| number(&sink.recv().unwrap().unwrap().message)).collect::<Vec<_>>();
        scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(echo).unwrap());
        assert!(ventilator.wait_for_workers(2, LONG));
        leaver.leave();
        while let Some(done) = sink.recv().unwrap() {
            results.push(number(&done.message));
        }
        results.sort_unstable();
        assert_eq!(results, (0..2000).collect::<Vec<_>>());
        assert_eq!(sender.join().unwrap().count, 2000);
        let report = first.join().unwrap();
        assert_eq!(report.redelivered_count, 0);
        assert!((500..2000).contains(&report.result_count), "{report:?}");
    });
    assert_eq!(sink.completion().to_string(), "all 2000 done, 0 redelivered, 0 rejected");
}

#[test]
fn the_sink_can_pause_the_ventilator_and_stop_it() {
    let options = PipelineOptions { window: 10.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    thread::scope(|scope| {
        scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(echo).unwrap());
        let sender = scope.spawn(|| {
            let ventilator = ventilator;
            let mut count = 0;
            let error = loop {
                match ventilator.send("more") {
                    Ok(()) => count += 1,
                    Err(error) => break error,
                }
            };
            assert_eq!(error, SendError::Closed);
            assert_eq!(ventilator.finish(LONG).unwrap().count, count);
        });
        (0..100).for_each(|_| assert!(sink.recv().unwrap().is_some()));
        sink.pause();
        sink.resume();
        (0..1000).for_each(|_| assert!(sink.recv().unwrap().is_some()));
        sink.stop();
        while sink.recv().unwrap().is_some() {}
        sender.join().unwrap();
    });
}

#[test]
fn a_pause_is_heard_before_the_next_task_though_tasks_are_few_and_slow() {
    let options = PipelineOptions { window: 4.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    let sent = AtomicU64::new(0);
    let sent_by_then = thread::scope(|scope| {
        // Rejected tasks are done, though the sink does not look at its results meanwhile.
        let work = |task: Task<'_>| {
            thread::sleep(Duration::from_millis(10)); // tidy: allow(sleeps) the task takes so long
            if number(task.message) == 0 { Reply::Same } else { Reply::Reject("no".into()) }
        };
        let (from, to, options) = (&from, &to, &options);
        scope.spawn(move || Worker::connect(from, to, options).unwrap().run(work).unwrap());
        scope.spawn(|| {
            let ventilator = ventilator;
            for task in 0..200 {
                ventilator.send(&*task.to_string()).unwrap();
                sent.fetch_add(1, Ordering::Relaxed);
            }
            ventilator.finish(LONG).unwrap();
        });
        assert!(sink.recv().unwrap().is_some());
        sink.pause();
        thread::sleep(Duration::from_secs(1)); // tidy: allow(sleeps) many tasks could be done meanwhile
        let sent = sent.load(Ordering::Relaxed);
        sink.resume();
        while sink.recv().unwrap().is_some() {}
        sent
    });
    assert!(sent_by_then < 16, "{sent_by_then} tasks were handed out");
    assert_eq!(sink.completion().to_string(), "all 200 done, 0 redelivered, 199 rejected");
}

#[test]
fn of_refused_tasks_that_nobody_takes_the_last_are_named_and_the_others_counted() {
    let options = PipelineOptions { window: 10.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    thread::scope(|scope| {
        let work = |_: Task<'_>| Reply::Reject("no".into());
        let (from, to, options) = (&from, &to, &options);
        scope.spawn(move || Worker::connect(from, to, options).unwrap().run(work).unwrap());
        scope.spawn(|| while sink.recv().unwrap().is_some() {});
        (0..3000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
        let finished = ventilator.finish(LONG).unwrap();
        assert_eq!(finished, Finished { count: 3000, rejected: 3000, unnamed: 2000 });
        let mut named: Vec<_> =
            ventilator.take_refusals().iter().map(|refusal| number(&refusal.message)).collect();
        named.sort_unstable();
        assert!(named.into_iter().eq(2000..3000));
    });
}

#[test]
fn one_sink_that_goes_on_does_not_end_the_pause_of_another() {
    let options = PipelineOptions { window: 10.into(), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let control = ventilator.control_endpoint().to_string();
    let other = Sink::bind("tcp://127.0.0.1:*", &control, &options).unwrap();
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    let sent = AtomicU64::new(0);
    let goes_on = || {
        let moment = Duration::from_millis(300);
        thread::sleep(moment); // tidy: allow(sleeps) what was wished is heard meanwhile
        let before = sent.load(Ordering::Relaxed);
        thread::sleep(moment); // tidy: allow(sleeps) hundreds of tasks could be done meanwhile
        sent.load(Ordering::Relaxed) > before
    };
    thread::scope(|scope| {
        // The tasks are done without the sinks.
        let work = |_: Task<'_>| Reply::Reject("no".into());
        let (from, to, options, sent) = (&from, &to, &options, &sent);
        scope.spawn(move || Worker::connect(from, to, options).unwrap().run(work).unwrap());
        scope.spawn(move || {
            while ventilator.send("more").is_ok() {
                sent.fetch_add(1, Ordering::Relaxed);
            }
            ventilator.finish(LONG).unwrap();
        });
        let mut seen = vec![goes_on()];
        for wish in [Sink::pause, Sink::resume] {
            wish(&other);
            seen.push(goes_on());
            wish(&sink);
            seen.push(goes_on());
        }
        sink.stop();
        while sink.recv().unwrap().is_some() {}
        assert_eq!(seen, [true, false, false, false, true]);
    });
}

#[test]
fn one_that_waits_for_room_hears_that_no_more_is_wanted() {
    for within in [None, Some(LONG)] {
        let options = PipelineOptions { window: 1.into(), ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let (begin, has_begun) = mpsc::channel();
        let (end, may_end) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let work = move |_: Task<'_>| {
                begin.send(()).unwrap();
                let _ = may_end.recv();
                Reply::Same
            };
            let (from, to, options) = (&from, &to, &options);
            scope.spawn(move || Worker::connect(from, to, options).unwrap().run(work).unwrap());
            let send = || match within {
                None => ventilator.send("task"),
                Some(within) => ventilator.send_within("task", within),
            };
            send().unwrap();
            has_begun.recv().unwrap();
            // Dropped if anything fails here, so that the worker ends.
            let end = end;
            let waiting = scope.spawn(send);
            sink.stop();
            while !waiting.is_finished() {
                // A ventilator whose connection was not up is told when the sink looks for results.
                assert!(sink.try_recv().unwrap().is_none());
                thread::yield_now();
            }
            assert_eq!(waiting.join().unwrap(), Err(SendError::Closed));
            drop(end);
            scope.spawn(|| ventilator.finish(LONG).unwrap());
            while sink.recv().unwrap().is_some() {}
        });
        assert_eq!(sink.completion().to_string(), "all 1 done, 0 redelivered, 0 rejected");
    }
}

#[test]
fn a_lost_ventilator_is_reported_by_workers_and_sink() {
    let options = PipelineOptions { lost_after: Duration::from_millis(300), ..PipelineOptions::default() };
    let (ventilator, mut sink) = ends(&options);
    let worker =
        Worker::connect(&ventilator.endpoint().to_string(), &sink.endpoint().to_string(), &options).unwrap();
    let worker = thread::spawn(move || worker.run(|_| Reply::Nothing));
    assert!(ventilator.wait_for_workers(1, LONG));
    drop(ventilator);
    assert!(matches!(sink.recv(), Err(SinkError::VentilatorLost(_))));
    assert!(matches!(worker.join().unwrap(), Err(WorkerError::UpstreamLost(_))));
    assert_eq!(sink.completion().to_string(), "not done, 0 results so far, 0 redelivered, 0 rejected");
}

#[test]
fn what_is_not_finished_in_time_says_how_much() {
    let (ventilator, mut sink) = ends(&PipelineOptions::default());
    let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
    let (go_on, goes_on) = mpsc::channel::<()>();
    let worker = thread::spawn(move || {
        let worker = Worker::connect(&from, &to, &PipelineOptions::default()).unwrap();
        worker.run(|_| {
            goes_on.recv().unwrap();
            Reply::Nothing
        })
    });
    thread::scope(|scope| {
        scope.spawn(|| assert!(sink.recv().unwrap().is_none()));
        ventilator.send("task").unwrap();
        let error = ventilator.finish(Duration::from_millis(10)).unwrap_err();
        assert_eq!(error.to_string(), "not all is done in time: 1 tasks are left");
        go_on.send(()).unwrap();
        assert_eq!(ventilator.finish(LONG).unwrap().count, 1);
    });
    worker.join().unwrap().unwrap();
}
