//! Tests of plain MDP, 0.1 and 0.2, with the messages of unmodified clients and workers.

use super::*;

const REQUESTS: [&[&[u8]]; 2] = [
    &[b"", b"MDPC01", b"echo", b"hello", b"", b"world"],
    &[b"MDPC02", b"\x01", b"echo", b"hello", b"", b"world"],
];
const READYS: [&[&[u8]]; 2] = [&[b"", b"MDPW01", b"\x01", b"echo"], &[b"MDPW02", b"\x01", b"echo"]];

fn frames(frames: &[&[u8]]) -> Vec<Vec<u8>> {
    frames.iter().map(|frame| frame.to_vec()).collect()
}

fn ready(bench: &mut Bench, worker: &str) {
    bench.frames(worker, READYS[0]);
}

fn ask(bench: &mut Bench, client: &str, body: &[u8]) {
    bench.frames(client, &[b"", b"MDPC01", b"echo", body]);
}

/// Returns the address of the last request that a worker got.
fn address(said: &[(String, Vec<Vec<u8>>)]) -> Vec<u8> {
    let found = said.iter().flat_map(|(_, frames)| frames).rfind(|frame| Address::parse(frame).is_some());
    found.expect("an address").clone()
}

/// Answers the last request as this worker.
fn answer(bench: &mut Bench, worker: &str, body: &[u8]) {
    let said = bench.raw();
    let address = address(&said);
    bench.frames(worker, &[b"", b"MDPW01", b"\x03", &address, b"", body]);
}

#[test]
fn every_version_of_a_client_meets_every_version_of_a_worker_byte_by_byte() {
    for (client, asked) in REQUESTS.iter().enumerate() {
        for (worker, ready) in READYS.iter().enumerate() {
            let mut bench = Bench::new(Options::default());
            bench.frames("w", ready);
            bench.frames("c", asked);
            let said = bench.raw();
            let address = address(&said);
            let id = Address::parse(&address).unwrap();
            assert_eq!((id.client.0[..8].to_vec(), id.number), (b"BBBBBBBB".to_vec(), 1));
            let heads: [&[&[u8]]; 2] = [&[b"", b"MDPW01", b"\x02"], &[b"MDPW02", b"\x02"]];
            let expected = [heads[worker], &[&address, b"", b"hello", b"", b"world"]].concat();
            assert_eq!(said, [("w".to_owned(), frames(&expected))]);

            let heads: [&[&[u8]]; 2] = [&[b"", b"MDPW01", b"\x03"], &[b"MDPW02", b"\x04"]];
            bench.frames("w", &[heads[worker], &[&address, b"", b"", b"echo"]].concat());
            let expected: [&[&[u8]]; 2] =
                [&[b"", b"MDPC01", b"echo", b"", b"echo"], &[b"MDPC02", b"\x03", b"echo", b"", b"echo"]];
            assert_eq!(bench.raw(), [("c".to_owned(), frames(expected[client]))]);
            bench.assert_quiet();
        }
    }
}

#[test]
fn parts_go_on_at_once_to_those_that_know_parts_and_are_gathered_for_others() {
    for (client, asked) in REQUESTS.iter().enumerate() {
        let mut bench = Bench::new(Options::default());
        bench.frames("w", READYS[1]);
        bench.frames("c", asked);
        let address = address(&bench.raw());
        bench.frames("w", &[b"MDPW02", b"\x03", &address, b"", b"one", b"two"]);
        bench.frames("w", &[b"MDPW02", b"\x03", &address, b"", b"three"]);
        bench.frames("w", &[b"MDPW02", b"\x04", &address, b"", b"four"]);
        let expected: &[&str] = [
            &["c: |MDPC01|echo|one|two|three|four"][..],
            &["c: MDPC02|\\x02|echo|one|two", "c: MDPC02|\\x02|echo|three", "c: MDPC02|\\x03|echo|four"],
        ][client];
        assert_eq!(bench.said(), expected);
        bench.assert_quiet();
    }
}

