//! Links that are cut, in one direction or both, delayed and reordered, between hosts that are network namespaces.

use std::thread;
use std::time::Duration;

use crate::network::{Fate, HUB, Network};
use crate::part::{Part, bounded};
use crate::soak::amount;
use crate::store::StoreFile;

const WORKERS: usize = 4;
/// The host of the sink; the ventilator is on the hub, each worker on a host of its own from 1.
const SINK: usize = 5;
const WINDOW: usize = 1000;
/// Silence after which a peer is given up, beside a heartbeat.
const TIMEOUT_MS: u64 = 1200;
const TIMES: &str = "heartbeat=400 heartbeat_timeout=1200";
/// The fate on a link that is not cut: a later frame may overtake an earlier frame.
const LATE: Fate = Fate::Late(2, 4);

/// Keeps the state for a number of timeouts: cuts last, no matter what happens meanwhile.
fn last(timeouts: f64) {
    thread::sleep(Duration::from_millis((timeouts * TIMEOUT_MS as f64) as u64)); // tidy: allow(sleeps) see above
}

#[test]
fn each_result_comes_once_although_links_are_cut_and_delayed() {
    bounded(|| {
        let mut network = Network::new(SINK);
        (1..=SINK).for_each(|host| network.set(host, LATE, LATE));
        let file = StoreFile::new("links");
        let start = |network: &Network, host: usize, words: String| {
            let mut part = Part::start_by(network.command(host), &format!("{words} window={WINDOW} {TIMES}"));
            part.is_ready();
            part
        };
        let (tasks, control) = (format!("tcp://{HUB}:5557"), format!("tcp://{HUB}:5556"));
        let results = format!("tcp://{}:5558", Network::address(SINK));
        let words = format!(
            "ventilator tasks={tasks} control={control} count={} pause_us={}",
            u64::MAX,
            amount(200, 60)
        );
        let mut ventilator = start(&network, 0, words);
        let words = format!(
            "sink results={results} control={control} file={} remembers=1 lost_after=60000",
            file.path()
        );
        let sink = start(&network, SINK, words);
        let work = |host| {
            // The first worker has to notice that it is cut off, the others have not.
            let lost_after = if host == 1 { 3000 } else { 60_000 };
            let words = format!("worker from={tasks} to={results} lost_after={lost_after}");
            start(&network, host, words)
        };
        let mut workers = (1..=WORKERS).map(work).collect::<Vec<_>>();
        last(0.5);
        for round in 0..amount(1, 30) {
            // The link heals before its peer is missed.
            network.set(1 + round % WORKERS, Fate::Lost, Fate::Lost);
            last(0.3);
            network.set(1 + round % WORKERS, LATE, LATE);
            // One link loses the worker's messages, the other the answers; both for longer than the peers wait.
            network.set(1 + (round + 1) % WORKERS, Fate::Lost, LATE);
            network.set(1 + (round + 2) % WORKERS, LATE, Fate::Lost);
            last(2.0);
            network.set(1 + (round + 1) % WORKERS, LATE, LATE);
            network.set(1 + (round + 2) % WORKERS, LATE, LATE);
            network.set_interface(1 + (round + 3) % WORKERS, false);
            last(2.0);
            network.set_interface(1 + (round + 3) % WORKERS, true);
            // The link with all results and the end.
            network.set(SINK, Fate::Lost, Fate::Lost);
            last(2.0);
            network.set(SINK, LATE, LATE);
            last(1.0);
        }
        // These workers never come back. One does not know it, and no peer is told of the other.
        network.set(1, Fate::Lost, Fate::Lost);
        network.set(2, Fate::Lost, Fate::Lost);
        workers[1].kill();
        ventilator.tell("finish");
        let said = ventilator.last_words();
        let count = said.strip_prefix("ended ").unwrap_or_else(|| panic!("{said}"));
        let count = count.strip_suffix(" 0").unwrap().parse::<u64>().unwrap();
        let said = sink.last_words();
        println!("{said}");
        assert!(said.starts_with(&format!("ended all {count} done")), "{said}");
        assert!(!said.contains(" 0 redelivered"), "{said}");
        let mut numbers = file.numbers();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..count));
        let ends = ["error nobody hands out tasks", "", "ended", "ended"];
        for (worker, end) in workers.into_iter().zip(ends) {
            let said = worker.last_words();
            assert!(said.starts_with(end), "{said}");
        }
    });
}

#[test]
fn a_worker_that_waits_for_a_sink_misses_the_host_of_its_ventilator() {
    bounded(|| {
        let mut network = Network::new(1);
        let (tasks, control) = (format!("tcp://{HUB}:5557"), format!("tcp://{HUB}:5556"));
        let words = format!("ventilator tasks={tasks} control={control} count={} pause_us=1000", u64::MAX);
        let mut ventilator = Part::start_by(network.command(0), &format!("{words} window={WINDOW} {TIMES}"));
        ventilator.is_ready();
        // There is no sink, so the worker's tasks remain unread.
        let words = format!("worker from={tasks} to=tcp://{HUB}:5558 lost_after=500 window={WINDOW} {TIMES}");
        let mut worker = Part::start_by(network.command(1), &words);
        worker.is_ready();
        last(1.0);
        network.set(1, Fate::Lost, Fate::Lost);
        let said = worker.last_words();
        assert!(said.starts_with("error nobody hands out tasks"), "{said}");
    });
}
