//! Peeking at messages that wait, and the operators' limit of queues.

use super::*;
use crate::view::PeekInfo;

/// Bodies and infos of some messages of `q`.
fn peek(bench: &Bench, offset: usize, count_max: usize) -> Vec<(String, PeekInfo)> {
    let mut seen = Vec::new();
    let count = bench.host.peek(b"q", offset, count_max, |message, info| {
        seen.push((text(message.body.as_bytes()), info));
    });
    assert_eq!(count, Some(seen.len()));
    seen
}

fn bodies(bench: &Bench, offset: usize, count_max: usize) -> Vec<String> {
    peek(bench, offset, count_max).into_iter().map(|(body, _)| body).collect()
}

#[test]
fn messages_are_seen_in_the_order_of_delivery_and_stay() {
    let (mut bench, channel) = Bench::with_queue(arguments([("x-max-priority", 5.into())]));
    for (body, priority) in [("low 1", 0), ("high 1", 9), ("low 2", 0), ("middle", 3), ("high 2", 5)] {
        let properties = Properties { priority: Some(priority), ..Properties::default() };
        let _ = bench.publish_with("", "q", body, &properties);
    }
    let all = ["high 1", "high 2", "middle", "low 1", "low 2"];
    assert_eq!(bodies(&bench, 0, 10), all);
    assert_eq!(bodies(&bench, 0, 2), all[..2]);
    assert_eq!(bodies(&bench, 1, 3), all[1..4]);
    assert_eq!(bodies(&bench, 4, 10), all[4..]);
    assert_eq!(bodies(&bench, 5, 10), Vec::<String>::new());
    assert_eq!(bodies(&bench, 0, 0), Vec::<String>::new());
    let tag = bench.get(channel, "q", false).unwrap().0.tag;
    assert_eq!(bodies(&bench, 0, 10), all[1..]);
    bench.reject(channel, tag, false, true).unwrap();
    let seen = peek(&bench, 0, 2);
    assert_eq!((seen[0].1.return_count, seen[0].1.is_redelivered, seen[0].1.priority), (1, true, 5));
    assert_eq!((seen[1].1.return_count, seen[1].1.position), (0, 1));
    assert_eq!(bench.drain("q"), all);
    assert_eq!(bench.host.peek(b"none", 0, 1, |_, _| ()), None);
}

#[test]
fn expiry_and_persistence_are_seen() {
    let (mut bench, _) = Bench::with_queue(arguments([]));
    bench.publish_all("q", &["stays"]);
    let properties = Properties { expiration: Some(b"500"), delivery_mode: Some(2), ..Properties::default() };
    let _ = bench.publish_with("", "q", "goes", &properties);
    let seen = peek(&bench, 0, 2);
    assert_eq!((seen[0].1.expires_at, seen[0].1.is_persistent), (None, false));
    assert_eq!((seen[1].1.expires_at, seen[1].1.is_persistent), (Some(bench.now + 500), true));
}

#[test]
fn an_operator_limits_the_queues() {
    let set_max = |bench: &mut Bench, queues_max| {
        bench.host.set_settings(HostSettings { queues_max, ..HostSettings::default() });
    };
    let mut bench = Bench::new();
    bench.declare(&queue("a", arguments([]))).unwrap();
    bench.declare(&queue("b", arguments([]))).unwrap();
    set_max(&mut bench, Some(1));
    let text = |name: &str| {
        format!(
            "PRECONDITION_FAILED - cannot declare queue '{name}': queue limit in vhost '/' (1) is reached"
        )
    };
    assert_eq!(refused(bench.declare(&queue("c", arguments([])))), text("c"));
    // The name that the host would have given.
    let refusal = refused(bench.declare(&queue("", arguments([]))));
    assert!(refusal.starts_with("PRECONDITION_FAILED - cannot declare queue 'amq.gen-"), "{refusal}");
    bench.declare(&queue("a", arguments([]))).unwrap();
    bench.delete("a");
    bench.delete("b");
    bench.declare(&queue("c", arguments([]))).unwrap();
    set_max(&mut bench, Some(0));
    assert!(bench.declare(&queue("d", arguments([]))).is_err());
    set_max(&mut bench, None);
    bench.declare(&queue("d", arguments([]))).unwrap();
}
