//! Operations at their limits: each call does a bounded number of steps, and other calls run in between. The result equals the
//! result of one undivided call.

use super::*;
use crate::exchange::ExchangeDeclaration;

/// The steps of a call in these tests.
const STEPS_MAX: usize = 64;
/// The steps by which a call may overrun: the work that is not divided.
const OVERRUN_MAX: u64 = 320;
const COUNT: usize = 1_000;

/// The calls that an operation took, and the steps of the longest one.
#[derive(Debug)]
struct Slices {
    call_count: usize,
    steps_max: u64,
}

impl Bench {
    fn sliced() -> Bench {
        Bench::with(Limits { steps_max: STEPS_MAX, ..Limits::default() })
    }

    /// Runs an operation, and the calls that are due at once after it.
    fn in_slices<T>(&mut self, act: impl FnOnce(&mut Bench) -> T) -> (T, Slices) {
        let before = self.host.step_count();
        let result = act(self);
        let mut slices = Slices { call_count: 1, steps_max: self.host.step_count() - before };
        while self.host.next_timeout() == Some(0) {
            slices.call_count += 1;
            slices.steps_max = slices.steps_max.max(self.slice());
        }
        (result, slices)
    }

    /// One more call. Returns its steps.
    fn slice(&mut self) -> u64 {
        let before = self.host.step_count();
        self.host.handle_timeout(self.now, &mut self.said);
        self.host.step_count() - before
    }

    /// Calls `in_slices`, and asserts that the operation takes several calls of bounded steps.
    fn divided<T>(&mut self, name: &str, act: impl FnOnce(&mut Bench) -> T) -> T {
        let (result, slices) = self.in_slices(act);
        assert!(slices.call_count > 3, "{name}: {slices:?}");
        assert!(slices.steps_max <= STEPS_MAX as u64 + OVERRUN_MAX, "{name}: {slices:?}");
        assert!(!self.host.has_to_wait(ALICE), "{name}");
        result
    }

    fn declare_exchange(&mut self, name: &str, kind: &str, is_auto_delete: bool) {
        let declaration = ExchangeDeclaration {
            name: name.as_bytes().into(),
            kind: kind.as_bytes().into(),
            is_auto_delete,
            ..ExchangeDeclaration::default()
        };
        self.host.exchanges_mut().declare(&declaration).unwrap();
    }

    fn bind(&mut self, exchange: &str, queue: &str, key: &str) {
        let (exchange, queue, key) = (exchange.as_bytes(), queue.as_bytes(), key.as_bytes());
        self.host.bind_queue(ALICE, queue, exchange, key, &FieldTable::new()).unwrap();
    }

    /// Declares queues and binds them to an exchange.
    fn bind_many(&mut self, exchange: &str, count: usize) {
        for number in 0..count {
            let name = format!("q{number}");
            self.declare(&queue(&name, FieldTable::new())).unwrap();
            self.bind(exchange, &name, &format!("key.{number}"));
        }
    }

    /// Begins to publish along a long route.
    fn publish_slowly(&mut self, channel: ChannelId, exchange: &str, extra_keys: &[&[u8]]) {
        let mut route = Route::new();
        let routing = Routing { extra_keys, ..Routing::new(exchange.as_bytes(), b"k") };
        self.host.resolve(&routing, &mut route).unwrap();
        let message = Message {
            exchange: exchange.as_bytes(),
            routing_key: b"k",
            properties: &[0, 0],
            attributes: Attributes::default(),
            body: BodyView::Copied(b"slow"),
        };
        let by = PublishedBy { channel, is_mandatory: true };
        self.host.publish_slowly(by, &mut route, &message, self.now, &mut self.said);
    }

    fn outcome(&mut self, channel: ChannelId) -> Option<Published> {
        self.host.channels_mut().take_outcome(channel).map(|outcome| outcome.published)
    }

    fn publish_many(&mut self, queue: &str, count: usize) {
        (0..count).for_each(|number| self.publish_all(queue, &[&number.to_string()]));
    }
}

fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

#[test]
fn a_message_to_many_queues_is_in_each_of_them_once() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("x", "fanout", false);
    bench.bind_many("x", COUNT);
    let channel = bench.open(ALICE);
    bench.divided("fan-out", |bench| {
        bench.publish_slowly(channel, "x", &[]);
        assert!(bench.host.has_to_wait(ALICE) && bench.outcome(channel).is_none());
    });
    assert_eq!(bench.outcome(channel), Some(Published::Routed));
    assert_eq!(bench.outcome(channel), None);
    (0..COUNT).for_each(|number| assert_eq!(bench.drain(&format!("q{number}")), ["slow"]));
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn many_keys_and_patterns_are_matched_in_slices() {
    let keys: Vec<String> = (0..100).map(|number| format!("a.b.{number}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    for kind in ["topic", "direct", "headers"] {
        let mut bench = Bench::sliced();
        bench.declare_exchange("x", kind, false);
        for number in 0..100 {
            let name = format!("q{number}");
            bench.declare(&queue(&name, FieldTable::new())).unwrap();
            let pattern = match kind {
                "topic" => format!("#.*.{number}"),
                _ => format!("a.b.{number}"),
            };
            // Headers that match nothing are no arguments at all: they match any message.
            bench.bind("x", &name, &pattern);
        }
        let channel = bench.open(ALICE);
        bench.divided(kind, |bench| bench.publish_slowly(channel, "x", &keys));
        assert_eq!(bench.outcome(channel), Some(Published::Routed));
        (0..100).for_each(|number| assert_eq!(bench.drain(&format!("q{number}")), ["slow"], "{kind}"));
    }
}

#[test]
fn a_message_without_queues_comes_to_alternate_exchanges_or_back() {
    let mut bench = Bench::sliced();
    let alternate = arguments([("alternate-exchange", FieldValue::from("last"))]);
    let declaration = ExchangeDeclaration {
        name: b"x".as_slice().into(),
        kind: b"topic".as_slice().into(),
        arguments: alternate.into(),
        ..ExchangeDeclaration::default()
    };
    bench.host.exchanges_mut().declare(&declaration).unwrap();
    bench.declare(&queue("other", FieldTable::new())).unwrap();
    (0..100).for_each(|number| bench.bind("x", "other", &format!("#.{number}")));
    let keys: Vec<String> = numbers(100).iter().map(|number| format!("a.b.c.x{number}")).collect();
    let keys: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
    let channel = bench.open(ALICE);
    bench.divided("to nobody", |bench| bench.publish_slowly(channel, "x", &keys));
    assert_eq!(bench.outcome(channel), Some(Published::Unroutable));
    bench.declare_exchange("last", "fanout", false);
    bench.bind("last", "other", "");
    bench.divided("to the alternate", |bench| bench.publish_slowly(channel, "x", &keys));
    assert_eq!(bench.outcome(channel), Some(Published::Routed));
    assert_eq!(bench.drain("other"), ["slow"]);
}

#[test]
fn exchanges_in_a_long_chain_are_visited_in_slices() {
    let mut bench = Bench::sliced();
    for number in 0..COUNT {
        bench.declare_exchange(&format!("x{number}"), "fanout", false);
    }
    for number in 1..COUNT {
        let (from, to) = (format!("x{}", number - 1), format!("x{number}"));
        let exchanges = bench.host.exchanges_mut();
        exchanges.bind_exchange(to.as_bytes(), from.as_bytes(), b"", &FieldTable::new()).unwrap();
    }
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.bind(&format!("x{}", COUNT - 1), "q", "");
    let channel = bench.open(ALICE);
    bench.divided("chain", |bench| bench.publish_slowly(channel, "x0", &[]));
    assert_eq!(bench.drain("q"), ["slow"]);
}

#[test]
fn queues_that_come_and_go_while_a_message_is_on_its_way_do_not_confuse_it() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("x", "fanout", false);
    bench.bind_many("x", COUNT);
    let channel = bench.open(ALICE);
    bench.publish_slowly(channel, "x", &[]);
    let last = format!("q{}", COUNT - 1);
    while bench.count(&last) == 0 {
        bench.slice();
    }
    assert!(bench.host.has_to_wait(ALICE));
    // Another publisher's message comes meanwhile, to a queue that has the slow one and to a queue that does not. The last queues
    // come first.
    bench.publish_all("q0", &["quick"]);
    bench.publish_all(&last, &["quick"]);
    // A queue that does not have the message is deleted, and another queue gets its number and its name.
    let gone = "q1";
    let number = bench.host.parts.queues.find(gone.as_bytes());
    bench.host.delete_queue(BOB, gone.as_bytes(), false, false, bench.now, &mut bench.said).unwrap();
    for _ in 0..3 {
        bench.slice();
    }
    bench.declare(&queue(gone, FieldTable::new())).unwrap();
    bench.bind("x", gone, "");
    assert_eq!(bench.host.parts.queues.find(gone.as_bytes()), number, "the number is used again");
    assert!(bench.host.has_to_wait(ALICE), "the message is on its way");
    bench.in_slices(|_| ());
    assert_eq!(bench.outcome(channel), Some(Published::Routed));
    assert_eq!(bench.drain("q0"), ["quick", "slow"]);
    assert_eq!(bench.drain(&last), ["slow", "quick"]);
    assert_eq!(bench.drain(gone), Vec::<String>::new());
    assert_eq!(bench.drain("q500"), ["slow"]);
}

