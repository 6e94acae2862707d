//! Tasks that are rejected or given up: the sink hears of it at once, waits for none of them, and counts each task
//! once.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use hairstreak::Message;
use hairstreak::pipeline::{PipelineOptions, RefusalCause, Reply, Sink, Task, Worker};
use hairstreak_socket::settlement::{ControlMessage, RefusedTasks, SequenceRuns, Settlement, TaskId};
use hairstreak_socket::{Context, Dealer, Interest, Options, Poller, Push, Router};
use hairstreak_testkit::until_eq;

use crate::part::{self, bounded};
use crate::{LONG, ends};

/// Returns options with two tasks under way, in order: each refused task would hold up all others.
fn narrow() -> PipelineOptions {
    PipelineOptions { window: 2.into(), keep_order: true, ..PipelineOptions::default() }
}

fn number(message: &Message) -> u64 {
    std::str::from_utf8(message.body()).unwrap().parse().unwrap()
}

/// Rejects every third task.
fn handle(task: Task<'_>) -> Reply {
    match number(task.message) % 3 {
        2 => Reply::Reject("every third".into()),
        _ => Reply::Result(task.message.clone()),
    }
}

#[test]
fn in_order_with_every_third_task_rejected_all_others_come() {
    bounded(|| {
        let options = narrow();
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(handle).unwrap());
            }
            scope.spawn(|| {
                assert!(ventilator.wait_for_workers(3, LONG));
                (0..3000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                assert_eq!(ventilator.finish(LONG).unwrap().rejected, 1000);
            });
            let expected = (0..3000).filter(|number| number % 3 != 2);
            let results = std::iter::from_fn(|| sink.recv().unwrap().map(|done| number(&done.message)));
            assert!(results.eq(expected));
        });
        let completion = sink.completion();
        assert_eq!((completion.result_count, completion.rejected_count), (2000, 1000));
        assert_eq!(completion.to_string(), "all 3000 done, 0 redelivered, 1000 rejected");
    });
}

/// Runs a ventilator that tells its sink which tasks it has refused, and no floor before the end of `count` tasks.
fn ventilate(tasks: &Push, control: &Router, mut poller: Poller, count: u64) {
    let (mut ready, mut sink) = (Vec::new(), Vec::new());
    let epoch = tasks.first_unsettled().unwrap().epoch;
    let mut refused_count = 0;
    while sink.is_empty() || tasks.first_unsettled() != Some(TaskId { epoch, sequence: count }) {
        poller.wait_timeout(&mut ready, LONG).unwrap();
        if let Ok(message) = control.try_recv() {
            sink = message.frame(0).unwrap().to_vec();
            let floor = ControlMessage::Floor(TaskId { epoch, sequence: 0 });
            control.send(&[&sink[..], &floor.encode()]).unwrap();
        }
        if sink.is_empty() {
            continue;
        }
        let RefusedTasks::Runs(runs) = tasks.take_refused() else { panic!("too many") };
        if !runs.is_empty() {
            refused_count += runs.iter().map(|(_, count)| count).sum::<u64>();
            let runs = SequenceRuns::encode(runs.iter().map(|(task, count)| (task.sequence, *count)));
            // The other messages change nothing: tasks of another ventilator, a message that is cut off, a repeated
            // message, and tasks that do not exist.
            let other = ControlMessage::Refused(epoch ^ 1, SequenceRuns::of(&[[0; 16]])).encode();
            let refused = ControlMessage::Refused(epoch, SequenceRuns::of(&runs)).encode();
            let beyond = ControlMessage::Refused(epoch, SequenceRuns::of(&[[0x7f; 16]])).encode();
            for said in [&other[..], &refused[..20], &refused, &refused, &beyond] {
                control.send(&[&sink[..], said]).unwrap();
            }
        }
    }
    let end = ControlMessage::End { epoch, count, rejected: refused_count };
    control.send(&[&sink[..], &end.encode()]).unwrap();
    control.flush();
}

