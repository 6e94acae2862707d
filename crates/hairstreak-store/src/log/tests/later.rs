//! Files of a later version of the program: a start is refused with one line, and nothing is taken for damage.

use std::sync::Arc;

use super::storage::SimulatedStorage;
use super::world::{LOG, SIZES};
use crate::log::reader::{SealedSegments, Source, load};
use crate::log::record::{Batch, MessageRecord, Record, Run, Runs, Target, Targets};
use crate::log::recovery::recover;
use crate::log::writer::Writer;

const QUEUE: u64 = 1;
/// Place of the kind in a record, and of the flags of a message.
const KIND: usize = 8;
const FLAGS: usize = 9;

fn open(storage: &SimulatedStorage) -> Writer {
    let state = recover(Arc::new(storage.clone()), LOG).unwrap().state;
    Writer::new(Arc::new(storage.clone()), state, SIZES)
}

fn batch(sequence: u64, extensions: &[u8], body: &[u8]) -> Batch {
    let mut batch = Batch::default();
    batch.push(&Record::Message(MessageRecord {
        targets: Targets::List(&[Target { queue: QUEUE, sequence, ttl_ms: None }]),
        is_persistent: true,
        priority: 0,
        time_ms: 0,
        moved: None,
        exchange: b"",
        routing_key: b"q",
        properties: b"",
        extensions,
        body,
    }));
    batch
}

/// The error of a start.
#[track_caller]
fn refusal(storage: &SimulatedStorage) -> String {
    recover(Arc::new(storage.clone()), LOG).expect_err("the start is refused").to_string()
}

#[test]
fn an_unknown_record_stops_the_start_with_its_file_and_place() {
    let mut of_kind = batch(1, &[], b"body");
    of_kind.bytes[KIND] = 9;
    let mut with_flags = batch(1, &[], b"body");
    with_flags.bytes[FLAGS] |= 0x40;
    for (later, part) in [
        (of_kind, "the kind 9"),
        (with_flags, "the flags 0x40"),
        (batch(1, &[2, 0, 7, 1, 5], b"body"), "an extension of type 7"),
    ] {
        let storage = SimulatedStorage::new(0);
        let mut writer = open(&storage);
        writer.write(vec![batch(2, &[], b"body")]).unwrap();
        writer.write(vec![later]).unwrap();
        writer.sync().unwrap();
        let remedy = "which a later version of the program wrote: use that program";
        assert_eq!(
            refusal(&storage),
            format!(
                "cannot read and write /simulated/00000000.segment: the record at byte 1600 has {part}, {remedy}"
            )
        );
    }
}

#[test]
fn an_unknown_extension_that_may_be_skipped_is_kept_by_copying() {
    const EXTENSIONS: &[u8] = &[8, 3, 1, 2, 3, 2, 0];
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    writer.write(vec![batch(1, EXTENSIONS, b"body")]).unwrap();
    (2..=40).for_each(|sequence| writer.write(vec![batch(sequence, &[], &[1; 500])]).unwrap());
    let run = Run { queue: QUEUE, first: 2, count: 39, body_size: 500 };
    let mut settled = Batch::default();
    settled.push(&Record::Settled(Runs::List(&[run])));
    writer.write(vec![settled]).unwrap();
    writer.close().unwrap();
    let before = writer.index().live(QUEUE, 0, 1)[0].segment;
    while writer.compact(1 << 20).unwrap() {}
    writer.close().unwrap();
    assert!(writer.index().live(QUEUE, 0, 1)[0].segment > before);
    let recovered = recover(Arc::new(storage.clone()), LOG).unwrap();
    let loaded = load(
        Source::new(&storage, &LOG, &recovered.state.index),
        &mut SealedSegments::default(),
        (QUEUE, 0),
        (9, 9_000),
    )
    .unwrap();
    assert_eq!(loaded.messages.len(), 1);
    assert_eq!(loaded.messages[0].message().unwrap().extensions, EXTENSIONS);
}

#[test]
fn an_unknown_record_of_a_sealed_segment_is_no_damage() {
    let storage = SimulatedStorage::new(0);
    let mut writer = open(&storage);
    writer.write(vec![batch(1, &[7, 0], b"body")]).unwrap();
    writer.close().unwrap();
    let index = Arc::clone(&recover(Arc::new(storage.clone()), LOG).unwrap().state.index);
    let error =
        load(Source::new(&storage, &LOG, &index), &mut SealedSegments::default(), (QUEUE, 0), (9, 9_000))
            .unwrap_err();
    assert!(error.to_string().starts_with("the record at byte 1088 has an extension of type 7"), "{error}");
}

#[test]
fn an_unknown_checkpoint_stops_the_start() {
    let change = |change: &dyn Fn(&mut Vec<u8>)| {
        let storage = SimulatedStorage::new(0);
        let mut writer = open(&storage);
        writer.write(vec![batch(1, &[], b"body")]).unwrap();
        writer.close().unwrap();
        storage.rot("checkpoint", |bytes| {
            change(bytes);
            let sum = crc32c::crc32c(&bytes[8..]);
            bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        });
        storage
    };
    for (place, part) in [(None, "an extension of type 3"), (Some(8), "format 9")] {
        let storage = change(&|bytes| match place {
            Some(place) => bytes[place] = 9,
            None => bytes.extend([4, 1, 1, 3, 0]),
        });
        let line = format!("cannot read and write /simulated/checkpoint: the checkpoint has {part}, ");
        assert!(refusal(&storage).starts_with(&line), "{}", refusal(&storage));
    }
    let storage = change(&|bytes| bytes.extend([4, 1, 1]));
    let recovered = recover(Arc::new(storage), LOG).unwrap();
    assert_eq!((recovered.damages.len(), recovered.missing_count), (0, 0));
}
