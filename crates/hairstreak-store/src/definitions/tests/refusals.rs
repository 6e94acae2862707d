//! Tests of a disk that refuses. Every batch gets the error, all changes are kept, and after the disk recovers they
//! are written in their order.

use std::sync::Arc;
use std::time::Duration;

use hairstreak_testkit::until;
use rustix::io::Errno;

use super::disk::{Faults, SimulatedDisk};
use super::workbench::Bench;
use super::{entry, write};
use crate::definitions::committer::Committer;
use crate::definitions::entry::Write;
use crate::definitions::error::StoreError;
use crate::definitions::store::Settings;

/// Retries only when the store is closed.
const PATIENT: Settings = Settings { waiting_bytes_max: 1 << 20, retry_interval: Duration::from_secs(3_600) };
const EAGER: Settings = Settings { waiting_bytes_max: 1 << 20, retry_interval: Duration::from_millis(1) };

fn refusing(write: Errno) -> Faults {
    Faults { write: Some(write), ..Faults::default() }
}

#[test]
fn the_systems_reason_is_told_to_every_batch_until_a_retry_succeeds() {
    let sync = Faults { sync: true, ..Faults::default() };
    let cases = [
        (refusing(Errno::NOSPC), "no space is left for /simulated/definitions.redb: free some"),
        (refusing(Errno::DQUOT), "no space is left for /simulated/definitions.redb: free some"),
        (
            refusing(Errno::ROFS),
            "/simulated/definitions.redb is on a read-only file system: mount it writable",
        ),
        (sync, "cannot read and write /simulated/definitions.redb: Input/output error (os error 5)"),
    ];
    for (faults, said) in cases {
        let mut bench = Bench::new(EAGER);
        bench.commit(vec![write("a", Some("1")), write("b", Some("1"))]).unwrap();
        assert!(bench.store.failing().is_none());
        bench.disk.set_faults(faults);
        for key in ["a", "c", "d"] {
            let error = bench.commit(vec![write(key, Some("2"))]).unwrap_err();
            assert_eq!(error.to_string(), said);
            assert_eq!(bench.store.failing().unwrap().to_string(), said);
        }
        bench.commit(vec![write("b", None), write("c", None)]).unwrap_err();
        bench.disk.set_faults(Faults::default());
        bench.wait_until_failing(false);
        // The retry needs no further batch.
        let expected = [entry("a", "2"), entry("d", "2")];
        assert_eq!(bench.after_power_loss(), expected, "{said}");
    }
}

#[test]
fn a_batch_after_the_recovery_is_not_committed_without_those_before_it() {
    let mut bench = Bench::new(EAGER);
    bench.disk.set_faults(refusing(Errno::NOSPC));
    bench.commit(vec![write("queue", Some("declared"))]).unwrap_err();
    bench.disk.set_faults(Faults::default());
    // Batches are answered with the error until the retry.
    while bench.commit(vec![write("binding", Some("of the queue"))]).is_err() {}
    assert_eq!(bench.after_power_loss(), [entry("binding", "of the queue"), entry("queue", "declared")]);
}

#[test]
fn a_failing_store_answers_at_once_and_keeps_the_latest_value_of_each_key() {
    let mut bench = Bench::new(PATIENT);
    bench.disk.set_faults(refusing(Errno::NOSPC));
    let kilobyte = "x".repeat(1_000);
    // 100 MB in a bound of 1 MiB.
    for number in 0..100_000 {
        let error = bench.commit(vec![write(&format!("key {}", number % 100), Some(&kilobyte))]).unwrap_err();
        assert!(matches!(*error, StoreError::NoSpace { .. }), "{error}");
    }
    assert!(bench.store.has_room());
    bench.disk.set_faults(Faults::default());
    bench.store.close().unwrap();
    assert_eq!(bench.after_power_loss().len(), 100);
}

#[test]
fn what_a_failing_store_keeps_is_bounded_too() {
    let mut bench = Bench::new(PATIENT);
    bench.disk.set_faults(refusing(Errno::NOSPC));
    let kilobyte = "x".repeat(1_000);
    let mut kept = 0;
    let refusal = loop {
        match bench.commit(vec![write(&format!("key {kept}"), Some(&kilobyte))]) {
            Err(error) if matches!(*error, StoreError::Full { .. }) => break error,
            outcome => drop(outcome.unwrap_err()),
        }
        kept += 1;
    };
    assert!((900..1_050).contains(&kept), "{kept}: {refusal}");
    bench.disk.set_faults(Faults::default());
    bench.store.close().unwrap();
    assert_eq!(bench.after_power_loss().len(), kept);
}

