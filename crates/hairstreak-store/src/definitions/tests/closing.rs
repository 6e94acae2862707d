//! Tests of closing: all waiting batches are written, failed writes are reported, and later batches are refused.

use std::sync::{Arc, mpsc};
use std::time::Duration;

use rustix::io::Errno;

use super::disk::Faults;
use super::workbench::Bench;
use super::{entry, write};
use crate::definitions::error::StoreError;
use crate::definitions::store::Settings;

#[test]
fn closing_commits_what_waits_and_refuses_what_comes_later() {
    let mut bench = Bench::new(Settings::default());
    bench.disk.hold_syncs(true);
    bench.submit(vec![write("a", Some("1"))]);
    bench.disk.wait_for_sync();
    bench.submit(vec![write("b", Some("1"))]);
    bench.disk.hold_syncs(false);
    bench.store.close().unwrap();
    assert!(bench.answer().1.is_ok() && bench.answer().1.is_ok());
    let refusal = bench.commit(vec![write("c", Some("1"))]).unwrap_err();
    assert!(matches!(*refusal, StoreError::Closed), "{refusal}");
    // The second call reports the same outcome.
    bench.store.close().unwrap();
    assert_eq!(bench.after_power_loss(), [entry("a", "1"), entry("b", "1")]);
}

#[test]
fn closing_a_failing_store_tries_once_more_and_reports() {
    let patient = Settings { retry_interval: Duration::from_secs(3_600), ..Settings::default() };
    for is_healed in [true, false] {
        let mut bench = Bench::new(patient);
        bench.disk.set_faults(Faults { write: Some(Errno::NOSPC), ..Faults::default() });
        bench.commit(vec![write("a", Some("1"))]).unwrap_err();
        if is_healed {
            bench.disk.set_faults(Faults::default());
        }
        for _ in 0..2 {
            let closed = bench.store.close();
            assert_eq!(closed.is_ok(), is_healed, "{closed:?}");
            assert!(closed.err().is_none_or(|error| matches!(*error, StoreError::NoSpace { .. })));
        }
        let expected = if is_healed { vec![entry("a", "1")] } else { Vec::new() };
        assert_eq!(bench.after_power_loss(), expected);
    }
}

#[test]
fn dropping_a_store_commits_what_waits() {
    let mut bench = Bench::new(Settings::default());
    bench.disk.hold_syncs(true);
    bench.submit(vec![write("a", Some("1"))]);
    bench.disk.wait_for_sync();
    bench.submit(vec![write("b", Some("1"))]);
    bench.disk.hold_syncs(false);
    let disk = bench.disk.clone();
    drop(bench);
    disk.lose_power();
    assert_eq!(Bench::on(disk, Settings::default()).1, [entry("a", "1"), entry("b", "1")]);
}

#[test]
fn the_last_owner_of_a_store_may_be_an_answer() {
    let bench = Bench::new(Settings::default());
    let Bench { disk, store, .. } = bench;
    let store = Arc::new(store);
    let (sender, told) = mpsc::channel();
    disk.hold_syncs(true);
    let owner = Arc::clone(&store);
    store.submit(vec![write("a", Some("1"))], move |outcome| {
        drop(owner);
        sender.send(outcome.is_ok()).unwrap();
    });
    drop(store);
    disk.hold_syncs(false);
    assert_eq!(told.recv(), Ok(true));
}
