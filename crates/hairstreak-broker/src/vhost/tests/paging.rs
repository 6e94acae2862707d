//! Messages that go to disk and come back.

use super::*;

/// A bench with a disk, a durable queue `d` and a transient queue `t`, and a channel of Alice.
fn bench() -> (Bench, ChannelId) {
    let mut bench = Bench::with_disk(Limits::default());
    bench.declare(&QueueDeclaration { is_durable: true, ..queue("d", FieldTable::new()) }).unwrap();
    bench.declare(&queue("t", FieldTable::new())).unwrap();
    let channel = bench.open(ALICE);
    (bench, channel)
}

/// Publishes bodies from `0` on: all messages are persistent, or each second one.
fn publish(bench: &mut Bench, queue: &str, count: usize, all_persistent: bool) {
    for number in 0..count {
        let delivery_mode = if all_persistent || number % 2 == 0 { Some(2) } else { Some(1) };
        let properties = Properties { delivery_mode, ..Properties::default() };
        let published = bench.publish_with("", queue, &number.to_string(), &properties);
        assert_ne!(published, Published::Refused);
    }
}

fn figures(bench: &Bench, queue: &str) -> (u64, u64) {
    let info = bench.host.queue(queue.as_bytes()).unwrap();
    (info.ready, info.storage.paged)
}

#[test]
fn a_backlog_is_on_disk_and_comes_back_in_order() {
    for (name, all_persistent) in [("d", true), ("d", false), ("t", false)] {
        let (mut bench, channel) = bench();
        publish(&mut bench, name, 100, all_persistent);
        bench.serve_disk();
        let (ready, on_disk) = figures(&bench, name);
        assert_eq!(ready, 100);
        assert!(on_disk > 90, "{on_disk} messages on disk");
        assert_eq!(bench.host.parts.store.count() as u64, 100 - on_disk);
        publish(&mut bench, name, 3, all_persistent);
        let expected = (0..100).chain(0..3);
        for (count, number) in expected.enumerate() {
            let (delivery, _) = bench.get(channel, name, false).unwrap();
            assert_eq!((delivery.body, delivery.is_redelivered), (number.to_string(), false));
            assert_eq!(figures(&bench, name).0 as usize, 102 - count);
        }
        assert_eq!(bench.get(channel, name, false), None);
        bench.ack(channel, 0, true).unwrap();
        bench.serve_disk();
        assert_eq!((bench.said.disk.count(), bench.host.parts.store.count()), (0, 0));
    }
}

#[test]
fn queues_without_arrivals_write_to_disk_once_memory_is_short() {
    let (mut bench, _) = bench();
    bench.host.write_pages(false);
    publish(&mut bench, "d", 40, false);
    publish(&mut bench, "t", 40, false);
    bench.serve_disk();
    assert_eq!((figures(&bench, "d"), figures(&bench, "t")), ((40, 0), (40, 0)));
    bench.host.write_pages(true);
    bench.serve_disk();
    for name in ["d", "t"] {
        assert!(figures(&bench, name).1 > 30, "{:?}", figures(&bench, name));
    }
}

#[test]
fn a_consumer_gets_what_is_on_disk_and_what_came_back() {
    let (mut bench, channel) = bench();
    publish(&mut bench, "d", 50, false);
    bench.serve_disk();
    let other = bench.open(BOB);
    let arguments = FieldTable::new();
    let declaration = ConsumerDeclaration {
        queue: b"d",
        consumer_tag: b"c",
        no_ack: false,
        is_exclusive: false,
        arguments: &arguments,
    };
    bench.host.set_prefetch(other, 10, false, bench.now, &mut bench.said);
    bench.host.consume(other, &declaration, bench.now, &mut bench.said, |_, _| {}).unwrap();
    bench.serve_disk();
    assert_eq!(bench.delivered().len(), 10);
    // Their places are in front of those on disk.
    bench.disconnect(BOB);
    bench.serve_disk();
    let bodies: Vec<_> =
        std::iter::from_fn(|| bench.get(channel, "d", false)).map(|(delivery, _)| delivery).collect();
    assert!(
        bodies
            .iter()
            .map(|delivery| &delivery.body)
            .eq(&(0..50).map(|number| number.to_string()).collect::<Vec<_>>())
    );
    assert_eq!(bodies.iter().filter(|delivery| delivery.is_redelivered).count(), 10);
}