#[test]
fn definitions_that_came_and_went_while_the_disk_was_full_take_no_memory() {
    let disk = SimulatedDisk::new(0);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    committer.commit(vec![vec![write("stored", Some("x"))]]).unwrap();
    // Existing pages may be overwritten, as on a full file system.
    disk.set_faults(Faults { space: Some(disk.bytes().len()), ..Faults::default() });
    let large = "x".repeat(1 << 20);
    committer.commit(vec![vec![write("large", Some(&large)), write("stored", None)]]).unwrap_err();
    for number in 0..1_000 {
        let key = format!("queue {number}");
        committer.keep(vec![vec![write(&key, Some("declared"))], vec![write(&key, None)]]);
    }
    let kept = committer.kept_bytes();
    assert!(matches!(committer.retry(), Err(StoreError::NoSpace { .. })));
    let needed: Vec<Write> = vec![write("large", Some(&large)), write("stored", None)];
    assert_eq!(committer.kept_bytes(), needed.iter().map(Write::cost).sum::<usize>());
    assert!(kept > committer.kept_bytes() + 50_000);

    committer.keep(vec![vec![write("large", None), write("last", Some("x"))]]);
    committer.retry().unwrap();
    drop(committer);
    assert_eq!(Committer::open(Box::new(disk)).unwrap().1, [entry("last", "x")]);
}

#[test]
fn a_full_disk_does_not_make_the_file_grow_with_each_retry() {
    let disk = SimulatedDisk::new(0);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    disk.set_faults(Faults { space: Some(disk.bytes().len()), ..Faults::default() });
    committer.commit(vec![vec![write("large", Some(&"x".repeat(1 << 20)))]]).unwrap_err();
    committer.retry().unwrap_err();
    let size = disk.bytes().len();
    for _ in 0..50 {
        committer.retry().unwrap_err();
    }
    assert!(disk.bytes().len() <= size, "{} bytes after {size}", disk.bytes().len());
}

#[test]
fn a_file_that_cannot_be_opened_again_is_retried_too() {
    let mut bench = Bench::new(EAGER);
    bench.disk.set_faults(Faults { open: Some(Errno::ACCESS), ..refusing(Errno::IO) });
    bench.commit(vec![write("a", Some("1"))]).unwrap_err();
    until("the store says what is not permitted", || match bench.store.failing() {
        Some(error) if matches!(*error, StoreError::NotPermitted { .. }) => Ok(()),
        other => Err(other),
    });
    bench.disk.set_faults(Faults::default());
    bench.wait_until_failing(false);
    assert_eq!(bench.after_power_loss(), [entry("a", "1")]);
}

#[test]
fn a_file_that_is_removed_while_the_store_fails_is_not_begun_anew() {
    let disk = SimulatedDisk::new(0);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    committer.commit(vec![vec![write("a", Some("1"))]]).unwrap();
    disk.set_faults(refusing(Errno::NOSPC));
    committer.commit(vec![vec![write("b", Some("1"))]]).unwrap_err();
    disk.set_faults(Faults::default());
    disk.remove();
    for _ in 0..2 {
        let error = committer.retry().unwrap_err().to_string();
        assert!(error.contains("not found"), "{error}");
    }
}

#[test]
fn an_answer_is_the_same_error_for_the_whole_group() {
    let mut bench = Bench::new(PATIENT);
    bench.disk.hold_syncs(true);
    bench.submit(vec![write("a", Some("1"))]);
    bench.disk.wait_for_sync();
    bench.submit(vec![write("b", Some("1"))]);
    bench.submit(vec![write("c", Some("1"))]);
    bench.disk.set_faults(refusing(Errno::NOSPC));
    bench.disk.hold_syncs(false);
    let errors = [(); 3].map(|()| bench.answer().1.unwrap_err());
    assert!(Arc::ptr_eq(&errors[1], &errors[2]));
}

#[test]
fn after_a_refused_sync_nothing_is_tried_on_the_open_file() {
    let sync = Faults { sync: true, ..Faults::default() };
    let disk = SimulatedDisk::new(0);
    let (mut committer, _) = Committer::open(Box::new(disk.clone())).unwrap();
    committer.commit(vec![vec![write("a", Some("1"))]]).unwrap();
    let bytes = disk.bytes();
    disk.set_faults(sync);
    committer.commit(vec![vec![write("a", Some("2"))]]).unwrap_err();
    committer.close();
    assert!(disk.is_left_alone());

    // redb has not seen this error: its changes were held.
    let disk = SimulatedDisk::with_file(bytes);
    disk.set_faults(sync);
    Committer::open(Box::new(disk.clone())).unwrap_err();
    assert!(disk.is_left_alone());
}

#[test]
fn a_panic_within_redb_is_a_failure_like_any_other() {
    let mut bench = Bench::new(EAGER);
    bench.commit(vec![write("a", Some("1"))]).unwrap();
    bench.disk.set_faults(Faults { panic: true, ..Faults::default() });
    let panicked = |error: &StoreError| error.to_string().contains("redb panicked: on purpose");
    let first = bench.commit(vec![write("a", Some("2"))]).unwrap_err();
    assert!(panicked(&first), "{first}");
    // A retry panics as well.
    until("the second panic is told", || match bench.store.failing() {
        Some(error) if panicked(&error) && !Arc::ptr_eq(&error, &first) => Ok(()),
        other => Err(other),
    });
    bench.disk.set_faults(Faults::default());
    bench.wait_until_failing(false);
    bench.commit(vec![write("b", Some("1"))]).unwrap();
    assert_eq!(bench.after_power_loss(), [entry("a", "2"), entry("b", "1")]);
}
