//! Tests of peers that the broker depends on: workers, and clients that wait for a result. Other peers may be checked
//! for liveness less often.

use super::*;

/// Time in which the broker checks all clients.
const LOOK_MS: u64 = 1000;

fn assert_attended(bench: &mut Bench, peers: &[&str], when: &str) {
    bench.pass(LOOK_MS);
    let attended: Vec<&str> = bench.wire.attended.iter().map(String::as_str).collect();
    assert_eq!(attended, peers, "{when}");
}

#[test]
fn peers_are_attended_to_while_they_work_or_wait() {
    let mut bench = Bench::new(Options::default());
    for idle in ["idle", "c", "d"] {
        bench.broker.handle_peer(idle.as_bytes(), true, &mut bench.wire);
    }
    assert_attended(&mut bench, &[], "nobody said a word");
    bench.ready("w", 1);
    bench.frames("p", &[b"", b"MDPW01", b"\x01", b"other"]);
    assert_attended(&mut bench, &["p", "w"], "workers that have nothing to do");
    bench.ask("c", 'c', 1);
    assert!(bench.wire.attended.contains("c"), "at once");
    bench.ask("d", 'd', 1);
    assert_attended(&mut bench, &["c", "d", "p", "w"], "one request is done, one waits");
    bench.reply("w", 'c', 1);
    assert_attended(&mut bench, &["d", "p", "w"], "c has its reply");
    bench.frames("p", &[b"", b"MDPW01", b"\x05"]);
    assert_attended(&mut bench, &["d", "w"], "p is no worker any more");
    bench.send("w", Header::Disconnect, &[]);
    assert_attended(&mut bench, &["d"], "nor is w, and d waits on");
}

#[test]
fn a_client_that_comes_back_to_its_request_or_does_not_read_its_reply_is_attended_to() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.ask("c", 'c', 1);
    bench.lose("c");
    bench.wire.attended.remove("c");
    bench.broker.handle_peer(b"e", true, &mut bench.wire);
    bench.send("e", again('c', 1), &[b"echo", b"1"]);
    assert_attended(&mut bench, &["e", "w"], "at another connection");
    bench.wire.full.insert("e".into());
    bench.reply("w", 'c', 1);
    assert_attended(&mut bench, &["e", "w"], "the reply waits");
    bench.wire.full.remove("e");
    assert_attended(&mut bench, &["w"], "the reply is read");
    bench.assert_quiet();
}
