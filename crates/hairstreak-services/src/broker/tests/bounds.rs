//! Tests of limits, at the bound and one past it, and of the cost of hostile peers.

use hairstreak_base::Body;

use super::*;
use crate::broker::requests::size_of_request;

#[test]
fn so_many_requests_wait_for_a_service_and_no_more() {
    let mut bench = Bench::with_limits(Limits { queue_count_max: 3, ..Limits::default() });
    (1..=4).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    assert_eq!(bench.said(), ["c: REFUSED a/4 503"]);
    bench.send("c", request_from('a', 5, 1, false), &[b"other", b""]);
    assert_eq!((bench.said(), bench.broker.request_count()), (vec![], 4));
    bench.send("c", Header::Cancel { request: request_id('a', 2) }, &[]);
    bench.send("c", request_from('a', 4, 1, false), &[b"echo", b""]);
    assert_eq!(bench.said(), [""; 0]);
    let echo = bench.broker.report(bench.now).services[0].clone();
    assert_eq!((echo.requests, echo.refusals, echo.queued), (4, 1, 3));
}

#[test]
fn so_many_bytes_wait_for_a_service_and_no_more() {
    let body = [b'x'; 100];
    let one = size_of_request(&Body::new(Message::from(body.to_vec()), 0, 0));
    let mut bench = Bench::with_limits(Limits { queue_bytes_max: 2 * one, ..Limits::default() });
    (1..=2).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", &body]));
    bench.send("c", request_from('a', 3, 1, false), &[b"echo", b""]);
    assert_eq!(bench.said(), ["c: REFUSED a/3 503"]);

    let mut bench = Bench::new(Options { bytes_max: 2 * one + 1, ..Options::default() });
    bench.ready("w", 1);
    bench.send("c", request_from('a', 1, 1, false), &[b"echo", &body]);
    bench.send("c", request_from('a', 2, 1, false), &[b"other", &body]);
    bench.said();
    bench.send("c", request_from('a', 3, 1, false), &[b"third", b""]);
    assert_eq!(bench.said(), ["c: REFUSED a/3 503"]);
    // Answered requests cannot be asked for again without limit either.
    bench.reply("w", 'a', 1);
    bench.send("c", request_from('a', 4, 1, false), &[b"third", &[b'x'; 99]]);
    bench.said();
    bench.send("c", request_from('a', 1, 1, true), &[b"echo", &body]);
    assert_eq!(bench.said(), ["c: REFUSED a/1 503"]);
    // The reply is still kept, and is asked for when there is room.
    bench.send("c", Header::Cancel { request: request_id('a', 4) }, &[]);
    bench.send("c", request_from('a', 1, 1, true), &[b"echo", &body]);
    assert!(bench.said()[0].starts_with("w: REQUEST a/1"));
}

#[test]
fn many_empty_frames_are_counted_as_what_they_take() {
    let mut bench = Bench::with_limits(Limits { queue_bytes_max: 100_000, ..Limits::default() });
    let frames: Vec<&[u8]> = [&b"echo"[..]].into_iter().chain([&b""[..]; 1000]).collect();
    bench.send("c", request_from('a', 1, 1, false), &frames);
    bench.send("c", request_from('a', 2, 1, false), &frames);
    assert_eq!(bench.said(), ["c: REFUSED a/2 503"]);
}

#[test]
fn services_have_limits_of_their_own_by_name() {
    let limits = Limits { queue_count_max: 1, ..Limits::default() };
    let named = [(b"small".to_vec(), limits)].into();
    let mut bench = Bench::new(Options { named, ..Options::default() });
    for (number, service) in [(1, &b"small"[..]), (2, b"small"), (3, b"echo"), (4, b"echo")] {
        bench.send("c", request_from('a', number, 1, false), &[service, b""]);
    }
    assert_eq!(bench.said(), ["c: REFUSED a/2 503"]);
}

