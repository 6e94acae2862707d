//! Workers are killed while they work.

use std::sync::mpsc;
use std::thread;

use hairstreak::pipeline::PipelineOptions;

use crate::part::{Part, bounded};
use crate::soak::amount;
use crate::stages::Wiring;
use crate::{LONG, ends, place};

const WORKERS: usize = 4;

struct Case {
    count: usize,
    window: usize,
    keep_order: bool,
    /// Results of each task.
    copies: usize,
}

#[test]
fn each_result_comes_once_although_a_worker_is_killed_again_and_again() {
    bounded(|| {
        let count = amount(50_000, 1_000_000);
        // With a window of 10, a tenth of the tasks has as many chances to fail.
        for (count, window) in [(count / 10, 10), (count, 10_000)] {
            let case = Case { count, window, keep_order: false, copies: 1 };
            check(&case, |from, to| vec![format!("from={from} to={to}"); WORKERS]);
        }
    });
}

#[test]
fn each_result_comes_once_although_workers_of_two_stages_are_killed() {
    bounded(|| {
        let count = amount(50_000, 1_000_000);
        for (count, wiring, window, keep_order, copies) in [
            (count, Wiring::First, 10_000, false, 1),
            (count / 10, Wiring::Second, 10, false, 3),
            (count / 10, Wiring::Second, 100, true, 2),
            (count / 5, Wiring::Relay, 1000, false, 3),
        ] {
            let case = Case { count, window, keep_order, copies };
            check(&case, |from, to| two_stages(wiring, copies, from, to));
        }
    });
}

/// Does tasks with these workers, and kills a worker after each of several equal shares.
fn check(case: &Case, workers: impl Fn(&str, &str) -> Vec<String>) {
    let Case { count, window, keep_order, copies } = *case;
    let options = PipelineOptions {
        window: window.into(),
        deliveries_max: 0,
        keep_order,
        ..PipelineOptions::default()
    };
    let (ventilator, mut sink) = ends(&options);
    let workers = workers(&ventilator.endpoint().to_string(), &sink.endpoint().to_string());
    let options = format!("window={window} keep_order={} stays=1", u8::from(keep_order));
    let workers = workers.into_iter().map(|words| format!("worker {words} {options}")).collect::<Vec<_>>();
    // Room for another request while a worker dies.
    let (kill, kills) = mpsc::sync_channel(1);
    let (mut numbers, completion) = thread::scope(|scope| {
        // The ventilator stays for late workers, which have to learn that there is nothing to be done.
        scope.spawn(|| {
            (0..count).for_each(|number| ventilator.send(&number.to_string()).unwrap());
            ventilator.finish(LONG).unwrap();
        });
        let killer = scope.spawn(|| kill_in_turn(&workers, kills));
        let mut numbers = Vec::new();
        while let Some(done) = sink.recv().unwrap() {
            numbers.push(std::str::from_utf8(done.message.body()).unwrap().parse::<usize>().unwrap());
            if numbers.len().is_multiple_of(copies * count / amount(15, 500)) {
                kill.send(()).unwrap();
            }
        }
        drop(kill);
        killer.join().unwrap();
        (numbers, sink.completion())
    });
    println!("{} workers, window {window}: {completion:?}", workers.len());
    assert!(!keep_order || numbers.is_sorted());
    numbers.sort_unstable();
    assert!(
        numbers.into_iter().eq((0..copies * count).map(|at| at / copies)),
        "window {window}: {completion:?}"
    );
    assert_eq!(completion.task_count, Some(count as u64));
    assert!(completion.redelivered_count > 0, "nobody died of it");
}

/// Starts these parts. For each request, kills the next part and starts it again. Then all parts end.
pub fn kill_in_turn(words: &[String], kills: mpsc::Receiver<()>) {
    let mut parts = words.iter().map(|words| Part::start(words)).collect::<Vec<_>>();
    for (victim, ()) in (0..words.len()).cycle().zip(kills) {
        parts[victim].kill();
        parts[victim] = Part::start(&words[victim]);
    }
    for part in &mut parts {
        part.is_ready();
        let said = part.says();
        assert!(said.starts_with("ended"), "{said}");
    }
}

/// Returns the words of workers of two stages. The first stage gives `copies` results for each task. By `wiring`, the
/// first stage listens, the second stage listens, or a relay does.
pub fn two_stages(wiring: Wiring, copies: usize, from: &str, to: &str) -> Vec<String> {
    let from = format!("{from} copies={copies}");
    let places = [place(), place()];
    let all = places.join(",");
    let [front, back] = &places;
    match wiring {
        Wiring::First => {
            let second = format!("from={all} to={to}");
            places
                .iter()
                .map(|place| format!("from={from} gives_at={place}"))
                .chain([second.clone(), second])
                .collect()
        }
        Wiring::Second => {
            let first = format!("from={from} to={all}");
            places
                .iter()
                .map(|place| format!("takes_at={place} to={to}"))
                .chain([first.clone(), first])
                .collect()
        }
        Wiring::Relay => {
            let (first, second) = (format!("from={from} to={front}"), format!("from={back} to={to}"));
            let relay = format!("relays=1 takes_at={front} gives_at={back}");
            vec![first.clone(), second.clone(), relay, first, second]
        }
    }
}
