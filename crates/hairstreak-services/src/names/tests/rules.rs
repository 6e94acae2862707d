//! Tests of each rule of the directory by itself.

use hairstreak_wire::directory::{ErrorCode, LIST_ENTRY_COUNT_MAX};

use super::*;

pub fn ok(lease_ms: u32) -> Reply {
    Reply::Ok { lease_ms }
}

fn duplicate(text: &str, at: u8) -> Reply {
    Reply::Duplicate { name: name(text), endpoint: endpoint(at) }
}

pub fn is_limit(reply: &Reply) -> bool {
    matches!(reply, Reply::Error { code: ErrorCode::Limit, .. })
}

#[test]
fn a_name_is_found_until_its_lease_ends() {
    let mut bench = Bench::new(Options::default());
    assert_eq!(bench.ask(1, register("a", 1, 1000, 1)), ok(1000));
    bench.pass(999);
    assert_eq!(bench.ask(2, lookup("a", 0)), found("a", 1));
    assert_eq!(bench.directory.next_timeout(), Some(Duration::from_millis(1000)));
    bench.pass(1);
    assert_eq!(bench.ask(2, lookup("a", 0)), not_found("a"));
    assert_eq!(bench.said.changes.last(), Some(&Change::Expired { name: name("a") }));
    assert_eq!(bench.directory.next_timeout(), None);
}

#[test]
fn repeating_register_renews_the_lease_and_is_no_change() {
    let mut bench = Bench::new(Options::default());
    for _ in 0..10 {
        assert_eq!(bench.ask(1, register("a", 1, 1000, 1)), ok(1000));
        bench.pass(900);
    }
    assert_eq!(bench.ask(2, lookup("a", 0)), found("a", 1));
    assert_eq!(bench.said.changes, [Change::Registered { name: name("a"), endpoint: endpoint(1) }]);
}

#[test]
fn the_lease_is_the_default_when_none_is_asked_for_and_never_over_the_longest() {
    let mut bench = Bench::new(Options::default());
    assert_eq!(bench.ask(1, register("a", 1, 0, 1)), ok(5_000));
    assert_eq!(bench.ask(1, register("a", 1, u32::MAX, 1)), ok(3_600_000));
}

#[test]
fn a_held_name_is_refused_to_others_who_learn_where_its_holder_is() {
    let mut bench = Bench::new(Options::default());
    bench.ask(1, register("a", 1, 1000, 1));
    assert_eq!(bench.ask(2, register("a", 2, 1000, 2)), duplicate("a", 1));
    assert_eq!(bench.ask(2, unregister("a", 2)), duplicate("a", 1));
    bench.pass(1000);
    assert_eq!(bench.ask(2, register("a", 2, 1000, 2)), ok(1000));
}

#[test]
fn the_same_owner_may_come_over_another_connection_and_from_elsewhere() {
    let mut bench = Bench::new(Options::default());
    bench.ask(1, register("a", 1, 1000, 1));
    assert_eq!(bench.ask(2, register("a", 1, 1000, 9)), ok(1000));
    assert_eq!(bench.ask(3, lookup("a", 0)), found("a", 9));
    assert_eq!(bench.said.changes.last(), Some(&Change::Moved { name: name("a"), endpoint: endpoint(9) }));
    bench.lose(1);
    assert_eq!(bench.ask(4, register("a", 4, 1000, 4)), duplicate("a", 9));
}

#[test]
fn a_name_whose_holder_lost_its_connection_is_found_and_may_be_taken_over() {
    let mut bench = Bench::new(Options::default());
    bench.ask(1, register("a", 1, 1000, 1));
    bench.lose(1);
    assert_eq!(bench.ask(3, lookup("a", 0)), found("a", 1));
    assert_eq!(bench.ask(2, register("a", 2, 1000, 2)), ok(1000));
    assert_eq!(bench.ask(4, register("a", 1, 1000, 1)), duplicate("a", 2));
}

#[test]
fn unregister_gives_the_name_back() {
    let mut bench = Bench::new(Options::default());
    bench.ask(1, register("a", 1, 1000, 1));
    assert_eq!(bench.ask(1, unregister("a", 1)), ok(0));
    assert_eq!(bench.ask(1, unregister("a", 1)), not_found("a"));
    assert_eq!(bench.ask(2, register("a", 2, 1000, 2)), ok(1000));
}

