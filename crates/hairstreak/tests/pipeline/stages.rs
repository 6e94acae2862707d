//! Two stages of workers, of which either may listen: each result comes once, and all workers learn of the end.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::{self, Scope};
use std::time::Duration;

use hairstreak::Message;
use hairstreak::pipeline::{
    Finished, PipelineOptions, RefusalCause, Reply, Sink, SinkError, Task, Worker, WorkerError, WorkerReport,
};

use crate::part::{Part, bounded};
use crate::{LONG, ends};

/// Any port of this machine.
const ANY: &str = "tcp://127.0.0.1:*";

fn number(message: &Message) -> u64 {
    std::str::from_utf8(message.body()).unwrap().parse().unwrap()
}

/// Returns all results until the end, ascending.
fn numbers(sink: &mut Sink) -> Vec<u64> {
    let mut numbers =
        std::iter::from_fn(|| sink.recv().unwrap().map(|done| number(&done.message))).collect::<Vec<_>>();
    numbers.sort_unstable();
    numbers
}

fn echo(task: Task<'_>) -> Reply {
    Reply::Result(task.message.clone())
}

/// Doubles the number. 13 has no result, and 17 is rejected.
fn first(task: Task<'_>) -> Reply {
    match number(task.message) {
        13 => Reply::Nothing,
        17 => Reply::Reject("at once".into()),
        number => Reply::Result((2 * number).to_string().into()),
    }
}

/// Adds one to the number. 40 has no result, and 50 is rejected.
fn second(task: Task<'_>) -> Reply {
    match number(task.message) {
        40 => Reply::Nothing,
        50 => Reply::Reject("in the end".into()),
        number => Reply::Result((number + 1).to_string().into()),
    }
}

/// The listening side of two stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    First,
    Second,
    /// Neither stage listens: a relay does.
    Relay,
}

pub const WIRINGS: [Wiring; 3] = [Wiring::First, Wiring::Second, Wiring::Relay];

/// Opens `counts` workers of two stages between a ventilator and a sink. The last value is the relay, if there is a
/// relay.
fn stages(
    wiring: Wiring,
    counts: [usize; 2],
    [from, to]: [&str; 2],
    options: &PipelineOptions,
) -> (Vec<Worker>, Vec<Worker>, Option<Worker>) {
    let [ones, twos] =
        counts.map(|count| (0..count).map(|_| Worker::new(options).unwrap()).collect::<Vec<_>>());
    ones.iter().for_each(|one| one.connect_tasks(from).unwrap());
    twos.iter().for_each(|two| two.connect_results(to).unwrap());
    let relay = match wiring {
        Wiring::First => {
            for one in &ones {
                let place = one.bind_results(ANY).unwrap().to_string();
                twos.iter().for_each(|two| two.connect_tasks(&place).unwrap());
            }
            None
        }
        Wiring::Second => {
            for two in &twos {
                let place = two.bind_tasks(ANY).unwrap().to_string();
                ones.iter().for_each(|one| one.connect_results(&place).unwrap());
            }
            None
        }
        Wiring::Relay => {
            let relay = Worker::relay(options).unwrap();
            let (front, back) = (relay.bind_tasks(ANY).unwrap(), relay.bind_results(ANY).unwrap());
            ones.iter().for_each(|one| one.connect_results(&front.to_string()).unwrap());
            twos.iter().for_each(|two| two.connect_tasks(&back.to_string()).unwrap());
            Some(relay)
        }
    };
    // A worker that connects after the stage before has ended would not learn of the end.
    let next_count = if relay.is_some() { 1 } else { twos.len() };
    assert!(ones.iter().all(|one| one.sockets().1.wait_for_peers(next_count, LONG)));
    assert!(relay.iter().all(|relay| relay.sockets().1.wait_for_peers(twos.len(), LONG)));
    (ones, twos, relay)
}

type Running<'scope> = thread::ScopedJoinHandle<'scope, Result<WorkerReport, WorkerError>>;

/// Runs a worker in a thread of its own, until it ends.
fn run<'scope>(
    scope: &'scope Scope<'scope, '_>,
    worker: Worker,
    handle: impl FnMut(Task<'_>) -> Reply + Send + 'scope,
) -> Running<'scope> {
    scope.spawn(move || worker.run(handle))
}