#[test]
fn more_parts_than_a_client_of_one_message_can_take_are_no_reply() {
    let mut bench = Bench::new(Options { bytes_max: 10_000, ..Options::default() });
    bench.frames("w", READYS[1]);
    bench.frames("c", REQUESTS[0]);
    let address = address(&bench.raw());
    for _ in 0..40 {
        bench.frames("w", &[b"MDPW02", b"\x03", &address, b"", &[b'x'; 300]]);
    }
    bench.frames("w", &[b"MDPW02", b"\x04", &address, b"", b"end"]);
    assert_eq!(bench.said(), [""; 0]);
    let report = bench.broker.report(bench.now);
    assert_eq!((report.drops.refused, report.services[0].refusals, report.services[0].replies), (1, 1, 0));
    bench.assert_quiet();

    let mut bench = Bench::new(Options::default());
    bench.frames("w", READYS[1]);
    bench.frames("c", REQUESTS[0]);
    let address = super::plain::address(&bench.raw());
    (0..256).for_each(|_| bench.frames("w", &[b"MDPW02", b"\x03", &address, b"", b""]));
    assert_eq!(bench.broker.request_count(), 1);
    bench.frames("w", &[b"MDPW02", b"\x03", &address, b"", b""]);
    assert_eq!(bench.broker.request_count(), 0);
    bench.frames("w", &[b"MDPW02", b"\x04", &address, b"", b""]);
    assert_eq!(bench.said(), [""; 0]);
    bench.assert_quiet();
}

#[test]
fn a_worker_of_one_request_at_a_time_gets_no_second_one() {
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    ask(&mut bench, "c", b"1");
    ask(&mut bench, "d", b"2");
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 1);
    answer(&mut bench, "w", b"one");
    assert_eq!(bench.said(), ["w: |MDPW01|\\x02|<plain2/1>||2", "c: |MDPC01|echo|one"]);
}

#[test]
fn with_room_for_more_a_plain_worker_has_its_next_requests_before_it_replies() {
    let mut bench = Bench::with_limits(Limits { plain_capacity: 2, ..Limits::default() });
    for (worker, ready) in ["v", "w"].iter().zip(READYS) {
        bench.frames(worker, ready);
    }
    for (client, body) in [("a", b"1"), ("b", b"2"), ("c", b"3"), ("d", b"4"), ("e", b"5")] {
        ask(&mut bench, client, body);
    }
    // The least busy worker comes first, in either version. The fifth request waits.
    let given = [
        "v: |MDPW01|\\x02|<plain1/1>||1",
        "w: MDPW02|\\x02|<plain2/1>||2",
        "v: |MDPW01|\\x02|<plain3/1>||3",
        "w: MDPW02|\\x02|<plain4/1>||4",
    ];
    assert_eq!(bench.said(), given);
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 1);
    // A worker with a request may be silent.
    bench.pass(30_000);
    reply(&mut bench, "v", 1);
    assert_eq!(bench.said(), ["a: |MDPC01|echo|done", "v: |MDPW01|\\x02|<plain5/1>||5"]);
    // A reply to a request of another worker is unexpected: the worker has to begin again.
    reply(&mut bench, "v", 2);
    assert_eq!(bench.said(), ["v: |MDPW01|\\x05"]);
    ready(&mut bench, "v");
    assert_eq!(bench.said(), ["v: |MDPW01|\\x02|<plain3/1>||3", "v: |MDPW01|\\x02|<plain5/1>||5"]);
}

#[test]
fn of_a_plain_worker_that_dies_all_that_it_had_goes_to_others_in_order() {
    let mut bench = Bench::with_limits(Limits { plain_capacity: 3, ..Limits::default() });
    ready(&mut bench, "v");
    for (client, body) in [("a", b"1"), ("b", b"2"), ("c", b"3")] {
        ask(&mut bench, client, body);
    }
    reply(&mut bench, "v", 1);
    bench.said();
    bench.lose("v");
    bench.frames("w", READYS[0]);
    let given = ["w: |MDPW01|\\x02|<plain2/1>||2", "w: |MDPW01|\\x02|<plain3/1>||3"];
    assert_eq!(bench.said(), given);
    assert_eq!(bench.broker.report(bench.now).services[0].redeliveries, 2);
    (2..4).for_each(|client| reply(&mut bench, "w", client));
    assert_eq!(bench.said(), ["b: |MDPC01|echo|done", "c: |MDPC01|echo|done"]);
    bench.assert_quiet();
}