#[test]
fn a_message_of_a_connection_that_is_gone_still_comes_to_its_queues() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("x", "fanout", false);
    bench.bind_many("x", COUNT);
    let channel = bench.open(BOB);
    bench.publish_slowly(channel, "x", &[]);
    bench.disconnect(BOB);
    bench.in_slices(|_| ());
    (0..COUNT).for_each(|number| assert_eq!(bench.drain(&format!("q{number}")), ["slow"]));
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn purging_and_deleting_drop_many_messages_in_slices_and_count_them_exactly() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.publish_many("q", COUNT);
    let purged = bench.divided("purge", |bench| {
        let purged = bench.host.purge_queue(ALICE, b"q");
        assert_eq!(bench.count("q"), 0);
        assert!(bench.host.has_to_wait(ALICE));
        bench.publish_all("q", &["new"]);
        purged
    });
    assert_eq!(purged, Ok(COUNT as u32));
    assert_eq!(bench.drain("q"), ["new"]);
    bench.publish_many("q", COUNT);
    let deleted = bench.divided("delete", |bench| {
        let deleted = bench.delete("q");
        assert!(bench.host.has_to_wait(ALICE));
        deleted
    });
    assert_eq!(deleted, COUNT as u32);
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn a_queue_with_many_bindings_and_consumers_goes_in_slices() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("once", "direct", true);
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    for number in 0..COUNT {
        bench.bind("amq.topic", "q", &number.to_string());
    }
    bench.bind("once", "q", "");
    let channel = bench.open(BOB);
    (0..100).for_each(|number| bench.consume(channel, &format!("c{number}")));
    bench.divided("bindings", |bench| {
        bench.delete("q");
        assert!(bench.host.has_to_wait(ALICE));
    });
    assert!(!bench.exists("q"));
    assert_eq!(bench.said.cancelled.len(), 100);
    assert_eq!(bench.host.topology().binding_count(), 0);
    assert!(bench.host.topology().exchange(b"once").is_none());
}

#[test]
fn a_queue_that_is_being_deleted_is_deleted_once_and_to_its_end() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    (0..COUNT).for_each(|number| bench.bind("amq.direct", "q", &number.to_string()));
    bench.publish_all("q", &["a", "b"]);
    let bob = bench.open(BOB);
    assert_eq!(bench.host.delete_queue(BOB, b"q", false, false, bench.now, &mut bench.said), Ok(2));
    // The queue does not exist for a second client that deletes the queue, and the first client leaves.
    assert_eq!(bench.delete("q"), 0);
    bench.close(bob);
    bench.disconnect(BOB);
    bench.in_slices(|_| ());
    assert!(!bench.exists("q"));
    assert_eq!(bench.host.topology().binding_count(), 0);
    assert_eq!(bench.host.stats().queues_deleted, 1);
}