#[test]
fn a_client_has_so_many_numbers_open_and_no_more() {
    let mut bench = Bench::new(Options { open_per_client_max: 4, open_max: 6, ..Options::default() });
    bench.send("c", request_from('a', 4, 1, false), &[b"echo", b""]);
    bench.send("c", request_from('a', 5, 1, false), &[b"echo", b""]);
    bench.send("c", request_from('a', u64::MAX, 1, false), &[b"echo", b""]);
    assert_eq!(bench.said(), ["c: REFUSED a/5 429".to_owned(), format!("c: REFUSED a/{} 429", u64::MAX)]);
    // All clients together have a limit too.
    bench.send("d", request_from('d', 2, 1, false), &[b"echo", b""]);
    bench.send("d", request_from('d', 3, 1, false), &[b"echo", b""]);
    assert_eq!(bench.said(), ["d: REFUSED d/3 429"]);
    assert_eq!(slot_count(&bench), 6);
    bench.send("c", request_from('a', 6, 5, false), &[b"echo", b""]);
    bench.send("d", request_from('d', 3, 2, false), &[b"echo", b""]);
    assert_eq!((bench.said(), slot_count(&bench)), (vec![], 4));
    bench.send("c", request_from('a', u64::MAX, u64::MAX, false), &[b"echo", b""]);
    assert_eq!((bench.said(), slot_count(&bench)), (vec![], 3));
}

#[test]
fn there_are_so_many_clients_and_no_more() {
    let mut bench = Bench::new(Options { clients_max: 2, ..Options::default() });
    bench.ask("c", 'a', 1);
    bench.frames("d", &[b"", b"MDPC01", b"echo", b"body"]);
    bench.ask("e", 'e', 1);
    bench.frames("f", &[b"", b"MDPC01", b"echo", b"body"]);
    assert_eq!(bench.said(), ["e: REFUSED e/1 503"]);
    assert_eq!((bench.broker.report(bench.now).drops.refused, bench.broker.request_count()), (1, 2));
    // A client of plain MDP that disconnects makes room at once.
    bench.lose("d");
    bench.ask("e", 'e', 1);
    assert_eq!(bench.said(), [""; 0]);
}

#[test]
fn nobody_takes_all_services_by_asking_for_what_does_not_exist() {
    let mut bench = Bench::new(Options { services_max: 4, ..Options::default() });
    for (number, service) in [(1, b"one"), (2, b"two"), (3, b"six")] {
        bench.send("c", request_from('a', number, 1, false), &[service, b""]);
    }
    assert_eq!(bench.said(), ["c: REFUSED a/3 503"]);
    bench.ready("w", 1);
    bench.ask("d", 'd', 1);
    assert_eq!(bench.said(), ["w: REQUEST d/1 1"]);
}

#[test]
fn huge_lists_of_what_a_worker_has_cost_little() {
    let options =
        Options { open_per_client_max: 1_000, open_max: 40_000, clients_max: 8, ..Options::default() };
    let mut bench = Bench::new(options);
    let ranges =
        [('a', 1, u64::MAX), ('b', u64::MAX, u64::MAX), ('c', 5_000, u64::MAX), ('d', 1, 1), ('e', 1, 1)];
    bench.ready_with("w", 1, &ranges);
    let (clients, slots) = (bench.broker.report(bench.now).clients, slot_count(&bench));
    assert_eq!((clients, slots), (4, 2_002));
    // Repeated reports do not change the result.
    let list: Vec<_> = std::iter::repeat_n(('a', 1, u64::MAX), 65_536).collect();
    bench.send("w", Header::Held, &[&held(&list)]);
    bench.send("w", Header::Held, &[&held(&[('c', 4_500, 4_600), ('c', 1, 9)])]);
    assert!(slot_count(&bench) <= 5_000);
    // The client's own first number has priority.
    bench.send("z", request_from('c', 7, 7, false), &[b"other", b""]);
    bench.send("y", request_from('b', 7, 7, false), &[b"other", b""]);
    assert_eq!((bench.said(), bench.broker.request_count()), (vec![], 2));
}