#[test]
fn returned_messages_go_to_disk_once_no_delivery_is_unsettled_and_stay_redelivered() {
    for name in ["d", "t"] {
        let (mut bench, channel) = bench();
        bench.host.write_pages(false);
        publish(&mut bench, name, 100, false);
        let held = bench.open(BOB);
        bench.get(held, name, false).unwrap();
        while bench.get(channel, name, false).is_some() {}
        bench.reject(channel, 0, true, true).unwrap();
        let body = "x".repeat(600_000);
        for _ in 0..5 {
            assert_eq!(bench.publish(name, &body), Published::Routed);
        }
        bench.host.write_pages(true);
        bench.serve_disk();
        assert_eq!(figures(&bench, name), (104, 5));
        bench.reject(held, 0, true, true).unwrap();
        bench.serve_disk();
        // The messages in memory go to disk when those in front of them are taken.
        let read: Vec<_> =
            std::iter::from_fn(|| bench.get(channel, name, false)).map(|(delivery, _)| delivery).collect();
        assert_eq!(read.len(), 105);
        for (number, delivery) in read.iter().enumerate() {
            let expected = if number < 100 { number.to_string() } else { body.clone() };
            assert_eq!((&delivery.body, delivery.is_redelivered), (&expected, number < 100));
        }
        bench.reject(channel, 0, true, true).unwrap();
        bench.serve_disk();
        assert_eq!(figures(&bench, name), (105, 105));
        let (delivery, _) = bench.get(channel, name, false).unwrap();
        assert_eq!((delivery.body.as_str(), delivery.is_redelivered), ("0", true));
    }
}

#[test]
fn a_queue_keeps_less_in_memory_while_memory_stays_short() {
    let mut bench = Bench::with(Limits::default());
    bench.host.log_messages(std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let body = "x".repeat(1_000);
    let names: Vec<String> = (0..10).map(|number| format!("q{number}")).collect();
    for name in &names {
        bench.declare(&queue(name, FieldTable::new())).unwrap();
        // Far less than a queue keeps in memory at first.
        (0..10).for_each(|_| assert_eq!(bench.publish(name, &body), Published::Routed));
    }
    bench.serve_disk();
    assert!(names.iter().all(|name| figures(&bench, name) == (10, 0)));
    bench.host.write_pages(true);
    bench.serve_disk();
    assert!(names.iter().all(|name| figures(&bench, name) == (10, 10)));
    assert_eq!(bench.host.parts.store.count(), 0);
    // A queue keeps more again when memory is no longer short.
    bench.host.write_pages(false);
    assert_eq!(bench.host.parts.pages.page_bytes, Limits::default().page_bytes);
    names.iter().for_each(|name| assert_eq!(bench.drain(name), vec![body.clone(); 10]));
}

#[test]
fn writes_of_many_queues_are_bounded() {
    let mut bench = Bench::with(Limits::default());
    bench.host.log_messages(std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0)));
    let body = "x".repeat(300_000);
    let names: Vec<String> = (0..100).map(|number| format!("q{number}")).collect();
    for name in &names {
        bench.declare(&queue(name, FieldTable::new())).unwrap();
        (0..2).for_each(|_| assert_eq!(bench.publish(name, &body), Published::Routed));
    }
    bench.host.write_pages(true);
    bench.pass(0);
    let writing_bytes = bench.host.parts.pages.writing_bytes;
    assert!((8 << 20..10 << 20).contains(&writing_bytes), "{writing_bytes}");
    bench.serve_disk();
    assert_eq!((bench.host.parts.pages.writing_bytes, bench.host.parts.store.count()), (0, 0));
    names.iter().for_each(|name| assert_eq!(bench.drain(name).len(), 2));
}

#[test]
fn purge_and_delete_forget_what_is_on_disk() {
    for name in ["d", "t"] {
        let (mut bench, channel) = bench();
        publish(&mut bench, name, 40, false);
        bench.serve_disk();
        // Messages on their way to the disk are forgotten, too.
        publish(&mut bench, name, 10, false);
        assert_eq!(bench.host.purge_queue(ALICE, name.as_bytes()), Ok(50));
        assert_eq!(figures(&bench, name), (0, 0));
        publish(&mut bench, name, 2, false);
        bench.serve_disk();
        assert_eq!(bench.get(channel, name, false).unwrap().0.body, "0");
        publish(&mut bench, name, 40, false);
        bench.serve_disk();
        assert_eq!(bench.delete(name), 41);
        bench.close(channel);
        bench.serve_disk();
        assert_eq!((bench.said.disk.count(), bench.host.parts.store.count()), (0, 0));
    }
}

#[test]
fn messages_on_disk_expire_and_make_room() {
    let mut bench = Bench::with_disk(Limits::default());
    bench.declare(&queue("e", arguments([("x-message-ttl", 10.into())]))).unwrap();
    bench.declare(&queue("l", arguments([("x-max-length", 20.into())]))).unwrap();
    let channel = bench.open(ALICE);
    for name in ["e", "l"] {
        publish(&mut bench, name, 50, false);
        bench.serve_disk();
    }
    assert_eq!(figures(&bench, "l").0, 20);
    assert_eq!(bench.get(channel, "l", false).unwrap().0.body, "30");
    bench.pass(10);
    bench.serve_disk();
    assert_eq!(figures(&bench, "e"), (0, 0));
}

