//! Tests of HSN1 requests without failures.

use super::*;

#[test]
fn whoever_numbers_requests_is_welcomed_and_others_are_not() {
    let mut bench = Bench::new(Options::default());
    bench.broker.handle_peer(b"c", true, &mut bench.wire);
    bench.broker.handle_peer(b"d", false, &mut bench.wire);
    let welcome = Header::Welcome { broker: [b'B'; 16], heartbeat_ms: 2_500 }.encode();
    assert_eq!(bench.raw(), [("c".to_owned(), vec![welcome.as_ref().to_vec()])]);
}

#[test]
fn a_request_goes_to_a_worker_and_its_reply_comes_back() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.send("c", request('a', 7), &[b"echo", b"one", b"", b"two"]);
    assert_eq!(bench.said(), ["w: REQUEST a/7 one||two"]);
    bench.send("w", finish('a', 7), &[b"three", b"four"]);
    assert_eq!(bench.said(), ["c: FINAL a/7 #0 three|four"]);
    bench.assert_quiet();
}

#[test]
fn hsn1_clients_meet_plain_workers_and_plain_clients_hsn1_workers() {
    let mut bench = Bench::new(Options::default());
    bench.frames("w", &[b"MDPW02", b"\x01", b"echo"]);
    bench.ask("c", 'a', 1);
    assert_eq!(bench.said(), ["w: MDPW02|\\x02|<a/1>||1"]);
    let address = Address::from(request_id('a', 1));
    bench.frames("w", &[b"MDPW02", b"\x03", address.as_bytes(), b"", b"one"]);
    bench.frames("w", &[b"MDPW02", b"\x03", address.as_bytes(), b"", b"two"]);
    bench.frames("w", &[b"MDPW02", b"\x04", address.as_bytes(), b"", b"three"]);
    let expected = ["c: PARTIAL a/1 #0 one", "c: PARTIAL a/1 #1 two", "c: FINAL a/1 #2 three"];
    assert_eq!(bench.said(), expected);
    bench.lose("w");

    bench.ready("w", 1);
    bench.frames("d", &[b"", b"MDPC01", b"echo", b"body"]);
    assert_eq!(bench.said(), ["w: REQUEST plain1/1 body"]);
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&1_u64.to_be_bytes());
    let plain = RequestId { client: ClientId(id), number: 1 };
    bench.send("w", Header::Partial { request: plain, index: 0, run: None }, &[b"one"]);
    bench.send("w", Header::Final { request: plain, index: 1, run: None }, &[b"two"]);
    assert_eq!(bench.said(), ["d: |MDPC01|echo|one|two"]);
    // The worker may refuse a plain client's request: plain MDP has no command for a refusal.
    bench.frames("d", &[b"", b"MDPC01", b"echo", b"body"]);
    let request = RequestId { number: 2, ..plain };
    bench.send("w", Header::Refused { request, refusal: Refusal::Failed }, &[b"no"]);
    assert_eq!(bench.said(), ["w: REQUEST plain1/2 body"]);
    assert_eq!(bench.broker.report(bench.now).drops.refused, 1);
    bench.assert_quiet();
}

#[test]
fn parts_keep_the_places_that_their_worker_gave_them() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.said();
    bench.send("w", Header::Partial { request: request_id('a', 1), index: 0, run: None }, &[b"x"]);
    bench.send("w", Header::Partial { request: request_id('a', 1), index: 1, run: None }, &[b"y"]);
    bench.send("w", Header::Final { request: request_id('a', 1), index: 2, run: None }, &[b"z"]);
    assert_eq!(bench.said(), ["c: PARTIAL a/1 #0 x", "c: PARTIAL a/1 #1 y", "c: FINAL a/1 #2 z"]);
}

#[test]
fn the_least_busy_worker_gets_the_next_request_and_none_more_than_it_takes() {
    let mut bench = Bench::new(Options::default());
    bench.ready("big", 3);
    bench.ready("small", 1);
    for number in 1..=6 {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]);
    }
    let to = |said: Vec<String>| {
        said.iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(to(bench.said()), ["big:", "small:", "big:", "big:"]);
    bench.reply("small", 'a', 2);
    bench.reply("big", 'a', 1);
    let expected =
        ["c: FINAL a/2 #0 done", "small: REQUEST a/5 ", "c: FINAL a/1 #0 done", "big: REQUEST a/6 "];
    assert_eq!(bench.said(), expected);
    for (worker, number) in [("big", 3), ("big", 4), ("big", 6), ("small", 5)] {
        bench.reply(worker, 'a', number);
    }
    bench.said();
    // Both workers are idle: the one with the longest wait is first.
    for number in 7..=9 {
        bench.send("c", request_from('a', number, 7, false), &[b"echo", b""]);
    }
    assert_eq!(to(bench.said()), ["big:", "small:", "big:"]);
    bench.reply("big", 'a', 7);
    bench.reply("big", 'a', 9);
    bench.reply("small", 'a', 8);
    bench.assert_quiet();
}

