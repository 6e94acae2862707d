//! Tests of workers' reports about clients that have not connected: their limits, and the room that they leave to
//! others.

use super::*;
use crate::broker::clients::told_max;

fn tell(bench: &mut Bench, ranges: &[(char, u64, u64)]) {
    bench.send("w", Header::Held, &[&held(ranges)]);
}

#[test]
fn all_that_ten_workers_remember_is_noted_by_a_broker_that_starts_anew() {
    let mut bench = Bench::new(Options::default());
    let clients = || (100..200).map(char::from);
    for worker in 0..10 {
        let ranges: Vec<_> = clients().map(|client| (client, worker * 100 + 1, worker * 100 + 100)).collect();
        bench.ready_with(&format!("w{worker}"), 1_000, &ranges);
    }
    assert_eq!(bench.broker.clients.counts().told, 100_000);
    bench.raw();
    for client in clients() {
        for number in [1, 100, 101, 550, 1_000] {
            bench.send(&client.to_string(), request_from(client, number, 1, true), &[b"echo", b""]);
            let said = bench.said();
            let worker = (number - 1) / 100;
            assert!(said.len() == 1 && said[0].starts_with(&format!("w{worker}: REQUEST")), "{said:?}");
        }
    }
    let counts = bench.broker.clients.counts();
    assert_eq!((counts.own, counts.told), (100_000, 0));
}

#[test]
fn as_much_as_four_workers_may_remember_is_noted_and_no_more() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    for client in (100..180).map(char::from) {
        tell(&mut bench, &[(client, 1, 131_072)]);
        bench.now += Duration::from_millis(500);
    }
    assert_eq!(bench.broker.clients.counts().told, 1_048_576);
    assert_eq!(bench.broker.clients.len(), 8, "one that nothing is kept of takes no place");
    bench.now += Duration::from_secs(1);
    tell(&mut bench, &[(char::from(100), 1, u64::MAX), (char::from(200), 1, u64::MAX)]);
    assert_eq!(bench.broker.clients.counts().told, 1_048_576);
}

#[test]
fn what_workers_tell_takes_no_room_from_clients_that_are_here() {
    let options = Options { open_per_client_max: 100, open_max: 80, ..Options::default() };
    let mut bench = Bench::new(options.clone());
    bench.ready("w", 200);
    bench.send("a", request_from('a', 1, 1, false), &[b"echo", b""]);
    for client in (150..250).map(char::from) {
        tell(&mut bench, &[(client, 1, 100)]);
    }
    // Reports about a connected client take no room either.
    tell(&mut bench, &[('a', 1, u64::MAX)]);
    assert_eq!(bench.broker.clients.counts().told, told_max(&options));
    (2..=40).for_each(|number| bench.send("a", request_from('a', number, 1, false), &[b"echo", b""]));
    (1..=40).for_each(|number| bench.send("z", request_from('z', number, 1, false), &[b"echo", b""]));
    assert_eq!((bench.said_to("w").len(), bench.broker.request_count()), (80, 80));
    bench.send("z", request_from('z', 41, 1, false), &[b"echo", b""]);
    assert_eq!(bench.said(), ["z: REFUSED z/41 429"]);
}

#[test]
fn a_worker_that_says_the_same_over_and_over_is_not_listened_to_for_more_than_so_much_a_second() {
    let mut bench = Bench::new(Options::default());
    bench.ready("w", 1);
    for _ in 0..4 {
        tell(&mut bench, &[('a', 1, 131_072)]);
    }
    tell(&mut bench, &[('b', 1, 1)]);
    assert_eq!(bench.broker.clients.len(), 1);
    bench.now += Duration::from_secs(1);
    for _ in 0..3 {
        tell(&mut bench, &[('a', 1, 131_072)]);
    }
    tell(&mut bench, &[('b', 1, 1)]);
    assert_eq!(bench.broker.clients.len(), 2);
}

#[test]
fn what_cannot_be_kept_costs_nothing_and_what_somebody_waits_for_is_heard_behind_it() {
    let mut bench = Bench::new(Options { open_per_client_max: 100, open_max: 800, ..Options::default() });
    bench.ready("w", 1);
    bench.send("c", again('c', 1), &[b"echo", b"1"]);
    let mut ranges: Vec<_> = std::iter::repeat_n(('a', 1, u64::MAX), 1_000).collect();
    ranges.extend(std::iter::repeat_n(('b', 1, u64::MAX), 1_000));
    ranges.push(('c', 1, 1));
    tell(&mut bench, &ranges);
    assert_eq!(bench.said(), ["w: REQUEST c/1 1 again"]);
    assert_eq!(bench.broker.clients.counts().told, 100);
}
