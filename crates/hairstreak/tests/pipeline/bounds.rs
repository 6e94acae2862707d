//! The cost of a death in a pipeline of two stages: in each stage, at most the window is done again.

use std::sync::mpsc;
use std::thread;

use hairstreak::pipeline::PipelineOptions;

use crate::deaths::two_stages;
use crate::part::{Part, bounded};
use crate::soak::amount;
use crate::stages::WIRINGS;
use crate::store::StoreFile;
use crate::{LONG, ends};

/// Small, so that many windows of tasks are done in the milliseconds that settlements take.
const WINDOW: usize = 10;
const DEATHS: usize = 12;

#[test]
fn a_death_in_the_second_stage_costs_at_most_the_window_there_and_nothing_before() {
    bounded(|| check(&[1], |[first, second]| first == 0 && second <= WINDOW * DEATHS));
}

#[test]
fn deaths_in_both_stages_at_once_cost_at_most_the_window_in_each() {
    bounded(|| check(&[0, 1], |again| again.into_iter().all(|again| again <= WINDOW * DEATHS)));
}

/// Kills a worker of each of these stages at a time, for each wiring. `is_well` checks the number of tasks that each
/// stage did again.
fn check(killed: &[usize], is_well: impl Fn([usize; 2]) -> bool) {
    for wiring in WIRINGS {
        let count = amount(13_000, 260_000);
        let options =
            PipelineOptions { window: WINDOW.into(), deliveries_max: 0, ..PipelineOptions::default() };
        let (ventilator, mut sink) = ends(&options);
        let (from, to) = (ventilator.endpoint().to_string(), sink.endpoint().to_string());
        let tallies =
            ["first", "second"].map(|stage| StoreFile::new(&format!("{stage}-{wiring:?}-{}", killed.len())));
        let all = two_stages(wiring, 1, &from, &to).into_iter().map(|words| {
            let stage =
                [format!("from={from} "), format!("to={to}")].iter().position(|end| words.contains(end));
            let tally = stage.map_or(String::new(), |stage| format!(" tally={}", tallies[stage].path()));
            (stage, format!("worker {words} window={WINDOW} stays=1{tally}"))
        });
        let all = all.collect::<Vec<_>>();
        // Room for another request while a worker dies.
        let (kill, kills) = mpsc::sync_channel(1);
        let mut numbers = thread::scope(|scope| {
            scope.spawn(|| {
                (0..count).for_each(|number| ventilator.send(&number.to_string()).unwrap());
                ventilator.finish(LONG).unwrap();
            });
            let killer = scope.spawn(|| kill_together(&all, killed, kills));
            let mut numbers = Vec::new();
            while let Some(done) = sink.recv().unwrap() {
                numbers.push(std::str::from_utf8(done.message.body()).unwrap().parse::<usize>().unwrap());
                if numbers.len().is_multiple_of(count / (DEATHS + 1)) && numbers.len() < count {
                    kill.send(()).unwrap();
                }
            }
            drop(kill);
            killer.join().unwrap();
            numbers
        });
        let again = tallies.map(|tally| tally.size() - count);
        println!("{wiring:?}, {DEATHS} times one of {killed:?} dies: {again:?} done again");
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..count), "{wiring:?}");
        assert!(is_well(again), "{wiring:?}: {again:?} done again");
    }
}

/// Starts these parts. For each request, kills one part of each of these stages and starts it again. Then all parts
/// end.
fn kill_together(all: &[(Option<usize>, String)], stages: &[usize], kills: mpsc::Receiver<()>) {
    let mut parts = all.iter().map(|(_, words)| Part::start(words)).collect::<Vec<_>>();
    for (turn, ()) in kills.into_iter().enumerate() {
        let of_stage = |stage| (0..all.len()).filter(move |&at| all[at].0 == Some(stage));
        let victims = stages.iter().filter_map(|&stage| of_stage(stage).nth(turn % 2)).collect::<Vec<_>>();
        victims.iter().for_each(|&victim| parts[victim].kill());
        victims.iter().for_each(|&victim| parts[victim] = Part::start(&all[victim].1));
    }
    for part in &mut parts {
        part.is_ready();
        let said = part.says();
        assert!(said.starts_with("ended"), "{said}");
    }
}
