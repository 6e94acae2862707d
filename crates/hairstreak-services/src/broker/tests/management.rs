//! Tests of MMI, of the broker's report, and of workers that may not serve a name.

use hairstreak_wire::management::{REPORT_SERVICE, Report};

use super::*;

fn mmi(bench: &mut Bench, service: &[u8], body: &[u8]) -> Vec<String> {
    bench.frames("c", &[b"", b"MDPC01", service, body]);
    bench.frames("d", &[b"MDPC02", b"\x01", service, body]);
    bench.said()
}

#[test]
fn mmi_tells_which_services_have_workers_and_echoes_its_own_name() {
    let mut bench = Bench::new(Options::default());
    let reply =
        |service, code| [format!("c: |MDPC01|{service}|{code}"), format!("d: MDPC02|\\x03|{service}|{code}")];
    assert_eq!(mmi(&mut bench, b"mmi.service", b"echo"), reply("mmi.service", 404));
    bench.ready("w", 1);
    assert_eq!(mmi(&mut bench, b"mmi.service", b"echo"), reply("mmi.service", 200));
    assert_eq!(mmi(&mut bench, b"mmi.service", b"other"), reply("mmi.service", 404));
    assert_eq!(mmi(&mut bench, b"mmi.service", b""), reply("mmi.service", 404));
    assert_eq!(mmi(&mut bench, b"mmi.other", b"echo"), reply("mmi.other", 501));
    assert_eq!(mmi(&mut bench, b"hairstreak.other", b"echo"), reply("hairstreak.other", 501));
    // The service is known because of a request, but has no workers.
    bench.lose("w");
    bench.ask("e", 'e', 1);
    assert_eq!(mmi(&mut bench, b"mmi.service", b"echo"), reply("mmi.service", 404));
}

#[test]
fn hsn1_clients_are_answered_by_number() {
    let mut bench = Bench::new(Options::default());
    bench.send("c", request('a', 1), &[b"mmi.service", b"echo"]);
    bench.send("c", request('a', 2), &[b"mmi.other", b""]);
    bench.send("c", request('a', 3), &[b"hairstreak.other", b""]);
    assert_eq!(bench.said(), ["c: FINAL a/1 #0 404", "c: FINAL a/2 #0 501", "c: REFUSED a/3 501"]);
    bench.assert_quiet();
}

#[test]
fn whoever_wants_to_serve_what_the_broker_serves_is_told_to_go_after_a_second() {
    let plain: &[&[u8]] = &[b"", b"MDPW01", b"\x01", b"mmi.service"];
    let mut bench = Bench::new(Options::default());
    bench.frames("w", plain);
    bench.send("v", Header::Ready { capacity: 1 }, &[b"hairstreak.services", b""]);
    bench.frames("gone", plain);
    bench.lose("gone");
    bench.pass(900);
    // Messages of the peers until then change nothing.
    bench.frames("w", plain);
    bench.frames("w", &[b"", b"MDPW01", b"\x04"]);
    assert_eq!((bench.said(), bench.broker.report(bench.now).drops.malformed), (vec![], 2));
    bench.pass(200);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x05", "v: DISCONNECT"]);
    bench.frames("w", plain);
    assert_eq!(bench.said(), [""; 0]);
    bench.pass(1_100);
    assert_eq!(bench.said(), ["w: |MDPW01|\\x05"]);
}

#[test]
fn a_worker_that_wants_more_is_told_to_go_at_once() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.send("w", Header::Ready { capacity: 1 }, &[b"mmi.service", b""]);
    assert_eq!(bench.said(), ["w: DISCONNECT"]);
}

#[test]
fn one_worker_or_service_more_than_may_be_is_told_to_go_after_a_second() {
    let mut bench = Bench::new(Options { workers_max: 1, ..Options::default() });
    bench.ready("w", 1);
    bench.ready("v", 1);
    bench.pass(1_100);
    assert_eq!(bench.said(), ["v: DISCONNECT"]);

    let mut bench = Bench::new(Options { services_max: 2, ..Options::default() });
    for service in [b"one", b"two", b"six"] {
        bench.send(&String::from_utf8_lossy(service), Header::Ready { capacity: 1 }, &[service, b""]);
    }
    bench.pass(1_100);
    assert_eq!(bench.said(), ["six: DISCONNECT"]);
}

#[test]
fn the_report_counts_what_there_is() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 2);
    bench.ready("v", 1);
    for number in 1..=5 {
        bench.send("c", request_from('a', number, 1, false), &[b"echo", b"body"]);
    }
    bench.reply("w", 'a', 1);
    bench.send("d", request('d', 1), &[b"nobody", b"body"]);
    bench.pass(300);
    bench.said();
    bench.send("d", request_from('d', 2, 1, false), &[REPORT_SERVICE.as_bytes(), b""]);
    let sent = bench.raw();
    let report: Report = serde_json::from_slice(sent[0].1.last().unwrap()).unwrap();
    let echo = &report.services[0];
    assert_eq!((echo.name.as_str(), echo.workers, echo.capacity, echo.outstanding), ("echo", 2, 3, 3));
    assert_eq!((echo.queued, echo.oldest_ms, echo.requests, echo.replies), (1, 300, 5, 1));
    let nobody = &report.services[1];
    assert_eq!(
        (nobody.name.as_str(), nobody.workers, nobody.queued, nobody.oldest_ms),
        ("nobody", 0, 1, 300)
    );
    assert_eq!((report.clients, report.open), (2, 5));
    assert_eq!(bench.broker.report(bench.now), report);
}

#[test]
fn a_report_is_made_once_in_a_while_and_told_to_all_who_ask_meanwhile() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    let mut number = 0;
    let mut asked = |bench: &mut Bench| {
        number += 1;
        bench.send("c", request('a', number), &[REPORT_SERVICE.as_bytes(), b""]);
        bench.frames("d", &[b"", b"MDPC01", REPORT_SERVICE.as_bytes(), b""]);
        let sent = bench.raw();
        assert_eq!(sent[0].1.last(), sent[1].1.last());
        serde_json::from_slice::<Report>(sent[0].1.last().unwrap()).unwrap().services[0].workers
    };
    bench.raw();
    assert_eq!(asked(&mut bench), 1);
    bench.ready("v", 1);
    bench.raw();
    bench.now += Duration::from_millis(99);
    assert_eq!(asked(&mut bench), 1);
    bench.now += Duration::from_millis(1);
    assert_eq!(asked(&mut bench), 2);
    // Clients that do not read share its bytes.
    let waiting = |client: char| {
        let id = request_id(client, 9);
        bench.wire.full.insert(client.to_string());
        bench.send(&client.to_string(), request(client, id.number), &[REPORT_SERVICE.as_bytes(), b""]);
        let client = bench.broker.clients.find(id.client).unwrap();
        let unread = bench.broker.clients.get(client).unwrap().unread().unwrap();
        unread.message.as_frames().last().unwrap().as_bytes().as_ptr()
    };
    let places: HashSet<_> = ['e', 'f', 'g'].map(waiting).into();
    assert_eq!(places.len(), 1);
}

#[test]
fn services_nobody_serves_or_asks_for_are_forgotten() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    bench.lose("w");
    bench.pass(100);
    assert_eq!(bench.broker.report(bench.now).services, []);
    assert_eq!(bench.broker.next_timeout(bench.now), None);
}
