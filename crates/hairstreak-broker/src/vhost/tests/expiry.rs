//! Messages and queues that expire.

use super::*;

fn expiring(expiration: &str) -> Properties<'_> {
    Properties { expiration: Some(expiration.as_bytes()), ..Properties::default() }
}

#[test]
fn a_message_expires_at_its_time_in_the_queue() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-message-ttl", 100.into())]));
    bench.publish_all("q", &["1"]);
    bench.pass(50);
    bench.publish_all("q", &["2"]);
    bench.pass(49);
    assert_eq!(bench.count("q"), 2);
    bench.pass(1);
    assert_eq!(bench.count("q"), 1);
    bench.consume_no_ack(channel, "a");
    assert_eq!(bench.delivered(), ["a:2"]);
}

#[test]
fn the_sooner_of_two_expiries_counts() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-message-ttl", 100.into())]));
    let _ = bench.publish_with("", "q", "1", &expiring("10"));
    bench.pass(10);
    assert_eq!(bench.count("q"), 0);
    let _ = bench.publish_with("", "q", "2", &expiring("1000"));
    bench.pass(100);
    assert_eq!(bench.count("q"), 0);
}

#[test]
fn a_message_expires_when_it_is_the_first() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["stays"]);
    let _ = bench.publish_with("", "q", "goes", &expiring("10"));
    bench.pass(1_000);
    assert_eq!(bench.count("q"), 2);
    assert_eq!(bench.get(channel, "q", true).unwrap().0.body, "stays");
    assert!(bench.get(channel, "q", true).is_none());
}

#[test]
fn a_message_behind_the_first_expires_by_its_timer_once_it_is_the_first() {
    let (mut bench, channel) = Bench::with_queue(FieldTable::new());
    bench.publish_all("q", &["stays"]);
    let _ = bench.publish_with("", "q", "goes", &expiring("10"));
    assert!(bench.get(channel, "q", true).is_some());
    assert_eq!(bench.count("q"), 1);
    bench.pass(10);
    assert_eq!(bench.count("q"), 0);
}

#[test]
fn a_time_to_live_of_zero_leaves_only_what_a_consumer_takes_at_once() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-message-ttl", 0.into())]));
    bench.publish_all("q", &["1"]);
    assert_eq!(bench.count("q"), 0);
    bench.consume_no_ack(channel, "a");
    bench.publish_all("q", &["2"]);
    assert_eq!(bench.delivered(), ["a:2"]);
}

#[test]
fn a_message_that_returns_after_its_time_expires() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-message-ttl", 100.into())]));
    bench.publish_all("q", &["1"]);
    assert!(bench.get(channel, "q", false).is_some());
    bench.pass(200);
    bench.reject(channel, 1, false, true).unwrap();
    assert_eq!(bench.count("q"), 0);
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn many_messages_expire_in_slices() {
    let mut bench = Bench::with(Limits { slice_max: 10, ..Limits::default() });
    bench.declare(&queue("q", arguments([("x-message-ttl", 5.into())]))).unwrap();
    for number in 0..25 {
        bench.publish_all("q", &[&number.to_string()]);
    }
    bench.now += 5;
    for left in [15, 5, 0] {
        assert_eq!(bench.host.next_timeout().is_some_and(|due| due <= bench.now), true);
        bench.host.handle_timeout(bench.now, &mut bench.said);
        assert_eq!(bench.count("q"), left);
    }
    assert_eq!(bench.host.next_timeout(), None);
}

#[test]
fn an_expiration_is_a_number_of_milliseconds() {
    let cases = [
        ("abc", "no_integer"),
        ("", "no_integer"),
        ("10a", "{leftover_string,\"a\"}"),
        ("-5", "{value_negative,-5}"),
        ("315360000001", "{value_too_large,315360000001}"),
    ];
    for (expiration, reason) in cases {
        let refusal = refused(Attributes::of(&expiring(expiration)));
        assert_eq!(refusal, format!("PRECONDITION_FAILED - invalid expiration '{expiration}': {reason}"));
    }
    assert_eq!(Attributes::of(&expiring("315360000000")).unwrap().expiration_ms, Some(315_360_000_000));
    assert_eq!(Attributes::of(&expiring("+0")).unwrap().expiration_ms, Some(0));
}

#[test]
fn a_queue_that_nobody_uses_expires() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-expires", 100.into())]));
    bench.pass(99);
    assert!(bench.get(channel, "q", true).is_none());
    bench.pass(99);
    bench.declare(&queue("q", arguments([("x-expires", 100.into())]))).unwrap();
    bench.pass(99);
    bench.consume(channel, "a");
    bench.pass(10_000);
    bench.cancel(channel, "a");
    bench.pass(99);
    assert!(bench.host.exchanges_mut().generation() > 0);
    bench.publish_all("q", &["does not count as use"]);
    bench.pass(1);
    assert!(!bench.exists("q"));
    assert_eq!(bench.host.next_timeout(), None);
}
