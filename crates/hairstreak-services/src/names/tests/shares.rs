//! Tests of shares: abandoned names and large numbers of clients do not block the directory for others.

use super::rules::{is_limit, ok};
use super::*;

const HOUR_MS: u32 = 3_600_000;

#[test]
fn a_name_whose_holder_is_gone_ends_soon_however_long_its_lease() {
    let mut bench = Bench::new(Options::default());
    bench.ask(1, register("long", 1, HOUR_MS, 1));
    bench.ask(1, register("short", 1, 1000, 1));
    bench.lose(1);
    bench.pass(999);
    assert_eq!(bench.ask(2, lookup("short", 0)), found("short", 1));
    bench.pass(1);
    assert_eq!(bench.ask(2, lookup("short", 0)), not_found("short"));
    bench.pass(8_999);
    assert_eq!(bench.ask(2, lookup("long", 0)), found("long", 1));
    bench.pass(1);
    assert_eq!(bench.ask(2, lookup("long", 0)), not_found("long"));
    assert_eq!(bench.directory.entry_count(), 0);
}

#[test]
fn a_holder_that_comes_back_in_time_keeps_its_names() {
    let mut bench = Bench::new(Options { entries_max: 1, ..Options::default() });
    bench.ask(1, register("a", 1, HOUR_MS, 1));
    bench.lose(1);
    bench.pass(9_999);
    assert_eq!(bench.ask(2, register("a", 1, HOUR_MS, 1)), ok(HOUR_MS));
    bench.pass(u64::from(HOUR_MS) - 1);
    assert_eq!(bench.ask(3, lookup("a", 0)), found("a", 1));
    assert!(is_limit(&bench.ask(3, register("b", 3, 1000, 3))), "it is no orphan any more");
}

#[test]
fn orphans_make_room_in_a_full_directory_and_those_first_that_end_first() {
    let mut bench = Bench::new(Options { entries_max: 3, ..Options::default() });
    bench.ask(1, register("later", 1, 9_000, 1));
    bench.ask(1, register("sooner", 1, 8_000, 1));
    bench.ask(2, register("held", 2, 1_000, 2));
    bench.lose(1);
    assert_eq!(bench.ask(3, register("c", 3, HOUR_MS, 3)), ok(HOUR_MS));
    assert_eq!(bench.ask(4, lookup("sooner", 0)), not_found("sooner"));
    assert!(bench.said.changes.contains(&Change::Expired { name: name("sooner") }));
    assert_eq!(bench.ask(3, register("d", 3, HOUR_MS, 3)), ok(HOUR_MS));
    assert!(is_limit(&bench.ask(3, register("e", 3, HOUR_MS, 3))));
    assert_eq!(bench.ask(4, lookup("held", 0)), found("held", 2));
}

#[test]
fn one_address_has_only_its_share_whatever_number_of_clients_it_comes_as() {
    let mut bench = Bench::new(Options { entries_max: 100, entries_per_origin_max: 3, ..Options::default() });
    for client in 101..104 {
        assert_eq!(bench.ask(client, register(&format!("x{client}"), client, HOUR_MS, 1)), ok(HOUR_MS));
    }
    assert!(is_limit(&bench.ask(104, register("one.more", 104, HOUR_MS, 1))));
    assert_eq!(bench.ask(1, register("good", 1, 1000, 1)), ok(1000));
    assert_eq!(bench.ask(103, register("x103", 103, 1000, 1)), ok(1000), "what it has it may renew");
    bench.lose(102);
    assert_eq!(bench.ask(104, register("one.more", 104, HOUR_MS, 1)), ok(HOUR_MS));
    assert_eq!(bench.ask(1, lookup("x102", 0)), not_found("x102"));
    assert_eq!(bench.directory.entry_count(), 4);
}

#[test]
fn a_name_taken_over_counts_where_it_went() {
    let mut bench = Bench::new(Options { entries_per_origin_max: 1, ..Options::default() });
    bench.ask(1, register("a", 1, HOUR_MS, 1));
    bench.ask(2, register("b", 2, HOUR_MS, 2));
    bench.lose(1);
    assert!(is_limit(&bench.ask(2, register("a", 2, 1000, 2))));
    assert_eq!(bench.ask(3, register("a", 3, 1000, 3)), ok(1000));
    assert_eq!(bench.ask(1, register("c", 1, 1000, 1)), ok(1000));
}

#[test]
fn one_address_has_only_its_share_of_those_who_wait() {
    let mut bench = Bench::new(Options { waiters_per_origin_max: 2, ..Options::default() });
    bench.send(101, lookup("a", 500));
    bench.send(102, lookup("a", 500));
    assert!(is_limit(&bench.ask(103, lookup("a", 500))));
    bench.send(1, lookup("a", 500));
    bench.lose(101);
    bench.send(103, lookup("a", 500));
    assert_eq!(bench.directory.waiter_count(), 3);
}
