//! Tests of the permissions of users: call, serve, see. The peer `ann:1` belongs to the user ann. A peer without a
//! colon has no user.

use hairstreak_wire::management::{REPORT_SERVICE, Report};

use super::*;
use crate::gate::Operation::{Configure, Read, Write};

fn plain_request(service: &[u8]) -> [&[u8]; 4] {
    [b"", b"MDPC01", service, b"hello"]
}

fn plain_ready(service: &[u8]) -> [&[u8]; 4] {
    [b"", b"MDPW01", b"\x01", service]
}

#[test]
fn calling_needs_write_and_serving_needs_read_and_neither_the_other() {
    for (operation, may_call, may_serve) in [
        (Some(Write), true, false),
        (Some(Read), false, true),
        (Some(Configure), false, false),
        (None, false, false),
    ] {
        let gate = TableGate::default();
        if let Some(operation) = operation {
            gate.grant("ann", operation, "echo");
        }
        let mut bench = Bench::with_gate(&gate);
        bench.ready("w", 8);
        bench.ask("ann:1", 'a', 1);
        let calls = bench.said();
        match may_call {
            true => assert_eq!(calls, ["w: REQUEST a/1 1"]),
            false => assert_eq!(calls, ["ann:1: REFUSED a/1 403"], "{operation:?}"),
        }
        bench.frames("ann:2", &plain_request(b"echo"));
        let calls = bench.said();
        assert_eq!(calls.len(), usize::from(may_call), "plain MDP has no words for a refusal: {calls:?}");
        assert_eq!(bench.broker.report(bench.now).drops.refused, u64::from(!may_call));

        let mut bench = Bench::with_gate(&gate);
        bench.ready("ann:1", 8);
        bench.frames("ann:2", &plain_ready(b"echo"));
        let told = bench.said();
        bench.ask("c", 'c', 1);
        bench.ask("d", 'd', 1);
        let mut served = bench.said();
        served.sort();
        bench.pass(1_100);
        let dismissed = bench.said();
        match may_serve {
            true => {
                assert_eq!(told, [""; 0]);
                assert_eq!(served.len(), 2, "{served:?}");
                assert_eq!(dismissed, [""; 0]);
            }
            false => {
                assert_eq!(
                    (told, served),
                    (vec!["ann:1: REFUSED \0/0 403".to_owned()], vec![]),
                    "{operation:?}"
                );
                assert_eq!(dismissed, ["ann:1: DISCONNECT", "ann:2: |MDPW01|\\x05"]);
            }
        }
    }
}

#[test]
fn a_refused_worker_hurts_nobody_and_may_try_again() {
    let gate = TableGate::default();
    let mut bench = Bench::with_gate(&gate);
    bench.ready("w", 8);
    bench.ready("ann:1", 8);
    bench.ask("c", 'c', 1);
    // Its messages until then are dropped.
    bench.reply("ann:1", 'c', 1);
    bench.reply("w", 'c', 1);
    assert_eq!(bench.said(), ["ann:1: REFUSED \0/0 403", "w: REQUEST c/1 1", "c: FINAL c/1 #0 done"]);
    bench.pass(1_100);
    bench.lose("ann:1");
    gate.grant("ann", Read, "echo");
    bench.ready("ann:2", 8);
    bench.lose("w");
    bench.ask("c", 'c', 2);
    assert_eq!(bench.said(), ["ann:1: DISCONNECT", "ann:2: REQUEST c/2 2"]);
}

#[test]
fn a_change_of_permissions_holds_for_the_next_request_and_takes_workers_away() {
    let gate = TableGate::default();
    gate.grant("ann", Write, "echo");
    gate.grant("bob", Read, "echo");
    let mut bench = Bench::with_gate(&gate);
    bench.ready("bob:1", 1);
    bench.ask("ann:1", 'a', 1);
    assert_eq!(bench.said(), ["bob:1: REQUEST a/1 1"]);
    gate.revoke("ann", Write, "echo");
    bench.send("ann:1", request_from('a', 2, 1, false), &[b"echo", b"2"]);
    assert_eq!(bench.said(), ["ann:1: REFUSED a/2 403"]);
    // A request that was taken before is still answered.
    bench.reply("bob:1", 'a', 1);
    assert_eq!(bench.said(), ["ann:1: FINAL a/1 #0 done"]);
    gate.grant("ann", Write, "echo");
    bench.ask("ann:1", 'a', 3);
    assert_eq!(bench.said(), ["bob:1: REQUEST a/3 3"]);
    gate.revoke("bob", Read, "echo");
    bench.ready("w", 1);
    bench.pass(200);
    assert_eq!(bench.said(), ["bob:1: REFUSED \0/0 403", "w: REQUEST a/3 3 after 1 again"]);
    bench.reply("bob:1", 'a', 3);
    assert_eq!(bench.said(), [""; 0]);
    bench.reply("w", 'a', 3);
    assert_eq!(bench.said(), ["ann:1: FINAL a/3 #0 done"]);
    bench.assert_quiet();
}