#[test]
fn a_capacity_of_nothing_is_one_and_one_of_everything_has_an_end() {
    for (announced, expected) in [(0, 1), (1, 1), (65_536, 65_536), (65_537, 65_536), (u32::MAX, 65_536)] {
        let mut bench = Bench::new(Options::default());
        bench.ready("w", announced);
        assert_eq!(bench.broker.report(bench.now).services[0].capacity, expected);
    }
}

#[test]
fn the_same_number_again_is_the_same_request() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 2);
    bench.ask("c", 'a', 1);
    bench.ask("c", 'a', 1);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1"]);
    // Number 1 of another client is another request.
    bench.ask("d", 'b', 1);
    assert_eq!(bench.said(), ["w: REQUEST b/1 1"]);
}

#[test]
fn what_is_answered_is_asked_of_the_worker_that_has_the_reply() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.reply("w", 'a', 1);
    bench.ready("idle", 9);
    bench.said();
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    // A busy worker is asked too.
    bench.lose("idle");
    bench.ask("d", 'b', 1);
    bench.ready("idle", 9);
    bench.said();
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
}

#[test]
fn numbers_below_the_first_open_one_are_answered_and_known_to_be() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 2);
    for number in 1..=4 {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]);
    }
    assert_eq!(bench.said(), ["w: REQUEST a/1 ", "w: REQUEST a/2 "]);
    // The client waits for 4 and later numbers. The worker has 2 and 3.
    bench.reply("w", 'a', 1);
    bench.said();
    bench.send("c", request_from('a', 5, 4, false), &[b"echo", b""]);
    assert_eq!(bench.said(), ["w: CANCEL a/2", "w: CANCEL a/3"]);
    for number in 1..=3 {
        bench.send("c", request_from('a', number, 1, true), &[b"echo", b""]);
    }
    assert_eq!(bench.said(), [""; 0]);
    assert_eq!(bench.broker.request_count(), 2);
    bench.reply("w", 'a', 2);
    bench.send("w", Header::Refused { request: request_id('a', 3), refusal: Refusal::Failed }, &[]);
    assert_eq!(bench.said(), ["w: REQUEST a/4 ", "w: REQUEST a/5 "]);
}

#[test]
fn a_cancelled_request_goes_nowhere_and_its_worker_is_told() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.send("c", request_from('a', 2, 1, false), &[b"echo", b""]);
    bench.send("c", request_from('a', 3, 1, false), &[b"echo", b""]);
    bench.said();
    // Other peers may not cancel.
    bench.send("d", Header::Cancel { request: request_id('a', 1) }, &[]);
    bench.send("c", Header::Cancel { request: request_id('b', 1) }, &[]);
    bench.send("c", Header::Cancel { request: request_id('a', 9) }, &[]);
    assert_eq!(bench.broker.request_count(), 3);
    bench.send("c", Header::Cancel { request: request_id('a', 2) }, &[]);
    assert_eq!((bench.said(), bench.broker.request_count()), (vec![], 2));
    bench.send("c", Header::Cancel { request: request_id('a', 1) }, &[]);
    assert_eq!(bench.said(), ["w: CANCEL a/1"]);
    // The request takes a place until the worker answers.
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 1);
    bench.send("w", Header::Refused { request: request_id('a', 1), refusal: Refusal::Failed }, &[]);
    assert_eq!(bench.said(), ["w: REQUEST a/3 "]);
    bench.reply("w", 'a', 3);
    assert_eq!(bench.said(), ["c: FINAL a/3 #0 done"]);
    bench.assert_quiet();
}

#[test]
fn a_worker_may_refuse_and_says_why() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.raw();
    let request = request_id('a', 1);
    bench.send("w", Header::Refused { request, refusal: Refusal::Other(418) }, &[b"a teapot"]);
    let header = Header::Refused { request, refusal: Refusal::Other(418) }.encode();
    assert_eq!(bench.raw(), [("c".to_owned(), vec![header.as_ref().to_vec(), b"a teapot".to_vec()])]);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_drains_gets_nothing_new() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.ask("c", 'a', 1);
    bench.send("w", Header::Drain, &[]);
    bench.ask("d", 'b', 1);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1", "w: DRAIN"], "it knows that nothing more is on the way");
    bench.reply("w", 'a', 1);
    bench.send("w", Header::Disconnect, &[b"bye"]);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 0);
}