#[test]
fn what_waits_in_a_plain_workers_socket_is_not_late_before_it_is_begun() {
    let limits = Limits { plain_capacity: 5, processing_max_ms: 1_000, ..Limits::default() };
    let mut bench = Bench::with_limits(limits);
    ready(&mut bench, "v");
    for client in ["a", "b", "c", "d", "e"] {
        ask(&mut bench, client, b"x");
    }
    ready(&mut bench, "w");
    assert_eq!(bench.said().len(), 5);
    for client in 1..=4 {
        bench.pass(800);
        reply(&mut bench, "v", client);
        assert_eq!(bench.said().len(), 1, "only the reply");
    }
    // The last worker takes too long.
    bench.pass(1_900);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x02|<plain5/1>||x"]);
    reply(&mut bench, "w", 5);
    reply(&mut bench, "v", 5);
    assert_eq!(bench.said(), ["e: |MDPC01|echo|done"]);
    bench.assert_quiet();
}

#[test]
fn a_plain_worker_that_is_late_with_one_request_gets_no_more_and_not_that_one_again() {
    let limits = Limits { plain_capacity: 3, processing_max_ms: 1_000, ..Limits::default() };
    let mut bench = Bench::with_limits(limits);
    ready(&mut bench, "v");
    ask(&mut bench, "a", b"1");
    bench.pass(500);
    ask(&mut bench, "b", b"2");
    bench.said();
    bench.pass(600);
    ask(&mut bench, "c", b"3");
    let report = bench.broker.report(bench.now);
    assert_eq!((bench.said(), report.services[0].queued, report.services[0].outstanding), (vec![], 2, 2));
    reply(&mut bench, "v", 1);
    assert_eq!(bench.said(), ["a: |MDPC01|echo|done", "v: |MDPW01|\\x02|<plain3/1>||3"]);
    (2..4).for_each(|client| reply(&mut bench, "v", client));
    assert_eq!(bench.said(), ["b: |MDPC01|echo|done", "c: |MDPC01|echo|done"]);
    bench.assert_quiet();
}

#[test]
fn a_request_for_nobody_waits_for_a_worker_and_not_for_ever() {
    let mut bench = Bench::new(Options::default());
    ask(&mut bench, "c", b"1");
    ready(&mut bench, "w");
    assert_eq!(bench.said(), ["w: |MDPW01|\\x02|<plain1/1>||1"]);
    ask(&mut bench, "c", b"2");
    bench.pass(61_000);
    assert_eq!(bench.broker.report(bench.now).drops.refused, 1);
    reply(&mut bench, "w", 1);
    bench.assert_quiet();
}

/// Replies to the first request of that client, as a worker of 0.1.
fn reply(bench: &mut Bench, worker: &str, client: u64) {
    let address = Address::from(RequestId { number: 1, client: plain_client(client) });
    bench.frames(worker, &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"done"]);
}

fn plain_client(count: u64) -> ClientId {
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&count.to_be_bytes());
    ClientId(id)
}

#[test]
fn idle_workers_hear_of_the_broker_and_silent_ones_are_told_to_go() {
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    bench.frames("v", READYS[1]);
    for _ in 0..8 {
        bench.pass(2_500);
        bench.frames("v", &[b"MDPW02", b"\x05"]);
    }
    let raw = bench.raw();
    let count = |peer: &str, frames: &[&[u8]]| {
        raw.iter().filter(|(to, sent)| to == peer && sent.iter().eq(frames.iter())).count()
    };
    assert_eq!((count("w", &[b"", b"MDPW01", b"\x04"]), count("w", &[b"", b"MDPW01", b"\x05"])), (3, 1));
    assert_eq!((count("v", &[b"MDPW02", b"\x05"]), count("v", &[b"MDPW02", b"\x06"])), (7, 0));
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 1);
}