#[test]
fn in_order_nothing_waits_for_the_floor_behind_what_is_refused() {
    bounded(|| {
        let (options, count) = (narrow(), 300);
        let settlement = Settlement { unsettled_count_max: 2, in_order: true, ..Settlement::default() };
        let with = Options { settlement: Some(settlement), ..Options::default() };
        let tasks = Push::with_options(&Context::new(), with).unwrap();
        let control = Router::new(&Context::new()).unwrap();
        let from = tasks.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let place = control.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let mut sink = Sink::bind("tcp://127.0.0.1:*", &place, &options).unwrap();
        let to = sink.endpoint().to_string();
        let mut poller = Poller::new().unwrap();
        poller.add(&control, 0, Interest::READABLE).unwrap();
        let waker = poller.waker();
        tasks.wake_on_refusal(poller.waker());
        thread::scope(|scope| {
            scope.spawn(|| ventilate(&tasks, &control, poller, count));
            for _ in 0..2 {
                scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(handle).unwrap());
            }
            scope.spawn(|| {
                (0..count).for_each(|number| tasks.send(&number.to_string()).unwrap());
                assert!(tasks.end(LONG));
                waker.wake_by_ref();
            });
            let results = std::iter::from_fn(|| sink.recv().unwrap().map(|done| number(&done.message)));
            assert!(results.eq((0..count).filter(|number| number % 3 != 2)));
        });
        assert_eq!(sink.completion().to_string(), "all 300 done, 0 redelivered, 100 rejected");
        assert_eq!(sink.completion().duplicate_count, 0);
    });
}

#[test]
fn a_task_that_is_given_up_behind_its_result_counts_as_done() {
    bounded(|| {
        let options = PipelineOptions { deliveries_max: 1, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let mut worker =
            part::worker(&ventilator.endpoint().to_string(), &sink.endpoint().to_string(), 10_000);
        ventilator.send("task").unwrap();
        assert_eq!(sink.recv().unwrap().unwrap().message.body(), b"task");
        // The sink has not said yet that it has dealt with the result.
        worker.kill();
        let finished = ventilator.finish(LONG).unwrap();
        assert_eq!((finished.count, finished.rejected), (1, 1));
        assert_eq!(ventilator.take_refusals()[0].cause, RefusalCause::DeliveriesMax);
        assert!(sink.recv().unwrap().is_none());
        let completion = sink.completion();
        assert_eq!((completion.result_count, completion.rejected_count), (1, 0));
    });
}

#[test]
fn a_task_that_was_given_up_is_not_named_if_the_sink_had_its_result() {
    bounded(|| {
        let options = PipelineOptions::default();
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let worker =
            thread::spawn(move || Worker::connect(&from, &to, &options).unwrap().run(|_| Reply::Same));
        // The sink must have heard of the ventilator.
        ventilator.send("0").unwrap();
        assert_eq!(number(&sink.recv().unwrap().unwrap().message), 0);
        assert_eq!(sink.try_recv().unwrap(), None, "the first is settled");
        let (mut next, mut time, mut delivered) = (1, Duration::from_millis(50), vec![0]);
        // The results wait in the sink's socket while their tasks are given up, unless the ventilator's message arrives
        // before them.
        while delivered.len() == 1 {
            (next..next + 10).for_each(|number| ventilator.send_within(&number.to_string(), time).unwrap());
            (next, time) = (next + 10, 2 * time);
            until_eq("unsettled tasks", 0, || ventilator.unsettled_count());
            until_eq("results", next, || {
                delivered.extend(sink.try_recv().unwrap().map(|done| number(&done.message)));
                delivered.len() as u64 + sink.completion().duplicate_count
            });
        }
        // The last results are reported when the next result is asked for.
        let results = thread::spawn(move || (sink.recv().unwrap(), sink.completion()));
        let rejected = next - delivered.len() as u64;
        until_eq("rejected tasks", rejected, || ventilator.finish(LONG).unwrap().rejected);
        delivered.extend(ventilator.take_refusals().iter().map(|refusal| number(&refusal.message)));
        delivered.sort_unstable();
        assert!(delivered.into_iter().eq(0..next));
        let (result, completion) = results.join().unwrap();
        assert_eq!((result, completion.rejected_count), (None, rejected));
        worker.join().unwrap().unwrap();
    });
}

#[test]
fn a_task_that_was_given_up_is_named_though_its_result_comes_and_is_dropped() {
    for keep_order in [false, true] {
        bounded(move || {
            let options = PipelineOptions { keep_order, ..PipelineOptions::default() };
            let (ventilator, mut sink) = ends(&options);
            let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
            let (go_on, goes_on) = mpsc::channel::<()>();
            let work = move |task: Task<'_>| {
                if number(task.message) > 0 {
                    goes_on.recv().unwrap();
                }
                Reply::Same
            };
            let worker = thread::spawn(move || Worker::connect(&from, &to, &options).unwrap().run(work));
            ventilator.send("0").unwrap();
            assert_eq!(number(&sink.recv().unwrap().unwrap().message), 0);
            assert_eq!(sink.try_recv().unwrap(), None, "the first is settled");
            let mut next = 1;
            // Repeats if the result arrives before the message that its task was given up.
            while sink.completion().duplicate_count == 0 {
                ventilator.send_within(&next.to_string(), Duration::from_millis(20)).unwrap();
                next += 1;
                until_eq("unsettled tasks", 0, || ventilator.unsettled_count());
                (0..100).for_each(|_| assert_eq!(sink.try_recv().unwrap(), None));
                go_on.send(()).unwrap();
                until_eq("results", next, || {
                    sink.try_recv().unwrap();
                    let completion = sink.completion();
                    completion.result_count + completion.duplicate_count
                });
            }
            go_on.send(()).unwrap();
            // Earlier reports arrive before this result.
            ventilator.send(&next.to_string()).unwrap();
            assert_eq!(number(&sink.recv().unwrap().unwrap().message), next);
            let results = thread::spawn(move || (sink.recv().unwrap(), sink.completion()));
            let finished = ventilator.finish(LONG).unwrap();
            let named = ventilator.take_refusals();
            let (result, completion) = results.join().unwrap();
            assert_eq!((result, named.len() as u64), (None, finished.rejected));
            assert_eq!(named.len() as u64 + completion.result_count, next + 1, "{finished:?}, {completion}");
            worker.join().unwrap().unwrap();
        });
    }
}

