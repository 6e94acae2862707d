//! Tests of groups. The thread commits all waiting batches in one transaction, in order, and answers each; a limit
//! bounds the waiting bytes.

use std::sync::Arc;

use super::disk::SimulatedDisk;
use super::workbench::Bench;
use super::{entry, write};
use crate::definitions::committer::Committer;
use crate::definitions::entry::Write;
use crate::definitions::error::StoreError;
use crate::definitions::queue::Batch;
use crate::definitions::store::Settings;

#[test]
fn all_that_waits_while_a_commit_runs_is_one_transaction_and_is_answered_in_order() {
    let mut bench = Bench::new(Settings::default());
    bench.disk.hold_syncs(true);
    bench.submit(vec![write("a", Some("first"))]);
    bench.disk.wait_for_sync();
    for number in 1..1_000 {
        bench.submit(vec![write("a", Some(&number.to_string())), write(&format!("key {number}"), Some("x"))]);
    }
    assert!(bench.is_unanswered());
    bench.disk.hold_syncs(false);
    for number in 0..1_000 {
        let (answered, outcome, thread) = bench.answer();
        assert_eq!((answered, thread.as_deref()), (number, Some("definitions")));
        outcome.unwrap();
    }
    assert_eq!(bench.store.commit_count(), 2);
    let entries = bench.after_power_loss();
    assert_eq!((entries.len(), &entries[0]), (1_000, &entry("a", "999")));
}

#[test]
fn a_batch_has_removals_too_and_its_later_writes_win() {
    let mut bench = Bench::new(Settings::default());
    bench.commit(vec![write("a", Some("1")), write("b", Some("1")), write("b", Some("2"))]).unwrap();
    bench
        .commit(vec![write("a", None), write("missing", None), write("c", Some("")), write("", Some("3"))])
        .unwrap();
    bench.commit(Vec::new()).unwrap();
    assert_eq!(bench.after_power_loss(), [entry("", "3"), entry("b", "2"), entry("c", "")]);
}

/// Returns a batch of this cost, in bytes.
fn batch_of_cost(cost: usize, key: &str) -> Vec<Write> {
    let mut batch = vec![write(key, Some(""))];
    let value = "x".repeat(cost - size_of::<Batch>() - batch[0].cost());
    batch[0].value = Some(value.into());
    batch
}

#[test]
fn what_waits_is_bounded_and_a_batch_beyond_the_bound_is_refused_in_its_turn() {
    let mut bench = Bench::new(Settings { waiting_bytes_max: 10_000, ..Settings::default() });
    assert!(bench.store.has_room());
    bench.disk.hold_syncs(true);
    bench.submit(batch_of_cost(4_000, "being committed"));
    bench.disk.wait_for_sync();
    assert!(bench.store.has_room());
    bench.submit(batch_of_cost(6_000, "up to the bound"));
    assert!(!bench.store.has_room());
    bench.submit(vec![write("a", Some("beyond"))]);
    assert!(bench.is_unanswered(), "told out of turn");
    bench.disk.hold_syncs(false);
    let outcomes = [(); 3].map(|()| bench.answer().1);
    assert!(outcomes[0].is_ok() && outcomes[1].is_ok());
    let refusal = outcomes[2].as_ref().unwrap_err();
    assert!(matches!(**refusal, StoreError::Full { waiting: 10_000, max: 10_000 }), "{refusal}");
    assert!(bench.store.failing().is_none());

    // The whole limit is free again, and no more.
    assert!(bench.store.has_room());
    bench.commit(batch_of_cost(10_000, "the bound")).unwrap();
    assert!(bench.commit(batch_of_cost(10_001, "one byte beyond")).is_err());
    let keys: Vec<Vec<u8>> = bench.after_power_loss().into_iter().map(|entry| entry.key).collect();
    assert_eq!(keys, [&b"being committed"[..], b"the bound", b"up to the bound"]);
}

#[test]
fn the_panic_of_one_caller_keeps_no_other_from_its_answer() {
    let mut bench = Bench::new(Settings::default());
    bench.store.submit(vec![write("a", Some("1"))], |_| panic!("a caller's own"));
    bench.commit(vec![write("b", Some("1"))]).unwrap();
    assert_eq!(bench.after_power_loss(), [entry("a", "1"), entry("b", "1")]);
}

#[test]
fn a_batch_may_be_submitted_by_the_answer_of_another() {
    let bench = Arc::new(Bench::new(Settings::default()).store);
    let (sender, answers) = std::sync::mpsc::channel();
    let inner = Arc::clone(&bench);
    bench.submit(vec![write("a", None)], move |_| {
        inner.submit(vec![write("b", None)], move |outcome| sender.send(outcome.is_ok()).unwrap());
    });
    assert_eq!(answers.recv(), Ok(true));
}

#[test]
fn the_file_does_not_grow_with_changes_of_the_same_keys() {
    let disk = SimulatedDisk::new(0);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    let mut change = |number: usize| {
        let value = number.to_string().repeat(40);
        let change = |key: usize| write(&format!("key {:03}", (number * 7 + key * 31) % 500), Some(&value));
        committer.commit(vec![(0..20).map(change).collect()]).unwrap();
        disk.bytes().len()
    };
    let begun = (0..300).map(&mut change).max().unwrap();
    let grown = (300..3_000).map(&mut change).max().unwrap();
    assert!(grown <= begun, "{begun} bytes, then {grown}");
}