#[test]
fn a_busy_worker_may_be_silent_for_as_long_as_it_works() {
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    ask(&mut bench, "c", b"1");
    bench.pass(600_000);
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 1);
    reply(&mut bench, "w", 1);
    let said = bench.said();
    assert_eq!(said, ["w: |MDPW01|\\x02|<plain1/1>||1", "c: |MDPC01|echo|done"]);
    bench.pass(9_000);
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 1);
    bench.pass(2_000);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x05"]);
}

#[test]
fn what_a_client_that_is_gone_asked_keeps_its_worker_busy_until_that_answers() {
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    ask(&mut bench, "c", b"1");
    ask(&mut bench, "d", b"2");
    bench.lose("c");
    assert_eq!((bench.broker.request_count(), bench.broker.report(bench.now).clients), (1, 1));
    bench.said();
    reply(&mut bench, "w", 1);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x02|<plain2/1>||2"]);
    assert_eq!(bench.broker.report(bench.now).drops.late, 1);
}

#[test]
fn unexpected_commands_are_answered_with_disconnect() {
    let disconnects = ["w: |MDPW01|\\x05", "w: MDPW02|\\x06"];
    let address = Address::from(request_id('a', 1));
    let cases: [&[&[&[u8]]]; 4] = [
        // Commands of a peer that is not a worker.
        &[&[b"", b"MDPW01", b"\x04"], &[b"MDPW02", b"\x05"]],
        &[
            &[b"", b"MDPW01", b"\x03", b"somebody", b"", b"body"],
            &[b"MDPW02", b"\x04", address.as_bytes(), b"", b"body"],
        ],
        &[
            &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"body"],
            &[b"MDPW02", b"\x03", address.as_bytes(), b"", b"body"],
        ],
        // Commands for a worker, received from one.
        &[&[b"", b"MDPW01", b"\x02", b"a", b"", b"body"], &[b"MDPW02", b"\x02", b"a", b"", b"body"]],
    ];
    for case in cases {
        for (version, frames) in case.iter().enumerate() {
            let mut bench = Bench::new(Options::default());
            bench.frames("w", frames);
            assert_eq!(bench.said(), [disconnects[version]], "{frames:?}");
            assert_eq!(bench.broker.report(bench.now).drops.malformed, 1);
        }
    }
    for (version, ready) in READYS.iter().enumerate() {
        let mut bench = Bench::new(Options::default());
        bench.frames("w", ready);
        bench.frames("w", ready);
        assert_eq!(bench.said(), [disconnects[version]]);
        assert_eq!(bench.broker.report(bench.now).services[0].workers, 0);
        bench.frames("w", ready);
        bench.frames("w", REQUESTS[version]);
        assert_eq!(bench.said(), [disconnects[version]]);
    }
}

#[test]
fn a_worker_that_says_something_malformed_is_told_to_go_and_what_it_had_goes_to_another() {
    let malformed: &[&[&[u8]]] = &[
        &[b"", b"MDPW01"],
        &[b"", b"MDPW01", b""],
        &[b"", b"MDPW01", b"\x06"],
        &[b"", b"MDPW01", b"\x03"],
        &[b"", b"MDPW01", b"\x03", b"address"],
        &[b"", b"MDPW01", b"\x03", b"address", b"body"],
        &[b"", b"MDPW01", b"\x03", b"address", b""],
        &[b"", b"MDPW01", b"\x04", b""],
        &[b"", b"MDPW01", b"\x01", b""],
        &[b"", b"MDPW01", b"\x01", b"echo", b"more"],
    ];
    for frames in malformed {
        let mut bench = Bench::new(Options::default());
        ready(&mut bench, "w");
        ask(&mut bench, "c", b"1");
        ready(&mut bench, "v");
        bench.said();
        bench.frames("w", frames);
        assert_eq!(bench.said(), ["w: |MDPW01|\\x05", "v: |MDPW01|\\x02|<plain1/1>||1"], "{frames:?}");
        assert_eq!(bench.broker.report(bench.now).drops.malformed, 1);
    }
}