/// Waits for the next message of the ventilator for which `is_it` holds.
fn says(sink: &Dealer, is_it: impl Fn(&ControlMessage<'_>) -> bool) -> Vec<u8> {
    loop {
        let message = sink.recv_timeout(LONG).unwrap();
        if ControlMessage::decode(message.body()).is_some_and(|said| is_it(&said)) {
            return message.body().to_vec();
        }
    }
}

#[test]
fn each_refusal_is_told_once_before_the_floor_passes_it_and_left_to_who_comes_later() {
    bounded(|| {
        let options = PipelineOptions::default();
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let control = ventilator.control_endpoint().to_string();
        let hear = || {
            let dealer = Dealer::new(&Context::new()).unwrap();
            dealer.connect(&control).unwrap();
            dealer.send(&ControlMessage::Hello.encode()).unwrap();
            let left = says(&dealer, |said| matches!(said, ControlMessage::Left(..)));
            (dealer, left)
        };
        let (first, left) = hear();
        assert_eq!(left.len(), 17, "nothing is left");
        thread::scope(|scope| {
            scope.spawn(|| Worker::connect(&from, &to, &options).unwrap().run(handle).unwrap());
            (0..300).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            let (mut told, mut floor) = (Vec::new(), 0);
            while told.len() < 100 {
                let said = says(&first, |_| true);
                match ControlMessage::decode(&said).unwrap() {
                    ControlMessage::Refused(_, runs) => {
                        told.extend(runs.flat_map(|(first, count)| first..first + count));
                    }
                    ControlMessage::Floor(raised) => floor = raised.sequence,
                    _ => {}
                }
                assert!(told.iter().filter(|sequence| **sequence < floor).count() as u64 >= floor / 3);
            }
            told.sort_unstable();
            assert!(told.into_iter().eq((0..300).filter(|number| number % 3 == 2)));
            let (_, left) = hear();
            let Some(ControlMessage::Left(_, left)) = ControlMessage::decode(&left) else { panic!() };
            assert!(left.flat_map(|(first, count)| first..first + count).all(|number| number % 3 != 2));
            while sink.try_recv().unwrap().is_some() || sink.completion().result_count < 200 {}
            let finishing = scope.spawn(|| ventilator.finish(LONG).unwrap());
            assert!(sink.recv().unwrap().is_none());
            assert_eq!(finishing.join().unwrap().rejected, 100);
        });
    });
}