/// Restarts the host with the durable queue `d`, as declared with these arguments.
fn restart(bench: &mut Bench, arguments: FieldTable) -> ChannelId {
    bench.serve_disk();
    let disk = std::mem::take(&mut bench.said.disk);
    let last_sequence = 1_000;
    let mut next = Bench::with_disk(Limits::default());
    let id = bench.host.parts.queues.find(b"d").unwrap();
    let log_id = bench.host.parts.queues.get(id).log_id();
    // The ids of this run are larger.
    next.host.log_messages(std::sync::Arc::new(std::sync::atomic::AtomicU64::new(1 << 32)));
    let declaration = QueueDeclaration { is_durable: true, log_id, ..queue("d", arguments) };
    next.host.restore(&Change::QueueDeclared(declaration), next.now).unwrap();
    next.host.restore_messages(b"d", disk.stored(log_id), (last_sequence, 0));
    next.said.disk = disk;
    *bench = next;
    bench.open(ALICE)
}

#[test]
fn a_restarted_queue_knows_its_count_at_once_and_loses_only_what_the_disk_lost() {
    let (mut bench, _) = bench();
    publish(&mut bench, "d", 100, true);
    restart(&mut bench, FieldTable::new());
    assert_eq!((bench.count("d"), figures(&bench, "d")), (100, (100, 100)));
    let log_id = bench.host.parts.queues.get(bench.host.parts.queues.find(b"d").unwrap()).log_id();
    bench.said.disk.lose(log_id, 50);
    bench.said.disk.lose(log_id, 100);
    publish(&mut bench, "d", 1, true);
    let bodies = bench.drain("d");
    let expected = (0..99).filter(|number| *number != 49).chain([0]);
    assert!(bodies.iter().eq(&expected.map(|number| number.to_string()).collect::<Vec<_>>()), "{bodies:?}");
    assert_eq!(figures(&bench, "d"), (0, 0));
    let shown = bench.host.queue(b"d").unwrap();
    assert_eq!((shown.ready_bytes, shown.stats.get_no_ack, shown.stats.deliver_no_ack), (0, 99, 0));
}

#[test]
fn a_restarted_queue_with_priorities_delivers_the_highest_first() {
    let with_priorities = || arguments([("x-max-priority", 3.into())]);
    let mut bench = Bench::with_disk(Limits::default());
    bench.declare(&QueueDeclaration { is_durable: true, ..queue("d", with_priorities()) }).unwrap();
    let publish = |bench: &mut Bench, number: u8| {
        let properties =
            Properties { delivery_mode: Some(2), priority: Some(number % 4), ..Properties::default() };
        assert_eq!(
            bench.publish_with("", "d", &number.to_string(), &properties),
            Published::Logged(Durability::Synced)
        );
    };
    (0..40).for_each(|number| publish(&mut bench, number));
    restart(&mut bench, with_priorities());
    publish(&mut bench, 43);
    // The consumer waits while the disk reads one message after the other.
    let channel = bench.open(ALICE);
    let arguments = FieldTable::new();
    let declaration = ConsumerDeclaration {
        queue: b"d",
        consumer_tag: b"c",
        no_ack: true,
        is_exclusive: false,
        arguments: &arguments,
    };
    bench.host.consume(channel, &declaration, bench.now, &mut bench.said, |_, _| {}).unwrap();
    bench.serve_disk();
    let bodies: Vec<_> = bench.take_deliveries().into_iter().map(|delivery| delivery.body).collect();
    let mut expected: Vec<u8> = (0..40).chain([43]).collect();
    expected.sort_by_key(|number| 4 - number % 4);
    assert!(bodies.iter().eq(&expected.iter().map(u8::to_string).collect::<Vec<_>>()), "{bodies:?}");
}

#[test]
fn a_connection_that_waits_for_the_disk_goes_on_when_the_queue_goes() {
    let (mut bench, _) = bench();
    publish(&mut bench, "d", 40, true);
    let channel = restart(&mut bench, FieldTable::new());
    let outcome = bench.host.get(channel, b"d", true, bench.now, &mut bench.said, |_, _, _| {});
    assert_eq!(outcome, Ok(GetOutcome::OnDisk));
    bench.host.await_front(ALICE, b"d");
    assert!(bench.host.has_to_wait(ALICE));
    let deleted = bench.host.delete_queue(BOB, b"d", false, false, bench.now, &mut bench.said);
    assert_eq!((deleted, bench.host.has_to_wait(ALICE)), (Ok(40), false));
    bench.serve_disk();
    assert_eq!(bench.said.disk.count(), 0);
}