#[test]
fn what_nobody_understands_is_dropped_and_counted_and_hurts_nobody() {
    let malformed: &[&[&[u8]]] = &[
        &[],
        &[b""],
        &[b"", b""],
        &[b"hello"],
        &[b"", b"MDPC01"],
        &[b"", b"MDPC01", b"echo"],
        &[b"", b"MDPC01", b"", b"body"],
        &[b"", b"MDPC01", &[b'x'; 256], b"body"],
        &[b"", b"MDPC02", b"\x01", b"echo", b"body"],
        &[b"MDPC01", b"echo", b"body"],
        &[b"MDPC02"],
        &[b"MDPC02", b"\x01"],
        &[b"MDPC02", b"\x01", b"echo"],
        &[b"MDPC02", b"\x02", b"echo", b"body"],
        &[b"MDPC02", b"\x04", b"echo", b"body"],
        &[b"MDPC03", b"\x01", b"echo", b"body"],
    ];
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    ask(&mut bench, "c", b"1");
    bench.said();
    for frames in malformed {
        bench.frames("c", frames);
        bench.frames("other", frames);
    }
    assert_eq!(bench.said(), [""; 0]);
    assert_eq!(bench.broker.report(bench.now).drops.malformed, 2 * malformed.len() as u64);
    reply(&mut bench, "w", 1);
    assert_eq!(bench.said(), ["c: |MDPC01|echo|done"]);
}

#[test]
fn a_reply_to_what_an_idle_worker_was_not_given_is_late() {
    let mut bench = Bench::new(Options::default());
    ready(&mut bench, "w");
    ready(&mut bench, "v");
    ask(&mut bench, "c", b"1");
    bench.said();
    let (mine, other) = (RequestId { number: 1, client: plain_client(1) }, request_id('x', 1));
    for address in [&b""[..], b"address", Address::from(other).as_bytes(), Address::from(mine).as_bytes()] {
        bench.frames("v", &[b"", b"MDPW01", b"\x03", address, b"", b"body"]);
    }
    assert_eq!((bench.said(), bench.broker.report(bench.now).drops.late), (vec![], 4));
    reply(&mut bench, "w", 1);
    // A repeated reply is late.
    reply(&mut bench, "w", 1);
    assert_eq!((bench.said().len(), bench.broker.report(bench.now).drops.late), (1, 5));
    bench.assert_quiet();
}

#[test]
fn a_busy_worker_that_replies_to_something_else_has_lost_its_request_and_another_has_it() {
    let other = Address::from(request_id('x', 1));
    for address in [&b""[..], b"address", other.as_bytes()] {
        let mut bench = Bench::new(Options::default());
        ready(&mut bench, "w");
        ask(&mut bench, "c", b"1");
        ready(&mut bench, "v");
        bench.said();
        bench.frames("w", &[b"", b"MDPW01", b"\x03", address, b"", b"body"]);
        assert_eq!(bench.said(), ["w: |MDPW01|\\x05", "v: |MDPW01|\\x02|<plain1/1>||1"]);
        let mine = Address::from(RequestId { number: 1, client: plain_client(1) });
        bench.frames("v", &[b"", b"MDPW01", b"\x03", mine.as_bytes(), b"", b"done"]);
        assert_eq!(bench.said(), ["c: |MDPC01|echo|done"]);
        bench.assert_quiet();
    }
}

#[test]
fn a_client_asks_as_often_as_it_likes_one_after_the_other_and_refusals_do_not_use_up_its_numbers() {
    let limits = Limits { queue_count_max: 1, ..Limits::default() };
    let mut bench = Bench::new(Options { open_per_client_max: 4, limits, ..Options::default() });
    for _ in 0..20 {
        bench.frames("c", &[b"", b"MDPC01", b"mmi.service", b"echo"]);
    }
    (0..20).for_each(|_| ask(&mut bench, "c", b"x"));
    bench.said();
    assert_eq!(bench.broker.report(bench.now).drops.refused, 19);
    ready(&mut bench, "w");
    for _ in 0..20 {
        answer(&mut bench, "w", b"y");
        ask(&mut bench, "c", b"x");
    }
    assert_eq!(bench.broker.report(bench.now).services[0].replies, 20);
}
