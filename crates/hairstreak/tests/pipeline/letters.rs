//! Dead letters: a refused task is kept until a sink has taken it, in spite of all deaths.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use hairstreak::pipeline::{
    DeadLetter, DeadLetterSink, Finished, PipelineOptions, RefusalCause, Reply, Sink, Worker,
};
use hairstreak_socket::settlement::LetterNote;
use hairstreak_socket::{Context, Pull, Push, RecvError};
use hairstreak_testkit::{until, until_eq};

use crate::part::{Part, bounded};
use crate::{LONG, ends, place};

const WORKERS: usize = 4;
/// Number of times that the dead-letter sink is killed.
const KILLS: usize = 5;

fn options(window: usize, dead_letters: &str) -> PipelineOptions {
    PipelineOptions {
        window: window.into(),
        dead_letters: Some(dead_letters.to_string()),
        ..PipelineOptions::default()
    }
}

fn dead_letter_sink() -> (DeadLetterSink, String) {
    let letters = DeadLetterSink::bind("tcp://127.0.0.1:*", &PipelineOptions::default()).unwrap();
    let place = letters.endpoint().to_string();
    (letters, place)
}

fn number(body: &[u8]) -> u64 {
    std::str::from_utf8(body).unwrap().parse().unwrap()
}

fn rejected() -> RefusalCause {
    RefusalCause::Rejected(b"no such thing".to_vec())
}

/// Receives the results until the end. Returns their numbers, ascending.
fn results(mut sink: Sink) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some(done) = sink.recv().unwrap() {
        numbers.push(number(done.message.body()));
    }
    numbers.sort_unstable();
    numbers
}

#[test]
fn what_workers_reject_is_taken_with_its_reason_before_the_work_is_finished() {
    bounded(|| {
        let (mut letters, place) = dead_letter_sink();
        let (ventilator, sink) = ends(&options(1000, &place));
        let (from, to) = (ventilator.endpoint(), sink.endpoint());
        let words = format!("worker from={from} to={to} window=1000 rejects=5");
        let workers = (0..WORKERS).map(|_| Part::start(&words)).collect::<Vec<_>>();
        let results = thread::spawn(|| results(sink));
        (0..5000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
        let mut taken = (0..1000).map(|_| letters.recv_timeout(LONG).unwrap()).collect::<Vec<_>>();
        // The last letter is taken only when another is asked for.
        let left = loop {
            let left = ventilator.finish(Duration::from_millis(10)).unwrap_err().to_string();
            if left.starts_with("all tasks are done") && ventilator.dead_letter_count() == 1 {
                break ventilator.finish(Duration::from_millis(10)).unwrap_err().to_string();
            }
        };
        assert_eq!(left, "all tasks are done or refused, but 1 dead letters are not taken");
        assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
        assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 5000, rejected: 1000, unnamed: 0 });
        assert!(ventilator.take_refusals().is_empty());
        assert!(results.join().unwrap().into_iter().eq((0..5000).filter(|number| number % 5 != 0)));
        taken.sort_unstable_by_key(|letter| letter.task);
        for (DeadLetter { task, message, deliveries, cause }, expected) in taken.into_iter().zip(0..) {
            assert_eq!((task.sequence, number(message.body())), (5 * expected, 5 * expected));
            assert_eq!((deliveries, cause), (1, rejected()));
        }
        workers.into_iter().for_each(|worker| assert!(worker.last_words().starts_with("ended")));
    });
}

#[test]
fn a_task_that_kills_its_workers_is_given_up_and_all_others_are_done() {
    bounded(|| {
        let (mut letters, place) = dead_letter_sink();
        let options = PipelineOptions { deliveries_max: 3, ..options(100, &place) };
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint(), sink.endpoint());
        let words = format!("worker from={from} to={to} window=100 dies_of=1999");
        let deaths = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(|| {
                    while !Part::start(&words).last_words().starts_with("ended") {
                        deaths.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            let results = scope.spawn(|| results(sink));
            (0..2000).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            let letter = letters.recv_timeout(LONG).unwrap();
            assert_eq!((letter.message.body(), letter.task.sequence), (&b"1999"[..], 1999));
            assert_eq!((letter.deliveries, letter.cause), (3, RefusalCause::DeliveriesMax));
            assert_eq!(letters.try_recv(), Err(RecvError::TimedOut));
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 2000, rejected: 1, unnamed: 0 });
            assert!(results.join().unwrap().into_iter().eq(0..1999));
        });
        assert_eq!(deaths.into_inner(), 3);
    });
}

/// Prints each letter, for ever.
pub fn be_dead_letter_sink(place: &str, say: impl Fn(&str)) {
    let mut sink = DeadLetterSink::bind(place, &PipelineOptions::default()).unwrap();
    say("ready");
    loop {
        let DeadLetter { message, deliveries, cause, .. } = sink.recv().unwrap();
        say(&format!("{} {deliveries} {}", number(message.body()), cause == rejected()));
    }
}

/// Returns the number of the next letter that the sink printed, unless the sink is dead.
fn letter_of(sink: &mut Part) -> Option<u64> {
    let said = sink.says();
    let words = said.split(' ').collect::<Vec<_>>();
    let [number, "1", "true"] = words[..] else {
        assert_eq!(said, "");
        return None;
    };
    Some(number.parse().unwrap())
}

