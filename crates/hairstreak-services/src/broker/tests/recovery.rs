//! Tests of the death of workers, clients, connections and brokers, and of the work that is done again.

use super::*;

#[test]
fn what_a_dead_worker_had_goes_to_others_first_in_the_order_it_came_and_marked() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 3);
    for number in 1..=5 {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]);
    }
    bench.reply("w", 'a', 2);
    bench.said();
    bench.lose("w");
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 4);
    bench.ready("v", 9);
    let expected = [
        "v: REQUEST a/1  after 1 again",
        "v: REQUEST a/3  after 1 again",
        "v: REQUEST a/4  after 1 again",
        "v: REQUEST a/5 ",
    ];
    assert_eq!(bench.said(), expected);
    assert_eq!(bench.broker.report(bench.now).services[0].redeliveries, 3);
}

#[test]
fn a_request_that_so_many_workers_had_is_given_up() {
    let mut bench = Bench::with_limits(Limits { deliveries_max: 3, ..Limits::default() });
    bench.ask("c", 'a', 1);
    for time in 0..3 {
        assert_eq!(bench.said(), [""; 0], "{time}");
        bench.ready("w", 1);
        assert_eq!(bench.said().len(), 1);
        bench.lose("w");
    }
    assert_eq!(bench.said(), ["c: REFUSED a/1 502"]);
    bench.ready("w", 1);
    assert_eq!(bench.said(), [""; 0]);
    bench.assert_quiet();
}

#[test]
fn what_waits_again_waits_as_long_as_anything_new() {
    let mut bench = Bench::with_limits(Limits { queue_age_max_ms: 5_000, ..Limits::default() });
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.pass(20_000);
    bench.lose("w");
    bench.said();
    bench.pass(4_900);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(300);
    assert_eq!(bench.said(), ["c: REFUSED a/1 504"]);
}

#[test]
fn what_was_sent_before_waits_one_heartbeat_for_the_worker_that_has_it() {
    let mut bench = Bench::new(Options::default());
    bench.ready("idle", 9);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.pass(2_400);
    assert_eq!(bench.said(), [""; 0]);
    bench.ready_with("w", 9, &[('b', 1, 5), ('a', 1, 1)]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
    bench.send("c", request_from('a', 2, 2, true), &[b"echo", b"2"]);
    bench.send("w", Header::Held, &[&held(&[('a', 2, 2)])]);
    assert_eq!(bench.said(), ["w: REQUEST a/2 2 again"]);
    bench.reply("w", 'a', 2);
    bench.assert_quiet();
}

#[test]
fn nobody_has_it_after_a_heartbeat_and_somebody_does_it_marked() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.pass(2_499);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(1);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
}

#[test]
fn a_worker_that_says_first_what_it_has_gets_it_when_it_is_asked_for() {
    let mut bench = Bench::new(Options::default());
    bench.ready("idle", 9);
    bench.ready_with("w", 9, &[('a', 3, 4), ('a', 2, 2)]);
    for number in 1..=5 {
        bench.send("c", request_from('a', number, 1, true), &[b"echo", b""]);
    }
    assert_eq!(bench.said(), ["w: REQUEST a/2  again", "w: REQUEST a/3  again", "w: REQUEST a/4  again"]);
    bench.pass(2_500);
    assert_eq!(bench.said(), ["idle: REQUEST a/1  again", "idle: REQUEST a/5  again"]);
}

#[test]
fn of_two_workers_that_have_it_the_other_one_is_asked_when_the_first_is_gone() {
    for says_it_first in [false, true] {
        let mut bench = Bench::new(Options::default());
        bench.ready("idle", 9);
        bench.ready_with("dead", 9, &[('a', 1, 1)]);
        if says_it_first {
            bench.ready_with("w", 9, &[('a', 1, 1)]);
        }
        bench.send("c", again('a', 1), &[b"echo", b"1"]);
        if says_it_first {
            assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"], "who spoke last is the surest to live");
            continue;
        }
        assert_eq!(bench.said(), ["dead: REQUEST a/1 1 again"]);
        bench.ready_with("w", 9, &[('a', 1, 1)]);
        assert_eq!(bench.said(), [""; 0]);
        bench.lose("dead");
        assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
    }
}