#[test]
fn an_exchange_with_many_bindings_goes_in_slices_with_those_that_depend_on_it() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("x", "direct", false);
    bench.declare_exchange("before", "fanout", true);
    let exchanges = bench.host.exchanges_mut();
    exchanges.bind_exchange(b"x", b"before", b"", &FieldTable::new()).unwrap();
    bench.bind_many("x", COUNT);
    bench.divided("exchange", |bench| {
        bench.host.delete_exchange(ALICE, b"x", false, bench.now, &mut bench.said).unwrap();
        assert!(bench.host.has_to_wait(ALICE));
    });
    let topology = bench.host.topology();
    assert!(topology.exchange(b"x").is_none() && topology.exchange(b"before").is_none());
    assert_eq!(topology.binding_count(), 0);
}

#[test]
fn deliveries_are_settled_in_slices_and_return_to_their_places() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let (channel, mut last) = (bench.open(ALICE), 0);
    let deliver = |bench: &mut Bench, last: &mut u64| {
        for _ in 0..COUNT {
            *last = bench.get(channel, "q", false).unwrap().0.tag;
        }
    };
    bench.publish_many("q", COUNT);
    deliver(&mut bench, &mut last);
    bench.divided("nack", |bench| bench.reject(channel, last, true, true).unwrap());
    deliver(&mut bench, &mut last);
    bench.divided("recover", |bench| {
        bench.host.recover(channel, true, bench.now, &mut bench.said).unwrap();
    });
    deliver(&mut bench, &mut last);
    bench.publish_all("q", &["behind"]);
    bench.divided("close", |bench| bench.close(channel));
    let mut expected = numbers(COUNT);
    expected.push("behind".to_owned());
    assert_eq!(bench.drain("q"), expected);
    bench.publish_many("q", COUNT);
    let channel = bench.open(ALICE);
    (0..COUNT).for_each(|_| drop(bench.get(channel, "q", false)));
    bench.divided("ack", |bench| bench.ack(channel, 0, true).unwrap());
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn a_transaction_that_holds_many_deliveries_counts_its_steps_and_gives_them_back_in_order() {
    let mut bench = Bench::sliced();
    let channel = bench.open(ALICE);
    bench.declare(&queue("q", arguments([]))).unwrap();
    bench.publish_many("q", COUNT);
    bench.in_slices(|bench| bench.consume(channel, "c"));
    let before = bench.host.step_count();
    // Most of the deliveries, so that their gaps are removed, and the deliveries at the front.
    let singles = (1..=COUNT as u64).filter(|tag| tag % 3 != 0);
    singles.for_each(|tag| assert_eq!(bench.host.hold(channel, tag, false).unwrap(), 1));
    let rest = bench.host.hold(channel, 0, true).unwrap();
    assert_eq!(rest, COUNT / 3);
    assert!(bench.host.step_count() - before >= COUNT as u64);
    bench.host.release_held(channel);
    assert!(bench.host.step_count() - before > COUNT as u64);
    for tag in 1..=COUNT as u64 {
        bench.ack(channel, tag, false).unwrap();
    }
    assert!(bench.ack(channel, 0, true).is_ok());
    assert_eq!(bench.host.message_counts(), MessageCounts::default());
}

#[test]
fn what_is_delivered_while_deliveries_are_settled_is_not_settled_with_them() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    bench.consume(channel, "c");
    bench.publish_many("q", COUNT);
    bench.ack(channel, 0, true).unwrap();
    assert!(bench.host.has_to_wait(ALICE));
    bench.publish_all("q", &["late"]);
    bench.in_slices(|_| ());
    let counts = bench.host.message_counts();
    assert_eq!((counts.ready, counts.unacknowledged), (0, 1));
}