#[test]
fn whoever_waits_is_answered_when_the_name_appears() {
    let mut bench = Bench::new(Options::default());
    let first = bench.send(2, lookup("a", 500));
    let other = bench.send(2, lookup("b", 500));
    let second = bench.send(3, lookup("a", 800));
    assert_eq!((bench.said.replies.len(), bench.directory.waiter_count()), (0, 3));
    let registered = bench.send(1, register("a", 1, 1000, 1));
    let expected =
        [(peer(2), first, found("a", 1)), (peer(3), second, found("a", 1)), (peer(1), registered, ok(1000))];
    assert_eq!(std::mem::take(&mut bench.said.replies), expected);
    bench.pass(500);
    assert_eq!(bench.said.replies, [(peer(2), other, not_found("b"))]);
}

#[test]
fn a_wait_ends_at_the_longest_that_is_allowed() {
    let mut bench = Bench::new(Options::default());
    bench.send(1, lookup("a", u32::MAX));
    bench.pass(59_999);
    assert_eq!(bench.said.replies.len(), 0);
    bench.pass(1);
    assert_eq!(bench.said.replies.len(), 1);
}

#[test]
fn nobody_waits_where_the_connection_is_gone() {
    let mut bench = Bench::new(Options::default());
    bench.send(1, lookup("a", 500));
    bench.send(2, lookup("a", 500));
    bench.lose(1);
    bench.pass(500);
    assert_eq!(bench.said.replies.iter().map(|(to, ..)| to.clone()).collect::<Vec<_>>(), [peer(2)]);
    assert_eq!((bench.directory.waiter_count(), bench.directory.next_timeout()), (0, None));
}

#[test]
fn a_list_comes_in_pages_in_order() {
    let mut bench = Bench::new(Options::default());
    let count = LIST_ENTRY_COUNT_MAX + 10;
    for i in 0..count {
        bench.ask(1, register(&format!("q.{i:04}"), 1, 9000, 1));
    }
    for outside in ["p", "q", "r"] {
        bench.ask(1, register(outside, 1, 9000, 1));
    }
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let Reply::List { more, entries } =
            bench.ask(2, Request::List { prefix: "q.".into(), after: after.clone() })
        else {
            panic!("not a list");
        };
        assert!(entries.len() <= LIST_ENTRY_COUNT_MAX);
        names.extend(entries.into_iter().map(|(name, _)| name.to_string()));
        if !more {
            break;
        }
        after = names.last().unwrap().clone();
    }
    assert_eq!(names, (0..count).map(|i| format!("q.{i:04}")).collect::<Vec<_>>());
}

#[test]
fn a_full_directory_refuses_names_and_keeps_those_it_has() {
    let mut bench = Bench::new(Options { entries_max: 2, ..Options::default() });
    bench.ask(1, register("a", 1, 1000, 1));
    bench.ask(1, register("b", 1, 1000, 1));
    assert!(is_limit(&bench.ask(2, register("c", 2, 1000, 2))));
    assert_eq!(bench.ask(1, register("a", 1, 1000, 1)), ok(1000));
    bench.ask(1, unregister("a", 1));
    assert_eq!(bench.ask(2, register("c", 2, 1000, 2)), ok(1000));
}

#[test]
fn one_client_has_only_its_share_of_names() {
    let mut bench = Bench::new(Options { entries_per_client_max: 2, ..Options::default() });
    bench.ask(1, register("a", 1, 1000, 1));
    bench.ask(1, register("b", 1, 1000, 1));
    assert!(is_limit(&bench.ask(2, register("c", 1, 1000, 1))), "the same owner over another connection");
    assert!(is_limit(&bench.ask(1, register("c", 2, 1000, 1))), "another owner over the same connection");
    assert_eq!(bench.ask(2, register("c", 2, 1000, 1)), ok(1000));
    bench.pass(1000);
    assert_eq!(bench.ask(1, register("d", 1, 1000, 1)), ok(1000));
}

#[test]
fn waiting_has_limits_in_all_and_per_peer() {
    let options = Options { waiters_max: 3, waiters_per_peer_max: 2, ..Options::default() };
    let mut bench = Bench::new(options);
    bench.send(1, lookup("a", 500));
    bench.send(1, lookup("a", 500));
    assert!(is_limit(&bench.ask(1, lookup("a", 500))));
    bench.send(2, lookup("a", 500));
    assert!(is_limit(&bench.ask(3, lookup("a", 500))));
    assert_eq!(bench.ask(3, lookup("a", 0)), not_found("a"));
}

#[test]
fn a_message_that_is_no_request_is_answered_with_what_is_wrong() {
    let mut bench = Bench::new(Options::default());
    let id = 1u64.to_be_bytes();
    let frames: [&[u8]; 5] = [b"HSD1", &id, b"LOOKUP", b"", &[0; 4]];
    bench.directory.handle_message(bench.now, &peer(1), &frames, &mut bench.said);
    let wrong = Reply::error(ErrorCode::Malformed, "LOOKUP: name is empty");
    assert_eq!(bench.said.replies, [(peer(1), 1, wrong)]);
}