#[test]
fn what_was_sent_elsewhere_waits_its_heartbeat_although_one_that_had_it_is_gone() {
    let mut bench = Bench::new(Options::default());
    bench.ready("idle", 9);
    bench.ready_with("dead", 9, &[('a', 1, 2)]);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.send("c", request_from('a', 2, 1, true), &[b"echo", b"2"]);
    bench.lose("dead");
    bench.said();
    bench.pass(2_000);
    assert_eq!(bench.said(), [""; 0]);
    bench.ready_with("w", 9, &[('a', 1, 1)]);
    bench.pass(500);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again", "idle: REQUEST a/2 2 again"]);
}

#[test]
fn what_a_worker_says_before_ready_is_heard_as_far_as_it_can_be_and_asked_for_again_if_not() {
    let mut bench = Bench::new(Options::default());
    bench.broker.handle_peer(b"w", true, &mut bench.wire);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    // Whole replies to known and unknown requests; a part; and a refusal.
    bench.reply("w", 'a', 1);
    bench.reply("w", 'a', 2);
    bench.send("w", Header::Final { request: request_id('a', 3), index: 1, run: None }, &[b"end"]);
    bench.send("w", Header::Refused { request: request_id('a', 4), refusal: Refusal::Failed }, &[b"failed"]);
    bench.send("w", Header::Held, &[&held(&[('a', 3, 4)])]);
    for number in 2..=4 {
        bench.send("c", request_from('a', number, 1, true), &[b"echo", b""]);
    }
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done", "c: FINAL a/2 #0 done"]);
    bench.send("w", Header::Ready { capacity: 9 }, &[b"echo", &held(&[('a', 1, 4)])]);
    assert_eq!(bench.said(), ["w: REQUEST a/3  again", "w: REQUEST a/4  again"]);
    bench.reply("w", 'a', 3);
    bench.reply("w", 'a', 4);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_comes_again_and_again_and_still_has_it_is_one_worker() {
    let mut bench = Bench::with_limits(Limits { deliveries_max: 2, ..Limits::default() });
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    for _ in 0..9 {
        bench.lose("w");
        bench.ready_with("w", 1, &[('a', 1, 1)]);
    }
    // The first worker to connect gets the waiting requests. Its list is read first.
    let said = bench.said();
    assert_eq!((said.len(), said.last().unwrap().as_str()), (10, "w: REQUEST a/1 1 after 1 again"));
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done"]);
}

#[test]
fn a_worker_that_leaves_before_it_was_ready_here_is_told_that_nothing_is_on_the_way() {
    let mut bench = Bench::new(Options::default());
    bench.broker.handle_peer(b"w", true, &mut bench.wire);
    bench.send("w", Header::Drain, &[]);
    assert_eq!(bench.said(), ["w: DRAIN"]);
}

#[test]
fn a_worker_is_asked_for_what_it_has_even_if_it_waits_for_another_one_already() {
    let mut bench = Bench::new(Options::default());
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.pass(3_000);
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 1);
    bench.ready_with("w", 1, &[('a', 1, 1)]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
    // The list of another worker comes too late.
    bench.ready_with("v", 1, &[('a', 1, 1)]);
    assert_eq!(bench.said(), [""; 0]);
    bench.reply("w", 'a', 1);
    bench.assert_quiet();
}

#[test]
fn a_worker_has_what_it_has_for_its_own_service_only() {
    let mut bench = Bench::new(Options::default());
    bench.send("c", again('a', 1), &[b"other", b"1"]);
    bench.ready_with("w", 1, &[('a', 1, 2)]);
    bench.send("c", request_from('a', 2, 1, true), &[b"other", b"2"]);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(2_500);
    assert_eq!(bench.said(), [""; 0]);
}

#[test]
fn what_is_answered_and_whose_worker_is_gone_waits_for_it_and_goes_to_another_marked() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.reply("w", 'a', 1);
    bench.lose("w");
    bench.ready("v", 1);
    bench.said();
    // The reply did not arrive.
    bench.send("c", request_from('a', 1, 1, false), &[b"echo", b"1"]);
    bench.pass(2_400);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(100);
    assert_eq!(bench.said(), ["v: REQUEST a/1 1 again"]);
}