#[test]
fn each_result_comes_once_whoever_listens() {
    bounded(|| {
        for (wiring, window, keep_order) in WIRINGS.iter().flat_map(|wiring| {
            [(wiring, 10_000, false), (wiring, 10, false), (wiring, 100, true), (wiring, 1, true)]
        }) {
            let options = PipelineOptions { window: window.into(), keep_order, ..PipelineOptions::default() };
            let (ventilator, mut sink) = ends(&options);
            let places = [ventilator.endpoint().to_string(), sink.endpoint().to_string()];
            let (ones, twos, relay) =
                stages(*wiring, [3, 2], places.each_ref().map(String::as_str), &options);
            thread::scope(|scope| {
                let running = ones.into_iter().map(|worker| run(scope, worker, first)).collect::<Vec<_>>();
                let running =
                    running.into_iter().chain(twos.into_iter().map(|worker| run(scope, worker, second)));
                let running = running.chain(relay.map(|relay| run(scope, relay, echo))).collect::<Vec<_>>();
                scope.spawn(|| {
                    let ventilator = ventilator;
                    assert!(ventilator.wait_for_workers(3, LONG));
                    (0..5000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                    let finished = ventilator.finish(LONG).unwrap();
                    assert_eq!((finished.count, finished.rejected), (5000, 2));
                    let mut refusals = ventilator.take_refusals();
                    refusals.sort_by_key(|refusal| refusal.task);
                    let refusals =
                        refusals.into_iter().map(|refusal| (number(&refusal.message), refusal.cause));
                    let because = |reason: &str| RefusalCause::Rejected(reason.as_bytes().to_vec());
                    let expected = [(17, because("at once")), (25, because("in the end"))];
                    assert_eq!(refusals.collect::<Vec<_>>(), expected);
                });
                let mut results = Vec::new();
                while let Some(done) = sink.recv().unwrap() {
                    results.push(number(&done.message));
                }
                assert!(!keep_order || results.is_sorted(), "{wiring:?}, window {window}");
                results.sort_unstable();
                let expected = (0..5000).filter(|number| ![13, 17, 20, 25].contains(number));
                assert!(results.into_iter().eq(expected.map(|number| 2 * number + 1)));
                for running in running {
                    running.join().unwrap().unwrap();
                }
            });
            assert_eq!(sink.completion().to_string(), "all 5000 done, 0 redelivered, 2 rejected");
            assert_eq!(sink.completion().duplicate_count, 0);
        }
    });
}

#[test]
fn workers_of_either_stage_leave_and_join_while_the_others_go_on() {
    bounded(|| {
        let options = PipelineOptions { window: 50.into(), ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let workers = [(); 4].map(|()| Worker::new(&options).unwrap());
        let [one, two, other_one, other_two] = &workers;
        let (place, other_place) = (one.bind_results(ANY).unwrap(), other_two.bind_tasks(ANY).unwrap());
        one.connect_tasks(&from).unwrap();
        two.connect_tasks(&place.to_string()).unwrap();
        two.connect_results(&to).unwrap();
        other_two.connect_results(&to).unwrap();
        thread::scope(|scope| {
            let (first_one, first_two) = (scope.spawn(|| one.run(echo)), scope.spawn(|| two.run(echo)));
            let results = scope.spawn(move || (numbers(&mut sink), sink.completion()));
            let send =
                |mut numbers: Range<u64>| numbers.all(|number| ventilator.send(&number.to_string()).is_ok());
            assert!(send(0..1000));
            // Some of the sent tasks are under way.
            one.connect_results(&other_place.to_string()).unwrap();
            let second_two = scope.spawn(|| other_two.run(echo));
            two.leaver().leave();
            assert_eq!(first_two.join().unwrap().unwrap().redelivered_count, 0);
            assert!(send(1000..2000));
            other_one.connect_results(&other_place.to_string()).unwrap();
            other_one.connect_tasks(&from).unwrap();
            let second_one = scope.spawn(|| other_one.run(echo));
            assert!(ventilator.wait_for_workers(2, LONG));
            one.leaver().leave();
            assert_eq!(first_one.join().unwrap().unwrap().redelivered_count, 0);
            assert!(send(2000..3000));
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 3000, rejected: 0, unnamed: 0 });
            let (results, completion) = results.join().unwrap();
            assert!(results.into_iter().eq(0..3000));
            assert_eq!(completion.to_string(), "all 3000 done, 0 redelivered, 0 rejected");
            for last in [second_one, second_two] {
                assert!(last.join().unwrap().unwrap().result_count >= 1000);
            }
        });
    });
}

#[test]
fn a_lost_ventilator_is_reported_by_every_stage() {
    bounded(|| {
        for wiring in WIRINGS {
            let options =
                PipelineOptions { lost_after: Duration::from_millis(300), ..PipelineOptions::default() };
            let mut ventilator = Part::start(
                "ventilator tasks=tcp://127.0.0.1:* control=tcp://127.0.0.1:* window=100 workers=2 count=50",
            );
            let places = ventilator.is_ready();
            let mut sink = Sink::bind("tcp://127.0.0.1:*", &places[1], &options).unwrap();
            let (ones, twos, relay) =
                stages(wiring, [2, 2], [&places[0], &sink.endpoint().to_string()], &options);
            // The sink takes nothing until the work is over.
            thread::scope(|scope| {
                let workers = ones.into_iter().chain(twos).chain(relay);
                let running = workers.map(|worker| run(scope, worker, echo)).collect::<Vec<_>>();
                assert_eq!(ventilator.says(), "sent");
                ventilator.kill();
                for running in running {
                    let lost = running.join().unwrap();
                    assert!(matches!(lost, Err(WorkerError::UpstreamLost(_))), "{wiring:?}: {lost:?}");
                }
            });
            while !matches!(sink.recv(), Err(SinkError::VentilatorLost(_))) {}
        }
    });
}