#[test]
fn a_connection_with_much_of_everything_leaves_in_slices() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    for number in 0..200 {
        let exclusive =
            QueueDeclaration { is_exclusive: true, ..queue(&format!("own{number}"), FieldTable::new()) };
        bench.host.declare_queue(BOB, &exclusive, bench.now).unwrap();
        bench.publish_all(&format!("own{number}"), &["a"]);
    }
    let channel = bench.open(BOB);
    (0..200).for_each(|number| bench.consume(channel, &format!("c{number}")));
    bench.publish_many("q", COUNT);
    bench.divided("leave", |bench| bench.disconnect(BOB));
    assert_eq!(bench.host.queue_count(), 1);
    assert_eq!(bench.host.channels().count(), 0);
    bench.delivered();
    assert_eq!(bench.drain("q"), numbers(COUNT));
    assert_eq!(bench.host.parts.store.count(), 0);
}

#[test]
fn a_new_consumer_gets_very_many_messages_in_slices_and_in_order() {
    let mut bench = Bench::sliced();
    bench.declare(&queue("q", FieldTable::new())).unwrap();
    bench.publish_many("q", COUNT);
    let channel = bench.open(ALICE);
    bench.divided("consume", |bench| {
        bench.consume_no_ack(channel, "c");
        // The message that arrives meanwhile stands behind the waiting messages.
        bench.publish_all("q", &["last"]);
    });
    let bodies: Vec<String> = bench.take_deliveries().into_iter().map(|delivery| delivery.body).collect();
    let mut expected = numbers(COUNT);
    expected.push("last".to_owned());
    assert_eq!(bodies, expected);
}

#[test]
fn many_queues_expire_in_slices() {
    let mut bench = Bench::sliced();
    for number in 0..COUNT {
        let expires = arguments([("x-expires", FieldValue::I32(10))]);
        bench.declare(&queue(&format!("q{number}"), expires)).unwrap();
    }
    bench.now += 20;
    let mut call_count = 0;
    while bench.host.next_timeout().is_some_and(|due| due <= bench.now) {
        assert!(bench.slice() <= STEPS_MAX as u64 + OVERRUN_MAX);
        call_count += 1;
    }
    assert!(call_count > 10, "{call_count} calls");
    assert_eq!(bench.host.queue_count(), 0);
}

#[test]
fn a_dead_letter_with_many_keys_finds_its_queues_in_slices() {
    let mut bench = Bench::sliced();
    bench.declare_exchange("x", "topic", false);
    bench.declare(&queue("dead", FieldTable::new())).unwrap();
    (0..100).for_each(|number| bench.bind("x", "dead", &format!("#.{number}")));
    let to = arguments([("x-dead-letter-exchange", FieldValue::from("x"))]);
    bench.declare(&queue("q", to)).unwrap();
    let keys: Vec<FieldValue> =
        (0..100).map(|number| FieldValue::from(format!("a.b.{number}").as_str())).collect();
    let headers = Some(arguments([("CC", FieldValue::Array(keys))]));
    let properties = Properties { headers, ..Properties::default() };
    assert_eq!(bench.publish_with("", "q", "dies", &properties), Published::Routed);
    let channel = bench.open(ALICE);
    bench.get(channel, "q", false).unwrap();
    bench.divided("letter", |bench| bench.reject(channel, 1, false, false).unwrap());
    assert_eq!(bench.drain("dead"), ["dies"]);
    // The queue that a letter comes from may go: the letter is written first.
    let channel = bench.open(ALICE);
    assert_eq!(bench.publish_with("", "q", "dies", &properties), Published::Routed);
    bench.get(channel, "q", false).unwrap();
    bench.reject(channel, 1, false, false).unwrap();
    bench.in_slices(|bench| bench.delete("q"));
    assert!(!bench.exists("q"));
    assert_eq!(bench.drain("dead"), ["dies"]);
    assert_eq!(bench.host.parts.store.count(), 0);
}
