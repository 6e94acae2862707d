//! Files that are made ahead of their segments.

use std::sync::Arc;

use super::storage::{Faults, SimulatedStorage};
use super::world::LOG;
use crate::log::record::{Batch, Record, Run, Runs};
use crate::log::recovery::recover;
use crate::log::writer::{SegmentSizes, Writer};

const SIZES: SegmentSizes = SegmentSizes { first: 16 << 10, last: 128 << 10 };

fn open(storage: &SimulatedStorage) -> Writer {
    let state = recover(Arc::new(storage.clone()), LOG).unwrap().state;
    Writer::new(Arc::new(storage.clone()), state, SIZES)
}

/// A group of about so many bytes.
fn group(size: usize) -> Vec<Batch> {
    let run = Run { queue: u64::MAX, first: u64::MAX, count: 1, body_size: 1 };
    let mut batch = Batch::default();
    while batch.size() < size {
        batch.push(&Record::Settled(Runs::List(&[run; 20])));
    }
    vec![batch]
}

fn segments(storage: &SimulatedStorage) -> Vec<usize> {
    let names = storage.names().into_iter().filter(|name| name.ends_with(".segment"));
    names.map(|name| storage.size_of(&name)).collect()
}

/// Writes groups until the writer wants the next file.
fn write_until_prepared(writer: &mut Writer) -> crate::log::files::Preparation {
    for _ in 0..1_000 {
        writer.write(group(1_000)).unwrap();
        writer.sync().unwrap();
        if let Some(preparation) = writer.prepare() {
            return preparation;
        }
    }
    panic!("no file is wanted");
}

/// Writes groups until there is no room for the next one.
fn fill(writer: &mut Writer) {
    while writer.has_room(1_100) {
        writer.write(group(1_000)).unwrap();
        assert!(writer.prepare().is_none());
    }
}

#[test]
fn the_next_file_is_made_once_while_a_segment_fills() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    assert!(writer.prepare().is_none(), "nothing is written");
    writer.write(group(1_000)).unwrap();
    assert!(writer.prepare().is_none(), "less than half of the segment is written");
    for size in [32 << 10, 64 << 10, 128 << 10, 128 << 10] {
        let preparation = write_until_prepared(&mut writer);
        assert!(writer.prepare().is_none(), "it is being made");
        assert!(preparation.run());
        writer.end_preparation(true);
        // All of it is on the medium.
        let medium = segments(&storage.medium_copy());
        assert_eq!((medium.last(), &medium), (Some(&size), &segments(&storage)));
        fill(&mut writer);
        let before = storage.counts();
        writer.write(group(1_000)).unwrap();
        let after = storage.counts();
        assert!(after.written_bytes - before.written_bytes < 10_000, "no zeros are written");
    }
}

#[test]
fn a_file_that_cannot_be_made_ahead_is_made_when_it_is_needed() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    let preparation = write_until_prepared(&mut writer);
    let space = storage.used_bytes() + (20 << 10);
    storage.set_faults(Faults { space: Some(space), ..Faults::default() });
    assert!(!preparation.run());
    assert_eq!(segments(&storage), [16 << 10], "a part of a file is left");
    writer.end_preparation(false);
    fill(&mut writer);
    // A smaller file has room, and is no reason to fail.
    writer.write(group(1_000)).unwrap();
    assert_eq!(writer.index().segments().map(|(.., size)| size).max(), Some(16 << 10));
    storage.set_faults(Faults::default());
    // The next segment has its file again.
    assert!(write_until_prepared(&mut writer).run());
}

#[test]
fn a_file_that_is_made_too_late_serves_a_later_segment() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    let preparation = write_until_prepared(&mut writer);
    fill(&mut writer);
    writer.write(group(1_000)).unwrap();
    assert!(preparation.run());
    writer.end_preparation(true);
    let count = segments(&storage).len();
    writer.restart().unwrap();
    writer.write(group(1_000)).unwrap();
    assert_eq!(segments(&storage).len(), count, "the file is used");
}

#[test]
fn a_cancelled_file_leaves_nothing() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    let preparation = write_until_prepared(&mut writer);
    writer.cancel_preparation();
    assert!(!preparation.run());
    assert_eq!(segments(&storage), [16 << 10]);
}

#[test]
fn the_next_start_removes_a_file_that_was_made_ahead() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    assert!(write_until_prepared(&mut writer).run());
    assert_eq!(segments(&storage), [16 << 10, 32 << 10]);
    drop(writer);
    let mut writer = open(&storage);
    writer.write(group(1_000)).unwrap();
    writer.close().unwrap();
    assert_eq!(writer.index().segments().count(), 0);
    assert!(!segments(&storage).contains(&(32 << 10)));
}