#[test]
fn a_worker_that_comes_back_has_what_it_had() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.reply("w", 'a', 1);
    bench.lose("w");
    bench.ready("v", 1);
    bench.ready_with("w2", 1, &[('a', 1, 1)]);
    bench.said();
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["w2: REQUEST a/1 1 again"]);
}

#[test]
fn a_plain_worker_that_answers_before_its_client_asks_again_has_not_worked_in_vain() {
    let mut bench = Bench::new(Options::default());
    let address = Address::from(request_id('a', 1));
    let reply: &[&[u8]] = &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"body"];
    bench.frames("w", reply);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x05"]);
    bench.pass(2_000);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 body"]);
    bench.assert_quiet();
    // A reply after the repeated request is taken too, even after the wait.
    for wait in [100, 5_000] {
        let mut bench = Bench::new(Options::default());
        bench.send("c", again('a', 1), &[b"echo", b"1"]);
        bench.pass(wait);
        bench.frames("w", reply);
        assert_eq!(
            bench.said(),
            ["w: |MDPW01|\\x05", "c: FINAL a/1 #0 body"][..].iter().rev().copied().collect::<Vec<_>>()
        );
        bench.assert_quiet();
    }
}

#[test]
fn early_replies_are_for_those_who_ask_again_and_not_kept_for_ever() {
    let mut bench = Bench::new(Options::default());
    let address = Address::from(request_id('a', 1));
    let reply: &[&[u8]] = &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"body"];
    // A new request does not take an early reply.
    bench.frames("w", reply);
    bench.ask("c", 'a', 1);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x05"]);
    bench.frames("w", reply);
    assert_eq!((bench.said_to("c"), bench.broker.request_count()), (vec![], 1));
    let mut bench = Bench::new(Options::default());
    bench.frames("w", reply);
    bench.pass(2_600);
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    assert_eq!((bench.said_to("c"), bench.broker.request_count()), (vec![], 1));
    assert!(bench.broker.early.is_empty());
}

#[test]
fn early_replies_are_bounded_by_count_and_bytes() {
    let mut bench = Bench::new(Options::default());
    for number in 1..=1_025 {
        let address = Address::from(request_id('a', number));
        bench.frames("w", &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", b"body"]);
    }
    bench.said();
    for (number, is_there) in [(1_025, false), (1_024, true)] {
        bench.send("c", request_from('a', number, 1, true), &[b"echo", b"1"]);
        assert_eq!(bench.said().len(), usize::from(is_there), "{number}");
    }
    let mut bench = Bench::new(Options::default());
    for number in 1..=2 {
        let address = Address::from(request_id('a', number));
        let body = vec![0; 9 << 20];
        bench.frames("w", &[b"", b"MDPW01", b"\x03", address.as_bytes(), b"", &body]);
    }
    bench.raw();
    for (number, is_there) in [(2, false), (1, true)] {
        bench.send("c", request_from('a', number, 1, true), &[b"echo", b"1"]);
        assert_eq!(bench.raw().len(), usize::from(is_there), "{number}");
    }
}

#[test]
fn a_client_that_reconnects_gets_its_replies_where_it_is() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 2);
    bench.ask("c", 'a', 1);
    bench.send("c", request_from('a', 2, 1, false), &[b"echo", b"2"]);
    bench.said();
    bench.lose("c");
    // One reply comes while the client is away.
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), [""; 0]);
    assert!(bench.broker.report(bench.now).unread_bytes > 0);
    bench.broker.handle_peer(b"c2", true, &mut bench.wire);
    bench.send("c2", request_from('a', 1, 1, true), &[b"echo", b"1"]);
    bench.send("c2", request_from('a', 2, 1, true), &[b"echo", b"2"]);
    bench.pass(10);
    assert_eq!(bench.said(), ["c2: FINAL a/1 #0 done"]);
    bench.reply("w", 'a', 2);
    assert_eq!(bench.said(), ["c2: FINAL a/2 #0 done"]);
    bench.assert_quiet();
    // A reply that was read may be asked for again.
    bench.send("c2", request_from('a', 1, 1, true), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again"]);
}

