//! The log on a directory that loses its power, and whose operations fail.

use std::sync::Arc;

use hairstreak_testkit::Seeds;

use super::storage::{Faults, SimulatedStorage, Skipped};
use super::world::{LOG, SIZES, World};
use crate::log::record::{Batch, Record};
use crate::log::recovery::recover;
use crate::log::writer::Writer;

const SEEDS: Seeds = Seeds { target: "-p hairstreak-store --lib", soak_factor: 334 };

/// Runs a world: it publishes, settles, dies and starts again.
fn run(seed: u64, skipped: Option<Skipped>) {
    let mut world = World::new(seed);
    for _ in 0..world.rng.usize(1..6) {
        let operations = world.storage.counts().operations;
        let dead_from = Some(operations + world.rng.u64(1..200));
        let fails_at = (world.rng.u8(..2) == 0).then(|| operations + world.rng.u64(1..100));
        world.storage.set_faults(Faults { dead_from, fails_at, skipped, ..Faults::default() });
        for _ in 0..world.rng.usize(1..300) {
            let done = match world.rng.u8(..20) {
                0..8 => {
                    world.publish();
                    Ok(())
                }
                8..12 => {
                    world.settle();
                    Ok(())
                }
                12..16 => world.write(),
                16 => {
                    world.prepare();
                    Ok(())
                }
                17 => world.compact(),
                18 => world.sync(),
                _ => {
                    if world.rng.u8(..10) == 0 {
                        world.close()
                    } else {
                        Ok(())
                    }
                }
            };
            if done.is_err() {
                break;
            }
        }
        let loses_power = world.rng.u8(..4) > 0;
        world.restart(loses_power);
    }
}

#[test]
fn the_log_keeps_all_that_is_synced() {
    SEEDS.check("the_log_keeps_all_that_is_synced", 300, |seed, _| run(seed, None));
}

#[test]
fn without_any_one_sync_something_is_lost() {
    for skipped in [Skipped::Groups, Skipped::Checkpoint, Skipped::Names] {
        let fails = |seed| std::panic::catch_unwind(|| run(seed, Some(skipped))).is_err();
        assert!((0..300).any(fails), "no seed fails without {skipped:?}");
    }
}

#[test]
fn a_segment_is_on_the_medium_before_its_first_group() {
    let storage = SimulatedStorage::new(0);
    let state = recover(Arc::new(storage.clone()), LOG).unwrap().state;
    let mut writer = Writer::new(Arc::new(storage.clone()), state, SIZES);
    let mut batch = Batch::default();
    batch.push(&Record::Leased { queue: 1, through: 1 });
    writer.write(vec![batch]).unwrap();
    // A sync of the group then changes no metadata of the file, which takes longer.
    let sizes = |storage: &SimulatedStorage| {
        storage.contents().into_values().map(|file| file.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&storage.medium_copy()), sizes(&storage));
}

#[test]
fn after_a_failure_nothing_is_written_behind_the_gap() {
    let storage = SimulatedStorage::new(0);
    let state = recover(Arc::new(storage.clone()), LOG).unwrap().state;
    let index = Arc::clone(&state.index);
    let mut writer = Writer::new(Arc::new(storage.clone()), state, SIZES);
    let leased = |queue| {
        let mut batch = Batch::default();
        batch.push(&Record::Leased { queue, through: 1 });
        vec![batch]
    };
    writer.write(leased(1)).unwrap();
    storage.set_faults(Faults { sync: true, ..Faults::default() });
    assert!(writer.sync().is_err() && writer.restart().is_err());
    storage.set_faults(Faults::default());
    // The disk works again, but the first group is in no file that counts.
    assert!(writer.write(leased(2)).is_err() && writer.sync().is_err());
    writer.close().unwrap();
    assert_eq!(index.lock().unwrap().recovered().len(), 2);
    let recovered = recover(Arc::new(storage.medium_copy()), LOG).unwrap();
    assert_eq!(recovered.state.index.lock().unwrap().recovered().len(), 2);
}