#[test]
fn letters_come_again_when_their_sink_is_killed() {
    bounded(|| {
        let (place, count, limit) = (place(), 6000, 200);
        let words = format!("dead_letters place={place}");
        let start = || {
            let mut sink = Part::start(&words);
            sink.is_ready();
            sink
        };
        let options = PipelineOptions { dead_letters_max: limit, ..options(100, &place) };
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint(), sink.endpoint());
        let worker = Part::start(&format!("worker from={from} to={to} window=100 rejects=1"));
        let results = thread::spawn(|| results(sink));
        let mut dead_letters = start();
        let sender = thread::spawn(move || {
            (0..count).for_each(|number: u64| ventilator.send(&number.to_string()).unwrap());
            ventilator.finish(LONG).unwrap()
        });
        let mut numbers = Vec::new();
        for kill in 1..=KILLS {
            let share = count as usize * kill / (KILLS + 1);
            numbers.extend((numbers.len()..share).map(|_| letter_of(&mut dead_letters).unwrap()));
            dead_letters.kill();
            // The last lines before its death.
            numbers.extend(std::iter::from_fn(|| letter_of(&mut dead_letters)));
            dead_letters = start();
        }
        assert_eq!(sender.join().unwrap(), Finished { count, rejected: count, unnamed: 0 });
        dead_letters.kill();
        numbers.extend(std::iter::from_fn(|| letter_of(&mut dead_letters)));
        let all = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.into_iter().eq(0..count));
        let again = all - count as usize;
        println!("{again} letters twice, {KILLS} sinks killed");
        assert!(again <= KILLS * (limit + 100), "{again}");
        assert_eq!((results.join().unwrap(), worker.last_words().starts_with("ended")), (Vec::new(), true));
    });
}

#[test]
fn the_ventilator_waits_for_a_dead_letter_sink_that_is_slow() {
    bounded(|| {
        let (place, count, limit, window) = (place(), 1000, 50, 20);
        let options = PipelineOptions { dead_letters_max: limit, ..options(window, &place) };
        let (ventilator, sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            scope.spawn(|| results(sink));
            let worker = scope.spawn(|| {
                let worker = Worker::connect(&from, &to, &options).unwrap();
                worker.run(|_| Reply::Reject("no such thing".into())).unwrap()
            });
            let sender = scope.spawn(|| {
                let mut most = 0;
                for number in 0..count {
                    ventilator.send(&number.to_string()).unwrap();
                    most = most.max(ventilator.dead_letter_count() as usize);
                }
                (ventilator.finish(LONG).unwrap(), most)
            });
            until("the limit of letters, or the end", || {
                let count = ventilator.dead_letter_count() as usize;
                if sender.is_finished() || count >= limit { Ok(()) } else { Err(count) }
            });
            let mut letters = DeadLetterSink::bind(&place, &options).unwrap();
            let mut numbers = HashSet::new();
            while !sender.is_finished() {
                if let Ok(letter) = letters.recv_timeout(Duration::from_millis(10)) {
                    assert!(numbers.insert(number(letter.message.body())), "nothing comes twice");
                }
            }
            let (finished, most) = sender.join().unwrap();
            assert_eq!(finished, Finished { count, rejected: count, unnamed: 0 });
            assert!(most <= limit + window, "{most} waited");
            assert_eq!(numbers.len(), count as usize);
            assert_eq!(worker.join().unwrap().task_count, count);
        });
    });
}

#[test]
fn a_plain_receiver_takes_letters_and_what_is_none_is_rejected() {
    bounded(|| {
        let plain = Pull::new(&Context::new()).unwrap();
        let place = plain.bind("tcp://127.0.0.1:*").unwrap().to_string();
        let (ventilator, sink) = ends(&options(10, &place));
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        thread::scope(|scope| {
            scope.spawn(|| results(sink));
            scope.spawn(|| {
                let worker = Worker::connect(&from, &to, &PipelineOptions::default()).unwrap();
                worker.run(|_| Reply::Reject("no such thing".into())).unwrap()
            });
            ventilator.send(&[&b"two"[..], b"frames"]).unwrap();
            let letter = plain.recv_timeout(LONG).unwrap();
            let frames = letter.frames().collect::<Vec<_>>();
            assert_eq!(frames[..2], [b"two", &b"frames"[..]]);
            let LetterNote { task, deliveries, cause } = LetterNote::decode(frames[2]).unwrap();
            assert_eq!((frames.len(), task.sequence, deliveries, cause), (3, 0, 1, rejected()));
            assert_eq!(ventilator.finish(LONG).unwrap(), Finished { count: 1, rejected: 1, unnamed: 0 });
        });
        let (mut letters, place) = dead_letter_sink();
        let settlement = Some(hairstreak_socket::settlement::Settlement::default());
        let options = hairstreak_socket::Options { settlement, ..Default::default() };
        let push = Push::with_options(&Context::new(), options).unwrap();
        push.connect(&place).unwrap();
        push.send("no letter").unwrap();
        push.flush();
        until_eq("unsettled tasks", 0, || {
            assert_eq!(letters.recv_timeout(Duration::from_millis(10)), Err(RecvError::TimedOut));
            push.unsettled().count
        });
        let refusals = push.take_refusals();
        assert_eq!(refusals[0].cause, RefusalCause::Rejected(b"it is no dead letter".to_vec()));
    });
}