#[test]
fn the_same_service_once_more_costs_no_look_at_permissions() {
    let gate = TableGate::default();
    gate.grant("ann", Write, "echo");
    let mut bench = Bench::with_gate(&gate);
    bench.ready("w", 8);
    bench.ask("ann:1", 'a', 1);
    let asked = gate.asked();
    (2..100).for_each(|number| bench.ask("ann:1", 'a', number));
    assert_eq!(gate.asked(), asked);
    gate.grant("ann", Write, "other");
    bench.ask("ann:1", 'a', 100);
    assert_eq!(gate.asked(), asked + 1);
}

#[test]
fn a_clients_id_is_its_users() {
    let gate = TableGate::default();
    gate.grant("ann", Write, "echo");
    gate.grant("bob", Write, "echo");
    let mut bench = Bench::with_gate(&gate);
    bench.ready("w", 8);
    bench.ask("ann:1", 'a', 1);
    bench.lose("ann:1");
    bench.said();
    // The reply to ann's request is neither for bob nor for a peer without a user.
    for peer in ["bob:1", "c"] {
        bench.send(peer, again('a', 1), &[b"echo", b"1"]);
        assert_eq!(bench.said(), [format!("{peer}: REFUSED a/1 400")]);
    }
    bench.send("ann:2", again('a', 1), &[b"echo", b"1"]);
    bench.reply("w", 'a', 1);
    assert_eq!(bench.said(), ["ann:2: FINAL a/1 #0 done"]);
}

#[test]
fn a_client_that_a_worker_told_of_is_its_users_once_it_comes() {
    let gate = TableGate::default();
    ["ann", "bob"].iter().for_each(|user| gate.grant(user, Write, "echo"));
    let mut bench = Bench::with_gate(&gate);
    bench.ready_with("w", 8, &[('a', 1, 1)]);
    bench.send("ann:1", again('a', 1), &[b"echo", b"1"]);
    bench.said();
    bench.send("bob:1", again('a', 1), &[b"echo", b"1"]);
    assert_eq!(bench.said(), ["bob:1: REFUSED a/1 400"]);
}

#[test]
fn replies_from_before_are_taken_from_whoever_may_serve() {
    for may in [false, true] {
        let gate = TableGate::default();
        if may {
            gate.grant("bob", Read, "echo");
        }
        // The reply comes before the request, or after it.
        for comes_first in [false, true] {
            let mut bench = Bench::with_gate(&gate);
            if comes_first {
                bench.reply("bob:1", 'c', 1);
            }
            bench.send("c", again('c', 1), &[b"echo", b"1"]);
            if !comes_first {
                bench.reply("bob:1", 'c', 1);
            }
            let expected: &[&str] = if may { &["c: FINAL c/1 #0 done"] } else { &[] };
            assert_eq!(bench.said(), expected, "{may} {comes_first}");
        }
        // A worker of another service is treated in the same way.
        gate.grant("bob", Read, "other");
        let mut bench = Bench::with_gate(&gate);
        bench.send("bob:1", Header::Ready { capacity: 1 }, &[b"other", b""]);
        bench.reply("bob:1", 'c', 1);
        bench.send("c", again('c', 1), &[b"echo", b"1"]);
        let expected: &[&str] = if may { &["c: FINAL c/1 #0 done"] } else { &[] };
        assert_eq!(bench.said(), expected, "{may}");
    }
}

#[test]
fn users_see_the_services_that_they_may_do_something_with() {
    let gate = TableGate::default();
    for (operation, service) in [(Write, "written"), (Read, "read"), (Configure, "configured")] {
        gate.grant("ann", operation, service);
    }
    let mut bench = Bench::with_gate(&gate);
    let all = ["configured", "hidden", "read", "written"];
    for service in all {
        bench.send(&format!("w{service}"), Header::Ready { capacity: 1 }, &[service.as_bytes(), b""]);
    }
    let mut listed = |peer: &str, client| {
        bench.send(peer, request(client, 1), &[REPORT_SERVICE.as_bytes(), b""]);
        let frames = bench.raw().pop().unwrap().1;
        let Ok(FromBroker::Reply(part)) = parse_from_broker(&frames) else { panic!("{frames:?}") };
        let json: Vec<u8> = part.body.body(&frames).flatten().copied().collect();
        let report: Report = serde_json::from_slice(&json).unwrap();
        report.services.into_iter().map(|service| service.name).collect::<Vec<_>>()
    };
    assert_eq!(listed("c", 'c'), all);
    assert_eq!(listed("ann:1", 'a'), ["configured", "read", "written"]);
    assert_eq!(listed("bob:1", 'b'), [""; 0]);
    assert_eq!(listed("d", 'd'), all, "reports are kept for each user");
    let mut mmi = |peer: &str, service: &str| {
        bench.frames(peer, &[b"", b"MDPC01", b"mmi.service", service.as_bytes()]);
        bench.said().pop().unwrap()[peer.len()..].rsplit('|').next().unwrap().to_owned()
    };
    let seen = |code: &str| code == "200";
    for (peer, expected) in [("e", [true; 4]), ("ann:2", [true, false, true, true]), ("bob:2", [false; 4])] {
        assert_eq!(all.map(|service| seen(&mmi(peer, service))), expected, "{peer}");
    }
}
