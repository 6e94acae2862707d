//! Tasks with several results: all of them come, in order and once, or none.

use std::thread;

use hairstreak::Message;
use hairstreak::pipeline::{
    Done, Finished, PipelineOptions, RefusalCause, Reply, SeenTasks, Sink, Task, Ventilator, Worker,
};

use crate::part::bounded;
use crate::{LONG, ends};

/// Returns the number in the first frame.
fn number(message: &Message) -> u64 {
    std::str::from_utf8(message.frame(0).unwrap()).unwrap().parse().unwrap()
}

/// Replies with results, whose number is the last digit of the task. The second frame of each is its index.
fn several(task: Task<'_>) -> Reply {
    assert_eq!((task.index, task.count), (0, 1));
    let number = number(task.message);
    let result = |index: u64| Message::from_frames([number.to_string(), index.to_string()]);
    Reply::Results((0..number % 10).map(result).collect())
}

/// Replies with two results for each message, but with none for the third. The sixth message of tasks whose number ends
/// with 66 is rejected.
fn further(task: Task<'_>) -> Reply {
    let number = number(task.message);
    assert_eq!(task.count as u64, number % 10);
    assert_eq!(task.message.frame(1).unwrap(), task.index.to_string().as_bytes());
    match (number % 100, task.index) {
        (66, 5) => Reply::Reject("the sixth".into()),
        (_, 2) => Reply::Nothing,
        _ => Reply::Results(vec![task.message.clone(); 2]),
    }
}

/// Returns the results of a task in order, each as the index of the first stage's result that it comes from.
fn expected(number: u64) -> Vec<u64> {
    if number % 100 == 66 {
        return Vec::new();
    }
    (0..number % 10).filter(|index| *index != 2).flat_map(|index| [index, index]).collect()
}

