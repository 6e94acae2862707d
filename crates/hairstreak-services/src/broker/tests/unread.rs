//! Tests of peers that do not read, or are gone before the broker knows it.

use super::*;

#[test]
fn replies_wait_for_a_client_that_does_not_read_and_come_in_order() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 3);
    (1..=3).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    bench.said();
    bench.wire.full.insert("c".to_owned());
    bench.reply("w", 'a', 2);
    bench.pass(50);
    bench.wire.full.clear();
    // Later replies wait behind the unread one.
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(10);
    bench.reply("w", 'a', 3);
    assert_eq!(bench.said(), ["c: FINAL a/2 #0 done", "c: FINAL a/1 #0 done", "c: FINAL a/3 #0 done"]);
    bench.assert_quiet();
}

#[test]
fn what_a_client_that_does_not_read_asks_for_waits_for_it_and_others_do_not() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.ask("c", 'a', 1);
    bench.wire.full.insert("c".to_owned());
    bench.reply("w", 'a', 1);
    bench.said();
    (2..=3).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    bench.ask("d", 'd', 1);
    assert_eq!(bench.said(), ["w: REQUEST d/1 1"]);
    bench.wire.full.clear();
    bench.pass(10);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 done", "w: REQUEST a/2 ", "w: REQUEST a/3 "]);
    for (client, number) in [('a', 2), ('a', 3), ('d', 1)] {
        bench.reply("w", client, number);
    }
    bench.assert_quiet();
}

#[test]
fn what_is_parked_and_cancelled_over_and_over_takes_no_place() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.ask("c", 'a', 1);
    bench.wire.full.insert("c".to_owned());
    bench.reply("w", 'a', 1);
    for number in 2..=5_000 {
        bench.send("c", request_from('a', number, 2, false), &[b"echo", b""]);
        bench.send("c", Header::Cancel { request: request_id('a', number) }, &[]);
    }
    let client = bench.broker.clients.find(request_id('a', 0).client).unwrap();
    assert!(bench.broker.clients.get(client).unwrap().parked.iter().count() < 100);
    assert_eq!(bench.broker.request_count(), 0);
}

#[test]
fn a_client_that_missed_replies_is_told_to_ask_again() {
    let mut bench = Bench::new(Options { replies_bytes_max: 200, ..Options::default() });
    bench.ready("w", 9);
    (1..=4).for_each(|number| bench.send("c", request_from('a', number, 1, false), &[b"echo", b""]));
    bench.wire.full.insert("c".to_owned());
    // One reply has room, the next has none, and later ones are missed too.
    (1..=3).for_each(|number| bench.reply("w", 'a', number));
    bench.raw();
    bench.wire.full.clear();
    bench.pass(10);
    let raw = bench.raw();
    let welcomes =
        |raw: &[(String, Vec<Vec<u8>>)]| raw.iter().filter(|(_, frames)| frames[0][4] == 1).count();
    assert_eq!((raw.len(), welcomes(&raw)), (2, 1), "{raw:?}");
    assert_eq!(line(&raw[0].0, &raw[0].1).unwrap(), "c: FINAL a/1 #0 done");
    (2..=4).for_each(|number| bench.send("c", request_from('a', number, 2, true), &[b"echo", b""]));
    assert_eq!(bench.said(), ["w: REQUEST a/2  again", "w: REQUEST a/3  again"]);
    (2..=4).for_each(|number| bench.reply("w", 'a', number));
    assert_eq!(bench.said().len(), 3);
    bench.assert_quiet();
}

#[test]
fn a_client_that_misses_its_only_reply_is_told_so_by_the_next_connection_or_this_one() {
    for reconnects in [false, true] {
        let mut bench = Bench::new(Options { replies_bytes_max: 0, ..Options::default() });
        bench.ready("w", 9);
        bench.ask("c", 'a', 1);
        bench.wire.full.insert("c".to_owned());
        bench.reply("w", 'a', 1);
        bench.raw();
        let peer = if reconnects { "c2" } else { "c" };
        if reconnects {
            bench.lose("c");
            bench.broker.handle_peer(b"c2", true, &mut bench.wire);
            bench.send("c2", request_from('a', 1, 1, true), &[b"echo", b""]);
        } else {
            bench.pass(50);
            bench.wire.full.clear();
            bench.pass(50);
            assert_eq!(bench.raw().len(), 1);
            bench.send("c", request_from('a', 1, 1, true), &[b"echo", b""]);
        }
        bench.pass(10);
        bench.reply("w", 'a', 1);
        assert_eq!(bench.said_to(peer), ["FINAL a/1 #0 done"]);
        bench.assert_quiet();
    }
}

#[test]
fn a_client_of_plain_mdp_that_does_not_read_loses_what_has_no_room() {
    let mut bench = Bench::new(Options { replies_bytes_max: 500, ..Options::default() });
    bench.ready("w", 9);
    (0..3).for_each(|_| bench.frames("c", &[b"", b"MDPC01", b"echo", b"body"]));
    bench.wire.full.insert("c".to_owned());
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&1_u64.to_be_bytes());
    let finish =
        |number| Header::Final { request: RequestId { client: ClientId(id), number }, index: 0, run: None };
    (1..=2).for_each(|number| bench.send("w", finish(number), &[b"done"]));
    bench.said();
    assert_eq!(bench.broker.report(bench.now).drops.unread, 1);
    bench.wire.full.clear();
    bench.pass(10);
    bench.send("w", finish(3), &[b"done"]);
    assert_eq!(bench.said(), ["c: |MDPC01|echo|done", "c: |MDPC01|echo|done"]);
    bench.assert_quiet();
}