#[test]
fn a_client_that_speaks_as_a_worker_is_answered_with_disconnect() {
    let (partial, refused) = (
        Header::Partial { request: request_id('a', 1), index: 0, run: None },
        Header::Refused { request: request_id('a', 1), refusal: Refusal::Failed },
    );
    let cases: &[(Header, &[&[u8]])] = &[
        (finish('a', 1), &[b"body"]),
        (partial, &[b"body"]),
        (refused, &[b"text"]),
        (Header::Held, &[b""]),
        (Header::Drain, &[]),
    ];
    for (header, behind) in cases {
        let mut bench = Bench::new(Options::default());
        bench.ask("c", 'a', 1);
        bench.send("c", *header, behind);
        assert_eq!(bench.said(), ["c: DISCONNECT"], "{header:?}");
        assert_eq!(bench.broker.report(bench.now).drops.malformed, 1);
    }
}

#[test]
fn malformed_commands_are_answered_with_disconnect() {
    let cases: &[(Header, &[&[u8]])] = &[
        (Header::Ready { capacity: 1 }, &[b"echo"]),
        (Header::Ready { capacity: 1 }, &[b"", b""]),
        (Header::Ready { capacity: 1 }, &[b"echo", b"no list"]),
        (Header::Drain, &[b""]),
        (Header::Cancel { request: request_id('a', 1) }, &[b""]),
        (Header::Welcome { broker: [0; 16], heartbeat_ms: 1 }, &[]),
    ];
    for (header, behind) in cases {
        let mut bench = Bench::new(Options::default());
        bench.send("w", *header, behind);
        assert_eq!(bench.said(), ["w: DISCONNECT"], "{header:?}");
        assert_eq!(bench.broker.report(bench.now).drops.malformed, 1);
    }
    let body = [finish('a', 1).encode().as_ref(), b"body"].concat();
    let cases: [&[&[u8]]; 5] =
        [&[b"HSN1"], &[b"HSN1\x02"], &[b"HSN1\x63"], &[b"HSN1\x09x"], &[&body, b"another"]];
    for frames in cases {
        let mut bench = Bench::new(Options::default());
        bench.frames("w", frames);
        assert_eq!(bench.said(), ["w: DISCONNECT"], "{frames:?}");
    }
}

#[test]
fn malformed_requests_are_refused_as_such() {
    let mut bench = Bench::new(Options::default());
    bench.send("c", request_from('a', 1, 2, false), &[b"echo", b""]);
    let with = |number: u64, rest: &[u8]| [request('a', number).encode().as_ref(), rest].concat();
    bench.frames("c", &[&with(2, b"\x04echo body"), b"body"]);
    bench.frames("c", &[&with(3, b"\x05echo")]);
    bench.frames("c", &[&with(4, b"\0echo")]);
    let expected: Vec<String> = (1..=4).map(|number| format!("c: REFUSED a/{number} 400")).collect();
    assert_eq!(bench.said(), expected);
    assert_eq!((bench.broker.report(bench.now).drops.malformed, bench.broker.request_count()), (4, 0));
    // A worker that sends a request is dismissed.
    bench.ready("w", 1);
    bench.send("w", request('a', 5), &[b"echo", b""]);
    assert_eq!(bench.said(), ["w: DISCONNECT"]);
}

#[test]
fn a_connection_is_one_clients_and_a_client_speaks_as_it_began() {
    let mut bench = Bench::new(Options::default());
    bench.ask("c", 'a', 1);
    bench.ask("c", 'b', 1);
    assert_eq!(bench.said(), ["c: REFUSED b/1 400"]);
    bench.frames("c", &[b"", b"MDPC01", b"echo", b"body"]);
    assert_eq!(bench.broker.report(bench.now).drops.malformed, 2);
    // Another peer cannot take the request of a plain client either.
    bench.frames("p", &[b"", b"MDPC01", b"echo", b"body"]);
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&1_u64.to_be_bytes());
    let request = RequestId { client: ClientId(id), number: 1 };
    let header = Header::Request {
        request,
        first: 1,
        lifetime_ms: 0,
        deliveries: 0,
        is_repeated: true,
        takes_runs: true,
    };
    bench.send("thief", header, &[b"echo", b""]);
    assert_eq!(bench.said(), ["thief: REFUSED plain1/1 400"]);
    bench.ready("w", 9);
    bench.send("w", Header::Final { request, index: 0, run: None }, &[b"done"]);
    assert_eq!(bench.said_to("p"), ["|MDPC01|echo|done"]);
}