#[test]
fn a_worker_that_takes_and_goes_over_and_over_leaves_nothing_behind() {
    let mut bench = Bench::with_limits(Limits { deliveries_max: u16::MAX, ..Limits::default() });
    (1..=3).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    for _ in 0..1_000 {
        bench.ready("w", 2);
        bench.lose("w");
    }
    let echo = &bench.broker.report(bench.now).services[0];
    assert_eq!((echo.workers, echo.queued, echo.outstanding, echo.redeliveries), (0, 3, 0, 1_002));
    // Four workers had both requests, and then each had one of them in turn. The third request waits for these two.
    bench.ready("w", 9);
    (1..=2).for_each(|number| bench.reply("w", 'a', number));
    let deliveries = bench.said_to("w");
    let last = &deliveries[deliveries.len() - 3..];
    assert_eq!(last, ["REQUEST a/1  after 502 again", "REQUEST a/2  after 502 again", "REQUEST a/3 "]);
}

#[test]
fn a_worker_is_asked_for_so_much_that_it_has_from_before_and_for_more_when_it_has_answered() {
    let mut bench = Bench::new(Options::default());
    bench.ready_with("w", 1, &[('a', 1, 131_072), ('b', 1, 1)]);
    (1..=131_072).for_each(|number| bench.send("c", request_from('a', number, 1, true), &[b"echo", b""]));
    bench.send("d", again('b', 1), &[b"echo", b""]);
    bench.pass(10);
    assert_eq!((bench.said().len(), bench.broker.request_count()), (131_072, 131_073));
    bench.reply("w", 'a', 1);
    bench.pass(10);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done", "w: REQUEST b/1  again"]);
}

#[test]
fn what_is_too_large_for_every_worker_is_refused_and_the_workers_go_on() {
    let mut bench = Bench::new(Options::default());
    bench.wire.narrow.insert("w".to_owned());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    // A request that the worker has from before is refused too.
    bench.send("w", Header::Held, &[&held(&[('a', 2, 2)])]);
    bench.send("c", request_from('a', 2, 1, true), &[b"echo", b"2"]);
    assert_eq!(bench.said(), ["c: REFUSED a/1 400", "c: REFUSED a/2 400"]);
    bench.wire.narrow.clear();
    bench.ask("c", 'a', 3);
    assert_eq!(bench.said(), ["w: REQUEST a/3 3"]);
    bench.reply("w", 'a', 3);
    bench.assert_quiet();
}

#[test]
fn a_reply_that_is_too_large_for_its_client_is_refused_and_those_behind_it_come() {
    for has_room in [true, false] {
        let mut bench = Bench::new(Options::default());
        bench.ready("w", 9);
        (1..=2).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
        bench.said();
        if !has_room {
            bench.wire.full.insert("c".to_owned());
        }
        bench.wire.narrow.insert("c".to_owned());
        bench.reply("w", 'a', 1);
        bench.wire.full.clear();
        bench.pass(10);
        assert_eq!(bench.said(), ["c: REFUSED a/1 500"]);
        bench.wire.narrow.clear();
        bench.reply("w", 'a', 2);
        bench.pass(10);
        assert_eq!(bench.said(), ["c: FINAL a/2 #0 done"]);
        bench.assert_quiet();
    }
}

#[test]
fn one_client_may_have_so_many_bytes_and_others_have_theirs() {
    let mut bench = Bench::new(Options { bytes_per_client_max: 1_000, ..Options::default() });
    for client in ['a', 'b'] {
        let peer = client.to_string();
        (1..=9).for_each(|number| {
            bench.send(&peer, request_from(client, number, 1, false), &[b"echo", &[0; 100]]);
        });
        let said = bench.said();
        assert!((3..9).contains(&said.len()) && said.iter().all(|line| line.ends_with("503")), "{said:?}");
    }
    bench.ready("w", 99);
    for client in ['a', 'b'] {
        (1..=9).for_each(|number| bench.reply("w", client, number));
        bench.send(&client.to_string(), request_from(client, 10, 10, false), &[b"echo", &[0; 100]]);
        bench.reply("w", client, 10);
    }
    assert_eq!(bench.said_to("a").last().unwrap(), "FINAL a/10 #0 done");
    bench.assert_quiet();
}
