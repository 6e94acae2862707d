//! Tests of workers that take too long, and of requests that are too old.

use super::*;

fn slow_bench() -> Bench {
    Bench::with_limits(Limits { processing_max_ms: 10_000, ..Limits::default() })
}

#[test]
fn a_request_that_its_worker_has_for_too_long_goes_to_another_and_both_are_told() {
    let mut bench = slow_bench();
    bench.ready("slow", 1);
    bench.ask("c", 'a', 1);
    bench.said();
    bench.pass(9_900);
    assert_eq!(bench.said(), [""; 0]);
    bench.ready("w", 1);
    bench.pass(1_000);
    assert_eq!(bench.said(), ["slow: CANCEL a/1", "w: REQUEST a/1 1 after 1 again"]);
    bench.reply("slow", 'a', 1);
    let report = bench.broker.report(bench.now);
    assert_eq!((bench.said(), report.drops.late, report.services[0].outstanding), (vec![], 1, 1));
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    bench.assert_quiet();
}

#[test]
fn a_slow_worker_that_answers_before_anybody_else_has_the_request_answers_it() {
    let mut bench = slow_bench();
    bench.ready("slow", 1);
    bench.ask("c", 'a', 1);
    bench.pass(11_000);
    assert_eq!(bench.said(), ["slow: REQUEST a/1 1", "slow: CANCEL a/1"]);
    bench.reply("slow", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    bench.assert_quiet();
    // A part or a refusal is not a reply to the overdue request.
    bench.ask("c", 'a', 2);
    bench.pass(11_000);
    bench.said();
    bench.send("slow", Header::Partial { request: request_id('a', 2), index: 0, run: None }, &[b"x"]);
    assert_eq!(bench.said(), [""; 0]);
    bench.send("slow", Header::Refused { request: request_id('a', 2), refusal: Refusal::Failed }, &[]);
    assert_eq!(bench.said(), ["slow: REQUEST a/2 2 after 1 again"]);
    bench.reply("slow", 'a', 2);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_gets_back_what_it_was_too_slow_with_has_it_once() {
    let mut bench = slow_bench();
    bench.ready("w", 2);
    bench.ask("c", 'a', 1);
    bench.pass(11_000);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1", "w: CANCEL a/1", "w: REQUEST a/1 1 after 1 again"]);
    assert_eq!(bench.broker.report(bench.now).services[0].outstanding, 1);
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    bench.assert_quiet();
    // A repeated reply does not change the load of the worker.
    bench.reply("w", 'a', 1);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_never_answers_keeps_its_place_and_costs_a_request_its_deliveries() {
    let mut bench =
        Bench::with_limits(Limits { processing_max_ms: 1_000, deliveries_max: 2, ..Limits::default() });
    bench.frames("w", &[b"", b"MDPW01", b"\x01", b"echo"]);
    bench.frames("v", &[b"", b"MDPW01", b"\x01", b"echo"]);
    bench.ask("c", 'a', 1);
    bench.pass(5_000);
    assert_eq!(
        bench.said(),
        ["w: |MDPW01|\\x02|<a/1>||1", "v: |MDPW01|\\x02|<a/1>||1", "c: REFUSED a/1 502"]
    );
    let report = bench.broker.report(bench.now);
    assert_eq!((report.open, report.services[0].outstanding, report.services[0].workers), (0, 2, 2));
    let address = Address::from(request_id('a', 1));
    for worker in ["w", "v"] {
        bench.frames(worker, &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"late"]);
    }
    bench.assert_quiet();
}

#[test]
fn requests_wait_as_long_as_their_service_says() {
    let mut bench = Bench::with_limits(Limits { queue_age_max_ms: 5_000, ..Limits::default() });
    bench.ask("c", 'a', 1);
    bench.pass(4_999);
    assert_eq!((bench.said(), bench.broker.request_count()), (vec![], 1));
    bench.pass(101);
    assert_eq!(bench.said(), ["c: REFUSED a/1 504"]);
    bench.assert_quiet();
    // Held requests expire too.
    bench.send("c", again('a', 2), &[b"echo", b"2"]);
    bench.pass(5_100);
    assert_eq!(bench.said(), ["c: REFUSED a/2 504"]);
}

#[test]
fn a_client_that_waits_no_longer_has_no_request() {
    let mut bench = Bench::new(Options::default());
    let with_lifetime = |number, lifetime_ms| Header::Request {
        request: request_id('a', number),
        first: 1,
        lifetime_ms,
        deliveries: 0,
        is_repeated: false,
        takes_runs: true,
    };
    bench.send("c", with_lifetime(1, 500), &[b"echo", b""]);
    bench.send("c", with_lifetime(2, 0), &[b"echo", b""]);
    bench.pass(499);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(101);
    assert_eq!(bench.said(), ["c: REFUSED a/1 504"]);
    assert_eq!(bench.broker.request_count(), 1);
}