#[test]
fn a_client_may_come_by_another_connection_before_the_first_is_over() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.send("c2", again('a', 1), &[b"echo", b"1"]);
    bench.lose("c");
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1", "c2: FINAL a/1 #0 done"]);
    // The first connection is no longer the client's.
    bench.send("c", Header::Cancel { request: request_id('a', 1) }, &[]);
    bench.lose("c2");
    bench.pass(70_000);
    assert_eq!(bench.broker.report(bench.now).clients, 0);
}

#[test]
fn a_client_that_stays_away_is_forgotten_with_all_it_asked_for() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.send("c", request_from('a', 2, 1, false), &[b"echo", b"2"]);
    bench.said();
    bench.lose("c");
    bench.pass(59_000);
    // Requests without a worker are dropped: the client would resend them anyway.
    assert_eq!((bench.broker.request_count(), bench.said()), (1, vec![]));
    bench.pass(2_000);
    assert_eq!((bench.broker.request_count(), bench.broker.report(bench.now).clients), (0, 0));
    assert_eq!(bench.said(), ["w: CANCEL a/1"]);
    bench.reply("w", 'a', 1);
    bench.assert_quiet();
    // A client without open requests is forgotten at once.
    bench.send("d", request('d', 1), &[b"mmi.service", b""]);
    bench.lose("d");
    assert_eq!(bench.broker.report(bench.now).clients, 0);
}

#[test]
fn clients_that_workers_tell_of_are_forgotten_if_they_do_not_come() {
    let mut bench = Bench::new(Options::default());
    bench.ready_with("w", 1, &[('a', 1, 10), ('b', 5, 5)]);
    assert_eq!((bench.broker.report(bench.now).clients, slot_count(&bench)), (2, 11));
    bench.pass(61_000);
    assert_eq!((bench.broker.report(bench.now).clients, slot_count(&bench)), (0, 0));
}

#[test]
fn a_peer_that_takes_the_place_of_another_is_another() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.said();
    bench.ready("w", 1);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 after 1 again"]);
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 1);
}

#[test]
fn what_nobody_has_is_forgotten_with_its_clients_connection_and_comes_again() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    (1..=3).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    bench.lose("c");
    bench.lose("w");
    assert_eq!(bench.broker.request_count(), 0);
    bench.ready("v", 9);
    bench.said();
    // One request was given to a worker and may have been done. Two were not given.
    (1..=3).for_each(|number| bench.send("c2", request_from('a', number, 1, false), &[b"echo", b""]));
    assert_eq!(bench.said(), ["v: REQUEST a/2 ", "v: REQUEST a/3 "]);
    bench.pass(2_500);
    assert_eq!(bench.said(), ["v: REQUEST a/1  again"]);
}

#[test]
fn what_was_refused_after_a_worker_had_it_is_marked_when_it_is_asked_again() {
    let mut bench = Bench::with_limits(Limits { deliveries_max: 1, ..Limits::default() });
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.lose("w");
    bench.ready("v", 1);
    bench.said();
    bench.ask("c", 'a', 1);
    bench.pass(2_500);
    assert_eq!(bench.said(), ["v: REQUEST a/1 1 again"]);
}
