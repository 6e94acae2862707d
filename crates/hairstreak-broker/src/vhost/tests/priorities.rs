//! Queues with priorities.

use super::*;

fn publish(bench: &mut Bench, priority: u8, body: &str) {
    let properties = Properties { priority: Some(priority), ..Properties::default() };
    assert_eq!(bench.publish_with("", "q", body, &properties), Published::Routed);
}

#[test]
fn higher_priorities_go_first_and_equal_ones_in_order() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-priority", 5.into())]));
    bench.publish_all("q", &["none"]);
    for (priority, body) in [(0, "0"), (3, "3a"), (9, "5a"), (3, "3b"), (5, "5b")] {
        publish(&mut bench, priority, body);
    }
    assert_eq!(bench.drain("q"), ["5a", "5b", "3a", "3b", "none", "0"]);
}

#[test]
fn a_queue_without_priorities_ignores_those_of_messages() {
    let (mut bench, _) = Bench::with_queue(FieldTable::new());
    publish(&mut bench, 0, "1");
    publish(&mut bench, 255, "2");
    assert_eq!(bench.drain("q"), ["1", "2"]);
}

#[test]
fn all_255_priorities_are_there() {
    let (mut bench, _) = Bench::with_queue(arguments([("x-max-priority", 255.into())]));
    for priority in 0..=255 {
        publish(&mut bench, priority, &priority.to_string());
    }
    let expected: Vec<String> = (0..=255).rev().map(|priority: u8| priority.to_string()).collect();
    assert_eq!(bench.drain("q"), expected);
}

#[test]
fn what_returns_goes_to_its_place_among_its_equals() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-max-priority", 2.into())]));
    for (priority, body) in [(1, "1a"), (1, "1b"), (2, "2a")] {
        publish(&mut bench, priority, body);
    }
    assert!(bench.get(channel, "q", false).is_some());
    assert!(bench.get(channel, "q", false).is_some());
    publish(&mut bench, 2, "2b");
    bench.reject(channel, 0, true, true).unwrap();
    assert_eq!(bench.drain("q"), ["2a", "2b", "1a", "1b"]);
}