#[test]
fn all_results_of_a_task_come_together_through_two_stages() {
    bounded(|| {
        for (window, keep_order, many) in
            [(10_000, false, true), (10, false, false), (50, true, true), (1, true, false)]
        {
            let options = PipelineOptions { window: window.into(), keep_order, ..PipelineOptions::default() };
            let (ventilator, mut sink) = ends(&options);
            let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
            let open = || Worker::new(&options).unwrap();
            let (ones, twos) = ([open(), open()], [open(), open()]);
            for two in &twos {
                let place = two.bind_tasks("tcp://127.0.0.1:*").unwrap().to_string();
                two.connect_results(&to).unwrap();
                ones.iter().for_each(|one| one.connect_results(&place).unwrap());
            }
            ones.iter().for_each(|one| one.connect_tasks(&from).unwrap());
            let mut results = Vec::new();
            thread::scope(|scope| {
                ones.iter().for_each(|one| drop(scope.spawn(|| one.run(several).unwrap())));
                twos.iter().for_each(|two| drop(scope.spawn(|| two.run(further).unwrap())));
                scope.spawn(|| {
                    (0..2000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                    assert_eq!(
                        ventilator.finish(LONG).unwrap(),
                        Finished { count: 2000, rejected: 20, unnamed: 0 }
                    );
                    let refusals = ventilator.take_refusals();
                    let because = RefusalCause::Rejected(b"the sixth".to_vec());
                    assert!(refusals.iter().all(|refusal| number(&refusal.message) % 100 == 66));
                    assert!(refusals.iter().all(|refusal| refusal.cause == because));
                });
                match many {
                    true => while sink.recv_many(&mut results).unwrap() > 0 {},
                    false => results.extend(std::iter::from_fn(|| sink.recv().unwrap())),
                }
            });
            assert!(!keep_order || results.is_sorted_by_key(|done| done.task.sequence), "window {window}");
            let count = results.len() as u64;
            // The results of a task are adjacent.
            let tasks = results.chunk_by(|one, other| one.task == other.task);
            let mut tasks = tasks.map(check).collect::<Vec<_>>();
            tasks.sort_unstable();
            let all =
                (0..2000).map(|number| (number, expected(number))).filter(|(_, results)| !results.is_empty());
            assert!(tasks.into_iter().eq(all), "window {window}");
            let completion = sink.completion();
            assert_eq!((completion.result_count, completion.duplicate_count), (count, 0));
            assert_eq!(completion.to_string(), "all 2000 done, 0 redelivered, 20 rejected");
        }
    });
}

/// Returns the number of a task, and the indexes that its results come from.
fn check(results: &[Done]) -> (u64, Vec<u64>) {
    let number = number(&results[0].message);
    assert_eq!(results[0].task.sequence, number);
    for (index, done) in results.iter().enumerate() {
        assert_eq!((done.index, done.is_last), (index, index + 1 == results.len()), "{number}");
    }
    let from = |done: &Done| std::str::from_utf8(done.message.frame(1).unwrap()).unwrap().parse().unwrap();
    (number, results.iter().map(from).collect())
}

/// Runs a worker that gives three results for each task, until the end.
fn give_three(from: &str, to: &str) {
    let worker = Worker::connect(from, to, &PipelineOptions::default()).unwrap();
    worker.run(|task| Reply::Results(vec![task.message.clone(); 3])).unwrap();
}

#[test]
fn a_group_that_was_taken_in_part_comes_again_to_a_sink_that_goes_on() {
    bounded(|| {
        for (keep_order, taken) in [(false, 4), (true, 4), (false, 5), (true, 6)] {
            let options = PipelineOptions { keep_order, ..PipelineOptions::default() };
            let ventilator = Ventilator::bind("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", &options).unwrap();
            let place = crate::place();
            let (from, control) =
                (ventilator.endpoint().to_string(), ventilator.control_endpoint().to_string());
            let mut first = Sink::bind(&place, &control, &options).unwrap();
            thread::scope(|scope| {
                let worker = scope.spawn(|| give_three(&from, &place));
                (0..3).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                (0..taken).for_each(|_| assert!(first.recv().unwrap().is_some()));
                let seen = first.seen().to_bytes();
                drop(first);
                let seen = SeenTasks::from_bytes(&seen).unwrap();
                let mut second = Sink::resume_from(seen, &place, &control, &options).unwrap();
                scope.spawn(|| ventilator.finish(LONG).unwrap());
                let mut results = Vec::new();
                while second.recv_many(&mut results).unwrap() > 0 {}
                let whole = taken / 3;
                let indexes = results.iter().map(|done| done.index).collect::<Vec<_>>();
                assert_eq!(indexes, [0, 1, 2].repeat(3 - whole), "in order: {keep_order}, {taken} taken");
                assert_eq!(second.completion().result_count, 9);
                worker.join().unwrap();
            });
        }
    });
}

#[test]
fn a_result_that_is_too_large_is_rejected_and_the_worker_goes_on() {
    bounded(|| {
        let options = PipelineOptions::default();
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            scope.spawn(|| {
                let worker = Worker::connect(&from, &to, &options).unwrap();
                let give =
                    |task: Task<'_>| Reply::Results(vec![Message::from("x"); number(task.message) as usize]);
                assert_eq!(worker.run(give).unwrap().result_count, 1023 + 2);
            });
            [1023, 1024, 2].into_iter().for_each(|number: u64| ventilator.send(&number.to_string()).unwrap());
            let results = scope.spawn(move || std::iter::from_fn(|| sink.recv().unwrap()).count());
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 3, rejected: 1, unnamed: 0 });
            assert_eq!(results.join().unwrap(), 1023 + 2);
            let refusal = &ventilator.take_refusals()[0];
            let reason =
                "its result cannot be sent: the message of 1025 frames has more than frame_count_max (1024)";
            assert_eq!(number(&refusal.message), 1024);
            assert_eq!(refusal.cause, RefusalCause::Rejected(reason.into()));
        });
    });
}
