//! Tests of requests that kill their workers, and of the requests beside them.

use super::*;
use crate::broker::suspects::suspicion;

/// Returns the numbers of client a's requests with this command.
fn numbers(said: &[String], command: &str) -> Vec<u64> {
    let mark = format!("{command} a/");
    let after = said.iter().filter_map(|line| line.split_once(&mark));
    after.map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn a_request_that_kills_its_workers_takes_no_other_along() {
    for capacity in [2, 4, 100] {
        let mut bench = Bench::new(Options::default());
        (1..=9).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
        let (mut deaths, mut said) = (0, Vec::new());
        for life in 0..8 {
            let worker = format!("w{life}");
            bench.ready(&worker, capacity);
            loop {
                let new = bench.said();
                let requests = numbers(&new, "REQUEST");
                said.extend(new);
                if requests.contains(&3) {
                    deaths += 1;
                    bench.lose(&worker);
                    break;
                }
                if requests.is_empty() {
                    break;
                }
                requests.iter().for_each(|number| bench.reply(&worker, 'a', *number));
            }
        }
        let mut answered = numbers(&said, "FINAL");
        answered.sort_unstable();
        assert_eq!((deaths, numbers(&said, "REFUSED")), (5, vec![3]), "{capacity}");
        assert_eq!(answered, [1, 2, 4, 5, 6, 7, 8, 9], "{capacity}");
        bench.assert_quiet();
    }
}

#[test]
fn what_travels_alone_waits_for_a_worker_to_be_free_and_others_go_on() {
    let mut bench = Bench::with_limits(Limits { deliveries_max: 2, ..Limits::default() });
    let ask = |bench: &mut Bench, number| {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]);
    };
    bench.ready("w", 4);
    ask(&mut bench, 1);
    bench.ready("u", 4);
    bench.ready("v", 4);
    (2..=5).for_each(|number| ask(&mut bench, number));
    bench.lose("w");
    let given = ["w: 1", "u: 2", "v: 3", "w: 4", "u: 5"].map(|text| text.replace(": ", ": REQUEST a/") + " ");
    assert_eq!(bench.said(), given);
    // The least busy worker is kept free for the first of the two requests that w had. The other worker gets new
    // requests.
    (6..=7).for_each(|number| ask(&mut bench, number));
    assert_eq!(bench.said(), ["u: REQUEST a/6 ", "u: REQUEST a/7 "]);
    bench.reply("v", 'a', 3);
    assert_eq!(bench.said(), ["c: FINAL a/3 #0 done", "v: REQUEST a/1  after 1 again"]);
    // The worker has the first suspect alone, and then the next.
    ask(&mut bench, 8);
    assert_eq!(bench.said(), [""; 0]);
    bench.reply("v", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done", "v: REQUEST a/4  after 1 again"]);
    bench.reply("v", 'a', 4);
    assert_eq!(bench.said(), ["c: FINAL a/4 #0 done", "v: REQUEST a/8 "]);
}

#[test]
fn the_more_workers_had_a_request_the_less_company_it_has_and_the_last_one_has_it_alone() {
    let steps = |deliveries_max: u16| {
        let limits = Limits { deliveries_max, ..Limits::default() };
        (0..8).map(|deliveries| suspicion(&limits, deliveries)).collect::<Vec<_>>()
    };
    let (none, most, few, alone) = (None, Some(0), Some(1), Some(2));
    assert_eq!(steps(5), [none, none, most, few, alone, alone, alone, alone]);
    assert_eq!(steps(u16::MAX), steps(5));
    assert_eq!(steps(4)[..4], [none, most, few, alone]);
    assert_eq!(steps(3)[..3], [none, few, alone]);
    assert_eq!(steps(2)[..2], [none, alone]);
    assert_eq!((steps(1)[0], steps(0)[0]), (none, none));
}

/// Sends `count` requests. Two workers die of them one after the other.
fn die_twice(bench: &mut Bench, count: u64) {
    (1..=count).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    for worker in ["one", "two"] {
        bench.ready(worker, count as u32);
        assert_eq!(numbers(&bench.said(), "REQUEST").len() as u64, count);
        bench.lose(worker);
    }
}