#[test]
fn a_reply_in_parts_of_which_one_has_no_room_ends_there_for_a_client_of_plain_mdp() {
    let mut bench = Bench::new(Options { replies_bytes_max: 0, ..Options::default() });
    bench.ready("w", 9);
    bench.frames("c", &[b"MDPC02", b"\x01", b"echo", b"body"]);
    let mut id = [b'B'; 16];
    id[8..].copy_from_slice(&1_u64.to_be_bytes());
    let request = RequestId { client: ClientId(id), number: 1 };
    bench.send("w", Header::Partial { request, index: 0, run: None }, &[b"one"]);
    bench.wire.full.insert("c".to_owned());
    bench.send("w", Header::Partial { request, index: 1, run: None }, &[b"two"]);
    bench.wire.full.clear();
    bench.send("w", Header::Final { request, index: 2, run: None }, &[b"three"]);
    let expected = ["w: REQUEST plain1/1 body", "c: MDPC02|\\x02|echo|one", "w: CANCEL plain1/1"];
    assert_eq!(bench.said(), expected);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_has_no_room_is_tried_again_and_others_get_what_waits() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.wire.full.insert("w".to_owned());
    bench.ask("c", 'a', 1);
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 1);
    bench.pass(100);
    assert!(bench.broker.full_workers.len() <= 1);
    bench.wire.full.clear();
    bench.pass(10);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1"]);
    bench.wire.full.insert("w".to_owned());
    bench.ask("d", 'd', 1);
    bench.ready("v", 1);
    assert_eq!(bench.said(), ["v: REQUEST d/1 1"]);
}

#[test]
fn what_only_one_worker_has_waits_until_that_one_has_room() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'a', 1);
    bench.reply("w", 'a', 1);
    bench.ready("idle", 9);
    bench.said();
    bench.wire.full.insert("w".to_owned());
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.send("w", Header::Held, &[&held(&[('b', 1, 2)])]);
    (1..=2).for_each(|number| bench.send("d", request_from('b', number, 1, true), &[b"echo", b""]));
    bench.pass(100);
    assert_eq!(bench.said(), [""; 0]);
    bench.wire.full.clear();
    bench.pass(10);
    assert_eq!(bench.said(), ["w: REQUEST a/1 1 again", "w: REQUEST b/1  again", "w: REQUEST b/2  again"]);
    (1..=2).for_each(|number| bench.reply("w", 'b', number));
    bench.reply("w", 'a', 1);
    bench.said();
    bench.assert_quiet();
    // If the worker goes before that, another one does the request.
    bench.wire.full.insert("w".to_owned());
    bench.send("c", again('a', 1), &[b"echo", b"1"]);
    bench.lose("w");
    assert_eq!(bench.said(), [""; 0], "another one may have it, too");
    bench.pass(2_500);
    assert_eq!(bench.said(), ["idle: REQUEST a/1 1 again"]);
}

#[test]
fn a_worker_that_is_gone_before_its_notice_gets_nothing_and_loses_nothing() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.wire.gone.insert("w".to_owned());
    bench.ask("c", 'a', 1);
    bench.ask("d", 'd', 1);
    assert_eq!(bench.broker.report(bench.now).services[0].queued, 2);
    bench.ready("v", 9);
    assert_eq!(bench.said(), ["v: REQUEST a/1 1", "v: REQUEST d/1 1"]);
    bench.lose("w");
    assert_eq!(bench.said(), [""; 0]);
}

#[test]
fn a_client_that_is_gone_before_its_notice_gets_its_reply_when_it_is_back() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 9);
    bench.ask("c", 'a', 1);
    bench.said();
    bench.wire.gone.insert("c".to_owned());
    bench.reply("w", 'a', 1);
    bench.pass(100);
    bench.lose("c");
    bench.send("c2", again('a', 1), &[b"echo", b"1"]);
    bench.pass(10);
    assert_eq!(bench.said(), ["c2: FINAL a/1 #0 done"]);
    bench.assert_quiet();
}

#[test]
fn a_worker_that_has_no_room_for_disconnect_is_told_later() {
    let mut bench = Bench::new(Options::default());
    bench.wire.full.insert("w".to_owned());
    bench.send("w", Header::Drain, &[b"malformed"]);
    bench.wire.full.clear();
    bench.pass(1_100);
    assert_eq!(bench.said(), ["w: DISCONNECT"]);
    bench.ready("w", 1);
    assert_eq!(bench.broker.report(bench.now).services[0].workers, 1);
}

#[test]
fn a_client_that_is_none_and_has_no_room_for_a_refusal_is_told_to_begin_again() {
    let mut bench = Bench::new(Options { clients_max: 0, ..Options::default() });
    bench.wire.full.insert("c".to_owned());
    bench.ask("c", 'a', 1);
    bench.wire.full.clear();
    bench.pass(1_100);
    assert_eq!(bench.said(), ["c: DISCONNECT"]);
}

#[test]
fn a_reply_in_parts_of_which_one_has_no_room_is_refused_and_not_begun_over_and_over() {
    for is_final in [false, true] {
        let mut bench = Bench::new(Options { replies_bytes_max: 0, ..Options::default() });
        bench.ready("w", 9);
        bench.ask("c", 'a', 1);
        let request = request_id('a', 1);
        bench.send("w", Header::Partial { request, index: 0, run: None }, &[b"one"]);
        bench.wire.full.insert("c".to_owned());
        if is_final {
            bench.send("w", Header::Final { request, index: 1, run: None }, &[b"two"]);
        } else {
            bench.send("w", Header::Partial { request, index: 1, run: None }, &[b"two"]);
            bench.send("w", Header::Final { request, index: 2, run: None }, &[b"three"]);
        }
        bench.wire.full.clear();
        bench.said();
        bench.pass(10);
        assert_eq!(bench.said(), ["c: REFUSED a/1 503"]);
        bench.assert_quiet();
    }
}