#[test]
fn a_worker_of_the_first_stage_that_hangs_does_not_keep_the_second_from_its_end() {
    bounded(|| {
        let options = PipelineOptions { window: 4.into(), ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let (ones, twos, _) = stages(Wiring::Second, [2, 2], [&from, &to], &options);
        let (go_on, goes_on) = mpsc::channel::<()>();
        let goes_on = std::sync::Mutex::new(goes_on);
        let hang = |task: Task<'_>| {
            if task.message.body() == b"0" {
                let _ = goes_on.lock().unwrap().recv();
            }
            echo(task)
        };
        thread::scope(|scope| {
            let ones = ones.into_iter().map(|worker| run(scope, worker, hang)).collect::<Vec<_>>();
            let twos = twos.into_iter().map(|worker| run(scope, worker, echo)).collect::<Vec<_>>();
            assert!(ventilator.wait_for_workers(2, LONG));
            ventilator.send_within("0", Duration::from_millis(20)).unwrap();
            let results = scope.spawn(move || std::iter::from_fn(|| sink.recv().unwrap()).count());
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 1, rejected: 1, unnamed: 0 });
            assert_eq!(results.join().unwrap(), 0);
            twos.into_iter().for_each(|two| assert_eq!(two.join().unwrap().unwrap().task_count, 0));
            drop(go_on);
            ones.into_iter().for_each(|one| assert!(one.join().unwrap().is_ok()));
        });
    });
}

#[test]
fn a_task_that_kills_workers_of_the_second_stage_is_rejected_and_all_others_are_done() {
    bounded(|| {
        let options = PipelineOptions { window: 100.into(), deliveries_max: 3, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let one = Worker::new(&options).unwrap();
        let place = one.bind_results(ANY).unwrap();
        one.connect_tasks(&from).unwrap();
        let words = format!("worker from={place} to={to} window=100 deliveries_max=3 dies_of=1999");
        let deaths = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !Part::start(&words).last_words().starts_with("ended") {
                        deaths.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| one.run(echo).unwrap());
            let results = scope.spawn(move || numbers(&mut sink));
            (0..2000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 2000, rejected: 1, unnamed: 0 });
            let refusals = ventilator.take_refusals();
            let reason = b"given to workers 3 times, and not settled".to_vec();
            assert_eq!(
                (number(&refusals[0].message), &refusals[0].cause),
                (1999, &RefusalCause::Rejected(reason))
            );
            assert!(results.join().unwrap().into_iter().eq(0..1999));
        });
        assert_eq!(deaths.into_inner(), 3);
    });
}

#[test]
fn what_a_worker_of_the_second_stage_has_that_hangs_is_given_up_and_the_work_ends() {
    bounded(|| {
        for keep_order in [false, true] {
            let options = PipelineOptions {
                window: 8.into(),
                keep_order,
                deadline: Some(Duration::from_secs(1)),
                // The worker is alive, and its heartbeats say so.
                heartbeat_timeout_ms: 60_000,
                ..PipelineOptions::default()
            };
            let (ventilator, mut sink) = ends(&options);
            let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
            let one = Worker::new(&options).unwrap();
            let place = one.bind_results(ANY).unwrap();
            one.connect_tasks(&from).unwrap();
            let words = format!(
                "worker from={place} to={to} window=8 hangs_on=50 keep_order={}",
                u8::from(keep_order)
            );
            let twos = [Part::start(&words), Part::start(&words)];
            thread::scope(|scope| {
                scope.spawn(|| one.run(echo).unwrap());
                let results = scope.spawn(move || numbers(&mut sink));
                (0..200).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                let rejected = ventilator.finish(LONG).unwrap().rejected;
                let refusals = ventilator.take_refusals();
                assert_eq!(refusals.len(), rejected as usize);
                assert!(refusals.iter().all(|refusal| refusal.cause == RefusalCause::Deadline));
                let mut all = refusals.iter().map(|refusal| number(&refusal.message)).collect::<Vec<_>>();
                assert!(all.contains(&50));
                println!("in order: {keep_order}, {rejected} given up");
                let results = results.join().unwrap();
                assert!(results.is_sorted_by(|before, next| before < next), "each comes once");
                all.extend(results);
                all.sort_unstable();
                // A task that was given up may have had its result.
                all.dedup();
                assert!(all.into_iter().eq(0..200));
            });
            drop(twos);
        }
    });
}