#[test]
fn thousands_that_died_twice_go_on_by_the_dozen_at_each_worker() {
    let mut bench = Bench::new(Options::default());
    die_twice(&mut bench, 5_000);
    bench.ready("w", 5_000);
    bench.ready("v", 5_000);
    bench.send("c", request_from('a', 9_999, 1, false), &[b"echo", b""]);
    let mut rounds = 0;
    while bench.broker.request_count() > 0 {
        let said = bench.said();
        rounds += 1;
        for worker in ["v", "w"] {
            let given = said.iter().filter(|line| line.starts_with(worker)).cloned().collect::<Vec<_>>();
            let given = numbers(&given, "REQUEST");
            assert!(given.len() <= 64 || given.contains(&9_999), "{}", given.len());
            given.iter().for_each(|number| bench.reply(worker, 'a', *number));
        }
    }
    assert!(rounds <= 5_000 / 128 + 2, "{rounds}");
    bench.assert_quiet();
}

#[test]
fn a_suspect_goes_to_whoever_is_idle_and_holds_up_nobody_at_a_worker_that_never_is() {
    let limits = Limits { deliveries_max: 2, queue_age_max_ms: 20_000, ..Limits::default() };
    let mut bench = Bench::with_limits(limits);
    let ask = |bench: &mut Bench, number| {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]);
    };
    let die = |bench: &mut Bench, number| {
        bench.ready("w", 1);
        ask(bench, number);
        assert_eq!(bench.said(), [format!("w: REQUEST a/{number} ")]);
        bench.lose("w");
    };
    bench.ready("busy", 4);
    ask(&mut bench, 1);
    bench.said();
    die(&mut bench, 2);
    assert_eq!(bench.said(), [""; 0], "the only worker has something else");
    ask(&mut bench, 3);
    assert_eq!(bench.said(), ["busy: REQUEST a/3 "]);
    bench.ready("idle", 4);
    assert_eq!(bench.said(), ["idle: REQUEST a/2  after 1 again"]);
    bench.lose("idle");
    assert_eq!(bench.said(), ["c: REFUSED a/2 502"]);
    // After half of its permitted wait the suspect goes to a busy worker, and the worker still gets new requests.
    die(&mut bench, 4);
    bench.pass(11_000);
    assert_eq!(bench.said(), ["busy: REQUEST a/4  after 1 again"]);
    ask(&mut bench, 5);
    assert_eq!(bench.said(), ["busy: REQUEST a/5 "]);
    (1..=5).filter(|number| *number != 2).for_each(|number| bench.reply("busy", 'a', number));
    bench.assert_quiet();
}

#[test]
fn what_travels_alone_has_company_where_no_worker_is_ever_free() {
    let limits = Limits { deliveries_max: 2, queue_age_max_ms: 10_000, ..Limits::default() };
    let mut bench = Bench::with_limits(limits);
    bench.ready("w", 4);
    bench.ask("c", 'a', 1);
    bench.lose("w");
    // One that is late does not count, it may never end.
    bench.ready("v", 4);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1", "v: REQUEST a/1 1 after 1 again"]);
    bench.reply("v", 'a', 1);
    bench.send("c", request_from('a', 2, 2, false), &[b"echo", b"2"]);
    bench.ready("w", 1);
    bench.send("c", request_from('a', 3, 2, false), &[b"echo", b"3"]);
    bench.said();
    bench.lose("w");
    bench.pass(4_900);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(1_000);
    assert_eq!(bench.said(), ["v: REQUEST a/3 3 after 1 again"]);
    // No suspect reserves a worker that drains or is gone.
    bench.reply("v", 'a', 3);
    bench.ready("w", 1);
    bench.send("c", request_from('a', 4, 2, false), &[b"echo", b"4"]);
    bench.lose("w");
    bench.said();
    bench.send("v", Header::Drain, &[]);
    bench.ready("u", 1);
    assert_eq!(bench.said(), ["v: DRAIN", "u: REQUEST a/4 4 after 1 again"]);
}
