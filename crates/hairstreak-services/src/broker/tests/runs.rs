//! Tests of replies in parts whose worker dies in the middle: no client gets parts of two replies as one.

use super::*;

fn partial(client: char, index: u32, run: Option<u64>) -> Header {
    Header::Partial { request: request_id(client, 1), index, run }
}

fn last(client: char, index: u32, run: Option<u64>) -> Header {
    Header::Final { request: request_id(client, 1), index, run }
}

/// Returns the runs of the parts since the last call.
fn runs(bench: &mut Bench) -> Vec<Option<u64>> {
    let headers =
        bench.raw().into_iter().filter_map(|(_, frames)| Header::parse(&frames[0]).ok().map(|(h, _)| h));
    let run = |header| match header {
        Header::Partial { run, .. } | Header::Final { run, .. } => Some(run),
        _ => None,
    };
    headers.filter_map(run).collect()
}

#[test]
fn parts_keep_the_run_that_their_worker_gave_them() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.send("w", partial('a', 0, Some(7)), &[b"x"]);
    bench.lose("w");
    bench.ready("v", 1);
    bench.send("v", partial('a', 0, Some(8)), &[b"y"]);
    bench.send("v", last('a', 1, Some(8)), &[b"z"]);
    assert_eq!(runs(&mut bench), [Some(7), Some(8), Some(8)]);
}

#[test]
fn parts_of_workers_that_name_no_run_get_another_one_with_each_worker() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.send("w", partial('a', 0, None), &[b"x"]);
    bench.lose("w");
    bench.frames("v", &[b"MDPW02", b"\x01", b"echo"]);
    let address = Address::from(request_id('a', 1));
    bench.frames("v", &[b"MDPW02", b"\x03", address.as_bytes(), b"", b"y"]);
    bench.frames("v", &[b"MDPW02", b"\x04", address.as_bytes(), b"", b"z"]);
    let runs = runs(&mut bench);
    assert!(runs.iter().all(Option::is_some) && runs[0] != runs[1] && runs[1] == runs[2], "{runs:?}");
}

#[test]
fn no_run_is_named_to_a_client_that_takes_none_nor_in_a_whole_reply() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    let request = request_id('a', 1);
    let (first, lifetime_ms, deliveries) = (1, 0, 0);
    let header =
        Header::Request { request, first, lifetime_ms, deliveries, is_repeated: false, takes_runs: false };
    bench.send("c", header, &[b"echo", b""]);
    bench.send("w", partial('a', 0, Some(7)), &[b"x"]);
    bench.send("w", last('a', 1, Some(7)), &[b"y"]);
    bench.ask("d", 'b', 1);
    bench.reply("w", 'b', 1);
    assert_eq!(runs(&mut bench), [None; 3]);
}

/// Returns the request of the plain client at `c`.
fn plain_request() -> RequestId {
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&1_u64.to_be_bytes());
    RequestId { client: ClientId(id), number: 1 }
}

#[test]
fn a_plain_client_of_one_message_gets_no_part_of_a_worker_that_died() {
    let part = |index| Header::Partial { request: plain_request(), index, run: Some(7) };
    let last = |index| Header::Final { request: plain_request(), index, run: Some(8) };
    let limits = Limits { processing_max_ms: 1_000, ..Limits::default() };
    for is_slow in [false, true] {
        let mut bench = Bench::with_limits(limits.clone());
        bench.ready("slow", 1);
        bench.frames("c", &[b"", b"MDPC01", b"echo", b"body"]);
        if is_slow {
            // The second worker had the request for too long, and answers while no worker has it.
            bench.pass(2_000);
        } else {
            bench.lose("slow");
        }
        bench.ready("w", 1);
        bench.send("w", part(0), &[b"first half, "]);
        bench.lose("w");
        if !is_slow {
            bench.ready("slow", 1);
        }
        bench.said();
        bench.send("slow", last(0), &[b"first half, second half"]);
        assert_eq!(bench.said(), ["c: |MDPC01|echo|first half, second half"], "is slow: {is_slow}");
        bench.assert_quiet();
    }
}

#[test]
fn a_plain_client_that_has_a_part_of_a_worker_that_died_gets_no_other() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.frames("c", &[b"MDPC02", b"\x01", b"echo", b"body"]);
    bench.send("w", Header::Partial { request: plain_request(), index: 0, run: Some(7) }, &[b"one"]);
    bench.ready("v", 1);
    bench.said();
    bench.lose("w");
    assert_eq!(bench.said(), [""; 0]);
    assert_eq!(bench.broker.report(bench.now).drops.refused, 1);
    bench.assert_quiet();
}

#[test]
fn of_a_worker_that_goes_on_in_the_middle_a_plain_client_gets_the_whole_reply() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.frames("c", &[b"", b"MDPC01", b"echo", b"body"]);
    bench.send("w", Header::Partial { request: plain_request(), index: 0, run: Some(7) }, &[b"one"]);
    bench.lose("w");
    bench.broker.handle_peer(b"w", true, &mut bench.wire);
    let held = encode_held([Held { client: plain_request().client, first: 1, last: 1 }]);
    bench.send("w", Header::Ready { capacity: 1 }, &[b"echo", &held]);
    bench.said();
    bench.send("w", Header::Partial { request: plain_request(), index: 1, run: Some(7) }, &[b"two"]);
    bench.send("w", Header::Final { request: plain_request(), index: 2, run: Some(7) }, &[b"three"]);
    assert_eq!(bench.said(), ["w: REQUEST plain1/1 body after 2 again"]);
    for (index, body) in [&b"one"[..], b"two"].into_iter().enumerate() {
        let header = Header::Partial { request: plain_request(), index: index as u32, run: Some(9) };
        bench.send("w", header, &[body]);
    }
    bench.send("w", Header::Final { request: plain_request(), index: 2, run: Some(9) }, &[b"three"]);
    assert_eq!(bench.said(), ["c: |MDPC01|echo|one|two|three"]);
    bench.assert_quiet();
}
